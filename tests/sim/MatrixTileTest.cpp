// Hosts with 512-bit registers multiply by larger tiles than others (runtime/sim/MatrixTile.h).
// Both kinds are compiled for every host, and give the same bits.
#include "runtime/sim/MatrixPacked.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <random>

using namespace attune::sim;

TEST_CASE("tiles for 512-bit registers give the bits of those for 256", "[matrix]") {
  std::mt19937 random(31);
  alignas(64) static uint32_t a[8][64], b[8][64], d[2][16][64];
  auto fill = [&](auto &words, bool special) {
    for (auto &row : words)
      for (uint32_t &word : row) {
        word = random() & 0xbfffbfffu; // below 2 as bf16 and as f32: few products overflow
        if (special && random() % 64 == 0)
          word = random() % 2 ? 0x7f80ff80u : random() | 0x7fc07fc0u;
      }
  };
  unsigned nans = 0;
  for (auto [m, k] : {std::pair(16u, 16u), {16u, 32u}, {32u, 8u}, {32u, 16u}})
    for (int round = 0; round < 40; ++round) {
      INFO(m << " x " << m << " x " << k << ", round " << round);
      fill(a, round % 4 == 1);
      fill(b, round % 4 == 2);
      fill(d[0], round % 4 == 3);
      std::memcpy(d[1], d[0], sizeof d[0]);
      for (auto tile : {HostTile::Narrow, HostTile::Wide})
        multiplyPackedBf16(m, k, reinterpret_cast<float (*)[64]>(d[tile == HostTile::Wide]), a, b,
                           tile);
      REQUIRE(std::memcmp(d[0], d[1], sizeof d[0]) == 0);
      for (unsigned r = 0; r < m * m / 64; ++r)
        for (uint32_t word : d[0][r])
          nans += word == 0x7fc00000u;
    }
  CHECK(nans > 1000);
}
