// Arithmetic on fragments: matrix instructions, row reductions, and the ops
// that only rename registers.
#include "compiler/lower/TileToRocdl/Lowering.h"

namespace attune {
using namespace mlir;

namespace {

struct SplatPattern : TilePattern<tile::SplatOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SplatOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getFrag().getType());
    RocdlBuilder b{rw, op.getLoc()};
    SmallVector<Value> all(type.registers(), adaptor.getValue()[0]);
    rw.replaceOpWithMultiple(op, {b.groups(type, all)});
    return success();
  }
};

struct MmaPattern : TilePattern<tile::MmaOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto a = cast<tile::FragType>(op.getA().getType()),
         c = cast<tile::FragType>(op.getC().getType());
    Grouping ga = Grouping::of(a), gb = Grouping::of(cast<tile::FragType>(op.getB().getType())),
             gc = Grouping::of(c);
    if (ga.size != 8 || gb.groups != 1 || gb.size != 8 || gc.size != 16 || ga.groups != gc.groups)
      return rw.notifyMatchFailure(op, "only 32x32x16 matrix instructions, stacked along rows");
    RocdlBuilder b{rw, op.getLoc()};
    Value zero = b.i32(0);
    SmallVector<Value> results;
    for (int64_t i = 0; i < gc.groups; ++i) {
      SmallVector<Value> operands{
          adaptor.getA()[i], adaptor.getB()[0], adaptor.getC()[i], zero, zero, zero};
      Type type = operands[2].getType();
      results.push_back(
          a.getElementType().isBF16()
              ? ROCDL::mfma_f32_32x32x16_bf16::create(rw, op.getLoc(), type, operands).getResult()
              : ROCDL::mfma_f32_32x32x16_f16::create(rw, op.getLoc(), type, operands).getResult());
    }
    rw.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ReducePattern : TilePattern<tile::ReduceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ReduceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto in = cast<tile::FragType>(op.getInput().getType()),
         out = cast<tile::FragType>(op.getResult().getType());
    const SmallVector<int> bits = exchangedBits(in.layout(), out.layout());
    if (!llvm::all_of(bits, [](int bit) { return bit == 4 || bit == 5; }))
      return rw.notifyMatchFailure(op,
                                   "rows on lane bits other than 4 and 5 need a longer exchange");
    RocdlBuilder b{rw, op.getLoc()};
    auto combine = [&](Value x, Value y) -> Value {
      if (op.getKind() == tile::ReduceKind::Max)
        return LLVM::MaxNumOp::create(rw, op.getLoc(), x, y);
      return LLVM::FAddOp::create(rw, op.getLoc(), x, y);
    };
    // One value after another: a packed add counts for two, but must wait until the matrix unit is
    // idle (timing.md), which it seldom is while another wave multiplies. In two chains, which
    // gives the scheduler a choice.
    const SmallVector<Value> values = b.elements(adaptor.getInput());
    const size_t chains = std::min<size_t>(2, values.size());
    SmallVector<Value> partial(values.begin(), values.begin() + chains);
    for (size_t i = chains; i < values.size(); ++i)
      partial[i % chains] = combine(partial[i % chains], values[i]);
    Value result = partial[0];
    for (size_t i = 1; i < chains; ++i)
      result = combine(result, partial[i]);
    for (int bit : bits) {
      auto [lower, upper] = exchange(rw, op.getLoc(), result, bit);
      result = combine(lower, upper);
    }
    rw.replaceOpWithMultiple(op, {SmallVector<Value>{result}});
    return success();
  }

  /// Lane bits that choose a row before the reduction and not after it.
  static SmallVector<int> exchangedBits(const layout::LinearLayout &in,
                                        const layout::LinearLayout &out) {
    SmallVector<int> bits;
    for (int bit = 0; bit < in.inBits("lane"); ++bit)
      if (in.basis("lane", bit, "row") && !out.basis("lane", bit, "row"))
        bits.push_back(bit);
    return bits;
  }

  /// The values of both settings of lane bit 4 or 5, in every lane: swapping a register with itself
  /// leaves the lower setting's value everywhere in one copy and the upper one's in the other.
  static std::pair<Value, Value> exchange(OpBuilder &rw, Location loc, Value x, int bit) {
    Type f32 = rw.getF32Type();
    Value bits = LLVM::BitcastOp::create(rw, loc, rw.getI32Type(), x);
    Value swapped = RocdlBuilder{rw, loc}.permlaneSwap(bit, bits, bits);
    auto part = [&](int64_t i) -> Value {
      return LLVM::BitcastOp::create(rw, loc, f32,
                                     LLVM::ExtractValueOp::create(rw, loc, swapped, i));
    };
    return {part(0), part(1)};
  }
};

struct SlicePattern : TilePattern<tile::SliceOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SliceOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto in = cast<tile::FragType>(op.getInput().getType()),
         out = cast<tile::FragType>(op.getResult().getType());
    const layout::LinearLayout &whole = in.layout();
    int64_t first = -1;
    for (int64_t r = 0; r < in.registers(); r += out.registers())
      if (whole.at("row", {{"register", uint32_t(r)}}) == op.getRow() &&
          whole.at("col", {{"register", uint32_t(r)}}) == 0)
        first = r;
    Grouping gi = Grouping::of(in), go = Grouping::of(out);
    if (first < 0)
      return rw.notifyMatchFailure(op, "rows do not start at a register");
    if (gi.size == go.size && first % gi.size == 0) {
      rw.replaceOpWithMultiple(op, {adaptor.getInput().slice(first / gi.size, go.groups)});
      return success();
    }
    RocdlBuilder b{rw, op.getLoc()};
    SmallVector<Value> all = b.elements(adaptor.getInput());
    rw.replaceOpWithMultiple(op, {b.groups(out, ArrayRef(all).slice(first, out.registers()))});
    return success();
  }
};

struct CastPattern : TilePattern<tile::CastOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::CastOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto in = cast<tile::FragType>(op.getInput().getType()),
         out = cast<tile::FragType>(op.getResult().getType());
    if (!in.getElementType().isF32() || out.getElementType().isF32())
      return rw.notifyMatchFailure(op, "only f32 to a 16-bit type");
    Grouping gi = Grouping::of(in), go = Grouping::of(out);
    if (gi.size % go.size)
      return rw.notifyMatchFailure(op, "needs a whole number of result groups in each input group");
    auto narrow = VectorType::get(go.size, out.getElementType());
    SmallVector<Value> results;
    for (Value group : adaptor.getInput())
      for (int64_t first = 0; first < gi.size; first += go.size) {
        SmallVector<int32_t> part =
            llvm::to_vector(llvm::seq<int32_t>(int32_t(first), int32_t(first + go.size)));
        Value wide = LLVM::ShuffleVectorOp::create(rw, op.getLoc(), group, group, part);
        results.push_back(LLVM::FPTruncOp::create(rw, op.getLoc(), narrow, wide));
      }
    rw.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct AnyGreaterPattern : TilePattern<tile::AnyGreaterOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::AnyGreaterOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    Location loc = op.getLoc();
    RocdlBuilder b{rw, loc};
    Value any;
    SmallVector<Value> as = b.elements(adaptor.getA()), bs = b.elements(adaptor.getB());
    for (auto [x, y] : llvm::zip(as, bs)) {
      Value greater = LLVM::FCmpOp::create(rw, loc, LLVM::FCmpPredicate::ogt, x, y);
      any = any ? LLVM::OrOp::create(rw, loc, any, greater).getResult() : greater;
    }
    Value votes = ROCDL::BallotOp::create(rw, loc, rw.getI64Type(), any);
    rw.replaceOpWithNewOp<LLVM::ICmpOp>(op, LLVM::ICmpPredicate::ne, votes, b.i64(0));
    return success();
  }
};

struct SeenPattern : TilePattern<tile::SeenOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::SeenOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    const layout::LinearLayout &rows = cast<tile::FragType>(op.getSeen().getType()).layout();
    for (int bit = 0; bit < 5; ++bit)
      if (rows.basis("lane", bit, "row"))
        return rw.notifyMatchFailure(op, "rows must be on registers and lane bit 5");
    Location loc = op.getLoc();
    RocdlBuilder b{rw, loc};
    Value minusInf = LLVM::ConstantOp::create(
        rw, loc, rw.getF32Type(),
        rw.getFloatAttr(rw.getF32Type(), llvm::APFloat::getInf(llvm::APFloat::IEEEsingle(), true)));
    Value lane = b.lane();
    Value upper = LLVM::ICmpOp::create(rw, loc, LLVM::ICmpPredicate::uge, lane, b.i32(32));
    // Lanes 0 to 31 hold one row of the register and lanes 32 to 63 another, so a ballot answers
    // for both.
    auto mask = [&](Value s, int64_t bits) -> Value {
      // Not equal or unordered: a NaN score is a visible key.
      Value visible = LLVM::FCmpOp::create(rw, loc, LLVM::FCmpPredicate::une, s, minusInf);
      Value votes = ROCDL::BallotOp::create(rw, loc, rw.getI64Type(), visible);
      Value halves = LLVM::BitcastOp::create(rw, loc, VectorType::get(2, rw.getI32Type()), votes);
      Value low = LLVM::ExtractElementOp::create(rw, loc, halves, b.i32(0));
      Value high = LLVM::ExtractElementOp::create(rw, loc, halves, b.i32(1));
      auto any = [&](Value v) -> Value {
        Value some = LLVM::ICmpOp::create(rw, loc, LLVM::ICmpPredicate::ne, v, b.i32(0));
        Value yes = b.i32(bits), no = b.i32(0);
        return LLVM::SelectOp::create(rw, loc, some, yes, no);
      };
      Value ofUpper = any(high), ofLower = any(low);
      return LLVM::SelectOp::create(rw, loc, upper, ofUpper, ofLower);
    };
    SmallVector<Value> scores = b.elements(adaptor.getScores()), groups;
    Grouping g = Grouping::of(cast<tile::FragType>(op.getSeen().getType()));
    auto words = VectorType::get(g.size / 2, rw.getI32Type());
    for (int64_t i = 0; i < g.groups; ++i) {
      if (i)
        ROCDL::SchedBarrier::create(rw, loc, kNothingAcross);
      Value packed = LLVM::PoisonOp::create(rw, loc, words);
      for (int64_t j = 0; j < g.size / 2; ++j) {
        if (j)
          ROCDL::SchedBarrier::create(rw, loc, kNothingAcross);
        Value low = mask(scores[i * g.size + 2 * j], 0xffff),
              high = mask(scores[i * g.size + 2 * j + 1], 0xffff0000);
        Value both = LLVM::OrOp::create(rw, loc, low, high);
        packed = LLVM::InsertElementOp::create(rw, loc, packed, both, b.i32(j));
      }
      groups.push_back(packed);
    }
    rw.replaceOpWithMultiple(op, {groups});
    return success();
  }
};

struct KeepPattern : TilePattern<tile::KeepOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::KeepOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getA().getType());
    if (adaptor.getFlags().size() != 1 || Grouping::of(type).size != 8 ||
        tile::elementBytes(type.getElementType()) != 2)
      return rw.notifyMatchFailure(op, "only eight 16-bit elements a group");
    Location loc = op.getLoc();
    Value mask = adaptor.getFlags()[0];
    SmallVector<Value> results;
    for (Value group : adaptor.getA()) {
      Value bits = LLVM::AndOp::create(
          rw, loc, LLVM::BitcastOp::create(rw, loc, mask.getType(), group), mask);
      results.push_back(LLVM::BitcastOp::create(rw, loc, group.getType(), bits));
    }
    rw.replaceOpWithMultiple(op, {results});
    return success();
  }
};

} // namespace

void populateComputePatterns(RewritePatternSet &patterns, const TypeConverter &types,
                             const LdsContext &lds) {
  patterns.add<AnyGreaterPattern, CastPattern, KeepPattern, MmaPattern, ReducePattern, SeenPattern,
               SlicePattern, SplatPattern>(types, patterns.getContext(), lds);
}

} // namespace attune
