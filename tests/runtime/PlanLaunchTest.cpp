// planLaunch: what is packed, what the grid is, and that each wrong call is refused with the
// tensor, the dimension, what it must be and what it is.
#include "runtime/launch/Attention.h"
#include "tests/runtime/Kernels.h"
#include <catch2/catch.hpp>
#include <cstring>

using namespace attune;
using attune::testing::denseKernel;
using Catch::Contains;

namespace {

constexpr DevicePtr base = 0x10000;

AttentionCall dense(int64_t batch, int64_t qLen, int64_t kvLen) {
  AttentionCall call;
  call.q = TensorView::packed(base, DType::BF16, {batch, qLen, 6, 64});
  call.k = TensorView::packed(base * 2, DType::BF16, {batch, kvLen, 2, 64});
  call.v = TensorView::packed(base * 3, DType::BF16, {batch, kvLen, 2, 32});
  call.out = TensorView::packed(base * 4, DType::BF16, {batch, qLen, 6, 32});
  call.lse = TensorView::packed(base * 5, DType::F32, {batch, 6, qLen});
  return call;
}

AttentionCall varlen(int64_t qTokens, int64_t kvTokens, int64_t batch, int64_t maxQLen) {
  AttentionCall call;
  call.q = TensorView::packed(base, DType::BF16, {qTokens, 6, 64});
  call.k = TensorView::packed(base * 2, DType::BF16, {kvTokens, 2, 64});
  call.v = TensorView::packed(base * 3, DType::BF16, {kvTokens, 2, 32});
  call.out = TensorView::packed(base * 4, DType::BF16, {qTokens, 6, 32});
  call.lse = TensorView::packed(base * 5, DType::F32, {6, qTokens});
  call.cuSeqlensQ = base * 6;
  call.cuSeqlensK = base * 7;
  call.batch = batch;
  call.maxQLen = maxQLen;
  return call;
}

int64_t argument(const Sidecar &s, const LaunchPlan &plan, std::string_view name) {
  for (const KernelArg &arg : s.kernel.args)
    if (arg.name == name) {
      int64_t value = 0;
      std::memcpy(&value, plan.kernarg.data() + arg.offset, arg.size);
      return value;
    }
  FAIL("no argument " << name);
  return 0;
}

const Sidecar varlenKernel = testing::sidecar(Storage::Varlen);

template <class Change>
std::string refusal(const Sidecar &sidecar, AttentionCall call, Change change) {
  change(call);
  auto plan = planLaunch(sidecar, call);
  return plan ? "accepted" : plan.error().message;
}

template <class Change> std::string refusal(Change change) {
  return refusal(denseKernel, dense(2, 300, 77), change);
}

} // namespace

TEST_CASE("A dense call: grid and arguments") {
  auto plan = planLaunch(denseKernel, dense(2, 300, 77));
  REQUIRE(plan);
  CHECK(plan->dims.grid[0] == 3 * 6 * 2);
  CHECK(plan->dims.block[0] == 256);
  CHECK_FALSE(plan->empty);
  CHECK(plan->kernarg.size() == denseKernel.kernel.kernargBytes);
  CHECK(argument(denseKernel, *plan, "q") == static_cast<int64_t>(base));
  CHECK(argument(denseKernel, *plan, "lse") == static_cast<int64_t>(base * 5));
  CHECK(argument(denseKernel, *plan, "q_stride_batch") == 300 * 6 * 64);
  CHECK(argument(denseKernel, *plan, "k_stride_token") == 2 * 64);
  CHECK(argument(denseKernel, *plan, "lse_stride_batch") == 6 * 300);
  CHECK(argument(denseKernel, *plan, "lse_stride_head") == 300);
  CHECK(argument(denseKernel, *plan, "lse_stride_row") == 1);
  CHECK(argument(denseKernel, *plan, "q_len") == 300);
  CHECK(argument(denseKernel, *plan, "kv_len") == 77);
  CHECK(argument(denseKernel, *plan, "num_q_blocks") == 3);
}

TEST_CASE("A varlen call: the grid comes from the declared longest query") {
  auto plan = planLaunch(varlenKernel, varlen(7, 6, 4, 129));
  REQUIRE(plan);
  CHECK(plan->dims.grid[0] == 2 * 6 * 4);
  CHECK(argument(varlenKernel, *plan, "cu_seqlens_k") == static_cast<int64_t>(base * 7));
  CHECK(argument(varlenKernel, *plan, "batch") == 4);
  CHECK(argument(varlenKernel, *plan, "num_q_blocks") == 2);
}

TEST_CASE("Calls with nothing to do are empty; keys may be missing") {
  CHECK(planLaunch(denseKernel, dense(2, 0, 77))->empty);
  CHECK(planLaunch(denseKernel, dense(0, 5, 77))->empty);
  CHECK(planLaunch(varlenKernel, varlen(0, 0, 0, 0))->empty);
  AttentionCall noKeys = dense(2, 5, 0);
  noKeys.k.data = noKeys.v.data = 0;
  auto plan = planLaunch(denseKernel, noKeys);
  REQUIRE(plan);
  CHECK_FALSE(plan->empty); // rows of zeros have to be written
}

TEST_CASE("F33: sliced, head-major and broadcast views") {
  AttentionCall call = dense(2, 300, 77);
  call.q.strides = {300 * 64, 64, 2 * 300 * 64, 1};      // [heads, batch, q_len, dim]
  call.k.strides = {77 * 2 * 2 * 64, 2 * 2 * 64, 64, 1}; // K of an interleaved K, V buffer
  call.v.strides = {0, 2 * 32, 32, 1};                   // one V for the whole batch
  call.lse->strides = {6, 1, 12};
  auto plan = planLaunch(denseKernel, call);
  REQUIRE(plan);
  CHECK(argument(denseKernel, *plan, "q_stride_head") == 2 * 300 * 64);
  CHECK(argument(denseKernel, *plan, "k_stride_token") == 256);
  CHECK(argument(denseKernel, *plan, "lse_stride_row") == 12);
}

TEST_CASE("Wrong shapes and types are named") {
  CHECK(refusal([](auto &c) { c.k.shape[2] = 3; }) ==
        "k: dimension 2 (num_kv_heads) must be 2, got 3 (the tensor is bf16[2, 77, 3, 64])");
  CHECK_THAT(refusal([](auto &c) { c.q.shape[3] = 128; }),
             Contains("q: dimension 3 (head_dim) must be 64, got 128"));
  CHECK_THAT(refusal([](auto &c) { c.v.shape[3] = 64; }),
             Contains("v: dimension 3 (v_head_dim) must be 32, got 64"));
  CHECK_THAT(refusal([](auto &c) { c.v.shape[1] = 78; }),
             Contains("v: dimension 1 (kv_len) must be 77, got 78"));
  CHECK_THAT(refusal([](auto &c) { c.k.shape[0] = 3; }),
             Contains("k: dimension 0 (batch) must be 2, got 3"));
  CHECK_THAT(refusal([](auto &c) { c.out.shape[1] = 299; }),
             Contains("out: dimension 1 (q_len) must be 300, got 299"));
  CHECK_THAT(refusal([](auto &c) { c.q.dtype = DType::F16; }),
             Contains("q: element type must be bf16, got fp16"));
  CHECK_THAT(refusal([](auto &c) { c.q = TensorView::packed(base, DType::BF16, {7, 6, 64}); }),
             Contains("q: must have 4 dimensions [batch, length, heads, dim], got bf16[7, 6, 64]"));
  CHECK_THAT(refusal([](auto &c) { c.v = TensorView::packed(base, DType::BF16, {7, 6, 64}); }),
             Contains("v: must have 4 dimensions [batch, kv_len, num_kv_heads, v_head_dim]"));
  CHECK_THAT(refusal([](auto &c) { c.out.strides.pop_back(); }),
             Contains("out: 4 dimensions but 3 strides"));
  CHECK_THAT(refusal([](auto &c) { c.lse->shape[2] = 1; }),
             Contains("lse: dimension 2 (q_len) must be 300, got 1"));
  CHECK_THAT(refusal([](auto &c) { c.lse.reset(); }),
             Contains("lse: the kernel writes it, but no tensor is given"));
  CHECK_THAT(refusal([](auto &c) { c.sink = TensorView::packed(base, DType::F32, {6}); }),
             Contains("sink: given, but the spec has none"));
  CHECK_THAT(refusal([](auto &c) { c.q.data = 0; }), Contains("q: no memory given"));
  CHECK_THAT(refusal([](auto &c) { c.cuSeqlensQ = base; }),
             Contains("cu_seqlens: the kernel is built for dense"));
  CHECK_THAT(refusal([](auto &c) { c.batch = 3; }),
             Contains("batch: 3 given, but q has 2 sequences"));
  CHECK_THAT(refusal([](auto &c) { c.maxQLen = 301; }),
             Contains("max_q_len: 301 given, but q has q_len 300"));
}

TEST_CASE("Wrong strides and addresses are named") {
  CHECK(refusal([](auto &c) { c.q.strides[1] = -384; }) ==
        "q: stride of dimension 1 (q_len) must be 0 or more, got -384; copy a reversed view first");
  CHECK_THAT(refusal([](auto &c) { c.k.strides[3] = 2; }),
             Contains("k: stride of dimension 3 (the head's columns) must be 1, got 2"));
  CHECK_THAT(
      refusal([](auto &c) { c.v.strides[2] = 36; }),
      Contains("v: stride of dimension 2 must be a multiple of 8 elements (16 bytes), got 36"));
  CHECK_THAT(refusal([](auto &c) { c.q.data += 2; }),
             Contains("q: its address must be a multiple of 16 bytes"));
  CHECK_THAT(
      refusal([](auto &c) { c.out.strides = {300 * 192, 192, 16, 1}; }),
      Contains(
          "out: rows of an output overlap: stride of dimension 2 must be at least 32, got 16"));
  CHECK_THAT(refusal([](auto &c) { c.lse->strides[0] = 0; }),
             Contains("lse: rows of an output overlap"));
  CHECK_THAT(refusal([](auto &c) { c.k.strides[0] = int64_t(1) << 46; }),
             Contains("reaches past 2^47 bytes"));
}

TEST_CASE("F32: rows that 32-bit offsets of a tile cannot reach are refused by name") {
  constexpr int64_t limit = (int64_t(1) << 31) / (256 * 2);
  CHECK(refusal([](auto &c) { c.k.strides[1] = limit - 8; }) == "accepted");
  CHECK_THAT(refusal([](auto &c) { c.k.strides[1] = limit; }),
             Contains("k: stride of dimension 1 (token) must be below 4194304 elements"));
  CHECK_THAT(refusal([](auto &c) { c.lse->strides[2] = limit / 2; }),
             Contains("lse: stride of dimension 2 (token) must be below 2097152 elements"));
  // A head stride is 64-bit; any size that is mapped will do.
  CHECK(refusal([](auto &c) { c.k.strides[2] = (int64_t(1) << 31) + 8; }) == "accepted");
}

TEST_CASE("F49: batches past 65535, and the limit of a launch") {
  for (int64_t batch : {65535, 65536, 70000}) {
    auto plan = planLaunch(denseKernel, dense(batch, 1, 1));
    REQUIRE(plan);
    CHECK(plan->dims.grid[0] == batch * 6);
    CHECK(plan->dims.grid[1] == 1);
  }
  // 6 heads x 256 threads: 2796202 sequences are the last below 2^32 threads.
  CHECK(planLaunch(denseKernel, dense(2796202, 1, 1)));
  auto refused = planLaunch(denseKernel, dense(2796203, 1, 1));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK_THAT(refused.error().message,
             Contains("1 q blocks x 6 heads x 2796203 sequences of 256 threads") &&
                 Contains("2^32"));
  CHECK_FALSE(planLaunch(denseKernel, dense(int64_t(1) << 30, int64_t(1) << 30, 1)));
  CHECK_THAT(planLaunch(denseKernel, dense(1, (int64_t(1) << 30) + 1, 1)).error().message,
             Contains("q: q_len must be between 0 and 1073741824"));
}

TEST_CASE("F55: varlen calls are planned by their own fields") {
  auto refusal_ = [](auto change) { return refusal(varlenKernel, varlen(7, 6, 4, 3), change); };
  CHECK_THAT(refusal_([](auto &c) { c.cuSeqlensK = 0; }),
             Contains("cu_seqlens_k: no memory given"));
  CHECK_THAT(refusal_([](auto &c) { c.batch = -1; }), Contains("batch must be between 0 and"));
  CHECK_THAT(refusal_([](auto &c) { c.maxQLen = -1; }),
             Contains("max_q_len must be between 0 and"));
  CHECK_THAT(refusal_([](auto &c) { c.v.shape[0] = 5; }),
             Contains("v: dimension 0 (kv tokens) must be 6, got 5"));
  CHECK(refusal_([](auto &c) { c.maxQLen = 1000; }) == "accepted");
}

TEST_CASE("F36: a code object whose arguments are not the sidecar's is refused") {
  Sidecar stale = denseKernel;
  stale.kernel.args.insert(stale.kernel.args.begin() + 2, {"extra", "ptr", 16, 8});
  CHECK_THAT(planLaunch(stale, dense(1, 1, 1)).error().message,
             Contains("ABI fingerprint mismatch"));

  Sidecar unknown = denseKernel;
  testing::setArgs(unknown.kernel, {{"q", "ptr"}, {"block_table", "ptr"}});
  CHECK_THAT(planLaunch(unknown, dense(1, 1, 1)).error().message,
             Contains("wants an argument block_table"));
  Sidecar wrongKind = denseKernel;
  testing::setArgs(wrongKind.kernel, {{"q", "i32"}});
  CHECK_THAT(planLaunch(wrongKind, dense(1, 1, 1)).error().message,
             Contains("argument q has kind i32, must be ptr"));
  Sidecar overlap = denseKernel;
  overlap.kernel.args[1].offset = 0;
  overlap.kernel.abiFingerprint = abiFingerprint(overlap.kernel.args);
  CHECK_THAT(planLaunch(overlap, dense(1, 1, 1)).error().message, Contains("argument k lies at 0"));
  Sidecar past = denseKernel;
  past.kernel.kernargBytes -= 8;
  CHECK_THAT(planLaunch(past, dense(1, 1, 1)).error().message,
             Contains("argument batch lies at 112 of 112"));
  Sidecar tall = denseKernel;
  tall.kernel.grid.blockM = 512;
  CHECK_THAT(planLaunch(tall, dense(1, 1, 1)).error().message, Contains("q blocks have 512 rows"));
  Sidecar odd = denseKernel;
  odd.kernel.args[0].kind = "u128";
  odd.kernel.abiFingerprint = abiFingerprint(odd.kernel.args);
  CHECK_THAT(planLaunch(odd, dense(1, 1, 1)).error().message, Contains("argument q has kind u128"));
}

namespace {

Sidecar capturing() {
  Sidecar s = denseKernel;
  s.problem.hasSink = true;
  s.problem.tensors = {{"bias", DType::F32, {"heads", "q", "k"}},
                       {"doc", DType::I32, {"tokens"}},
                       {"table", DType::F16, {"9"}}};
  s.problem.scalars = {{"cap", DType::F32}, {"width", DType::I32}};
  testing::setArgs(s.kernel, {{"sink", "ptr"},
                              {"tensor.bias", "ptr"},
                              {"tensor.bias.stride.0", "i64"},
                              {"tensor.bias.stride.2", "i64"},
                              {"tensor.bias.elements", "i64"},
                              {"tensor.doc.elements", "i64"},
                              {"scalar.cap", "f32"},
                              {"scalar.width", "i32"}});
  return s;
}

AttentionCall captured() {
  AttentionCall call = dense(2, 5, 7);
  call.sink = TensorView::packed(base, DType::F32, {6});
  call.tensors["bias"] = {base * 8, DType::F32, {6, 5, 7}, {0, 8, 1}};
  call.tensors["doc"] = TensorView::packed(base * 9, DType::I32, {14});
  call.tensors["table"] = TensorView::packed(base * 9, DType::F16, {9});
  call.scalars = {{"cap", 1.5}, {"width", -3}};
  return call;
}

} // namespace

TEST_CASE("Captured tensors and scalars are packed with strides and extents") {
  Sidecar s = capturing();
  auto plan = planLaunch(s, captured());
  REQUIRE(plan);
  CHECK(argument(s, *plan, "tensor.bias.stride.0") == 0);
  CHECK(argument(s, *plan, "tensor.bias.stride.2") == 1);
  CHECK(argument(s, *plan, "tensor.bias.elements") == 4 * 8 + 7);
  CHECK(argument(s, *plan, "tensor.doc.elements") == 14);
  CHECK(argument(s, *plan, "scalar.cap") == 0x3FC00000);
  CHECK(static_cast<int32_t>(argument(s, *plan, "scalar.width")) == -3);
}

TEST_CASE("Captured tensors and scalars that do not fit are named") {
  auto why = [](auto change) { return refusal(capturing(), captured(), change); };
  CHECK_THAT(why([](auto &c) { c.tensors.erase("doc"); }),
             Contains("tensor doc: the spec reads it, but it is not given"));
  CHECK_THAT(why([](auto &c) { c.tensors["doc"].shape[0] = 13; }),
             Contains("tensor doc: dimension 0 (tokens) must be at least 14, got 13"));
  CHECK_THAT(why([](auto &c) { c.tensors["bias"].shape[0] = 5; }),
             Contains("tensor bias: dimension 0 (heads) must be 6, got 5"));
  CHECK_THAT(why([](auto &c) { c.tensors["bias"].shape[2] = 6; }),
             Contains("tensor bias: dimension 2 (k) must be at least 7, got 6"));
  CHECK_THAT(why([](auto &c) { c.tensors["table"].shape[0] = 10; }),
             Contains("tensor table: dimension 0 (9) must be 9, got 10"));
  CHECK_THAT(why([](auto &c) { c.tensors["table"].dtype = DType::F32; }),
             Contains("tensor table: element type must be fp16, got f32"));
  CHECK_THAT(why([](auto &c) { c.tensors["bias"].strides[0] = int64_t(1) << 29; }),
             Contains("tensor bias: spans") && Contains("2^31"));
  CHECK_THAT(why([](auto &c) { c.tensors["bais"] = c.tensors["bias"]; }),
             Contains("tensor bais: given, but the spec does not read it"));
  CHECK_THAT(why([](auto &c) { c.scalars.erase("cap"); }),
             Contains("scalar cap: the spec reads it, but it is not given"));
  CHECK_THAT(why([](auto &c) { c.scalars["width"] = 2.5; }),
             Contains("scalar width: must be a 32-bit integer, got 2.5"));
  CHECK_THAT(why([](auto &c) { c.sink->shape[0] = 2; }),
             Contains("sink: dimension 0 (num_q_heads) must be 6, got 2"));
  CHECK_THAT(why([](auto &c) { c.sink.reset(); }),
             Contains("sink: the spec has one, but no tensor is given"));
}
