// The oracle's built-ins against the language's: each is evaluated by the definition in
// Builtins.cpp and by the expansion that the checked spec carries for the compiler, on lengths that
// reach every corner. Neither side knows the other.
#include "compiler/spec/Builtins.h"
#include "compiler/spec/Spec.h"
#include "tests/oracle/ModelBuilder.h"
#include "tests/oracle/Oracle.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <set>

using namespace attune;
using namespace attune::oracle;

namespace {

struct Use {
  const char *builtin; ///< its row in Builtins.def
  const char *fields;
};
const Use uses[] = {
    {"alibi", "score = s + alibi(slope)\n tensor slope : f32[heads]"},
    {"causal", "mask = causal"},
    {"chunk", "mask = chunk(3)"},
    {"document", "mask = q >= 0 && document(doc)\n tensor doc : i32[tokens]"},
    {"prefix", "mask = causal || prefix(n[b])\n tensor n : i32[batch]"},
    {"softcap", "score = softcap(s, 0.75)"},
    {"window", "mask = window(3)"},
    {"window", "mask = window(2, 1)"},
};

spec::Model modelOf(const std::string &fields) {
  auto model = spec::parseSpec("attention t {\n q, kv : bf16[tokens, 4 / 2, 64]\n " + fields +
                                   "\n lse : f32 natural\n}\n",
                               {});
  if (!model)
    FAIL(model.error().message);
  return std::move(*model);
}

/// Values that repeat at no small period, about as large as N(0, 1).
double wave(int64_t i) { return 1.4 * std::sin(1.7 * static_cast<double>(i)); }

HostTensor waves(DType dtype, Shape shape, int64_t start) {
  HostTensor t = HostTensor::packed(dtype, std::move(shape));
  int64_t i = start;
  forEachIndex(t.shape, [&](Index index) { t.set(index, wave(++i)); });
  return t;
}

/// q_lens 5, 0, 7, 3 and kv_lens 9, 3, 4, 0: context, no query, more queries than keys, no key.
HostCall cornerCall() {
  HostCall call;
  call.q = waves(DType::BF16, {15, 4, 64}, 0);
  call.k = waves(DType::BF16, {16, 2, 64}, 100);
  call.v = waves(DType::BF16, {16, 2, 64}, 200);
  call.cuSeqlensQ = ints({0, 5, 5, 12, 15});
  call.cuSeqlensK = ints({0, 9, 12, 16, 16});
  return call;
}

/// Only what the model declares, so that nothing is given in vain.
void addCaptured(HostCall &call, const ProblemShape &problem) {
  for (const CapturedTensor &t : problem.tensors)
    call.tensors[t.name] = t.name == "slope" ? waves(DType::F32, {4}, 7)
                           : t.name == "n" ? ints({4, 1, 0, 2})
                                           : ints({0, 0, 1, 1, 1, 2, 0, 0, 2, 5, 5, 6, 1, 1, 1, 3});
}

} // namespace

TEST_CASE("Each built-in equals its expansion") {
  for (const Use &use : uses) {
    INFO(use.fields);
    spec::Model own = modelOf(use.fields), expanded = own;
    int calls = 0;
    for (spec::Expr &e : expanded.exprs) {
      calls += e.builtin;
      e.builtin = false; // now the evaluator follows the body
    }
    REQUIRE(calls > 0);
    HostCall call = cornerCall();
    addCaptured(call, own.problem);
    auto a = attention(own, call), b = attention(expanded, call);
    if (!a || !b)
      FAIL((a ? b.error() : a.error()).message);
    REQUIRE(a->out.size() == b->out.size());
    for (size_t i = 0; i < a->out.size(); ++i)
      REQUIRE(a->out[i] == Approx(b->out[i]).margin(1e-12));
    for (size_t i = 0; i < a->lse.size(); ++i)
      REQUIRE((a->lse[i] == b->lse[i] || a->lse[i] == Approx(b->lse[i]).margin(1e-12)));
    // And it has an effect at all.
    spec::Model plain = modelOf("");
    HostCall same = cornerCall();
    auto without = attention(plain, same);
    REQUIRE(without);
    CHECK(a->out != without->out);
  }
}

TEST_CASE("Every built-in of the language is among them") {
  std::multiset<std::string> have, want;
  for (const Use &use : uses)
    have.insert(use.builtin);
  for (const spec::Builtin &row : spec::builtins())
    want.insert(std::string(row.name));
  CHECK(have == want);
}
