// Arithmetic on fragments: matrix instructions, element-wise regions, row reductions, and the ops
// that only rename registers.
#include "compiler/lower/TileToRocdl/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

namespace attune {
using namespace mlir;

namespace {

/// Each comparison of positions takes a pair of scalar registers. Left alone, the scheduler
/// computes the masks of all elements first and spills; so elements are taken two at a time and
/// nothing moves from one pair to another. Long bodies are cut up too: the backend's schedulers
/// take more than linear time over what they may reorder (47 % of the time of llc -time-passes on
/// specs/composed.attn, 20 % with the cuts).
constexpr int64_t kElementsAtOnce = 2;
constexpr size_t kLongBody = 12;
/// Operand of llvm.amdgcn.sched.barrier: nothing crosses, so it also bounds a scheduling region.
constexpr int32_t kNothingAcross = 0;

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

struct MapPattern : TilePattern<tile::MapOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getResult().getType());
    if (takesWholeGroups(op)) {
      rw.replaceOpWithMultiple(op, {wholeGroups(op, adaptor, rw)});
      return success();
    }
    const layout::LinearLayout &layout = type.layout();
    RocdlBuilder b{rw, op.getLoc()};
    Value lane = b.lane();
    Value laneRow = b.apply(layout, "lane", lane, "row"),
          laneCol = b.apply(layout, "lane", lane, "col");
    SmallVector<SmallVector<Value>> inputs;
    for (ValueRange groups : adaptor.getInputs())
      inputs.push_back(b.elements(groups));
    Block &body = op.getBody().front();
    DenseMap<Operation *, Value> limits = limitsOfRows(b, op, inputs, laneRow);
    SmallVector<Value> results;
    bool cutUp = body.getOperations().size() > kLongBody ||
                 llvm::any_of(body, [](Operation &inner) { return isa<LLVM::ICmpOp>(inner); });
    for (int64_t r = 0; r < type.registers(); ++r) {
      if (cutUp && r && r % kElementsAtOnce == 0)
        ROCDL::SchedBarrier::create(rw, op.getLoc(), kNothingAcross);
      IRMapping mapping;
      for (auto [i, in] : llvm::enumerate(inputs)) // a stat has one register, shared by all rows
        mapping.map(body.getArgument(i), in.size() == size_t(type.registers()) ? in[r] : in[0]);
      // Lane and register bits are disjoint, so their sum is their XOR, and a sum folds into what
      // uses it.
      int64_t row = layout.at("row", {{"register", uint32_t(r)}});
      mapping.map(body.getArgument(inputs.size()), b.addConst(laneRow, row));
      mapping.map(body.getArgument(inputs.size() + 1),
                  b.addConst(laneCol, layout.at("col", {{"register", uint32_t(r)}})));
      for (Operation &inner : body.without_terminator())
        if (Value limit = limits.lookup(&inner))
          mapping.map(inner.getResult(0),
                      LLVM::ICmpOp::create(rw, op.getLoc(),
                                           cast<LLVM::ICmpOp>(inner).getPredicate(), b.i32(row),
                                           limit));
        else
          rw.clone(inner, mapping);
      results.push_back(
          mapping.lookupOrDefault(cast<tile::YieldOp>(body.getTerminator()).getValue()));
    }
    rw.replaceOpWithMultiple(op, {b.groups(type, results)});
    return success();
  }

  /// Comparisons of the row with an input that has one value for all rows: what the part of the row
  /// that the register gives is to be compared with, so that only a constant differs by register.
  /// The difference may saturate; rows are few.
  static DenseMap<Operation *, Value> limitsOfRows(const RocdlBuilder &b, tile::MapOp op,
                                                   ArrayRef<SmallVector<Value>> inputs,
                                                   Value laneRow) {
    DenseMap<Operation *, Value> limits;
    Block &body = op.getBody().front();
    for (auto compare : body.getOps<LLVM::ICmpOp>()) {
      auto arg = dyn_cast<BlockArgument>(compare.getRhs());
      if (compare.getLhs() != body.getArgument(inputs.size()) || !arg ||
          arg.getArgNumber() >= inputs.size() || inputs[arg.getArgNumber()].size() != 1)
        continue;
      using P = LLVM::ICmpPredicate;
      if (llvm::is_contained({P::sge, P::sgt, P::sle, P::slt}, compare.getPredicate()))
        limits[compare] = LLVM::SSubSat::create(b.b, b.loc, inputs[arg.getArgNumber()][0], laneRow);
    }
    return limits;
  }

  static SmallVector<Value> wholeGroups(tile::MapOp op, OneToNOpAdaptor adaptor,
                                        ConversionPatternRewriter &rw) {
    auto type = cast<tile::FragType>(op.getResult().getType());
    Grouping g = Grouping::of(type);
    auto vector = VectorType::get(g.size, type.getElementType());
    Block &body = op.getBody().front();
    SmallVector<Value> results;
    for (int64_t i = 0; i < g.groups; ++i) {
      IRMapping mapping;
      auto whole = [&](Value v) -> Value {
        Value mapped = mapping.lookupOrDefault(v);
        if (isa<VectorType>(mapped.getType()))
          return mapped;
        Value splat = splatOf(rw, op.getLoc(), vector, mapped);
        mapping.map(v, splat);
        return splat;
      };
      for (auto [k, in] : llvm::enumerate(adaptor.getInputs()))
        mapping.map(body.getArgument(k), in.size() == size_t(g.groups) ? in[i] : in[0]);
      for (Operation &inner : body.without_terminator()) {
        SmallVector<Value> operands = llvm::map_to_vector(inner.getOperands(), whole);
        mapping.map(inner.getResult(0), onVectors(rw, inner, vector, operands));
      }
      results.push_back(whole(cast<tile::YieldOp>(body.getTerminator()).getValue()));
    }
    return results;
  }

  static Value splatOf(OpBuilder &rw, Location loc, VectorType vector, Value scalar) {
    RocdlBuilder b{rw, loc};
    Value one = LLVM::InsertElementOp::create(rw, loc, LLVM::PoisonOp::create(rw, loc, vector),
                                              scalar, b.i32(0));
    SmallVector<int32_t> zeros(vector.getNumElements(), 0);
    return LLVM::ShuffleVectorOp::create(rw, loc, one, one, zeros);
  }

  static Value onVectors(OpBuilder &rw, Operation &inner, VectorType vector,
                         ArrayRef<Value> operands) {
    Location loc = inner.getLoc();
    if (!isa<math::Exp2Op>(inner)) {
      OperationState state(loc, inner.getName(), operands, vector, inner.getAttrs());
      return rw.create(state)->getResult(0);
    }
    RocdlBuilder b{rw, loc};
    Value all = LLVM::PoisonOp::create(rw, loc, vector);
    for (int64_t i = 0; i < vector.getNumElements(); ++i) {
      Value x = LLVM::ExtractElementOp::create(rw, loc, operands[0], b.i32(i));
      Value y = ROCDL::ROCDLExp2::create(rw, loc, x.getType(), x).getRes();
      all = LLVM::InsertElementOp::create(rw, loc, all, y, b.i32(i));
    }
    return all;
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
    SmallVector<Value> values = op.getKind() == tile::ReduceKind::Add
                                    ? halved(rw, op.getLoc(), adaptor.getInput())
                                    : b.elements(adaptor.getInput());
    // Four chains side by side: each add waits for the one before it in its chain only.
    const size_t chains = std::min<size_t>(4, values.size());
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

  /// Sums whole groups, then halves of them down to pairs, so that packed adds do most of the work;
  /// the few elements that are left.
  static SmallVector<Value> halved(OpBuilder &rw, Location loc, ValueRange groups) {
    SmallVector<Value> level(groups);
    while (level.size() > 1) {
      SmallVector<Value> next;
      for (size_t i = 0; i + 1 < level.size(); i += 2)
        next.push_back(LLVM::FAddOp::create(rw, loc, level[i], level[i + 1]));
      if (level.size() % 2)
        next.push_back(level.back());
      level = std::move(next);
    }
    Value sum = level[0];
    auto vector = dyn_cast<VectorType>(sum.getType());
    while (vector && vector.getNumElements() > 2) {
      int32_t half = int32_t(vector.getNumElements() / 2);
      SmallVector<int32_t> low = llvm::to_vector(llvm::seq<int32_t>(0, half)),
                           high = llvm::to_vector(llvm::seq<int32_t>(half, 2 * half));
      sum = LLVM::FAddOp::create(rw, loc, LLVM::ShuffleVectorOp::create(rw, loc, sum, sum, low),
                                 LLVM::ShuffleVectorOp::create(rw, loc, sum, sum, high));
      vector = cast<VectorType>(sum.getType());
    }
    return RocdlBuilder{rw, loc}.elements(sum);
  }

  /// The values of both settings of lane bit 4 or 5, in every lane: swapping a register with itself
  /// leaves the lower setting's value everywhere in one copy and the upper one's in the other.
  static std::pair<Value, Value> exchange(OpBuilder &rw, Location loc, Value x, int bit) {
    Type i32 = rw.getI32Type(), f32 = rw.getF32Type();
    Type pair = LLVM::LLVMStructType::getLiteral(rw.getContext(), {i32, i32});
    Value bits = LLVM::BitcastOp::create(rw, loc, i32, x);
    Value swapped =
        bit == 5
            ? ROCDL::Permlane32SwapOp::create(rw, loc, pair, bits, bits, false, false).getRes()
            : ROCDL::Permlane16SwapOp::create(rw, loc, pair, bits, bits, false, false).getRes();
    auto part = [&](int64_t i) -> Value {
      return LLVM::BitcastOp::create(rw, loc, f32,
                                     LLVM::ExtractValueOp::create(rw, loc, swapped, i));
    };
    return std::pair(part(0), part(1));
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
    Value upper = LLVM::ICmpOp::create(rw, loc, LLVM::ICmpPredicate::uge, b.lane(), b.i32(32));
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
        return LLVM::SelectOp::create(rw, loc, some, b.i32(bits), b.i32(0));
      };
      return LLVM::SelectOp::create(rw, loc, upper, any(high), any(low));
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
        packed = LLVM::InsertElementOp::create(rw, loc, packed,
                                               LLVM::OrOp::create(rw, loc, low, high), b.i32(j));
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
  patterns.add<CastPattern, KeepPattern, MapPattern, MmaPattern, ReducePattern, SeenPattern,
               SlicePattern, SplatPattern>(types, patterns.getContext(), lds);
}

} // namespace attune
