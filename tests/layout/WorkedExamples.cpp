// The worked examples of the layout notes, each derived by the library and compared with what brute
// force found.
#include "compiler/layout/Attention.h"
#include "compiler/layout/Swizzle.h"
#include "tests/layout/Support.h"

using namespace attune::layout;
using namespace attune::layout::test;

namespace {

const MmaShape mma32{32, 32, 16, 8}, mma16{16, 16, 32, 8};

LinearLayout fragment(const MmaShape &s, Operand o) { return *fragmentLayout(s, o); }

/// Conflicts of K by ds_read_b128 and V by ds_read_b64_tr_b16, 32x32x16 operands, on a tile laid
/// out like this. The addresses are the notes' own formulas.
std::pair<int, int> conflicts(const LdsLayout &lds, int headDim, int kvTile) {
  int k = 1, v = 1;
  for (int rows = 0; rows < kvTile; rows += 32)
    for (int step = 0; step < headDim / 16; ++step)
      k = std::max(k, bankConflicts(LdsAccess::ReadB128, [&](int l) {
                        return lds.address(l % 32 + rows, 2 * (8 * (l / 32) + 16 * step));
                      }).worst);
  for (int step = 0; step < kvTile / 16; ++step)
    for (int half = 0; half < 2; ++half)
      for (int n = 0; n < headDim / 32; ++n)
        v = std::max(v, bankConflicts(LdsAccess::ReadB64Tr, [&](int l) {
                          return lds.address(16 * step + 4 * (l / 32) + (l % 16) / 4 + 8 * half,
                                             2 * (32 * n + 16 * ((l % 32) / 16) + 4 * (l % 4)));
                        }).worst);
  return {k, v};
}

using Pair = std::pair<int, int>;

} // namespace

TEST_CASE("fragment layouts follow from the instruction's shape") {
  CHECK(fragment(mma32, Operand::Accumulator).str() == "row=(r0,r1,l5,r2,r3) col=(l0..l4)");
  CHECK(fragment(mma16, Operand::Accumulator).str() == "row=(r0,r1,l4,l5) col=(l0..l3)");
  CHECK(fragment(mma32, Operand::A).str() == "row=(l0..l4) k=(r0..r2,l5)");
  CHECK(fragment(mma32, Operand::B).str() == "k=(r0..r2,l5) col=(l0..l4)");
  CHECK(fragment(mma16, Operand::A).str() == "row=(l0..l3) k=(r0..r2,l4,l5)");
  CHECK(fragment(mma16, Operand::B).str() == "k=(r0..r2,l4,l5) col=(l0..l3)");
}

TEST_CASE("shapes outside the family have no fragment layout") {
  for (const MmaShape &s :
       {MmaShape{4, 4, 4, 4}, MmaShape{32, 32, 16, 4}, MmaShape{32, 16, 16, 8}, MmaShape{}})
    CHECK_FALSE(fragmentLayout(s, Operand::A));
  CHECK(fragmentLayout({32, 32, 16, 4}, Operand::A).error().message ==
        "no fragment layout for mma 32x32x16 with 4 elements a lane; m = n must be 16 or 32 and m "
        "* k = 64 * elements");
}

TEST_CASE("the accumulator of S^T is an operand of PV in another key order") {
  const LinearLayout a32 = fragment(mma32, Operand::Accumulator),
                     a16 = fragment(mma16, Operand::Accumulator);
  auto order32 = contractionOrder(a32, fragment(mma32, Operand::B));
  REQUIRE(order32);
  CHECK(order32->rowOf == parsed("row=(k0,k1,k3,k2,s0)"));
  CHECK(order32->steps() == 2);
  auto order16 = contractionOrder(a16.product(LinearLayout::identity("register", "row", 1)),
                                  fragment(mma16, Operand::B));
  REQUIRE(order16);
  CHECK(order16->rowOf == parsed("row=(k0,k1,k3,k4,k2)"));
  CHECK(order16->steps() == 1);
  // Element j of step s is register 8 s + j, whichever lane looks.
  for (uint32_t lane = 0; lane < 64; ++lane)
    for (uint32_t r = 0; r < 16; ++r) {
      const uint32_t k = fragment(mma32, Operand::B).at("k", {{"register", r % 8}, {"lane", lane}});
      CHECK(a32.at("row", {{"register", r}, {"lane", lane}}) ==
            order32->rowOf.at("row", {{"k", k}, {"step", r / 8}}));
    }
}

TEST_CASE("an accumulator whose columns are on other lanes is no operand") {
  auto wrong =
      contractionOrder(parsed("row=(r0,r1,l4,r2,r3) col=(l0..l3,l5)"), fragment(mma32, Operand::B));
  CHECK(wrong.error().message ==
        "lane bit 4 holds another column: accumulator row=(r0,r1,l4,r2,r3) col=(l0..l3,l5) "
        "against operand k=(r0..r2,l5) col=(l0..l4)");
  CHECK_FALSE(contractionOrder(fragment(mma16, Operand::Accumulator), fragment(mma16, Operand::B)));
}

TEST_CASE("the transposing read, as one lane sees it") {
  const LinearLayout tr = transposingRead(16);
  CHECK(tr == parsed("element=(l0,l1) lane=(l2,l3,r0,r1,l4,l5)"));
  for (uint32_t l = 0; l < 64; ++l)
    for (uint32_t k = 0; k < 4; ++k) {
      CHECK(tr.at("lane", {{"lane", l}, {"register", k}}) == 16 * (l / 16) + 4 * k + l % 16 / 4);
      CHECK(tr.at("element", {{"lane", l}, {"register", k}}) == l % 4);
    }
  CHECK(transposingRead(8) == parsed("element=(l0..l2) lane=(l3,r0..r2,l4,l5)"));
  CHECK(transposingRead(4) == parsed("element=(l0..l3) lane=(r0..r3,l4,l5)"));
}

TEST_CASE("V is read to match P: rows and columns of the notes") {
  const TileLayouts t = *attentionTileLayouts(mma32, 64, 128, 128, 4);
  const LinearLayout toRow = *t.v.map(64).inverse();
  for (uint32_t l = 0; l < 64; ++l)
    for (uint32_t step = 0; step < 4; ++step)
      for (uint32_t half = 0; half < 2; ++half)
        for (uint32_t n = 0; n < 4; ++n) {
          const uint32_t lds =
              t.vRead.at("lds", {{"lane", l}, {"step", step}, {"read", half}, {"block", n}});
          REQUIRE(toRow.at("row", {{"lds", lds}}) ==
                  16 * step + 4 * (l / 32) + l % 16 / 4 + 8 * half);
          REQUIRE(toRow.at("byte", {{"lds", lds}}) ==
                  2 * (32 * n + 16 * (l % 32 / 16) + 4 * (l % 4)));
        }
}

TEST_CASE("a fragment that no transposing read can give is refused") {
  // Neighbouring elements of a word would have to be four columns apart.
  CHECK_FALSE(transposingReadSource(parsed("dim=(l2,l3,l0,l1,l4) key=(r0..r2,l5)"), "dim", 16));
  CHECK_FALSE(transposingReadSource(parsed("dim=(l0..l5) key=(r0)"), "dim", 16));
}

TEST_CASE("bank conflicts of D = 128 tiles") {
  const std::vector<uint32_t> rowMod16 = {1, 2, 4, 8}, swapPairs = {4, 8, 1, 2};
  CHECK(conflicts(LdsLayout::plain(256), 128, 64) == Pair(16, 4));
  CHECK(conflicts(LdsLayout::padded(256, 16), 128, 64) == Pair(1, 4));
  CHECK(conflicts(LdsLayout::padded(256, 32), 128, 64) == Pair(2, 2));
  CHECK(conflicts(LdsLayout::padded(256, 64), 128, 64) == Pair(4, 1));
  CHECK(conflicts(LdsLayout::swizzled(256, rowMod16), 128, 64) == Pair(1, 4));
  CHECK(conflicts(LdsLayout::swizzled(256, swapPairs), 128, 64) == Pair(1, 1));
  for (uint32_t row = 0; row < 64; ++row)
    CHECK(LdsLayout::swizzled(256, swapPairs).swizzle(row) == ((row & 3) << 2 | (row >> 2 & 3)));
}

TEST_CASE("bank conflicts of D = 64 tiles") {
  CHECK(conflicts(LdsLayout::swizzled(128, {0, 4, 1, 2}), 64, 64) == Pair(1, 1));
  CHECK(conflicts(LdsLayout::plain(128), 64, 64).first == 8);
}

TEST_CASE("16x16x32 operands: conflicts of plain rows, and none with a swizzle") {
  auto worst = [](const LdsLayout &lds) {
    return bankConflicts(LdsAccess::ReadB128,
                         [&](int l) { return lds.address(l % 16, 16 * (l / 16)); })
        .worst;
  };
  CHECK(worst(LdsLayout::plain(64)) == 2);
  CHECK(worst(LdsLayout::plain(128)) == 4);
  CHECK(worst(LdsLayout::plain(256)) == 8);
  CHECK(worst(LdsLayout::swizzled(64, {0, 1, 2})) == 1);
  CHECK(worst(LdsLayout::swizzled(128, {1, 2, 4})) == 1);
}

TEST_CASE("phases of every instruction cover each lane once") {
  for (LdsAccess access : {LdsAccess::ReadB128, LdsAccess::ReadB32, LdsAccess::ReadB64,
                           LdsAccess::ReadB64Tr, LdsAccess::ReadB96, LdsAccess::WriteB128,
                           LdsAccess::WriteB32, LdsAccess::WriteB64, LdsAccess::WriteB96}) {
    uint32_t all = 0;
    int lanes = 0;
    for (uint32_t phase : infoOf(access).phases)
      all |= phase, lanes += __builtin_popcount(phase);
    INFO(infoOf(access).mnemonic);
    CHECK(all == 0xFFFFFFFF);
    CHECK(lanes == 32);
    // Lanes one after another are free of conflicts (but for b96 reads, whose phases wrap around
    // the 32 banks); all lanes on one address are a broadcast.
    const int bytes = infoOf(access).bytes;
    CHECK(bankConflicts(access, [&](int l) { return l * bytes; }).worst ==
          (access == LdsAccess::ReadB96 ? 2 : 1));
    CHECK(bankConflicts(access, [&](int) { return 64; }).worst == 1);
    CHECK(bankConflicts(access, [&](int l) { return l * 256; }).worst > 1);
  }
  CHECK(bankConflicts(LdsAccess::ReadB128, [](int l) { return 16 * l; }).clocks == 4);
  CHECK(bankConflicts(LdsAccess::ReadB128, [](int l) { return 256 * l; }).clocks == 64);
}

TEST_CASE("the search finds the swizzles of the notes") {
  const TileLayouts d128 = *attentionTileLayouts(mma32, 64, 128, 128, 4);
  CHECK(d128.k == LdsLayout::swizzled(256, {4, 8, 1, 2}));
  CHECK(d128.v == d128.k);
  CHECK(2 * (d128.k.bytes(64) + d128.v.bytes(64)) == 64 * 1024);
  const TileLayouts d64 = *attentionTileLayouts(mma32, 64, 64, 64, 4);
  CHECK(d64.k == LdsLayout::swizzled(128, {0, 4, 1, 2}));
}

TEST_CASE("a search with no answer returns the best there is") {
  // All lanes of a phase in one column of dwords: only rows can differ, and no chunk may move by
  // less than 16 bytes.
  const LdsReader column{LdsAccess::ReadB32, parsed("row=(l0..l4) byte=(0,0,0,0) free=(l5)")};
  const SwizzleChoice choice = findSwizzle(16, 32, {column});
  CHECK(choice.worst == 4);
  CHECK(choice.layout == LdsLayout::plain(16));
}

TEST_CASE("the DMA fetches what the swizzle wants where it writes") {
  const TileLayouts t = *attentionTileLayouts(mma32, 64, 128, 128, 4);
  CHECK(t.kDma.instructionsPerWave == 4);
  // Lane c of the DMA of rows 4i .. 4i + 3 fetches row 4i + c / 16, chunk (c % 16) XOR f(row).
  for (uint32_t wave = 0; wave < 4; ++wave)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t c = 0; c < 64; ++c) {
        const std::initializer_list<Coord> at = {{"lane", c}, {"wave", wave}, {"instruction", i}};
        const uint32_t row = 4 * (wave + 4 * i) + c / 16;
        REQUIRE(t.kDma.source.at("row", at) == row);
        REQUIRE(t.kDma.source.at("byte", at) ==
                16 * ((c % 16) ^ ((row & 3) << 2 | (row >> 2 & 3))));
        REQUIRE(t.k.address(row, t.kDma.source.at("byte", at)) == t.kDma.ldsByte(wave, i) + 16 * c);
      }
}
