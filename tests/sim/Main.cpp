// Catch2's main, once for each executable of this folder.
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
