// What the host pays for a warm launch, with the device stubbed out: a kernel that is looked up
// again, a plan that is filled in and launched; processor time. Prints nothing but an error if a
// result is wrong.
//
//   api_bench [MILLIONS]        default 1
#include "runtime/api/Handles.h"
#include "tests/runtime/api/Testing.h"
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>

using namespace attune;
using namespace attune::testing;

namespace {

/// Counts launches without a lock or an allocation.
class NullDevice final : public FakeDevice {
public:
  uint64_t count = 0, lastQ = 0;
  Result<void> launch(KernelHandle, const LaunchDims &, std::span<const uint8_t> args,
                      void *) override {
    ++count;
    std::memcpy(&lastQ, args.data(), sizeof lastQ);
    return {};
  }
};

double processorNs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * double(now.tv_sec) + double(now.tv_nsec);
}

/// Processor time of a call: what it costs, also where others use the machine.
template <class Body> double nanoseconds(uint64_t times, Body body) {
  const double start = processorNs();
  for (uint64_t i = 0; i < times; ++i)
    body(i);
  return (processorNs() - start) / double(times);
}

int wrong(const std::string &what) {
  fmt::print(stderr, "wrong: {}\n", what);
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  const uint64_t times = 1'000'000 * (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1);
  setenv("FAKE_CODE", "/bin/true", 1); // nobody runs it
  TempDir dir;
  auto device = std::make_shared<NullDevice>();
  auto context = Context::create(optionsFor(dir.path()), device);
  const ParsedSpec spec = specOf("bench");
  Result<KernelPtr> kernel = context->kernel(spec, {});
  if (!kernel)
    return wrong(kernel.error().message);

  AttentionCall shapes;
  shapes.q = shapes.out = TensorView::packed(0, DType::BF16, {100, 4, 64});
  shapes.k = shapes.v = TensorView::packed(0, DType::BF16, {100, 2, 64});
  shapes.lse = TensorView::packed(0, DType::F32, {4, 100});
  shapes.batch = 3;
  shapes.maxQLen = 50;
  Result<CallPlan> made = planCall((*kernel)->sidecar(), shapes);
  if (!made)
    return wrong(made.error().message);
  attune_plan plan{*kernel, *made, made->validWhile()};
  attune_pointers pointers{};
  pointers.size = sizeof pointers;
  pointers.k = pointers.v = pointers.out = pointers.lse = 0x10000;
  pointers.cu_seqlens_q = pointers.cu_seqlens_k = 0x20000;

  const double hit = nanoseconds(times, [&](uint64_t) {
    if (*context->kernel(spec, {}) != *kernel)
      std::exit(wrong("a hit gave another kernel"));
  });
  const double run = nanoseconds(times, [&](uint64_t i) {
    pointers.q = 0x100000 + 16 * i;
    if (attune_run(&plan, &pointers, nullptr) != ATTUNE_OK)
      std::exit(wrong(attune_last_error()));
  });
  if (device->count != times || device->lastQ != pointers.q)
    return wrong("not every run was launched with its pointers");
  fmt::print("kernel looked up in memory   {:6.0f} ns\n"
             "plan filled in and launched  {:6.0f} ns\n"
             "both                         {:6.0f} ns (limit 1000)\n",
             hit, run, hit + run);
  return 0;
}
