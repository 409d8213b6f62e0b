// LoadedKernel::run on a fake device: what reaches the kernel, what comes back, and that nothing is
// left behind.
#include "runtime/launch/HostRun.h"
#include "runtime/launch/Attention.h"
#include "tests/runtime/Kernels.h"
#include "tests/support/FakeDevice.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace attune;
using attune::testing::denseKernel;
using attune::testing::FakeDevice;
using Catch::Contains;

namespace {

template <class T>
T argument(const Sidecar &s, const std::vector<uint8_t> &kernarg, std::string_view name) {
  T value{};
  for (const KernelArg &arg : s.kernel.args)
    if (arg.name == name)
      std::memcpy(&value, kernarg.data() + arg.offset, sizeof value);
  return value;
}

HostCall denseCall(int64_t batch, int64_t qLen, int64_t kvLen) {
  HostCall call;
  call.q = HostTensor::packed(DType::BF16, {batch, qLen, 6, 64});
  call.k = HostTensor::packed(DType::BF16, {batch, kvLen, 2, 64});
  call.v = HostTensor::packed(DType::BF16, {batch, kvLen, 2, 32});
  return call;
}

HostTensor ints(const std::vector<int64_t> &values) {
  HostTensor t = HostTensor::packed(DType::I32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    t.set({static_cast<int64_t>(i)}, static_cast<double>(values[i]));
  return t;
}

HostCall varlenCall(const std::vector<int64_t> &cuQ, const std::vector<int64_t> &cuK) {
  HostCall call;
  call.q = HostTensor::packed(DType::BF16, {8, 6, 64});
  call.k = HostTensor::packed(DType::BF16, {9, 2, 64});
  call.v = HostTensor::packed(DType::BF16, {9, 2, 32});
  call.cuSeqlensQ = ints(cuQ);
  call.cuSeqlensK = ints(cuK);
  return call;
}

LoadedKernel load(FakeDevice &device, const Sidecar &sidecar) {
  auto kernel = LoadedKernel::load(device, {{1}, sidecar});
  REQUIRE(kernel);
  return std::move(*kernel);
}

uint16_t *bf16(DevicePtr p) { return reinterpret_cast<uint16_t *>(p); }

} // namespace

TEST_CASE("Values go in, results come back, and all memory is freed") {
  FakeDevice device;
  {
    LoadedKernel kernel = load(device, denseKernel);
    HostCall call = denseCall(2, 3, 4);
    call.q.set({1, 2, 5, 63}, 7);
    device.body = [&](const auto &args) {
      auto *q = bf16(argument<DevicePtr>(denseKernel, args, "q"));
      auto *out = bf16(argument<DevicePtr>(denseKernel, args, "out"));
      CHECK(out[0] == 0xFFFF); // NaN before the launch
      out[0] = q[2 * 3 * 6 * 64 - 1];
      *reinterpret_cast<float *>(argument<DevicePtr>(denseKernel, args, "lse")) = -INFINITY;
    };
    auto result = kernel.run(call);
    REQUIRE(result);
    CHECK(result->out.shape == Shape{2, 3, 6, 32});
    CHECK(result->lse->shape == Shape{2, 6, 3});
    CHECK(result->out.get({0, 0, 0, 0}) == 7);
    CHECK(std::isnan(result->out.get({0, 0, 0, 1}))); // never written
    CHECK(result->lse->get({0, 0, 0}) == -INFINITY);
    CHECK(device.buffers() == 0);
  }
  CHECK(device.modules() == 0);
}

TEST_CASE("A view inside a padded buffer reaches the kernel at its own address") {
  FakeDevice device;
  LoadedKernel kernel = load(device, denseKernel);
  HostCall call = denseCall(1, 3, 4);
  call.q = relayout(call.q, {0, 64, 3 * 64, 1}, 16, 24); // head-major
  call.q.set({0, 2, 1, 0}, 5);
  device.body = [&](const auto &args) {
    auto *q = bf16(argument<DevicePtr>(denseKernel, args, "q"));
    CHECK(q[-1] == 0xFFFF);
    CHECK(q[(1 * 3 + 2) * 64] == 0x40A0);
    CHECK(argument<int64_t>(denseKernel, args, "q_stride_token") == 64);
    CHECK(argument<int64_t>(denseKernel, args, "q_stride_head") == 192);
  };
  REQUIRE(kernel.run(call));
  CHECK(device.launches == 1);
}

TEST_CASE("Guards find a write before, between and after the elements") {
  FakeDevice device;
  LoadedKernel kernel = load(device, denseKernel);
  HostRunOptions options{.outStrides = Shape{0, 6 * 40, 40, 1}, .lseStrides = {}, .guards = true};
  int64_t written = 0;
  device.body = [&](const auto &args) {
    bf16(argument<DevicePtr>(denseKernel, args, "out"))[written] = 0;
  };
  REQUIRE(kernel.run(denseCall(1, 3, 4), options));
  for (int64_t stray : {-1, 33, 3 * 240}) {
    written = stray;
    auto result = kernel.run(denseCall(1, 3, 4), options);
    REQUIRE_FALSE(result);
    CHECK_THAT(result.error().message, Contains("out: the kernel wrote outside its elements"));
  }
  options.guards = false;
  written = 33;
  CHECK(kernel.run(denseCall(1, 3, 4), options));
}

TEST_CASE("Varlen: lengths come from cu_seqlens, whose contents are checked") {
  FakeDevice device;
  Sidecar sidecar = testing::sidecar(Storage::Varlen);
  LoadedKernel kernel = load(device, sidecar);
  device.body = [&](const auto &args) {
    CHECK(argument<int32_t>(sidecar, args, "batch") == 3);
    CHECK(argument<int32_t>(sidecar, args, "num_q_blocks") == 1);
    CHECK(reinterpret_cast<int32_t *>(argument<DevicePtr>(sidecar, args, "cu_seqlens_q"))[3] == 7);
  };
  auto result = kernel.run(varlenCall({0, 3, 3, 7}, {0, 0, 5, 9}));
  REQUIRE(result);
  CHECK(result->out.shape == Shape{8, 6, 32});
  CHECK(result->lse->shape == Shape{6, 8});

  auto why = [&](const HostCall &call) { return kernel.run(call).error().message; };
  CHECK_THAT(why(varlenCall({0, 3, 2, 7}, {0, 0, 5, 9})),
             Contains("cu_seqlens_q: element 1 is 3 and element 2 is 2"));
  CHECK_THAT(why(varlenCall({0, 3, 3, 9}, {0, 0, 5, 9})), Contains("between 0 and 8 tokens"));
  CHECK_THAT(why(varlenCall({-1, 3, 3, 7}, {0, 0, 5, 9})),
             Contains("cu_seqlens_q: element 0 is -1"));
  CHECK_THAT(why(varlenCall({0, 3, 3, 7}, {0, 5, 9})),
             Contains("cu_seqlens_k: has 2 sequences, cu_seqlens_q has 3"));
  CHECK_THAT(why(varlenCall({}, {0})), Contains("must be i32[batch + 1], got i32[0]"));
  HostCall missing = varlenCall({0, 1}, {0, 1});
  missing.cuSeqlensK.reset();
  CHECK_THAT(why(missing), Contains("cu_seqlens_k: varlen storage needs it"));
  CHECK(device.launches == 1);
}

TEST_CASE("Nothing is launched for an empty call, nothing leaks on a failure") {
  FakeDevice device;
  LoadedKernel kernel = load(device, denseKernel);
  auto empty = kernel.run(denseCall(2, 0, 4));
  REQUIRE(empty);
  CHECK(empty->out.shape == Shape{2, 0, 6, 32});
  CHECK(device.launches == 0);

  for (int i = 0; i < 5; ++i) {
    device.allocations = 0;
    device.failAllocation = i;
    CHECK(kernel.run(denseCall(2, 3, 4)).error().message == "out of memory");
    CHECK(device.buffers() == 0);
  }
  device.failAllocation = -1;
  device.failLaunch = true;
  CHECK(kernel.run(denseCall(2, 3, 4)).error().code == ErrorCode::SimFault);
  HostCall wrong = denseCall(2, 3, 4);
  wrong.v = wrong.k;
  CHECK_THAT(kernel.run(wrong).error().message, Contains("v: dimension 3 (v_head_dim) must be 32"));
  CHECK(device.buffers() == 0);
  CHECK_FALSE(LoadedKernel::load(device, {{}, denseKernel}));
  device.kernelName = "another";
  CHECK(LoadedKernel::load(device, {{1}, denseKernel}).error().code == ErrorCode::NotFound);
  CHECK(device.modules() == 1); // the first kernel's alone
}
