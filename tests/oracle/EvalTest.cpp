// Expression evaluation: wrapping integers, flooring division, undefined values, reads.
#include "tests/oracle/Eval.h"
#include "tests/oracle/ModelBuilder.h"
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::oracle;
using spec::ExprId;
using spec::ExprKind;
using spec::IndexName;
using spec::ScalarType;

namespace {

struct Bench {
  ModelBuilder b{1, 1, 64};
  HostCall call;
  Row row{0, 0, 0, 2, {0, 4, 0, 6}}; // q = 4
  std::vector<int64_t> keys{0, 1, 2, 3, 4, 5};

  Result<Value> value(ExprId id) const {
    return Evaluator(b.model, call).evaluate(id, row, keys, {});
  }
  int64_t integer(ExprKind kind, int64_t x, int64_t y) {
    auto v = value(b.op(kind, ScalarType::I32, b.constI(x), b.constI(y)));
    return v ? v->i[0] : INT64_MIN;
  }
};

} // namespace

TEST_CASE("Integers wrap to 32 bits and divide towards minus infinity") {
  Bench t;
  CHECK(t.integer(ExprKind::Add, 2147483647, 1) == -2147483648LL);
  CHECK(t.integer(ExprKind::Mul, 65536, 65536) == 0);
  CHECK(t.integer(ExprKind::Div, -7, 2) == -4);
  CHECK(t.integer(ExprKind::Rem, -7, 2) == 1);
  CHECK(t.integer(ExprKind::Rem, 7, -2) == -1);
  CHECK(t.integer(ExprKind::Shl, 1, 31) == -2147483648LL);
  CHECK(t.integer(ExprKind::Shr, -8, 1) == -4);
  CHECK(t.integer(ExprKind::BitXor, 6, 3) == 5);
  CHECK(t.integer(ExprKind::Pow, 3, 4) == 81);
}

TEST_CASE("An undefined value is an error only where the answer depends on it") {
  Bench t;
  ModelBuilder &b = t.b;
  int64_t table = b.tensor("table", DType::I32, {"2"});
  t.call.tensors["table"] = HostTensor::packed(DType::I32, {2});
  ExprId k = b.index(IndexName::K);
  ExprId lookup =
      b.op(ExprKind::Eq, ScalarType::Bool, b.read(table, {k}, ScalarType::I32), b.constI(0));
  ExprId inside = b.op(ExprKind::Lt, ScalarType::Bool, k, b.constI(2));
  ExprId outside = b.op(ExprKind::Ge, ScalarType::Bool, k, b.constI(2));

  auto alone = t.value(lookup);
  REQUIRE_FALSE(alone);
  CHECK_THAT(alone.error().message, Catch::Contains("table: index 2"));
  for (ExprId guarded : {b.both(inside, lookup), b.both(lookup, inside)}) {
    auto v = t.value(guarded);
    REQUIRE(v);
    CHECK(v->i == std::vector<int64_t>{1, 1, 0, 0, 0, 0});
  }
  auto either = t.value(b.op(ExprKind::Or, ScalarType::Bool, lookup, outside));
  REQUIRE(either);
  CHECK(either->i == std::vector<int64_t>{1, 1, 1, 1, 1, 1});
  auto chosen = t.value(b.add(ExprKind::Select, ScalarType::Bool, {inside, lookup, outside}));
  REQUIRE(chosen);
  CHECK(chosen->i == std::vector<int64_t>{1, 1, 1, 1, 1, 1});
  CHECK_FALSE(t.value(b.op(ExprKind::Div, ScalarType::I32, b.constI(1), b.constI(0))));
  CHECK_FALSE(t.value(b.builtin("chunk", {b.constI(0)})));
}

TEST_CASE("Conversions, positions and tensors of tokens") {
  Bench t;
  ModelBuilder &b = t.b;
  CHECK(t.value(b.index(IndexName::Q))->i[0] == 4);
  CHECK(t.value(b.index(IndexName::Ctx))->i[0] == 2);
  CHECK(t.value(b.add(ExprKind::ToI32, ScalarType::I32, {b.constF(-2.7)}))->i[0] == -2);
  CHECK(t.value(b.add(ExprKind::ToI32, ScalarType::I32, {b.constF(3e9)}))->i[0] == 2147483647);
  CHECK(t.value(b.add(ExprKind::ToF32, ScalarType::F32, {b.constI(3)}))->f[0] == 3);

  int64_t doc = b.tensor("doc", DType::I16, {"tokens"});
  t.call.tensors["doc"] = HostTensor::packed(DType::I16, {20});
  for (int64_t i = 0; i < 20; ++i)
    t.call.tensors["doc"].set({i}, static_cast<double>(i));
  t.row.bounds.kStart = 10;
  ExprId read = b.read(doc, {b.index(IndexName::K)}, ScalarType::I32);
  CHECK(t.value(read)->i == std::vector<int64_t>{10, 11, 12, 13, 14, 15});
  t.row.bounds.kvLen = 5; // key 5 now belongs to the next sequence
  CHECK_FALSE(t.value(read));
}

TEST_CASE("Only what looks at the head depends on it") {
  Bench t;
  ModelBuilder &b = t.b;
  ExprId causal = b.builtin("causal");
  ExprId perHead =
      b.op(ExprKind::Lt, ScalarType::Bool, b.index(IndexName::H), b.index(IndexName::K));
  Evaluator e(b.model, t.call);
  CHECK_FALSE(e.dependsOnHead(causal));
  CHECK(e.dependsOnHead(b.both(causal, perHead)));
  CHECK_FALSE(t.value(b.builtin("no_such_mask")));
}
