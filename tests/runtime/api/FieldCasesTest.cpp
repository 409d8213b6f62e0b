// Field cases (docs/field-cases.md) of the way to a kernel: what other projects' users have met.
#include "runtime/launch/CallPlan.h"
#include "tests/runtime/api/Testing.h"
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <thread>

using namespace attune;
using namespace attune::testing;

namespace {

/// Launches on the fake device, which throws if the kernel's module is gone. The argument bytes
/// hold nothing that anybody reads.
bool launches(const Kernel &kernel) {
  const std::vector<uint8_t> arguments(kernel.sidecar().kernel.kernargBytes);
  return bool(kernel.device().launch(kernel.handle(), LaunchDims(), arguments));
}

} // namespace

TEST_CASE("F73: with the cache off no call runs a kernel that has been given back") {
  useFakeCompiler();
  auto device = std::make_shared<FakeDevice>();
  ContextOptions options = optionsFor("");
  options.cache.mode = cache::Mode::Off;
  options.loadedKernels = 1; // two specs drive each other out
  auto context = Context::create(options, device);
  const std::vector<ParsedSpec> specs{specOf("first"), specOf("second")};
  for (int i = 0; i < 3; ++i) { // the same call three times
    auto kernel = context->kernel(specs[0], {});
    REQUIRE(kernel);
    CHECK(launches(**kernel));
  }
  CHECK(compiles() == 1);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 40; ++i) {
        auto kernel = context->kernel(specs[size_t(i + t) % 2], {});
        wrong += !kernel || !launches(**kernel);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(compiles() == 2); // a process keeps in memory what it has built, whatever is unloaded
  CHECK(device->launches == 3 + 8 * 40);
  context.reset();
  CHECK(device->modules() == 0);
}

TEST_CASE("F74: two devices have handles of their own and share one compile") {
  useFakeCompiler();
  TempDir dir;
  std::vector<std::shared_ptr<FakeDevice>> devices{std::make_shared<FakeDevice>(),
                                                   std::make_shared<FakeDevice>()};
  std::vector<std::shared_ptr<Context>> contexts;
  for (const auto &device : devices)
    contexts.push_back(Context::create(optionsFor(dir.path()), device));
  const ParsedSpec spec = specOf("shared");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 2; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < 100; ++i) { // now the own device, now the other one
        const size_t at = (i + t) % 2;
        auto kernel = contexts[at]->kernel(spec, {});
        wrong += !kernel || &(*kernel)->device() != devices[at].get() || !launches(**kernel);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
  CHECK(compiles() == 1);
  for (const auto &device : devices) {
    CHECK(device->modules() == 1);
    CHECK(device->launches == 100);
  }
}

TEST_CASE("F78: 200 draws of lengths compile nothing after the first call") {
  useFakeCompiler();
  TempDir dir;
  auto context = Context::create(optionsFor(dir.path()), std::make_shared<FakeDevice>());
  const ParsedSpec spec = specOf("served");
  std::mt19937 random(7);
  std::set<std::vector<uint32_t>> grids;
  for (int i = 0; i < 200; ++i) {
    const int64_t batch = 1 + random() % 32, longest = i % 3 ? 1 + random() % 5000 : 16 * (i + 1);
    const int64_t tokens = batch * longest;
    auto kernel = context->kernel(spec, {});
    REQUIRE(kernel);
    AttentionCall call;
    call.q = call.out = TensorView::packed(0, DType::BF16, {tokens, 4, 64});
    call.k = call.v = TensorView::packed(0, DType::BF16, {tokens + i, 2, 64});
    call.lse = TensorView::packed(0, DType::F32, {4, tokens});
    call.batch = batch;
    call.maxQLen = longest;
    Result<CallPlan> plan = planCall((*kernel)->sidecar(), call);
    REQUIRE(plan);
    grids.insert({plan->dims.grid[0], plan->dims.grid[1], plan->dims.grid[2]});
  }
  CHECK(compiles() == 1);
  CHECK(context->cache().counters().builds == 1);
  CHECK(grids.size() > 100); // they were other calls
}
