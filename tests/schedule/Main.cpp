// Entry point of the tests of schedules, chip tables and the shared plain data (abi).
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
