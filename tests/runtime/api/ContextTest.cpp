// The way to a kernel: table, cache, compiler; and what happens when one of them fails.
#include "tests/runtime/api/Testing.h"
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <sys/wait.h>
#include <thread>

using namespace attune;
using namespace attune::testing;
using Catch::Matchers::Contains;

namespace {

std::shared_ptr<Context> contextOf(ContextOptions options) {
  Result<std::shared_ptr<Context>> context = Context::create(std::move(options));
  if (!context)
    FAIL(context.error().message);
  return *context;
}

bool mapsFakeCompiler() {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("fake-compiler") != std::string::npos ||
        line.find(ATTUNE_FAKE_COMPILER) != std::string::npos)
      return true;
  return false;
}

} // namespace

TEST_CASE("A kernel is compiled once: then it is loaded, in memory, on disk") {
  useFakeCompiler();
  TempDir dir;
  auto context = contextOf(optionsFor(dir.path()));
  Result<KernelPtr> first = context->kernel(specOf("a"), {});
  REQUIRE(first);
  CHECK(compiles() == 1);
  CHECK((*context->kernel(specOf("a"), {})).get() == first->get());
  CHECK(compiles() == 1);
  Result<KernelPtr> knob = context->kernel(specOf("a"), {{"waves", "2"}});
  REQUIRE(knob);
  CHECK((*knob)->digest() != (*first)->digest());
  CHECK(compiles() == 2);

  auto second = contextOf(optionsFor(dir.path()));
  REQUIRE(second->kernel(specOf("a"), {}));
  CHECK(compiles() == 2);
  CHECK(second->cache().counters().diskHits == 1);
}

TEST_CASE("A listing comes from the compile that makes the kernel, or from one of its own") {
  useFakeCompiler();
  TempDir dir;
  for (const CompileWhere where : {CompileWhere::InProcess, CompileWhere::Child}) {
    const ParsedSpec spec = specOf(where == CompileWhere::Child ? "child" : "here");
    const size_t before = compiles();
    for (size_t calls : {1, 2}) { // a miss, then a hit
      auto listed = contextOf(optionsFor(dir.path(), where))->listedImage(spec, {});
      REQUIRE(listed);
      REQUIRE(listed->listing);
      CHECK(listed->listing->tile == "tile of " + spec.model.problem.specName);
      REQUIRE(listed->listing->rows.size() == 1);
      CHECK(listed->listing->rows[0].isa == "s_endpgm");
      CHECK(listed->listing->rows[0].tileLine == 1);
      CHECK(compiles() == before + calls);
    }
    ContextOptions forbidden = optionsFor(dir.path(), where);
    forbidden.cache.mayBuild = false;
    auto found = contextOf(forbidden)->listedImage(spec, {});
    REQUIRE(found);
    CHECK(!found->listing);
    CHECK(compiles() == before + 2);
  }
}

TEST_CASE("A damaged entry is read once, counted once and built anew") {
  useFakeCompiler();
  TempDir dir;
  REQUIRE(contextOf(optionsFor(dir.path()))->kernel(specOf("a"), {}));
  auto context = contextOf(optionsFor(dir.path()));
  const std::string path =
      context->cache().directory()->entryPath((*context->key(specOf("a"), {})).digest());
  std::ofstream(path, std::ios::app) << "x";
  REQUIRE(context->kernel(specOf("a"), {}));
  const cache::Counters counters = context->cache().counters();
  CHECK(counters.corrupt == 1);
  CHECK(counters.misses == 1);
  CHECK(counters.builds == 1);
  CHECK(compiles() == 2);
}

TEST_CASE("A process whose kernels are on disk never loads the compiler") {
  useFakeCompiler();
  TempDir dir;
  REQUIRE(contextOf(optionsFor(dir.path(), CompileWhere::Child))->kernel(specOf("a"), {}));
  Child child([&] {
    const bool before = mapsFakeCompiler(); // an earlier test may have loaded it
    Result<std::shared_ptr<Context>> context = Context::create(optionsFor(dir.path()));
    return context && (*context)->kernel(specOf("a"), {}) && mapsFakeCompiler() == before ? 0 : 1;
  });
  CHECK(child.wait() == 0);
}

TEST_CASE("What the compiler says arrives; nothing of it is kept") {
  useFakeCompiler();
  TempDir dir;
  for (CompileWhere where : {CompileWhere::InProcess, CompileWhere::Child}) {
    auto context = contextOf(optionsFor(dir.path(), where));
    const auto refused = context->kernel(specOf("refuse"), {});
    REQUIRE_FALSE(refused);
    CHECK(refused.error().code == ErrorCode::Unsupported);
    CHECK(refused.error().message == "the fake compiler refuses refuse");
    const auto garbage = context->kernel(specOf("garbage"), {});
    REQUIRE_FALSE(garbage);
    CHECK(garbage.error().code == ErrorCode::Internal);
    const auto other = context->kernel(specOf("other"), {});
    REQUIRE_FALSE(other);
    CHECK_THAT(other.error().message, Contains("other.attn") && Contains("another spec"));
  }
  CHECK(compiles() == 6);
  CHECK(cache::testing::namesIn(dir.path()).size() <= 1); // the lock
}

TEST_CASE("A compiler that crashes in a child is an error of one call") {
  useFakeCompiler();
  TempDir dir;
  auto context = contextOf(optionsFor(dir.path(), CompileWhere::Child));
  const auto crashed = context->kernel(specOf("crash"), {});
  REQUIRE_FALSE(crashed);
  CHECK(crashed.error().code == ErrorCode::Internal);
  CHECK_THAT(crashed.error().message, Contains("crash.attn") && Contains("signal 9"));
  CHECK(context->kernel(specOf("a"), {}));
}

TEST_CASE("The last words of a compiler that dies in a child are in the error") {
  useFakeCompiler();
  TempDir dir;
  const auto failed =
      contextOf(optionsFor(dir.path(), CompileWhere::Child))->kernel(specOf("doomed"), {});
  REQUIRE_FALSE(failed);
  CHECK(failed.error().message ==
        "compiling doomed.attn: the compiler's process died of signal 9 (Killed); it said: LLVM "
        "ERROR: the fake compiler is out of registers");
}

TEST_CASE("A compiler that hangs in a child is killed; the limit and its settings are named") {
  useFakeCompiler();
  TempDir dir;
  ContextOptions options = optionsFor(dir.path(), CompileWhere::Child);
  options.compiler.childTime = std::chrono::milliseconds(400);
  const auto start = std::chrono::steady_clock::now();
  auto context = contextOf(options);
  const auto hung = context->kernel(specOf("hang"), {});
  REQUIRE_FALSE(hung);
  CHECK(hung.error().code == ErrorCode::Internal);
  CHECK(hung.error().message ==
        "compiling hang.attn: the compiler's process was killed after its limit of 0.4 s, which "
        "ATTUNE_COMPILE_TIMEOUT (or attune_context_options.compile_timeout) sets");
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
  CHECK(cache::testing::namesIn(dir.path()).size() <= 1); // the lock, which nobody holds
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);             // no child is left
}

TEST_CASE("A child that cannot have its memory is an error of one call") {
  useFakeCompiler();
  TempDir dir;
  ContextOptions options = optionsFor(dir.path(), CompileWhere::Child);
  options.compiler.childMemoryBytes = uint64_t(512) << 20;
  const auto failed = contextOf(options)->kernel(specOf("hungry"), {});
  REQUIRE_FALSE(failed);
  CHECK_THAT(failed.error().message, Contains("the compiler's process"));
}

TEST_CASE("Compiling forbidden: the key, the places and the command are named") {
  useFakeCompiler();
  TempDir dir;
  ContextOptions options = optionsFor(dir.path());
  options.cache.mayBuild = false;
  auto context = contextOf(options);
  const auto missing = context->kernel(specOf("a"), {{"waves", "2"}});
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK_THAT(missing.error().message,
             Contains((*context->key(specOf("a"), {{"waves", "2"}})).digest()) &&
                 Contains(dir.path()) && Contains("attune cache warm") && Contains("waves=2"));
  CHECK(compiles() == 0);
}

TEST_CASE("Threads that want one kernel get one kernel") {
  useFakeCompiler();
  TempDir dir;
  auto context = contextOf(optionsFor(dir.path()));
  const ParsedSpec spec = specOf("slow_threads");
  std::vector<KernelPtr> got(8);
  std::vector<std::thread> threads;
  for (KernelPtr &kernel : got)
    threads.emplace_back([&] {
      if (auto found = context->kernel(spec, {}))
        kernel = *found;
    });
  for (std::thread &thread : threads)
    thread.join();
  for (const KernelPtr &kernel : got) {
    REQUIRE(kernel);
    CHECK(kernel == got[0]);
  }
  CHECK(compiles() == 1);
}

TEST_CASE("Asking without waiting: pending, then there; an error is told once") {
  useFakeCompiler();
  TempDir dir;
  auto context = contextOf(optionsFor(dir.path()));
  const auto wait = [&](const ParsedSpec &spec) {
    Result<Context::Soon> soon = context->kernelSoon(spec, {});
    for (int i = 0; i < 1000 && soon && soon->pending; ++i) {
      CHECK(soon->kernel == nullptr); // no bundle has another one
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      soon = context->kernelSoon(spec, {});
    }
    return soon;
  };
  Result<Context::Soon> slow = context->kernelSoon(specOf("slow_async"), {});
  REQUIRE(slow);
  CHECK(slow->pending);
  slow = wait(specOf("slow_async"));
  REQUIRE(slow);
  CHECK(slow->kernel);
  CHECK(compiles() == 1);

  Result<Context::Soon> refused = wait(specOf("refuse"));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
  CHECK(context->kernelSoon(specOf("refuse"), {})); // tries again
}

TEST_CASE("A context ends while kernels are being compiled") {
  useFakeCompiler();
  TempDir dir;
  auto context = contextOf(optionsFor(dir.path()));
  for (int i = 0; i < 6; ++i)
    CHECK(context->kernelSoon(specOf("slow_end" + std::to_string(i)), {}));
  context.reset();
  CHECK(compiles() <= 3); // those that had begun
}

TEST_CASE("Loaded kernels that nobody holds are bounded") {
  useFakeCompiler();
  auto device = std::make_shared<FakeDevice>();
  TempDir dir;
  ContextOptions options = optionsFor(dir.path());
  options.loadedKernels = 4;
  auto context = Context::create(options, device);
  const auto kernelOf = [&](int i) {
    return *context->kernel(specOf("a" + std::to_string(i)), {});
  };
  KernelPtr held = kernelOf(0);
  for (int i = 1; i < 30; ++i) {
    kernelOf(i);
    CHECK(device->modules() <= 5);
  }
  CHECK(kernelOf(0) == held);
  context.reset();
  CHECK(device->modules() == 1); // its holder's
  held.reset();
  CHECK(device->modules() == 0);
}

TEST_CASE("Devices by name") {
  TempDir dir;
  ContextOptions options = optionsFor(dir.path());
  CHECK(contextOf(options)->deviceName() == "sim");
  options.device = "cuda";
  const auto wrong = Context::create(options);
  REQUIRE_FALSE(wrong);
  CHECK_THAT(wrong.error().message, Contains("cuda") && Contains("sim"));
}

TEST_CASE("A bundle serves where compiling is forbidden or impossible, and meanwhile") {
  useFakeCompiler();
  TempDir dir, empty;
  const Knobs knobs{{"waves", "2"}};
  auto builder = contextOf(optionsFor(dir.path()));
  std::vector<bundle::Entry> entries;
  for (const char *name : {"a", "slow_b"}) {
    Result<cache::KernelRef> image = builder->image(specOf(name), {});
    REQUIRE(image);
    entries.push_back({(*builder->key(specOf(name), {})).text(), name, **image});
  }
  Result<std::vector<uint8_t>> bytes = bundle::writeBundle(entries);
  REQUIRE(bytes);
  const auto withBundle = [&](ContextOptions options) {
    auto context = contextOf(std::move(options));
    Result<bundle::Bundle> bundle = bundle::Bundle::fromMemory(*bytes);
    REQUIRE(bundle);
    context->addBundle(std::move(*bundle));
    return context;
  };
  const size_t before = compiles();

  ContextOptions forbidden = optionsFor(empty.path());
  forbidden.cache.mayBuild = false;
  auto strict = withBundle(forbidden);
  Result<KernelPtr> kernel = strict->kernel(specOf("a"), {});
  REQUIRE(kernel);
  CHECK((*kernel)->image().codeObject == entries[0].image.codeObject);
  const auto missing = strict->kernel(specOf("a"), knobs);
  REQUIRE_FALSE(missing);
  CHECK(missing.error().code == ErrorCode::NotFound);
  CHECK_THAT(missing.error().message, Contains("forbids compiling") &&
                                          Contains("the nearest is a") &&
                                          Contains("differs in knobs"));

  ContextOptions without = optionsFor(empty.path());
  without.compiler.library = "/nowhere/libattune-compiler.so";
  auto bare = withBundle(without);
  CHECK(bare->kernel(specOf("a"), {}));
  const auto absent = bare->kernel(specOf("c"), {});
  REQUIRE_FALSE(absent);
  CHECK_THAT(absent.error().message, Contains("/nowhere") && Contains("has no such kernel"));
  CHECK(compiles() == before);

  auto serving = withBundle(optionsFor(empty.path()));
  Result<Context::Soon> soon = serving->kernelSoon(specOf("slow_b"), knobs);
  REQUIRE(soon);
  CHECK(soon->pending);
  REQUIRE(soon->kernel); // the same attention with the default schedule
  const KernelPtr generic = soon->kernel;
  for (int i = 0; i < 1000 && soon && soon->pending; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    soon = serving->kernelSoon(specOf("slow_b"), knobs);
  }
  REQUIRE(soon);
  CHECK_FALSE(soon->pending);
  CHECK(soon->kernel->digest() != generic->digest());
  CHECK(compiles() == before + 1);
}

TEST_CASE("F83: of several bundles this compiler's kernel wins, then the first that was added") {
  useFakeCompiler();
  TempDir dir, empty;
  auto builder = contextOf(optionsFor(dir.path()));
  const cache::KernelRef image = *builder->image(specOf("a"), {});
  const auto bundleBy = [&](const CompilerIdentity &by, const std::string &mark) {
    bundle::Entry entry{kernelKey(specOf("a").model, "gfx950", {}, by, {})->text(), "a", *image};
    entry.image.sidecar.plan = mark; // tells them apart
    return *bundle::writeBundle({entry});
  };
  CompilerLink link({.library = ATTUNE_FAKE_COMPILER, .identity = {}});
  const auto mine = bundleBy(*link.identity(), "mine"), old = bundleBy({"old", "21.1"}, "old"),
             older = bundleBy({"older", "20.1"}, "older");
  const auto served = [&](const std::vector<std::vector<uint8_t>> &bundles, bool compiler) {
    ContextOptions options = optionsFor(empty.path());
    options.cache.mayBuild = false;
    if (!compiler)
      options.compiler.library = "/nowhere/libattune-compiler.so";
    auto context = contextOf(options);
    for (const auto &bytes : bundles)
      context->addBundle(*bundle::Bundle::fromMemory(bytes));
    return (*context->kernel(specOf("a"), {}))->sidecar().plan;
  };
  CHECK(served({old, mine, older}, true) == "mine");
  CHECK(served({old, older}, true) == "old");
  CHECK(served({older, old, mine}, false) == "older"); // nobody knows which is this compiler's
}

TEST_CASE("F82: a bundle for two chips gives each device its own kernel") {
  useFakeCompiler();
  TempDir dir, empty;
  const cache::KernelRef image = *contextOf(optionsFor(dir.path()))->image(specOf("a"), {});
  std::vector<bundle::Entry> entries;
  for (const char *arch : {"gfx942", "gfx950"}) {
    entries.push_back(
        {kernelKey(specOf("a").model, arch, {}, {"c", "l"}, {})->text(), "a", *image});
    entries.back().image.sidecar.arch = arch;
  }
  const std::vector<uint8_t> both = *bundle::writeBundle(entries);
  entries.pop_back();
  const std::vector<uint8_t> other = *bundle::writeBundle(entries);
  ContextOptions options = optionsFor(empty.path());
  options.cache.mayBuild = false;
  auto context = contextOf(options);
  context->addBundle(*bundle::Bundle::fromMemory(other));
  const auto refused = context->kernel(specOf("a"), {});
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("the nearest is a") && Contains("differs in arch"));
  context->addBundle(*bundle::Bundle::fromMemory(both));
  Result<KernelPtr> kernel = context->kernel(specOf("a"), {});
  REQUIRE(kernel);
  CHECK((*kernel)->sidecar().arch == context->arch());
}
