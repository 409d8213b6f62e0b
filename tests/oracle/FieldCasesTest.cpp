// The oracle on cases small enough to work out by hand. Most use the same trick: with Q = 0 every
// visible key weighs the same, so V[j] = j shows which keys were seen, and LSE is the logarithm of
// how many. Case numbers are those of the field reports that docs/ lists.
#include "tests/oracle/ModelBuilder.h"
#include "tests/oracle/Oracle.h"
#include <catch2/catch.hpp>
#include <cmath>

using namespace attune;
using namespace attune::oracle;
using spec::ExprKind;
using spec::IndexName;
using spec::ScalarType;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double position(int64_t k, int64_t) { return static_cast<double>(k); }

Answer solve(const ModelBuilder &b, const HostCall &call) {
  auto answer = attention(b.model, call);
  if (!answer)
    FAIL(answer.error().message);
  return *answer;
}

/// First column of row `qi`, head 0, sequence 0.
double out(const ModelBuilder &b, const Answer &a, int64_t qi) {
  return a.out[static_cast<size_t>(qi * b.model.problem.numQHeads * b.model.problem.vHeadDim)];
}

} // namespace

TEST_CASE("F01: a row that sees nothing is zero with LSE -inf") {
  ModelBuilder b(1, 1, 64);
  b.model.mask = b.op(ExprKind::Ne, ScalarType::Bool, b.index(IndexName::QI), b.constI(1));
  Answer a = solve(b, b.dense(1, 3, 4, [](int64_t, int64_t) { return 5; }));
  CHECK(out(b, a, 0) == 5);
  CHECK(out(b, a, 1) == 0);
  CHECK(out(b, a, 2) == 5);
  CHECK(a.lse == std::vector<double>{std::log(4.0), -kInfinity, std::log(4.0)});
}

TEST_CASE("F02: causal is aligned to the last key") {
  ModelBuilder b(1, 1, 64);
  b.model.mask = b.builtin("causal");
  Answer a = solve(b, b.dense(1, 5, 2, [](int64_t k, int64_t) { return k ? 20 : 10; }));
  for (int64_t qi : {0, 1, 2}) {
    CHECK(out(b, a, qi) == 0);
    CHECK(a.lse[static_cast<size_t>(qi)] == -kInfinity);
  }
  CHECK(out(b, a, 3) == 10);
  CHECK(out(b, a, 4) == 15);
  CHECK(a.lse[4] == Approx(std::log(2.0)));

  Answer wide = solve(b, b.dense(1, 3, 128, position));
  CHECK(out(b, wide, 0) == Approx(62.5)); // keys 0 to 125
  CHECK(out(b, wide, 2) == Approx(63.5));
}

TEST_CASE("F03: empty sequences in a varlen batch") {
  ModelBuilder b(1, 1, 64, Storage::Varlen);
  HostCall call;
  call.q = HostTensor::packed(DType::BF16, {7, 1, 64}); // one token of no sequence at the end
  call.k = HostTensor::packed(DType::BF16, {6, 1, 64});
  call.v = HostTensor::packed(DType::BF16, {6, 1, 64});
  forEachIndex(call.v.shape, [&](Index i) { call.v.set(i, static_cast<double>(i[0])); });
  call.cuSeqlensQ = ints({0, 3, 3, 5, 6});
  call.cuSeqlensK = ints({0, 0, 0, 5, 6});
  Answer a = solve(b, call);
  for (int64_t t : {0, 1, 2}) {
    CHECK(out(b, a, t) == 0);
    CHECK(a.lse[static_cast<size_t>(t)] == -kInfinity);
  }
  CHECK(out(b, a, 3) == 2); // mean of 0 to 4
  CHECK(out(b, a, 4) == 2);
  CHECK(out(b, a, 5) == 5);
  CHECK(a.lse[5] == 0);
  CHECK(std::isnan(out(b, a, 6)));
  CHECK(std::isnan(a.lse[6]));
}

TEST_CASE("F07: the base of LSE") {
  ModelBuilder b(1, 1, 64);
  HostCall call = b.dense(1, 1, 15, position);
  CHECK(solve(b, call).lse[0] == Approx(std::log(15.0)));
  b.model.problem.lse = LseKind::Base2;
  CHECK(solve(b, call).lse[0] == Approx(std::log2(15.0)));
}

TEST_CASE("F08: window(n) keeps n keys, window(left, right) keeps left + 1") {
  ModelBuilder b(1, 1, 64);
  spec::ExprId causal = b.builtin("causal");
  b.model.mask = b.both(causal, b.builtin("window", {b.constI(4)}));
  Answer four = solve(b, b.dense(1, 11, 11, position));
  CHECK(out(b, four, 10) == Approx(8.5)); // keys 7 to 10
  CHECK(out(b, four, 2) == Approx(1.0));  // keys 0 to 2
  b.model.mask = b.both(causal, b.builtin("window", {b.constI(4), b.constI(0)}));
  CHECK(out(b, solve(b, b.dense(1, 11, 11, position)), 10) == Approx(8.0)); // keys 6 to 10
  CHECK(out(b, solve(b, b.dense(1, 1, 11, position)), 0) == Approx(8.0));   // the same by decode
}

TEST_CASE("F09: a window as wide as the keys changes nothing, a right side of 0 does") {
  ModelBuilder b(1, 1, 64);
  HostCall call = b.dense(1, 11, 11, position);
  Answer off = solve(b, call);
  b.model.mask = b.builtin("window", {b.constI(110), b.constI(110)});
  CHECK(solve(b, call).out == off.out);
  b.model.mask = b.builtin("window", {b.constI(110), b.constI(0)});
  CHECK(out(b, solve(b, call), 4) == Approx(2.0));
  b.model.mask = b.both(b.builtin("causal"), b.builtin("window", {b.constI(1)}));
  CHECK(out(b, solve(b, call), 4) == Approx(4.0));
}

TEST_CASE("F11: a windowed decode drops early keys") {
  ModelBuilder b(1, 1, 64);
  b.model.mask = b.builtin("window", {b.constI(128), b.constI(0)});
  CHECK(out(b, solve(b, b.dense(1, 1, 256, position)), 0) == Approx(191));
}

TEST_CASE("F12: softcap comes before the mask") {
  ModelBuilder b(1, 1, 64);
  b.model.mask = b.builtin("causal");
  b.model.score = b.builtin("softcap", {b.index(IndexName::Score), b.constF(1)}, ScalarType::F32);
  Answer a = solve(b, b.dense(1, 2, 2, position));
  CHECK(out(b, a, 0) == 0);
  CHECK(out(b, a, 1) == Approx(0.5));

  // One visible key with logit 3 and cap 2: LSE is the capped logit.
  b.model.scale = 3;
  b.model.exprs[static_cast<size_t>(b.model.exprs[static_cast<size_t>(b.model.score)].args[1])].f =
      2;
  HostCall call = b.dense(1, 1, 1, position);
  call.q.set({0, 0, 0, 0}, 1);
  call.k.set({0, 0, 0, 0}, 1);
  CHECK(solve(b, call).lse[0] == Approx(2 * std::tanh(1.5)));
}

TEST_CASE("F13, F14: ALiBi counts from the query's own key, one slope per query head") {
  ModelBuilder b(2, 1, 64);
  int64_t slope = b.tensor("slope", DType::F32, {"heads"});
  b.model.score = b.op(ExprKind::Add, ScalarType::F32, b.index(IndexName::Score),
                       b.builtin("alibi", {b.read(slope, {}, ScalarType::F32)}, ScalarType::F32));
  auto seven = [](int64_t k, int64_t) { return 7.0 * static_cast<double>(k); };
  for (int64_t qLen : {1, 3}) {
    HostCall call = b.dense(1, qLen, 3, seven);
    call.tensors["slope"] = HostTensor::packed(DType::F32, {2});
    call.tensors["slope"].set({0}, std::log(2.0));
    Answer a = solve(b, call);
    CHECK(out(b, a, qLen - 1) == Approx(10).epsilon(1e-6));
    CHECK(a.lse[static_cast<size_t>(qLen - 1)] == Approx(std::log(1.75)).epsilon(1e-6));
    size_t head1 = static_cast<size_t>((2 * qLen - 1) * 64); // last row, head 1, slope 0
    CHECK(a.out[head1] == Approx(7));
  }
}

TEST_CASE("F17: query heads share kv heads by integer division") {
  ModelBuilder b(6, 2, 64);
  Answer a = solve(b, b.dense(1, 1, 3, [](int64_t, int64_t hk) { return hk + 1; }));
  for (size_t h = 0; h < 6; ++h)
    CHECK(a.out[h * 64] == (h < 3 ? 1 : 2));
}

TEST_CASE("F23: what no row sees is never read") {
  ModelBuilder b(1, 1, 64);
  b.model.mask = b.op(ExprKind::Lt, ScalarType::Bool, b.index(IndexName::K), b.constI(17));
  HostCall call = b.dense(1, 2, 32, position);
  for (int64_t k = 17; k < 32; ++k) {
    call.k.set({0, k, 0, 3}, std::nan(""));
    call.v.set({0, k, 0, 0}, kInfinity);
  }
  Answer a = solve(b, call);
  CHECK(out(b, a, 0) == Approx(8));
  CHECK(a.lse[0] == Approx(std::log(17.0)));
}

TEST_CASE("F37: signal in the last column of head_dim counts, with the default scale") {
  ModelBuilder b(1, 1, 128);
  HostCall call = b.dense(1, 1, 2, position);
  call.q.set({0, 0, 0, 127}, 8);
  call.k.set({0, 1, 0, 127}, 4);
  double logit = 32 / std::sqrt(128.0);
  CHECK(out(b, solve(b, call), 0) == Approx(1 / (1 + std::exp(-logit))));
}

TEST_CASE("A sink takes part of the weight, is counted in LSE and adds no value") {
  ModelBuilder b(2, 1, 64);
  b.model.problem.hasSink = true;
  b.model.mask = b.builtin("causal");
  HostCall call = b.dense(1, 2, 1, [](int64_t, int64_t) { return 6; });
  call.sink = HostTensor::packed(DType::F32, {2});
  call.sink->set({0}, std::log(2.0));
  call.sink->set({1}, -kInfinity);
  Answer a = solve(b, call);
  size_t lastRow = 2 * 64;
  CHECK(a.out[lastRow] == Approx(2).epsilon(1e-6)); // weights 1 and 2
  CHECK(a.out[lastRow + 64] == 6);
  CHECK(a.lse[1] == Approx(std::log(3.0)).epsilon(1e-6));
  CHECK(a.lse[3] == 0);
  CHECK(a.out[0] == 0); // row 0 sees no key
  CHECK(a.lse[0] == Approx(std::log(2.0)).epsilon(1e-6));
  CHECK(a.lse[2] == -kInfinity);
}

TEST_CASE("Documents, prefixes and chunks see their own keys") {
  ModelBuilder b(1, 1, 64, Storage::Varlen);
  int64_t doc = b.tensor("doc", DType::I32, {"tokens"});
  spec::ExprId causal = b.builtin("causal");
  HostCall call;
  call.q = HostTensor::packed(DType::BF16, {8, 1, 64});
  call.k = call.v = call.q;
  forEachIndex(call.v.shape, [&](Index i) { call.v.set(i, static_cast<double>(i[0])); });
  call.cuSeqlensQ = call.cuSeqlensK = ints({0, 2, 8});
  call.tensors["doc"] = ints({0, 1, 0, 0, 1, 1, 1, 2});

  b.model.mask = b.both(causal, b.builtin("document", {b.read(doc, {}, ScalarType::I32)}));
  Answer a = solve(b, call);
  CHECK(out(b, a, 1) == 1);           // sequence 0: documents 0 and 1 of one token each
  CHECK(out(b, a, 3) == Approx(2.5)); // tokens 2 and 3
  CHECK(out(b, a, 6) == Approx(5));   // tokens 4 to 6
  CHECK(out(b, a, 7) == 7);

  b.model.mask = b.op(ExprKind::Or, ScalarType::Bool, causal, b.builtin("prefix", {b.constI(3)}));
  a = solve(b, call);
  CHECK(out(b, a, 2) == Approx(3)); // tokens 2 to 4
  CHECK(out(b, a, 7) == Approx(4.5));

  b.model.mask = b.builtin("chunk", {b.constI(4)});
  a = solve(b, call);
  CHECK(out(b, a, 2) == Approx(3.5)); // tokens 2 to 5
  CHECK(out(b, a, 7) == Approx(6.5)); // tokens 6 and 7
}

TEST_CASE("The answer does not depend on the number of threads, and errors name the place") {
  ModelBuilder b(2, 1, 64);
  int64_t table = b.tensor("table", DType::F32, {"4"});
  b.model.score = b.op(ExprKind::Add, ScalarType::F32, b.index(IndexName::Score),
                       b.read(table, {b.index(IndexName::K)}, ScalarType::F32));
  HostCall call = b.dense(2, 20, 4, position);
  call.tensors["table"] = HostTensor::packed(DType::F32, {4});
  call.tensors["table"].set({2}, 1.5);
  auto one = attention(b.model, call, {1}), three = attention(b.model, call, {3});
  REQUIRE(one);
  REQUIRE(three);
  CHECK(one->out == three->out);

  HostCall longer = b.dense(1, 2, 5, position);
  longer.tensors = call.tensors;
  auto refused = attention(b.model, longer);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Catch::Contains("table: index 4 of dimension 0 (4)"));
  longer.tensors.clear();
  CHECK_THAT(attention(b.model, longer).error().message, Catch::Contains("tensor table: missing"));
}
