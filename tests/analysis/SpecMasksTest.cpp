// Masks as people write them: the built-ins, the library in specs/lib and every file in specs, from
// text to intervals. The mask's own ops, run by a small interpreter on tensors that count upwards,
// say what is visible.
#include "compiler/analysis/MaskBounds.h"
#include "compiler/lower/SpecToAttn.h"
#include "compiler/spec/Spec.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"
#include <catch2/catch.hpp>
#include <regex>

using namespace mlir;
using namespace attune;

namespace {

struct Shape {
  int64_t qLen = 1, kvLen = 1;
  int64_t ctx() const { return kvLen - qLen; }
};

/// Runs the ops of a mask region.
class Interpreter {
public:
  Interpreter(attn::KernelOp kernel, Shape shape) : body_(kernel.maskBody()), shape_(shape) {}

  bool visible(int64_t q, int64_t k) {
    if (!body_)
      return true;
    run(q, k);
    return values_.lookup(body_->getTerminator()->getOperand(0)) != 0;
  }
  int64_t uniform(Value value) {
    run(0, 0);
    return values_.lookup(value);
  }

private:
  void run(int64_t q, int64_t k) {
    int64_t args[] = {0, 5, 1, q, k, q - shape_.ctx(), shape_.ctx(), shape_.qLen, shape_.kvLen};
    for (BlockArgument arg : body_->getArguments())
      values_[arg] = args[arg.getArgNumber()];
    for (Operation &op : body_->without_terminator())
      values_[op.getResult(0)] = step(op);
  }

  int64_t step(Operation &op) {
    auto v = [&](int i) { return values_.lookup(op.getOperand(i)); };
    return TypeSwitch<Operation *, int64_t>(&op)
        .Case([&](arith::ConstantOp o) {
          auto whole = cast<IntegerAttr>(o.getValue());
          return whole.getType().isInteger(1) ? whole.getValue().getZExtValue() : whole.getInt();
        })
        .Case([&](attn::ReadOp o) {
          return 3 + v(o.getNumOperands() - 1) / 6;
        }) // documents of six tokens
        .Case<attn::ScalarOp>([&](auto) { return 7; })
        .Case<arith::AddIOp>([&](auto) { return v(0) + v(1); })
        .Case<arith::SubIOp>([&](auto) { return v(0) - v(1); })
        .Case<arith::MulIOp>([&](auto) { return v(0) * v(1); })
        .Case<arith::AndIOp>([&](auto) { return v(0) & v(1); })
        .Case<arith::OrIOp>([&](auto) { return v(0) | v(1); })
        .Case<arith::XOrIOp>([&](auto) { return v(0) ^ v(1); })
        .Case<arith::MinSIOp>([&](auto) { return std::min(v(0), v(1)); })
        .Case<arith::MaxSIOp>([&](auto) { return std::max(v(0), v(1)); })
        .Case<arith::FloorDivSIOp>([&](auto) { return llvm::divideFloorSigned(v(0), v(1)); })
        .Case<arith::RemSIOp>([&](auto) { return v(0) % v(1); })
        .Case<arith::SelectOp>([&](auto) { return v(0) ? v(1) : v(2); })
        .Case([&](arith::CmpIOp o) {
          bool isBool = o.getLhs().getType().isInteger(1);
          return arith::applyCmpPredicate(o.getPredicate(),
                                          llvm::APInt(64, isBool ? v(0) & 1 : v(0), true),
                                          llvm::APInt(64, isBool ? v(1) & 1 : v(1), true));
        })
        .Default([&](Operation *o) {
          FAIL("no rule for " << o->getName().getStringRef().str());
          return 0;
        });
  }

  mlir::Block *body_;
  Shape shape_;
  llvm::DenseMap<Value, int64_t> values_;
};

struct Fixture {
  MLIRContext context{MLIRContext::Threading::DISABLED};
  OwningOpRef<ModuleOp> module;
  Fixture() { context.loadDialect<attn::AttnDialect, arith::ArithDialect, math::MathDialect>(); }

  attn::KernelOp build(const Result<spec::Model> &model) {
    if (!model)
      FAIL(model.error().message);
    module = buildAttn(context, *model);
    return *module->getOps<attn::KernelOp>().begin();
  }
  /// Declares what the mask names; the language refuses a tensor that nobody reads.
  attn::KernelOp buildMask(const std::string &mask) {
    std::string declarations;
    for (const char *line : {"tensor doc : i32[tokens]", "tensor end : i32[tokens]",
                             "tensor n : i32[batch]", "scalar w : i32"}) {
      std::string name = StringRef(line).split(' ').second.split(' ').first.str();
      if (std::regex_search(mask, std::regex("\\b" + name + "\\b")))
        declarations += std::string("  ") + line + "\n";
    }
    return build(spec::parseSpec(
        "import \"masks.attn\"\nattention t {\n  q, kv : bf16[tokens, 8 / 2, 64]\n  out : bf16\n" +
            declarations + "  mask = " + mask + "\n}\n",
        spec::Options{}));
  }
};

std::string text(const analysis::MaskBounds &bounds) {
  std::string text;
  for (const analysis::VisibleInterval &i : bounds.intervals)
    text += "[" + i.anyLo.str() + ", " + i.anyHi.str() + "] ";
  return text + (bounds.exact ? "exact" : "not exact: " + bounds.unanalysed);
}

/// No tile may be called empty or full that is not; if the bounds are exact, the classes must be
/// equal.
void checkTiles(attn::KernelOp kernel, const analysis::MaskBounds &bounds, Shape shape, int64_t q0,
                int64_t q1, int64_t tile) {
  Interpreter mask(kernel, shape);
  auto value = [&](const analysis::Bound &b) {
    return analysis::evaluate(b, q0, q1, shape.kvLen, [&](Value v) { return mask.uniform(v); });
  };
  for (int64_t key = 0; key < shape.kvLen; key += tile) {
    bool any = false, all = key + tile <= shape.kvLen, claimsAny = false, claimsAll = false;
    for (int64_t q = q0; q <= q1; ++q)
      for (int64_t k = key; k < std::min(key + tile, shape.kvLen); ++k) {
        bool visible = mask.visible(q, k);
        any |= visible;
        all &= visible;
      }
    for (const analysis::VisibleInterval &i : bounds.intervals) {
      claimsAny |= std::max(value(i.anyLo), key) <= std::min(value(i.anyHi), key + tile - 1);
      claimsAll |= value(i.allLo) <= key && key + tile - 1 <= value(i.allHi);
    }
    INFO("key " << key << " tile " << tile << " q " << q0 << ".." << q1 << " kv_len " << shape.kvLen
                << " q_len " << shape.qLen);
    if ((any && !claimsAny) || (claimsAll && !all) ||
        (bounds.exact && (any != claimsAny || all != claimsAll)))
      FAIL(text(bounds));
  }
}

void checkSmallShapes(attn::KernelOp kernel) {
  analysis::MaskBounds bounds = analysis::analyzeMask(kernel);
  for (Shape shape : {Shape{1, 1}, Shape{1, 23}, Shape{9, 9}, Shape{20, 13}, Shape{13, 27}})
    for (int64_t q0 = shape.ctx(); q0 < shape.kvLen; q0 += 3)
      for (int64_t tile : {1, 4, 7})
        checkTiles(kernel, bounds, shape, q0, std::min(q0 + 4, shape.kvLen - 1), tile);
}

/// What the hull of each interval must read like, and what keeps the bounds from being exact.
struct Row {
  const char *mask, *bounds;
};

} // namespace

TEST_CASE_METHOD(Fixture, "masks of the library") {
  const Row rows[] = {
      {"causal", "[0, min(q1, kv_len - 1)] exact"},
      {"attention_sink(4, 9)",
       "[0, min(q1, kv_len - 1, 3)] [max(q0 - 8, 0), min(q1, kv_len - 1)] exact"},
      {"block_causal(4)", "[0, min(kv_len - 1, 4 * (q1 / 4) + 3)] exact"},
      {"dilated_window(3, 2)", "[max(q0 - 5, 0), min(q1, kv_len - 1)] not exact: (q - k) % 2 == 0"},
      {"global_window(2, 3)", "[0, max(min(kv_len - 1, (min(q1, 1) - q0 >= 0 ? inf : -1)), "
                              "min(kv_len - 1, 1))] [max(q0 - 3, 0), min(q1 + 3, kv_len - 1)] not "
                              "exact: keys that rows see by different parts of the mask"},
      {"left_padding(n)", "[max(n[b], 0), kv_len - 1] exact"},
      {"natten_1d(3)",
       "[max(min(q0 - 3, kv_len - 7), 0), min(kv_len - 1, max(min(q1 + 3, kv_len - 1), 6))] exact"},
      {"natten_2d(5, 1)", "[max(min(5 * (kv_len / 5) - 15, 5 * (q0 / 5) - 5), 0), min(kv_len - 1, "
                          "max(min(5 * (kv_len / 5) - 1, 5 * (q1 / 5) + 9), 14))] not exact: k % 5 "
                          "<= max(min(q % 5, 3), 1) + 1; max(min(q % 5, 3), 1) - 1 <= k % 5"},
      {"prefix_lm(n)", "[0, min(kv_len - 1, max(q1, n[b] - 1))] exact"},
      {"right_padding(n) && causal", "[0, min(q1, kv_len - 1, n[b] - 1)] exact"},
      {"shared_prefix(6, doc)", "[0, min(q1, kv_len - 1)] not exact: doc[k] == doc[q]"},
      {"sliding_tile_2d(6, 2, 2, 1, 1)",
       "[max(12 * ((q0 / 6) / 2) - 12, 0), min(kv_len - 1, 12 * ((q1 / 6) / 2) + 23)] not exact: "
       "max(q % 6 / 2 - k % 6 / 2, 0 - (q % 6 / 2 - k % 6 / 2)) <= 1"},
      {"tree_interval(doc, end)", "[0, kv_len - 1] not exact: doc[k] <= doc[q]; end[q] <= end[k]"},
      {"block_diffusion(4, 12)",
       "[0, min(kv_len - 1, (min(q1, 11) - q0 >= 0 ? inf : -1), 11)] [12, max(min(kv_len - 1, "
       "(min(q1, 11) - q0 >= 0 ? inf : -1)), min(kv_len - 1, (q1 - max(q0, 12) >= 0 ? inf : -1)))] "
       "not exact: k % 12 / 4 < q % 12 / 4; k % 12 / 4 <= q % 12 / 4; k % 12 / 4 == q % 12 / 4; "
       "keys that rows see by different parts of the mask"},
      {"causal_document(doc)", "[0, min(q1, kv_len - 1)] not exact: doc[k] == doc[q]"},
      {"tree(doc)",
       "[0, kv_len - 1] not exact: doc[doc[doc[doc[doc[doc[doc[doc[q]]]]]]]] == k; "
       "doc[doc[doc[doc[doc[doc[doc[q]]]]]]] == k; doc[doc[doc[doc[doc[doc[q]]]]]] == k; "
       "doc[doc[doc[doc[doc[q]]]]] == k; doc[doc[doc[doc[q]]]] == k; doc[doc[doc[q]]] == k; "
       "doc[doc[q]] == k; doc[q] == k; keys that rows see by different parts of the mask"},
      {"causal && (q - k) % w == 0", "[0, min(q1, kv_len - 1)] not exact: (q - k) % w == 0"},
      {"prefix_document(doc, end)", "[0, kv_len - 1] not exact: doc[k] == doc[q]; k < end[q]"},
      {"window(w)", "[max(q0 - w + 1, 0), min(q1, kv_len - 1, (w - 1 >= 0 ? inf : -1))] exact"},
      {"window(w, 2)", "[max(q0 - min(1073741824, w), 0), min(q1 + 2, kv_len - 1, (min("
                       "1073741824, w) + 2 >= 0 ? inf : -1))] exact"},
      {"window(2147483647)", "[max(q0 - 2147483647 + 1, 0), min(q1, kv_len - 1, (2147483647 - 1 >= "
                             "0 ? inf : -1))] exact"},
      {"h < 4 || window(5)",
       "[0, min(kv_len - 1, (h < 4 ? inf : -1))] [max(q0 - 4, 0), min(q1, kv_len - 1)] exact"},
  };
  for (const Row &row : rows) {
    INFO(row.mask);
    attn::KernelOp kernel = buildMask(row.mask);
    CHECK(text(analysis::analyzeMask(kernel)) == row.bounds);
    checkSmallShapes(kernel);
  }
}

TEST_CASE_METHOD(Fixture, "every spec") {
  const Row rows[] = {
      {"bloom_alibi", "[0, min(q1, kv_len - 1)] exact"},
      {"causal_gqa", "[0, min(q1, kv_len - 1)] exact"},
      {"composed", "[0, min(q1, kv_len - 1, 3)] [max(q0 - select(h % 2 == 0, 512, 64) + 1, 0), "
                   "min(q1, kv_len - 1, (select(h % 2 == 0, 512, 64) - 1 >= 0 ? inf : -1))] exact"},
      {"gemma2_softcap", "[max(q0 - 4095, 0), min(q1, kv_len - 1)] exact"},
      {"gpt_oss", "[max(q0 - 127, 0), min(q1, kv_len - 1)] exact"},
      {"llama4_chunked", "[max(8192 * (q0 / 8192), 0), min(q1, kv_len - 1)] exact"},
      {"longformer", "[0, max(min(kv_len - 1, 0), min(kv_len - 1, (min(q1, 0) - q0 >= 0 ? inf : "
                     "-1)))] [max(q0 - 256, 0), min(q1 + 256, kv_len - 1)] not exact: keys that "
                     "rows see by different parts of the mask"},
      {"mha_d64", "[0, min(q1, kv_len - 1)] exact"},
      {"mistral_window", "[max(q0 - 4095, 0), min(q1, kv_len - 1)] exact"},
      {"packed_docs", "[0, min(q1, kv_len - 1)] not exact: doc[k] == doc[q]"},
      {"prefix_lm", "[0, min(kv_len - 1, max(q1, n[b] - 1))] exact"},
      {"t5_bias", "[0, kv_len - 1] exact"},
      {"user_bias", "[0, kv_len - 1] exact"},
      {"vit", "[0, kv_len - 1] exact"},
  };
  for (const Row &row : rows) {
    INFO(row.mask);
    spec::Options options;
    attn::KernelOp kernel =
        build(spec::parseSpecFile(std::string(ATTUNE_SPECS_DIR "/") + row.mask + ".attn", options));
    CHECK(text(analysis::analyzeMask(kernel)) == row.bounds);
  }
}
