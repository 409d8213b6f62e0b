// From spec text to values: masks and scores are built as attn IR and then computed by MLIR's own
// constant folding.
#include "compiler/lower/SpecToAttn.h"
#include "compiler/dialect/attn/AttnOps.h"
#include "compiler/spec/Spec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace mlir;
using namespace attune;

namespace {

struct Inputs {
  double s = 0;
  int b = 0, h = 0, hk = 0, q = 0, k = 0, qi = 0, ctx = 0, qLen = 0, kvLen = 0;
};

struct Fixture {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  Fixture() { context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>(); }

  attn::KernelOp build(const std::string &fields) {
    std::string text =
        "attention t {\n  q, kv : bf16[batch, seq, 8 / 2, 64]\n  out : bf16\n" + fields + "\n}\n";
    Result<spec::Model> model = spec::parseSpec(text, spec::Options{});
    INFO(text << (model ? std::string() : model.error().message));
    REQUIRE(model);
    module = buildAttn(context, *model);
    REQUIRE(succeeded(verify(*module)));
    return *module->getOps<attn::KernelOp>().begin();
  }

  Attribute fold(Block *body, const Inputs &in) {
    Builder b(&context);
    SmallVector<Attribute> args;
    if (body->getNumArguments() == attn::kNumScoreArgs)
      args.push_back(b.getF32FloatAttr(static_cast<float>(in.s)));
    for (int v : {in.b, in.h, in.hk, in.q, in.k, in.qi, in.ctx, in.qLen, in.kvLen})
      args.push_back(b.getI32IntegerAttr(v));
    llvm::DenseMap<Value, Attribute> known;
    for (auto [arg, value] : llvm::zip(body->getArguments(), args))
      known[arg] = value;
    for (Operation &op : body->without_terminator()) {
      SmallVector<Attribute> operands;
      for (Value v : op.getOperands())
        operands.push_back(known.lookup(v));
      SmallVector<OpFoldResult> results;
      INFO(op.getName().getStringRef().str());
      REQUIRE(succeeded(op.fold(operands, results)));
      OpFoldResult result = results.front();
      auto attr = dyn_cast<Attribute>(result);
      known[op.getResult(0)] = attr ? attr : known.lookup(cast<Value>(result));
    }
    return known.lookup(body->getTerminator()->getOperand(0));
  }

  bool mask(const std::string &mask, const Inputs &in) {
    return !cast<IntegerAttr>(fold(build("  mask = " + mask).maskBody(), in)).getValue().isZero();
  }
  double score(const std::string &score, const Inputs &in) {
    return cast<FloatAttr>(fold(build("  score = " + score).scoreBody(), in)).getValueAsDouble();
  }
  std::string print() {
    std::string text;
    llvm::raw_string_ostream os(text);
    module->print(os);
    return text;
  }
  int64_t count(StringRef op) {
    int64_t n = 0;
    module->walk([&](Operation *o) { n += o->getName().getStringRef() == op; });
    return n;
  }
};

} // namespace

TEST_CASE_METHOD(Fixture, "i32 division and remainder round to minus infinity") {
  for (int q : {-7, -6, -1, 0, 1, 5, 6, 7})
    for (int n : {-4, -3, -1, 1, 3, 4}) {
      INFO(q << " over " << n);
      int quotient = static_cast<int>(std::floor(static_cast<double>(q) / n));
      std::string divisor = "(" + std::to_string(n) + ")";
      Inputs in{.q = q, .k = quotient, .ctx = n, .kvLen = q - n * quotient};
      CHECK(mask("q / " + divisor + " == k", in));
      CHECK(mask("q / ctx == k", in));
      CHECK(mask("q % " + divisor + " == kv_len && k == k", in));
      CHECK(mask("q % ctx == kv_len && k == k", in));
    }
}

TEST_CASE_METHOD(Fixture, "operations without a value have some value") {
  Inputs in{.q = 9, .k = 40, .ctx = 0};
  CHECK_FALSE(mask("ctx != 0 && q % ctx == k", in));
  CHECK_FALSE(mask("ctx != 0 && q / ctx == k", in));
  CHECK(mask("(q << k) == (q << (k & 31))", in));
  CHECK(mask("(q >> k) == (q >> (k & 31))", in));
  // i32 of a number that it does not hold: the lowering saturates, tests/e2e/NumbersTest.cpp.
}

TEST_CASE_METHOD(Fixture, "conversions") {
  Inputs in{.q = -5, .k = -2};
  CHECK(mask("i32(f32(q) / 2.0) == k", in)); // toward zero
  CHECK(mask("i32(q < k) == 1", in));
  CHECK(score("s + f32(q < k)", {.s = 2, .q = 0, .k = 1}) == 3);
}

TEST_CASE_METHOD(Fixture, "scores compute what they say") {
  Inputs in{.s = 1.5, .h = 3, .hk = 0, .q = 10, .k = 4};
  CHECK(score("softcap(s, 20.0)", in) == Approx(20 * std::tanh(1.5 / 20)));
  CHECK(score("s - 0.25 * f32(q - k)", in) == Approx(0));
  CHECK(score("sigmoid(s) * abs(-s)", in) == Approx(1.5 / (1 + std::exp(-1.5))));
  CHECK(score("max(s, 2.0) + min(s, 1.0)", in) == 3);
  CHECK(score("select(h == 3, log2(8.0 * s / s), s)", in) == Approx(3));
  CHECK(score("-3.5 % (s + 0.5)", in) == Approx(0.5));
  CHECK(score("s + exp(0.0 * s) + floor(s) + ceil(s)", in) == Approx(5.5));
}

TEST_CASE_METHOD(Fixture, "logic") {
  for (int q : {0, 1})
    for (int k : {0, 1}) {
      Inputs in{.q = q, .k = k};
      CHECK(mask("(q == 1) ^ (k == 1)", in) == (q != k));
      CHECK(mask("!(q == 1) || k == 1", in) == (!q || k));
      CHECK(mask("(q == 1) == (k == 1)", in) == (q == k));
    }
}

TEST_CASE_METHOD(Fixture, "a shared part is emitted once") {
  build("  mask = causal && window(8) && (causal || prefix(3))\n  score = s * f32(q - k) + "
        "exp(f32(q - k))");
  CHECK(count("arith.cmpi") == 3); // k <= q, k > q - 8, k < 3
  CHECK(count("arith.sitofp") == 1);
  build("  scalar n : i32\n  mask = q / n == k / n && q % n >= k % n && q / 6 != k % 6");
  CHECK(count("arith.floordivsi") == 4); // q / n, k / n, q / 6, k / 6
}

TEST_CASE_METHOD(Fixture, "the same spec gives the same text") {
  const char *fields = "  tensor doc : i32[batch, k]\n  scalar cap : f32\n"
                       "  score = cap * tanh(s / cap)\n  mask = causal && doc[b, q] == doc[b, k]";
  build(fields);
  std::string first = print();
  build(fields);
  CHECK(print() == first);
  OwningOpRef<ModuleOp> again = parseSourceString<ModuleOp>(first, &context);
  REQUIRE(again);
}

TEST_CASE_METHOD(Fixture, "the scale is a number, or a factor of the score") {
  attn::KernelOp kernel = build("  mask = causal");
  CHECK(kernel.getScale().convertToDouble() == 0.125);
  CHECK(kernel.scoreBody() == nullptr);
  kernel = build("  scalar temperature : f32\n  scale = 1 / temperature\n  score = s + 1.0");
  CHECK(kernel.getScale().convertToDouble() == 1);
  auto logit = kernel.scoreBody()->getArgument(0);
  REQUIRE(logit.hasOneUse());
  CHECK(isa<arith::MulFOp>(*logit.getUsers().begin()));
}

TEST_CASE_METHOD(Fixture, "locations point into the spec") {
  attn::KernelOp kernel = build("  mask = causal\n");
  auto loc = dyn_cast<FileLineColLoc>(kernel.maskBody()->getTerminator()->getLoc());
  REQUIRE(loc);
  CHECK(loc.getFilename() == "<spec>");
  CHECK(loc.getLine() == 4);
  CHECK(cast<FileLineColLoc>(kernel.getLoc()).getLine() == 1);
}
