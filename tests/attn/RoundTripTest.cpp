// attn.kernel as text: what is printed parses back to the same, and what is wrong is named.
#include "compiler/dialect/attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include <catch2/catch.hpp>

using namespace mlir;
using namespace attune;

namespace {

struct Text {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  std::string errors;
  Text() { context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>(); }

  OwningOpRef<ModuleOp> parse(StringRef text) {
    ScopedDiagnosticHandler handler(&context, [&](Diagnostic &d) {
      errors += d.str() + "\n";
      return success();
    });
    return parseSourceString<ModuleOp>(text, &context);
  }
};

std::string print(ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream os(text);
  module.print(os);
  return text;
}

constexpr StringLiteral kFull = R"(
module {
  attn.kernel @packed q(varlen, heads = 32, dim = 128) kv(varlen, heads = 8, dim = 64)
      types(bf16 -> f32) scale(0.0883) lse(base2) sink
      captures [#attn.capture<"slope", bf16, ["heads"]>, #attn.capture<"doc", i32, ["tokens"], nondecreasing>]
      scalars [#attn.scalar<"cap", f32>] schedule {kv_tile = "64"}
      score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
    %slope = attn.read @slope[%h] : f32
    %cap = attn.scalar @cap : f32
    %x = arith.mulf %slope, %cap : f32
    %y = arith.addf %s, %x : f32
    attn.yield %y : f32
  } mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
    %dq = attn.read @doc[%q] : i32
    %dk = attn.read @doc[%k] : i32
    %same = arith.cmpi eq, %dq, %dk : i32
    attn.yield %same : i1
  }
}
)";

ProblemShape sampleProblem() {
  ProblemShape p;
  p.specName = "sample";
  p.qStorage = Storage::Varlen;
  p.dtype = DType::F16;
  p.outDtype = DType::BF16;
  p.numQHeads = 71;
  p.numKvHeads = 1;
  p.headDim = 64;
  p.vHeadDim = 128;
  p.lse = LseKind::Natural;
  p.hasSink = true;
  p.scalars = {{"w", DType::I32}};
  return p;
}

} // namespace

TEST_CASE("a kernel with every part round-trips") {
  Text t;
  OwningOpRef<ModuleOp> module = t.parse(kFull);
  INFO(t.errors);
  REQUIRE(module);
  std::string once = print(*module);
  OwningOpRef<ModuleOp> again = t.parse(once);
  INFO(once << t.errors);
  REQUIRE(again);
  CHECK(print(*again) == once);
  CHECK(once.find("score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {") !=
        std::string::npos);
  CHECK(once.find("mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {") != std::string::npos);
}

TEST_CASE("a kernel says its problem") {
  Text t;
  OwningOpRef<ModuleOp> module = t.parse(kFull);
  REQUIRE(module);
  auto kernel = *module->getOps<attn::KernelOp>().begin();
  ProblemShape p = kernel.problem();
  CHECK(p.specName == "packed");
  CHECK(p.qStorage == Storage::Varlen);
  CHECK(p.kvStorage == Storage::Varlen);
  CHECK(p.dtype == DType::BF16);
  CHECK(p.outDtype == DType::F32);
  CHECK(p.numQHeads == 32);
  CHECK(p.numKvHeads == 8);
  CHECK(p.headDim == 128);
  CHECK(p.vHeadDim == 64);
  CHECK(p.lse == LseKind::Base2);
  CHECK(p.hasSink);
  REQUIRE(p.tensors.size() == 2);
  CHECK(p.tensors[0].dtype == DType::BF16);
  CHECK(p.tensors[1].name == "doc");
  CHECK(p.tensors[1].dims == std::vector<std::string>{"tokens"});
  REQUIRE(p.scalars.size() == 1);
  CHECK(p.scalars[0].name == "cap");
  CHECK(kernel.capture("doc").getNondecreasing());
  CHECK_FALSE(kernel.capture("slope").getNondecreasing());
  CHECK_FALSE(kernel.capture("cap"));
  CHECK(kernel.scheduleKnobs() ==
        std::vector<std::pair<std::string, std::string>>{{"kv_tile", "64"}});
}

TEST_CASE("a kernel built from a problem gives the problem back") {
  Text t;
  OpBuilder b(&t.context);
  OwningOpRef<ModuleOp> module = ModuleOp::create(b.getUnknownLoc());
  b.setInsertionPointToEnd(module->getBody());
  auto kernel = attn::KernelOp::create(b, b.getUnknownLoc(), sampleProblem(), 0.125);
  Block *mask = kernel.addMaskBody();
  b.setInsertionPointToEnd(mask);
  Value visible = arith::CmpIOp::create(b, b.getUnknownLoc(), arith::CmpIPredicate::sle,
                                        attn::maskArg(mask, attn::BodyArg::K),
                                        attn::maskArg(mask, attn::BodyArg::Q));
  attn::YieldOp::create(b, b.getUnknownLoc(), visible);
  REQUIRE(succeeded(verify(*module)));
  ProblemShape p = kernel.problem();
  CHECK(p.specName == "sample");
  CHECK(p.qStorage == Storage::Varlen);
  CHECK(p.kvStorage == Storage::Dense);
  CHECK(p.dtype == DType::F16);
  CHECK(p.outDtype == DType::BF16);
  CHECK(p.numQHeads == 71);
  CHECK(p.lse == LseKind::Natural);
  CHECK(kernel.getScale().convertToDouble() == 0.125);
  CHECK(kernel.scoreBody() == nullptr);
  CHECK(kernel.maskBody() == mask);
  std::string text = print(*module);
  OwningOpRef<ModuleOp> again = t.parse(text);
  INFO(text << t.errors);
  REQUIRE(again);
  CHECK(print(*again) == text);
}
