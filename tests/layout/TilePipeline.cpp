// The derived layouts at work: tiles are copied to a toy LDS by the DMA map, read by the read maps,
// put through the hardware's transposing read and multiplied, for every tile shape. What comes out
// must be K Q^T and P V.
#include "compiler/layout/Attention.h"
#include "compiler/layout/BankConflicts.h"
#include "tests/layout/Support.h"

using namespace attune::layout;
using namespace attune::layout::test;

namespace {

/// A 16-bit element that tells where it comes from.
uint16_t tag(uint32_t row, uint32_t dim) { return uint16_t(row << 8 | dim); }

/// LDS after every wave has run its DMA instructions on a tile of tagged rows.
std::vector<uint16_t> filledLds(const DmaMap &dma, const LdsLayout &lds, int rows) {
  std::vector<uint16_t> memory(lds.bytes(rows) / 2, 0xffff);
  for (uint32_t w = 0; w < uint32_t(dma.waves); ++w)
    for (uint32_t i = 0; i < uint32_t(dma.instructionsPerWave); ++i)
      for (uint32_t l = 0; l < 64; ++l) {
        const std::initializer_list<Coord> at = {{"lane", l}, {"wave", w}, {"instruction", i}};
        const uint32_t row = dma.source.at("row", at), dim = dma.source.at("byte", at) / 2;
        for (uint32_t e = 0; e < 8; ++e)
          memory[(dma.ldsByte(w, i) + 16 * l) / 2 + e] = tag(row, dim + e);
      }
  return memory;
}

/// The lane's 4 elements after ds_read_b64_tr_b16 with these lane addresses, by the ISA's
/// description.
uint16_t transposed(const std::vector<uint16_t> &lds, const std::vector<uint32_t> &address,
                    uint32_t lane, uint32_t k) {
  const uint32_t group = lane & ~15u, i = lane & 15;
  return lds[address[group + 4 * k + i / 4] / 2 + i % 4];
}

void checkK(const TileLayouts &t) {
  const auto lds = filledLds(t.kDma, t.k, t.kvTile);
  int wrong = 0;
  for (uint32_t tile = 0; tile < uint32_t(t.keyTiles()); ++tile)
    for (uint32_t step = 0; step < uint32_t(t.qkSteps()); ++step)
      for (uint32_t l = 0; l < 64; ++l) {
        const uint32_t address = t.kRead.at("lds", {{"lane", l}, {"step", step}, {"tile", tile}});
        for (uint32_t j = 0; j < 8; ++j) {
          // A operand: row = lane % m, k = 8 * (lane / m) + j.
          const uint32_t m = t.mma.m, key = m * tile + l % m,
                         dim = t.mma.k * step + 8 * (l / m) + j;
          wrong += lds[address / 2 + j] != tag(key, dim);
          // Q holds the same dim in the same k.
          wrong += t.q.at("dim", {{"register", j}, {"lane", l}, {"step", step}}) != dim;
        }
      }
  CHECK(wrong == 0);
}

void checkV(const TileLayouts &t) {
  const auto lds = filledLds(t.vDma, t.v, t.kvTile);
  const uint32_t m = t.mma.m, perTile = t.mma.accumulatorsPerLane();
  int wrong = 0;
  for (uint32_t step = 0; step < uint32_t(t.pvSteps()); ++step)
    for (uint32_t block = 0; block < uint32_t(t.outBlocks()); ++block)
      for (uint32_t read = 0; read < 2; ++read) {
        std::vector<uint32_t> address;
        for (uint32_t l = 0; l < 64; ++l)
          address.push_back(
              t.vRead.at("lds", {{"lane", l}, {"read", read}, {"step", step}, {"block", block}}));
        for (uint32_t l = 0; l < 64; ++l)
          for (uint32_t e = 0; e < 4; ++e) {
            // Element j of lane l has to be V[key][dim] where dim is the operand's row and key is
            // the key of the score that the same lane group holds in register 8 * step + j.
            const uint32_t r = 8 * step + 4 * read + e, dim = m * block + l % m;
            const uint32_t key =
                t.scores.at("key", {{"register", r % perTile}, {"lane", l}, {"tile", r / perTile}});
            wrong += transposed(lds, address, l, e) != tag(key, dim);
          }
      }
  CHECK(wrong == 0);
}

/// Conflicts of the reads as they go to LDS.
int worstRead(const TileLayouts &t) {
  int worst = 1;
  for (uint32_t tile = 0; tile < uint32_t(t.keyTiles()); ++tile)
    for (uint32_t step = 0; step < uint32_t(t.qkSteps()); ++step)
      worst = std::max(worst, bankConflicts(LdsAccess::ReadB128, [&](int l) {
                                return t.kRead.at(
                                    "lds", {{"lane", uint32_t(l)}, {"step", step}, {"tile", tile}});
                              }).worst);
  for (uint32_t step = 0; step < uint32_t(t.pvSteps()); ++step)
    for (uint32_t block = 0; block < uint32_t(t.outBlocks()); ++block)
      for (uint32_t read = 0; read < 2; ++read)
        worst = std::max(worst, bankConflicts(LdsAccess::ReadB64Tr, [&](int l) {
                                  return t.vRead.at("lds", {{"lane", uint32_t(l)},
                                                            {"read", read},
                                                            {"step", step},
                                                            {"block", block}});
                                }).worst);
  return worst;
}

} // namespace

TEST_CASE("every tile shape is copied, read and transposed to the right lanes, free of conflicts") {
  int shapes = 0;
  for (const MmaShape &mma : {MmaShape{32, 32, 16, 8}, MmaShape{16, 16, 32, 8}})
    for (int kvTile : {32, 64, 128})
      for (int d : {32, 64, 128, 256})
        for (int dv : {32, 64, 128, 256})
          for (int waves : {1, 2, 4, 8}) {
            auto t = attentionTileLayouts(mma, kvTile, d, dv, waves);
            if (kvTile * std::min(d, dv) * 2 < 1024 * waves) {
              CHECK_FALSE(t);
              continue;
            }
            INFO("m " << mma.m << " kv_tile " << kvTile << " head_dim " << d << " v_head_dim " << dv
                      << " waves " << waves);
            REQUIRE(t);
            ++shapes;
            if (waves == 4 || d == dv) {
              checkK(*t);
              checkV(*t);
            }
            if (waves == 1) {
              CHECK(t->worstConflict == 1);
              CHECK(worstRead(*t) == 1);
            }
          }
  CHECK(shapes > 250);
}

TEST_CASE("scores, output and queries know their coordinates") {
  const TileLayouts t = *attentionTileLayouts({32, 32, 16, 8}, 64, 128, 64, 4);
  CHECK(t.scores == parsed("key=(r0,r1,l5,r2,r3,tile0) q=(l0..l4,w0,w1)"));
  CHECK(t.out == parsed("dim=(r0,r1,l5,r2,r3,block0) q=(l0..l4,w0,w1)"));
  CHECK(t.q == parsed("dim=(r0..r2,l5,s0..s2) q=(l0..l4,w0,w1)"));
  CHECK(t.keyOf == parsed("key=(k0,k1,k3,k2,s0,s1)"));
  CHECK(t.qkSteps() == 8);
  CHECK(t.pvSteps() == 4);
  CHECK(t.keyTiles() == 2);
  CHECK(t.outBlocks() == 2);
}

TEST_CASE("an address splits into a lane part, a flip and an offset") {
  for (int d : {32, 64, 128, 256}) {
    const TileLayouts t = *attentionTileLayouts({32, 32, 16, 8}, 64, d, d, 1);
    uint32_t flips = 0;
    for (uint32_t step = 0; step < uint32_t(t.pvSteps()); ++step)
      for (uint32_t block = 0; block < uint32_t(t.outBlocks()); ++block)
        for (uint32_t read = 0; read < 2; ++read) {
          const ConstantPart part =
              constantPart(t.vRead, {{"read", read}, {"step", step}, {"block", block}});
          flips = std::max(flips, part.flip);
          for (uint32_t l = 0; l < 64; ++l)
            REQUIRE(
                (t.vRead.at("lds", {{"lane", l}}) ^ part.flip) + part.offset ==
                t.vRead.at("lds", {{"lane", l}, {"read", read}, {"step", step}, {"block", block}}));
          // Steps go down the tile at a constant distance.
          if (read == 0 && block == 0)
            CHECK(part.flip == 0);
        }
    CHECK(flips > 0);
  }
}

TEST_CASE("sizes that don't make a tile are refused by name") {
  auto fault = [](int kvTile, int d, int dv, int waves) {
    auto t = attentionTileLayouts({32, 32, 16, 8}, kvTile, d, dv, waves);
    REQUIRE_FALSE(t);
    return t.error().message;
  };
  CHECK(fault(48, 128, 128, 4) ==
        "kv_tile is 48; tile layouts need a power of two of at least 32, nearest 32");
  CHECK(fault(64, 96, 128, 4) ==
        "head_dim is 96; tile layouts need a power of two of at least 32, nearest 64");
  CHECK(fault(64, 128, 16, 4) ==
        "v_head_dim is 16; tile layouts need a power of two of at least 32, nearest 32");
  CHECK(fault(64, 128, 128, 0) ==
        "waves is 0; tile layouts need a power of two of at least 1, nearest 1");
  CHECK(fault(32, 64, 64, 8) ==
        "a K tile of 4096 bytes is less than one 16-byte DMA of each of 8 waves; nearest: 4 "
        "waves");
  CHECK(fault(32, 128, 64, 8) ==
        "a V tile of 4096 bytes is less than one 16-byte DMA of each of 8 waves; nearest: 4 "
        "waves");
}
