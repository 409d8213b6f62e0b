// The model against what was measured, row by row.
#include "tests/sim/timing/Ablations.h"
#include <catch2/catch.hpp>

using namespace timingtest;

TEST_CASE("the table of ablations", "[.][table]") { puts(ablationTable().c_str()); }
