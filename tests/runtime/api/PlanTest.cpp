// Plans: made from shapes, filled with pointers, refused outside their validity.
#include "runtime/launch/CallPlan.h"
#include "tests/runtime/Kernels.h"
#include <catch2/catch.hpp>
#include <cstring>

using namespace attune;
using Catch::Matchers::Contains;

namespace {

AttentionCall denseShapes(int64_t batch, int64_t qLen, int64_t kvLen) {
  AttentionCall call;
  call.q = TensorView::packed(0, DType::BF16, {batch, qLen, 6, 64});
  call.k = TensorView::packed(0, DType::BF16, {batch, kvLen, 2, 64});
  call.v = TensorView::packed(0, DType::BF16, {batch, kvLen, 2, 32});
  call.out = TensorView::packed(0, DType::BF16, {batch, qLen, 6, 32});
  call.lse = TensorView::packed(0, DType::F32, {batch, 6, qLen});
  return call;
}

AttentionCall varlenShapes(int64_t qTokens, int64_t kvTokens, int64_t batch, int64_t maxQLen) {
  AttentionCall call;
  call.q = TensorView::packed(0, DType::BF16, {qTokens, 6, 64});
  call.k = TensorView::packed(0, DType::BF16, {kvTokens, 2, 64});
  call.v = TensorView::packed(0, DType::BF16, {kvTokens, 2, 32});
  call.out = TensorView::packed(0, DType::BF16, {qTokens, 6, 32});
  call.lse = TensorView::packed(0, DType::F32, {6, qTokens});
  call.batch = batch;
  call.maxQLen = maxQLen;
  return call;
}

std::vector<DevicePtr> planPointers(size_t count) {
  std::vector<DevicePtr> list;
  for (size_t i = 0; i < count; ++i)
    list.push_back(0x10000 * (i + 1));
  return list;
}

/// The arguments of one run, or the error.
Result<std::vector<uint8_t>> boundArgs(const CallPlan &plan, std::vector<DevicePtr> at,
                                       const RunBounds &run = {}) {
  std::vector<uint8_t> kernarg(plan.kernarg.size());
  if (Result<void> ok = bindCall(plan, at, run, kernarg); !ok)
    return ok.error();
  return kernarg;
}

} // namespace

TEST_CASE("A run's arguments are those of a launch planned with its pointers") {
  for (Storage storage : {Storage::Dense, Storage::Varlen}) {
    const bool dense = storage == Storage::Dense;
    const Sidecar sidecar = testing::sidecar(storage);
    AttentionCall call = dense ? denseShapes(2, 300, 77) : varlenShapes(300, 400, 3, 200);
    Result<CallPlan> plan = planCall(sidecar, call);
    REQUIRE(plan);
    const std::vector<DevicePtr> at = planPointers(plan->names.size());
    call.q.data = at[Q], call.k.data = at[K], call.v.data = at[V], call.out.data = at[Out];
    call.lse->data = at[Lse];
    if (!dense)
      call.cuSeqlensQ = at[CuSeqlensQ], call.cuSeqlensK = at[CuSeqlensK];
    Result<LaunchPlan> launch = planLaunch(sidecar, call);
    REQUIRE(launch);
    Result<std::vector<uint8_t>> kernarg = boundArgs(*plan, at);
    REQUIRE(kernarg);
    CHECK(*kernarg == launch->kernarg);
    CHECK(std::memcmp(&plan->dims, &launch->dims, sizeof plan->dims) == 0);
    CHECK(boundArgs(*plan, at, plan->bounds));
  }
}

TEST_CASE("A dense plan is valid for its own lengths alone") {
  Result<CallPlan> plan = planCall(testing::sidecar(Storage::Dense), denseShapes(2, 300, 77));
  REQUIRE(plan);
  CHECK_THAT(plan->validWhile(), Contains("batch == 2") && Contains("q_len == 300"));
  const auto at = planPointers(plan->names.size());
  for (const RunBounds &run : {RunBounds{1, 0, 0, 0},
                               {3, 0, 0, 0},
                               {0, 299, 0, 0},
                               {0, 301, 0, 0},
                               {0, 0, 599, 0},
                               {0, 0, 0, 153},
                               {-1, 0, 0, 0}})
    CHECK_FALSE(boundArgs(*plan, at, run));
  CHECK(boundArgs(*plan, at, {2, 300, 600, 154}));
}

TEST_CASE("A varlen plan is valid up to its maxima") {
  Result<CallPlan> plan =
      planCall(testing::sidecar(Storage::Varlen), varlenShapes(300, 400, 3, 200));
  REQUIRE(plan);
  const auto at = planPointers(plan->names.size());
  CHECK(boundArgs(*plan, at, {3, 200, 300, 400}));
  CHECK(boundArgs(*plan, at, {3, 1, 1, 1}));
  for (auto [run, name] : {std::pair{RunBounds{2, 0, 0, 0}, "batch"},
                           {{4, 0, 0, 0}, "batch"},
                           {{0, 201, 0, 0}, "max_q_len"},
                           {{0, -1, 0, 0}, "max_q_len"},
                           {{0, 0, 301, 0}, "q_tokens"},
                           {{0, 0, 0, 401}, "kv_tokens"}}) {
    auto refused = boundArgs(*plan, at, run);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Contains(name) && Contains("outside its plan"));
  }
}

TEST_CASE("Addresses that a kernel would follow must be there and aligned") {
  Result<CallPlan> plan =
      planCall(testing::sidecar(Storage::Varlen), varlenShapes(300, 400, 3, 200));
  REQUIRE(plan);
  const auto good = planPointers(plan->names.size());
  for (auto [which, address, text] :
       {std::tuple{Q, DevicePtr(0), "q: no memory"},
        {Out, 0, "out: no memory"},
        {Lse, 0, "lse: no memory"},
        {CuSeqlensQ, 0, "cu_seqlens_q: no memory"},
        {K, 0x1008, "k: its address must be a multiple of 16"},
        {Lse, 0x1002, "lse: its address must be a multiple of 4"},
        {CuSeqlensK, 0x1001, "cu_seqlens_k: its address must be a multiple of 4"}}) {
    auto at = good;
    at[which] = address;
    auto refused = boundArgs(*plan, at);
    REQUIRE_FALSE(refused);
    CHECK_THAT(refused.error().message, Contains(text));
  }
  auto at = good;
  at[Sink] = 3; // the kernel has none
  CHECK(boundArgs(*plan, at));
}

TEST_CASE("A kernel that needs a workspace is refused: nothing would pass it") {
  Sidecar sidecar = testing::sidecar(Storage::Dense);
  sidecar.kernel.workspaceBytes = 64;
  auto refused = planCall(sidecar, denseShapes(1, 2, 3));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK_THAT(refused.error().message, Contains("64 bytes of workspace"));
}

TEST_CASE("Nothing to do is a plan too") {
  Result<CallPlan> plan = planCall(testing::sidecar(Storage::Varlen), varlenShapes(0, 0, 0, 0));
  REQUIRE(plan);
  CHECK(plan->empty);
  CHECK(boundArgs(*plan, std::vector<DevicePtr>(plan->names.size())));
}

TEST_CASE("Shapes that do not fit the kernel are refused by name") {
  AttentionCall call = varlenShapes(300, 400, 3, 200);
  call.v = call.k;
  auto refused = planCall(testing::sidecar(Storage::Varlen), call);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("v: dimension 2 (v_head_dim) must be 32"));
}
