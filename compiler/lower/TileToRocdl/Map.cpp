// tile.map, repeated for every register of a fragment, or done on whole groups of them.
//
// Values of a region are of three kinds. What is the same for all registers of a lane is computed
// once. Whole numbers that grow from row to row by the same step (k = first key + row, an offset
// k * stride) are computed once for the lane's first row, and a register adds what its own row is
// further. Everything else is repeated. So LLVM gets what its passes would have made of it.
#include "compiler/lower/TileToRocdl/Lowering.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"

namespace attune {
using namespace mlir;

namespace {

/// Each comparison of positions takes a pair of scalar registers. Left alone, the scheduler
/// computes the masks of all elements first and spills; so elements are taken a few at a time and
/// nothing moves from one group to another. Long bodies are cut up too: the backend's schedulers
/// take more than linear time over what they may reorder (47 % of the time of llc -time-passes on
/// specs/composed.attn, 20 % with the cuts).
constexpr int64_t kElementsAtOnce = 2;
constexpr size_t kLongBody = 12;

/// The body of one map, register by register.
class Expansion {
public:
  Expansion(const RocdlBuilder &b, tile::MapOp map, ArrayRef<SmallVector<Value>> inputs)
      : b_(b), body_(map.getBody().front()), inputs_(inputs),
        type_(cast<tile::FragType>(map.getResult().getType())) {
    Value lane = b.lane();
    const layout::LinearLayout &layout = type_.layout();
    laneRow_ = b.apply(layout, "lane", lane, "row");
    laneCol_ = b.apply(layout, "lane", lane, "col");
    for (auto [arg, in] : llvm::zip(body_.getArguments(), inputs))
      if (in.size() == 1) // a stat has one register, shared by all rows
        once_.map(arg, in[0]);
    lines_[rowArg()] = {laneRow_, Value(), 1};
    if (llvm::none_of(llvm::seq(layout.inBits("register")),
                      [&](int bit) { return layout.basis("register", bit, "col"); }))
      once_.map(colArg(), laneCol_);
    for (Operation &op : body_.without_terminator())
      classify(op);
  }

  SmallVector<Value> results() {
    SmallVector<Value> all;
    const bool cutUp = repeated_.size() > kLongBody ||
                       llvm::any_of(repeated_, [](Operation *op) { return isa<LLVM::ICmpOp>(op); });
    for (int64_t r = 0; r < type_.registers(); ++r) {
      if (cutUp && r && r % kElementsAtOnce == 0)
        ROCDL::SchedBarrier::create(b_.b, b_.loc, kNothingAcross);
      all.push_back(resultOf(uint32_t(r)));
    }
    return all;
  }

private:
  /// first + (row of the register) * factor (* step, if there is one). Arithmetic wraps around, so
  /// this is exact for sums and products.
  struct Line {
    Value first, step;
    int64_t factor;
  };

  BlockArgument rowArg() const { return body_.getArgument(inputs_.size()); }
  BlockArgument colArg() const { return body_.getArgument(inputs_.size() + 1); }

  /// The value that `v` has for all registers, or null.
  Value onceOf(Value v) const { return v.getParentBlock() == &body_ ? once_.lookupOrNull(v) : v; }

  void classify(Operation &op) {
    if (llvm::all_of(op.getOperands(), [&](Value v) { return bool(onceOf(v)); })) {
      b_.b.clone(op, once_);
      return;
    }
    if (std::optional<Line> line = lineOf(op)) {
      if (line->factor)
        lines_[op.getResult(0)] = *line;
      else
        once_.map(op.getResult(0), line->first);
      return;
    }
    if (Value limit = limitOf(op))
      limits_[&op] = limit;
    repeated_.push_back(&op);
  }

  std::optional<Line> lineOf(Operation &op) const {
    if (!isa<LLVM::AddOp, LLVM::SubOp, LLVM::MulOp, LLVM::ShlOp>(op))
      return std::nullopt;
    auto find = [&](Value v) { // a value that is the same in all rows is a line too
      auto it = lines_.find(v);
      return it != lines_.end() ? it->second : Line{onceOf(v), Value(), 0};
    };
    Line x = find(op.getOperand(0)), y = find(op.getOperand(1));
    if (!x.first || !y.first)
      return std::nullopt;
    if (isa<LLVM::MulOp, LLVM::ShlOp>(op))
      return product(op, x.factor ? x : y, x.factor ? y : x);
    if (x.factor && y.factor && x.step != y.step)
      return std::nullopt;
    const bool add = isa<LLVM::AddOp>(op);
    Value first = add ? b_.add(x.first, y.first)
                      : LLVM::SubOp::create(b_.b, b_.loc, x.first, y.first).getResult();
    return Line{first, x.factor ? x.step : y.step, x.factor + (add ? y.factor : -y.factor)};
  }

  std::optional<Line> product(Operation &op, const Line &line, const Line &by) const {
    llvm::APInt constant;
    const bool known = matchPattern(by.first, m_ConstantInt(&constant));
    if (by.factor || (isa<LLVM::ShlOp>(op) && (!known || op.getOperand(0) == by.first)))
      return std::nullopt;
    if (known) {
      int64_t c = constant.getSExtValue();
      c = isa<LLVM::ShlOp>(op) ? int64_t(1) << (c & 31) : c;
      return Line{b_.mul(line.first, b_.i32(c)), line.step, int64_t(int32_t(line.factor * c))};
    }
    Value step = line.step ? b_.mul(line.step, by.first) : by.first;
    return Line{b_.mul(line.first, by.first), step, line.factor};
  }

  /// Comparisons of the row with something that is the same in all rows: what the part of the row
  /// that the register gives is to be compared with, so that only a constant differs by register.
  /// The difference may saturate; rows are few.
  Value limitOf(Operation &op) const {
    using P = LLVM::ICmpPredicate;
    auto compare = dyn_cast<LLVM::ICmpOp>(op);
    if (!compare || compare.getLhs() != rowArg() || !onceOf(compare.getRhs()) ||
        !llvm::is_contained({P::sge, P::sgt, P::sle, P::slt}, compare.getPredicate()))
      return Value();
    return LLVM::SSubSat::create(b_.b, b_.loc, onceOf(compare.getRhs()), laneRow_);
  }

  /// A line at the register's row: a constant further than the first, or a step further than at the
  /// register before, since the distances between neighbours are few.
  Value at(Value v, const Line &line, int64_t row) {
    if (!line.step)
      return b_.addConst(line.first, int32_t(row * line.factor));
    auto [last, isNew] = last_.try_emplace(v, line.first, 0);
    auto &[value, at] = last->second;
    if (int64_t distance = (row - at) * line.factor) {
      Value &step = steps_[{line.step, distance}];
      if (!step)
        step = b_.mul(line.step, b_.i32(distance));
      value = b_.add(value, step);
      at = row;
    }
    return value;
  }

  Value resultOf(uint32_t r) {
    const int64_t row = type_.layout().at("row", {{"register", r}});
    IRMapping mapping(once_);
    for (auto [arg, in] : llvm::zip(body_.getArguments(), inputs_))
      if (in.size() > 1)
        mapping.map(arg, in[r]);
    if (!once_.contains(colArg()))
      mapping.map(colArg(), b_.addConst(laneCol_, type_.layout().at("col", {{"register", r}})));
    auto place = [&](Value v) {
      if (auto line = lines_.find(v); line != lines_.end() && !mapping.contains(v))
        mapping.map(v, at(v, line->second, row));
    };
    for (Operation *op : repeated_) {
      if (Value limit = limits_.lookup(op)) {
        auto predicate = cast<LLVM::ICmpOp>(op).getPredicate();
        mapping.map(op->getResult(0),
                    LLVM::ICmpOp::create(b_.b, b_.loc, predicate, b_.i32(row), limit));
        continue;
      }
      for (Value v : op->getOperands())
        place(v);
      b_.b.clone(*op, mapping);
    }
    Value result = cast<tile::YieldOp>(body_.getTerminator()).getValue();
    place(result);
    return mapping.lookupOrDefault(result);
  }

  const RocdlBuilder &b_;
  Block &body_;
  ArrayRef<SmallVector<Value>> inputs_;
  tile::FragType type_;
  Value laneRow_, laneCol_;
  IRMapping once_;
  DenseMap<Value, Line> lines_;
  DenseMap<Operation *, Value> limits_;
  SmallVector<Operation *> repeated_;
  DenseMap<Value, std::pair<Value, int64_t>> last_; ///< a line's latest value, and its row
  DenseMap<std::pair<Value, int64_t>, Value> steps_;
};

struct MapPattern : TilePattern<tile::MapOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::MapOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    if (takesWholeGroups(op)) {
      rw.replaceOpWithMultiple(op, {wholeGroups(op, adaptor, rw)});
      return success();
    }
    RocdlBuilder b{rw, op.getLoc()};
    SmallVector<SmallVector<Value>> inputs;
    for (ValueRange groups : adaptor.getInputs())
      inputs.push_back(b.elements(groups));
    auto type = cast<tile::FragType>(op.getResult().getType());
    rw.replaceOpWithMultiple(op, {b.groups(type, Expansion(b, op, inputs).results())});
    return success();
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
    Value none = LLVM::PoisonOp::create(rw, loc, vector);
    Value one = LLVM::InsertElementOp::create(rw, loc, none, scalar, b.i32(0));
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

} // namespace

void populateMapPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                         const LdsContext &lds) {
  patterns.add<MapPattern>(types, patterns.getContext(), lds);
}

} // namespace attune
