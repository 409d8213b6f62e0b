// The main function of the runtime's tests.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
