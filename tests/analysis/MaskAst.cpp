// Evaluation, construction as IR, and random generation of masks.
#include "tests/analysis/MaskAst.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

namespace attune::test {
using namespace mlir;

Mask leaf(Kind op, int64_t number) { return std::make_shared<const Node>(Node{op, number, {}}); }
Mask node(Kind op, std::vector<Mask> args) {
  return std::make_shared<const Node>(Node{op, 0, std::move(args)});
}

int64_t pick(Random &random, int64_t least, int64_t greatest) {
  return std::uniform_int_distribution<int64_t>(least, greatest)(random);
}

//===-- evaluation
//---------------------------------------------------------------------------------------===//

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return quotient * b > a ? quotient - 1 : quotient; // divisors here are positive
}

int64_t evaluate(const Node &n, const World &w, int64_t q, int64_t k) {
  auto arg = [&](int i) { return evaluate(*n.args[i], w, q, k); };
  switch (n.op) {
  case Kind::Q:
    return q;
  case Kind::K:
    return k;
  case Kind::QI:
    return q - w.ctx();
  case Kind::B:
    return w.b;
  case Kind::H:
    return w.h;
  case Kind::Ctx:
    return w.ctx();
  case Kind::QLen:
    return w.qLen;
  case Kind::KvLen:
    return w.kvLen;
  case Kind::Const:
    return n.number;
  case Kind::Scalar:
    return w.scalars[n.number];
  case Kind::PerBatch:
    return w.perBatch[w.b];
  case Kind::PerToken:
    return w.perToken[std::clamp<int64_t>(arg(0), 0, w.perToken.size() - 1)];
  case Kind::True:
    return 1;
  case Kind::False:
    return 0;
  case Kind::Add:
    return arg(0) + arg(1);
  case Kind::Sub:
    return arg(0) - arg(1);
  case Kind::Times:
    return arg(0) * arg(1);
  case Kind::FloorDiv:
    return floorDivide(arg(0), arg(1));
  case Kind::Min:
    return std::min(arg(0), arg(1));
  case Kind::Max:
    return std::max(arg(0), arg(1));
  case Kind::Choose:
  case Kind::If:
    return arg(0) ? arg(1) : arg(2);
  case Kind::Eq:
    return arg(0) == arg(1);
  case Kind::Ne:
    return arg(0) != arg(1);
  case Kind::Lt:
    return arg(0) < arg(1);
  case Kind::Le:
    return arg(0) <= arg(1);
  case Kind::Gt:
    return arg(0) > arg(1);
  case Kind::Ge:
    return arg(0) >= arg(1);
  case Kind::And:
    return arg(0) && arg(1);
  case Kind::Or:
    return arg(0) || arg(1);
  case Kind::Xor:
    return arg(0) != arg(1);
  case Kind::Not:
    return !arg(0);
  }
  return 0;
}

//===-- construction
//-------------------------------------------------------------------------------------===//

namespace {

struct Emitter {
  OpBuilder b;
  Block *body;
  llvm::DenseMap<Value, Mask> &origin;
  Location loc = b.getUnknownLoc();

  Value emit(const Mask &mask) {
    SmallVector<Value> args;
    for (const Mask &arg : mask->args)
      args.push_back(emit(arg));
    Value value = make(*mask, args);
    origin[value] = mask;
    return value;
  }

  Value argument(attn::BodyArg arg) { return attn::maskArg(body, arg); }
  Value compare(arith::CmpIPredicate p, ValueRange v) {
    return arith::CmpIOp::create(b, loc, p, v[0], v[1]);
  }
  Value boolean(bool value) { return arith::ConstantOp::create(b, loc, b.getBoolAttr(value)); }

  Value make(const Node &n, ValueRange v) {
    using enum arith::CmpIPredicate;
    switch (n.op) {
    case Kind::Q:
      return argument(attn::BodyArg::Q);
    case Kind::K:
      return argument(attn::BodyArg::K);
    case Kind::QI:
      return argument(attn::BodyArg::QI);
    case Kind::B:
      return argument(attn::BodyArg::B);
    case Kind::H:
      return argument(attn::BodyArg::H);
    case Kind::Ctx:
      return argument(attn::BodyArg::Ctx);
    case Kind::QLen:
      return argument(attn::BodyArg::QLen);
    case Kind::KvLen:
      return argument(attn::BodyArg::KvLen);
    case Kind::Const:
      return arith::ConstantOp::create(b, loc, b.getI32IntegerAttr(n.number));
    case Kind::Scalar:
      return attn::ScalarOp::create(b, loc, b.getI32Type(), "w" + std::to_string(n.number));
    case Kind::PerBatch:
      return attn::ReadOp::create(b, loc, b.getI32Type(), "lim", argument(attn::BodyArg::B));
    case Kind::PerToken:
      return attn::ReadOp::create(b, loc, b.getI32Type(), "doc", v[0]);
    case Kind::True:
      return boolean(true);
    case Kind::False:
      return boolean(false);
    case Kind::Add:
      return arith::AddIOp::create(b, loc, v[0], v[1]);
    case Kind::Sub:
      return arith::SubIOp::create(b, loc, v[0], v[1]);
    case Kind::Times:
      return arith::MulIOp::create(b, loc, v[0], v[1]);
    case Kind::FloorDiv:
      return arith::FloorDivSIOp::create(b, loc, v[0], v[1]);
    case Kind::Min:
      return arith::MinSIOp::create(b, loc, v[0], v[1]);
    case Kind::Max:
      return arith::MaxSIOp::create(b, loc, v[0], v[1]);
    case Kind::Choose:
    case Kind::If:
      return arith::SelectOp::create(b, loc, v[0], v[1], v[2]);
    case Kind::Eq:
      return compare(eq, v);
    case Kind::Ne:
      return compare(ne, v);
    case Kind::Lt:
      return compare(slt, v);
    case Kind::Le:
      return compare(sle, v);
    case Kind::Gt:
      return compare(sgt, v);
    case Kind::Ge:
      return compare(sge, v);
    case Kind::And:
      return arith::AndIOp::create(b, loc, v[0], v[1]);
    case Kind::Or:
      return arith::OrIOp::create(b, loc, v[0], v[1]);
    case Kind::Xor:
      return arith::XOrIOp::create(b, loc, v[0], v[1]);
    case Kind::Not:
      return arith::XOrIOp::create(b, loc, v[0], boolean(true));
    }
    return nullptr;
  }
};

ProblemShape problem() {
  ProblemShape p;
  p.specName = "mask";
  p.numQHeads = p.numKvHeads = 8;
  p.headDim = p.vHeadDim = 64;
  for (int i = 0; i < kScalars; ++i)
    p.scalars.push_back({"w" + std::to_string(i), DType::I32});
  return p;
}

} // namespace

attn::KernelOp buildKernel(ModuleOp module, const Mask &mask, llvm::DenseMap<Value, Mask> &origin) {
  MLIRContext *context = module.getContext();
  OpBuilder b = OpBuilder::atBlockEnd(module.getBody());
  auto i32 = b.getI32Type();
  auto capture = [&](StringRef name, StringRef dim) {
    return attn::CaptureAttr::get(context, name, i32, b.getStringAttr(dim),
                                  /*nondecreasing=*/false);
  };
  attn::CaptureAttr captures[] = {capture("lim", "batch"), capture("doc", "tokens")};
  auto kernel = attn::KernelOp::create(b, b.getUnknownLoc(), problem(), 1.0, captures);
  Block *body = kernel.addMaskBody();
  Emitter emitter{OpBuilder::atBlockEnd(body), body, origin};
  Value visible = emitter.emit(mask);
  attn::YieldOp::create(emitter.b, emitter.loc, visible);
  return kernel;
}

//===-- random masks
//-------------------------------------------------------------------------------------===//

namespace {

Mask uniformNumber(Random &r) {
  switch (pick(r, 0, 7)) {
  case 0:
    return leaf(Kind::Scalar, pick(r, 0, kScalars - 1));
  case 1:
    return leaf(Kind::PerBatch);
  case 2:
    return leaf(Kind::KvLen);
  case 3:
    return leaf(Kind::Ctx);
  case 4:
    return leaf(Kind::QLen);
  case 5:
    return node(Kind::Add, {leaf(Kind::Scalar, pick(r, 0, kScalars - 1)), lit(pick(r, -3, 3))});
  default:
    return lit(pick(r, -4, 24));
  }
}

Mask times(int64_t factor, Mask x) { return factor == 1 ? x : node(Kind::Times, {x, lit(factor)}); }

/// c * v, c * (v / n), (c * v + d) / n, or one of them bent by min or max.
Mask termOf(Random &r, Kind variable) {
  Mask v = leaf(variable);
  if (variable == Kind::Q && pick(r, 0, 3) == 0)
    v = node(Kind::Add, {leaf(Kind::QI), leaf(Kind::Ctx)});
  int64_t c = std::array<int64_t, 8>{1, 1, 1, 1, 1, 2, -1, 3}[pick(r, 0, 7)];
  Mask term = times(c, v);
  if (pick(r, 0, 3) == 0)
    term = node(Kind::FloorDiv, {node(Kind::Add, {term, lit(pick(r, -3, 3))}), lit(pick(r, 1, 5))});
  if (pick(r, 0, 11) == 0)
    term = node(pick(r, 0, 1) ? Kind::Min : Kind::Max, {term, uniformNumber(r)});
  if (pick(r, 0, 15) == 0)
    term = times(pick(r, 2, 4), term);
  return term;
}

Mask affine(Random &r) {
  Mask left = termOf(r, Kind::K), right = node(Kind::Add, {termOf(r, Kind::Q), uniformNumber(r)});
  switch (pick(r, 0, 7)) {
  case 0:
    right = uniformNumber(r);
    break;
  case 1:
    left = termOf(r, Kind::Q), right = uniformNumber(r);
    break;
  case 2:
    left = uniformNumber(r), right = uniformNumber(r);
    break;
  case 3:
    left = node(Kind::Sub, {left, right}), right = uniformNumber(r);
    break;
  default:
    break;
  }
  if (pick(r, 0, 9) == 0) {
    Mask condition = node(Kind::Lt, {leaf(Kind::H), lit(4)});
    right = node(Kind::Choose, {condition, right, uniformNumber(r)});
  }
  static constexpr Kind kCompare[] = {Kind::Le, Kind::Ge, Kind::Lt, Kind::Gt,
                                      Kind::Le, Kind::Ge, Kind::Eq, Kind::Ne};
  return node(kCompare[pick(r, 0, 7)], {left, right});
}

Mask atom(Random &r) {
  Mask q = leaf(Kind::Q), k = leaf(Kind::K);
  switch (pick(r, 0, 11)) {
  case 0:
  case 1:
    return node(Kind::Le, {k, q});
  case 2:
  case 3:
    return node(Kind::Gt, {k, node(Kind::Sub, {q, uniformNumber(r)})});
  case 4:
    return node(Kind::Lt, {k, uniformNumber(r)});
  case 5: {
    Mask n = lit(pick(r, 1, 6));
    return node(Kind::Eq, {node(Kind::FloorDiv, {q, n}), node(Kind::FloorDiv, {k, n})});
  }
  case 6:
    return node(Kind::Eq, {node(Kind::PerToken, {q}), node(Kind::PerToken, {k})});
  case 7:
    return node(Kind::Lt, {leaf(pick(r, 0, 1) ? Kind::H : Kind::B), lit(pick(r, 0, 4))});
  case 8:
    return pick(r, 0, 5) ? affine(r) : leaf(pick(r, 0, 1) ? Kind::True : Kind::False);
  default:
    return affine(r);
  }
}

} // namespace

Mask randomMask(Random &r, int depth) {
  if (depth == 0 || pick(r, 0, 5) == 0)
    return atom(r);
  auto sub = [&] { return randomMask(r, depth - 1); };
  switch (pick(r, 0, 9)) {
  case 0:
    return node(Kind::Not, {sub()});
  case 1:
    return node(Kind::Xor, {sub(), sub()});
  case 2:
    return node(Kind::If, {sub(), sub(), sub()});
  case 3:
  case 4:
  case 5:
    return node(Kind::Or, {sub(), sub()});
  default:
    return node(Kind::And, {sub(), sub()});
  }
}

} // namespace attune::test
