// A fragment's elements moved to other lanes and registers, by the steps that the layout library
// finds.
//
// It looks at registers of 32 bits. Two 16-bit elements in registers 0 and 1 of a layout share one,
// so they stay together and the layout of the pairs is what moves.
#include "compiler/layout/Conversion.h"
#include "compiler/lower/TileToRocdl/Lowering.h"

namespace attune {
using namespace mlir;
using layout::ConversionStep;
using layout::LinearLayout;

namespace {

/// The layout of whole 32-bit registers: rows count pairs. Nothing if pairs are not neighbours of a
/// column.
std::optional<LinearLayout> pairsOf(const LinearLayout &l) {
  if (!l.inBits("register") || l.basis("register", 0, "row") != 1 ||
      l.basis("register", 0, "col") != 0)
    return std::nullopt;
  const int rowBits = l.outBits("row") - 1;
  std::vector<uint64_t> columns;
  for (StringRef in : {"register", "lane"})
    for (int bit = in == "register"; bit < l.inBits(in); ++bit) {
      if (l.basis(in, bit, "row") & 1)
        return std::nullopt;
      columns.push_back(uint64_t(l.basis(in, bit, "row")) >> 1 | uint64_t(l.basis(in, bit, "col"))
                                                                     << rowBits);
    }
  return LinearLayout({{"register", l.inBits("register") - 1}, {"lane", l.inBits("lane")}},
                      {{"row", rowBits}, {"col", l.outBits("col")}}, columns);
}

struct ConvertPattern : TilePattern<tile::ConvertOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ConvertOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto in = cast<tile::FragType>(op.getInput().getType()),
         out = cast<tile::FragType>(op.getResult().getType());
    const bool pairs = tile::elementBytes(in.getElementType()) == 2;
    std::optional<LinearLayout> from = pairs ? pairsOf(in.layout()) : in.layout(),
                                to = pairs ? pairsOf(out.layout()) : out.layout();
    if (!from || !to)
      return rw.notifyMatchFailure(op, "16-bit elements move in pairs of one column");
    Result<layout::Conversion> conversion = findWaveConversion(*from, *to);
    if (!conversion)
      return rw.notifyMatchFailure(op, conversion.error().message);
    RocdlBuilder b{rw, op.getLoc()};
    SmallVector<Value> words = wordsOf(b, adaptor.getInput());
    for (const ConversionStep &step : conversion->steps)
      if (!apply(b, step, words))
        return rw.notifyMatchFailure(op, "needs " + conversion->str() +
                                             "; only renaming and permlane swaps are lowered");
    rw.replaceOpWithMultiple(op, {groupsOf(b, out, words)});
    return success();
  }

  static SmallVector<Value> wordsOf(const RocdlBuilder &b, ValueRange groups) {
    SmallVector<Value> words;
    for (Value group : groups) {
      auto vector = dyn_cast<VectorType>(group.getType());
      const int64_t bits = vector ? vector.getNumElements() * vector.getElementTypeBitWidth() : 32;
      Type i32 = b.b.getI32Type();
      Type type = bits == 32 ? i32 : VectorType::get(bits / 32, i32);
      Value raw = LLVM::BitcastOp::create(b.b, b.loc, type, group);
      words.append(b.elements(raw));
    }
    return words;
  }

  static SmallVector<Value> groupsOf(const RocdlBuilder &b, tile::FragType type,
                                     ArrayRef<Value> words) {
    const Grouping g = Grouping::of(type);
    const size_t size = words.size() / size_t(g.groups);
    Type element = type.getElementType();
    Type group = g.size == 1 ? element : VectorType::get(g.size, element);
    SmallVector<Value> groups;
    for (size_t i = 0; i < words.size(); i += size)
      groups.push_back(LLVM::BitcastOp::create(b.b, b.loc, group, b.joined(words.slice(i, size))));
    return groups;
  }

  /// False if the step is of a kind that no schedule has asked for yet.
  static bool apply(const RocdlBuilder &b, const ConversionStep &step,
                    SmallVectorImpl<Value> &words) {
    switch (step.kind) {
    case ConversionStep::Rename: {
      SmallVector<Value> before(words.begin(), words.end());
      for (auto [word, from] : llvm::zip(words, step.fromRegister))
        word = before[size_t(from)];
      return true;
    }
    case ConversionStep::Permlane32Swap:
    case ConversionStep::Permlane16Swap:
      for (size_t r = 0; r < words.size(); ++r) {
        const size_t other = r | size_t(1) << step.registerBit;
        if (other == r)
          continue;
        const int laneBit = step.kind == ConversionStep::Permlane32Swap ? 5 : 4;
        Value both = b.permlaneSwap(laneBit, words[r], words[other]);
        words[r] = LLVM::ExtractValueOp::create(b.b, b.loc, both, 0);
        words[other] = LLVM::ExtractValueOp::create(b.b, b.loc, both, 1);
      }
      return true;
    default:
      return false;
    }
  }
};

} // namespace

void populateConvertPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                             const LdsContext &lds) {
  patterns.add<ConvertPattern>(types, patterns.getContext(), lds);
}

} // namespace attune
