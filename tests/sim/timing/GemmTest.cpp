// The GEMM of gfx950-gluon-tutorials: gfx950-timing.md section 5, row 3.
#include "tests/sim/timing/GemmLoop.h"
#include <catch2/catch.hpp>

using namespace timingtest;

TEST_CASE("row 3: MFMA efficiency of the loop of a GEMM, all eight tiles of the source") {
  struct Row {
    GemmTile tile;
    double published;
  };
  for (Row row : {Row{{256, 256}, 96},
                  {{256, 128}, 83},
                  {{128, 256}, 84},
                  {{128, 128}, 69},
                  {{256, 64}, 55},
                  {{64, 256}, 57},
                  {{128, 64}, 47},
                  {{64, 128}, 47}}) {
    double model = gemmEfficiency(row.tile);
    INFO(row.tile.m << " x " << row.tile.n << ": " << model);
    CHECK(model == Catch::Detail::Approx(row.published).epsilon(0.05));
  }
}
