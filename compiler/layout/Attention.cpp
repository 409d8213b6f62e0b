// Derivation of the attention layouts; see Attention.h.
#include "compiler/layout/Attention.h"
#include "compiler/layout/Swizzle.h"
#include <algorithm>
#include <array>
#include <bit>
#include <fmt/format.h>
#include <map>
#include <mutex>

namespace attune::layout {

namespace {

constexpr int elementBits = 16, elementBytesLog2 = 1;
constexpr int dmaChunksPerInstruction = 64; // one 16-byte chunk a lane

int log2Of(int powerOfTwo) { return std::countr_zero(unsigned(powerOfTwo)); }

Result<void> checkSize(std::string_view name, int value, int least) {
  if (value >= least && std::has_single_bit(unsigned(value)))
    return {};
  const int nearest = value <= least ? least : int(std::bit_floor(unsigned(value)));
  return Error{ErrorCode::Unsupported,
               fmt::format("{} is {}; tile layouts need a power of two of at least {}, nearest {}",
                           name, value, least, nearest)};
}

LinearLayout identity(const char *in, const char *out, int size) {
  return LinearLayout::identity(in, out, log2Of(size));
}

/// "dim" counted in elements becomes "byte" within a row; other outputs pass.
LinearLayout dimToByte(const LinearLayout &layout, int dims, std::string_view rowName, int rows) {
  // Bit 0 of a byte offset is never set by a 2-byte element.
  gf2::Columns columns;
  for (int i = 0; i < log2Of(dims); ++i)
    columns.push_back(uint64_t(2) << i);
  const LinearLayout toByte({{"dim", log2Of(dims)}}, {{"byte", log2Of(dims) + elementBytesLog2}},
                            std::move(columns));
  return layout.then(
      LinearLayout::identity(std::string(rowName), "row", log2Of(rows)).product(toByte));
}

/// (lane, step, tile) -> (row, byte): the first of the 16 bytes of K that make a lane's A operand.
LinearLayout kCoords(const MmaShape &mma, const LinearLayout &a, int kvTile, int headDim) {
  const LinearLayout fragment = a.renameOut("row", "key")
                                    .renameOut("k", "dim")
                                    .product(identity("step", "dim", headDim / mma.k))
                                    .product(identity("tile", "key", kvTile / mma.m));
  return dimToByte(fragment.sublayout({"lane", "step", "tile"}, {"key", "dim"}), headDim, "key",
                   kvTile);
}

/// (lane, read, step, block) -> (row, byte): the first of the 8 bytes of V that a lane reads for a
/// transposing read.
Result<LinearLayout> vCoords(const MmaShape &mma, const LinearLayout &a, const LinearLayout &keyOf,
                             int kvTile, int vHeadDim) {
  const LinearLayout wanted =
      a.product(LinearLayout::identity("step", "step", keyOf.inBits("step")))
          .product(identity("block", "row", vHeadDim / mma.m))
          .then(keyOf.product(identity("row", "dim", vHeadDim)));
  auto source = transposingReadSource(wanted, "dim", elementBits);
  if (!source)
    return source.error();
  return dimToByte(*source, vHeadDim, "key", kvTile);
}

Result<DmaMap> dmaMap(const LdsLayout &lds, int rows, int waves, std::string_view name) {
  const int chunks = lds.bytes(rows) / chunkBytes,
            perWave = chunks / (dmaChunksPerInstruction * waves);
  if (perWave < 1)
    return Error{ErrorCode::Unsupported,
                 fmt::format("a {} tile of {} bytes is less than one 16-byte DMA of each of {} "
                             "waves; nearest: {} waves",
                             name, lds.bytes(rows), waves,
                             std::max(1, chunks / dmaChunksPerInstruction))};
  // Linear in LDS: chunk = lane + 64 * (wave + waves * instruction); the tile's own map says what
  // belongs there.
  gf2::Columns columns;
  for (int i = 0; i < log2Of(chunks); ++i)
    columns.push_back(uint64_t(chunkBytes) << i);
  const LinearLayout linear(
      {{"lane", 6}, {"wave", log2Of(waves)}, {"instruction", log2Of(perWave)}},
      {{"lds", log2Of(lds.bytes(rows))}}, std::move(columns));
  return DmaMap{perWave, waves, linear.then(*lds.map(rows).inverse())};
}

Result<void> checkSizes(const MmaShape &mma, int kvTile, int headDim, int vHeadDim, int waves) {
  // 64-byte rows are the smallest that hold the four chunks a swizzle permutes.
  const int leastDim = std::max({mma.k, mma.m, 2 * chunkBytes});
  for (Result<void> check :
       {checkSize("kv_tile", kvTile, std::max(mma.m, mma.k)),
        checkSize("head_dim", headDim, leastDim), checkSize("v_head_dim", vHeadDim, leastDim),
        checkSize("waves", waves, 1)})
    if (!check)
      return check;
  return {};
}

/// Chooses the swizzle of both tiles. Tiles with rows of one size share a map, so their DMA
/// addresses differ by strides alone.
void chooseSwizzles(TileLayouts &t, const LdsReader &kReader, const LdsReader &vReader) {
  const int kRow = t.headDim << elementBytesLog2, vRow = t.vHeadDim << elementBytesLog2;
  if (kRow == vRow) {
    SwizzleChoice both = findSwizzle(kRow, t.kvTile, {kReader, vReader});
    t.k = t.v = both.layout;
    t.worstConflict = both.worst;
    return;
  }
  SwizzleChoice k = findSwizzle(kRow, t.kvTile, {kReader}),
                v = findSwizzle(vRow, t.kvTile, {vReader});
  t.k = k.layout, t.v = v.layout;
  t.worstConflict = std::max(k.worst, v.worst);
}

Result<TileLayouts> makeTileLayouts(const MmaShape &mma, int kvTile, int headDim, int vHeadDim,
                                    int waves) {
  auto a = fragmentLayout(mma, Operand::A), b = fragmentLayout(mma, Operand::B),
       accumulator = fragmentLayout(mma, Operand::Accumulator);
  if (!a)
    return a.error();
  if (Result<void> sizes = checkSizes(mma, kvTile, headDim, vHeadDim, waves); !sizes)
    return sizes.error();

  TileLayouts t;
  t.mma = mma, t.kvTile = kvTile, t.headDim = headDim, t.vHeadDim = vHeadDim, t.waves = waves;
  const LinearLayout waveRows = identity("wave", "q", waves);
  t.q = b->renameOut("k", "dim")
            .renameOut("col", "q")
            .product(identity("step", "dim", t.qkSteps()))
            .product(waveRows);
  t.out = accumulator->renameOut("row", "dim")
              .renameOut("col", "q")
              .product(identity("block", "dim", t.outBlocks()))
              .product(waveRows);
  const LinearLayout allTiles = accumulator->product(identity("tile", "row", t.keyTiles()));
  t.scores = allTiles.renameOut("row", "key").renameOut("col", "q").product(waveRows);

  auto order = contractionOrder(allTiles.joinIns({"register", "tile"}, "register"), *b);
  if (!order)
    return order.error();
  t.keyOf = order->rowOf.renameOut("row", "key");
  auto v = vCoords(mma, *a, t.keyOf, kvTile, vHeadDim);
  if (!v)
    return v.error();
  const LinearLayout k = kCoords(mma, *a, kvTile, headDim);
  chooseSwizzles(t, {LdsAccess::ReadB128, k}, {LdsAccess::ReadB64Tr, *v});
  t.kRead = k.then(t.k.map(kvTile));
  t.vRead = v->then(t.v.map(kvTile));

  auto kDma = dmaMap(t.k, kvTile, waves, "K"), vDma = dmaMap(t.v, kvTile, waves, "V");
  if (!kDma)
    return kDma.error();
  if (!vDma)
    return vDma.error();
  t.kDma = *kDma, t.vDma = *vDma;
  return t;
}

} // namespace

/// A compile asks twice, for its plan and for its tiles, and a process compiles many kernels of few
/// shapes; the search for swizzles is 3 % of a compile.
Result<TileLayouts> attentionTileLayouts(const MmaShape &mma, int kvTile, int headDim, int vHeadDim,
                                         int waves) {
  static std::mutex mutex;
  static std::map<std::array<int, 8>, TileLayouts> known;
  const std::array key{mma.m, mma.n, mma.k, mma.elementsPerLane, kvTile, headDim, vHeadDim, waves};
  std::lock_guard lock(mutex);
  if (auto found = known.find(key); found != known.end())
    return found->second;
  Result<TileLayouts> made = makeTileLayouts(mma, kvTile, headDim, vHeadDim, waves);
  if (made)
    known.emplace(key, *made);
  return made;
}

ConstantPart constantPart(const LinearLayout &laneToByte, std::initializer_list<Coord> constants) {
  const std::string &out = laneToByte.outs().front().name;
  uint32_t laneBits = 0;
  for (int i = 0; i < laneToByte.inBits("lane"); ++i)
    laneBits |= laneToByte.basis("lane", i, out);
  const uint32_t constant = laneToByte.at(out, constants);
  return {constant & laneBits, constant & ~laneBits};
}

} // namespace attune::layout
