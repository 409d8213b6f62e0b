// Random kernels in C, the same text for gfx950 and for the host (prelude.h). A kernel is a row of
// phases: a function of straight-line code, loops, branches and switches over eight 64-bit words
// that each thread owns, then an exchange between threads. On the host the phases run thread after
// thread, so that the same source is its own reference.
//
// What comes out follows from the seed alone.
#pragma once
#include <array>
#include <cstdint>
#include <string>

namespace simtest::fuzz {

constexpr unsigned kWords = 8;  ///< of a thread, in and out
constexpr unsigned kCells = 64; ///< that all threads update, 64 bits each

struct Kernel {
  uint64_t seed = 0;
  std::string name;        ///< of the kernel; of the host's function too
  std::string source = {}; ///< without the prelude
  std::array<uint32_t, 3> grid{}, block{};

  uint32_t threads() const { return block[0] * block[1] * block[2]; }
  uint32_t items() const { return threads() * grid[0] * grid[1] * grid[2]; }
};

/// kernel void NAME(in, out, cells, u64 a, u32 b); on the host the same without `kernel`.
Kernel generate(uint64_t seed);

} // namespace simtest::fuzz
