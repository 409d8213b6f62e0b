// The precompiled header of every unit test that sees no MLIR.
#pragma once
#include "runtime/abi/StdHeaders.h"
#include <catch2/catch.hpp>
