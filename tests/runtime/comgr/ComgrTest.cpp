// comgr links and reads code objects for the chips it knows, refuses the others by name, and
// survives damaged objects. Debian 12's comgr 2.4 knows chips up to gfx90a and the like, not
// gfx950.
#include "runtime/comgr/Comgr.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>
#include <thread>
#include <unistd.h>

using namespace attune;
using Catch::Contains;
using simtest::Bytes;

namespace {

/// The installed comgr; without one the test says so and passes.
std::optional<Comgr> installed() {
  auto comgr = Comgr::open();
  if (comgr)
    return std::move(*comgr);
  WARN("skipped: " << comgr.error().message << "\n(Debian: apt-get install libamd-comgr2)");
  return std::nullopt;
}

Bytes readBytes(const std::string &path) {
  std::string text = simtest::readText(path);
  return Bytes(text.begin(), text.end());
}

/// A relocatable object with kernels "first" and "second".
Bytes compiled(const std::string &chip, const std::string &options = "-mcode-object-version=4") {
  std::string base = simtest::scratchDir() + "/" + chip;
  std::ofstream(base + ".cl") << R"(
kernel void first(global float *out, float x) { out[__builtin_amdgcn_workitem_id_x()] = x; }
kernel __attribute__((reqd_work_group_size(128, 1, 1))) void second(global int *p, long n) {
  local int words[64];
  words[__builtin_amdgcn_workitem_id_x() & 63] = p[0];
  __builtin_amdgcn_s_barrier();
  p[1] = words[n & 63];
}
)";
  REQUIRE(simtest::runCommand(
      "clang-22 -x cl -cl-std=CL2.0 -O1 -target amdgcn-amd-amdhsa -mcpu=" + chip + " " + options +
      " -nogpulib -Xclang -finclude-default-header -c -o " + base + ".o " + base + ".cl"));
  return readBytes(base + ".o");
}

const KernelMetadata *find(const std::vector<KernelMetadata> &kernels, const std::string &name) {
  for (const KernelMetadata &k : kernels)
    if (k.name == name)
      return &k;
  return nullptr;
}

} // namespace

TEST_CASE("comgr: names itself and the chips it knows") {
  auto comgr = installed();
  if (!comgr)
    return;
  CHECK_THAT(comgr->name(), Contains("comgr ") && Contains("libamd_comgr.so"));
  CHECK(comgr->processors().size() > 10);
  CHECK(std::ranges::is_sorted(comgr->processors()));
  CHECK(comgr->knows("gfx90a"));
  CHECK_FALSE(comgr->knows("gfx90"));
}

TEST_CASE("comgr: links a relocatable object of version 4 and reads its kernels") {
  auto comgr = installed();
  if (!comgr)
    return;
  Bytes object = compiled("gfx90a");
  auto linked = comgr->link(object);
  INFO((linked ? "" : linked.error().message));
  REQUIRE(linked);
  auto target = readCodeObjectTarget(*linked);
  REQUIRE(target);
  CHECK(target->linked);
  CHECK(target->version == 4);
  CHECK(target->id.text() == "gfx90a");
  CHECK(kernelNames(*linked) == std::vector<std::string>{"first", "second"});

  for (const Bytes &code : {object, *linked}) {
    auto kernels = comgr->kernels(code);
    INFO((kernels ? "" : kernels.error().message));
    REQUIRE(kernels);
    REQUIRE(kernels->size() == 2);
    const KernelMetadata *first = find(*kernels, "first"), *second = find(*kernels, "second");
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first->kernargBytes >= 12);
    CHECK(first->vgprs > 0);
    CHECK(first->vgprs < 64);
    CHECK(first->sgprs > 0);
    CHECK(first->ldsBytes == 0);
    CHECK(first->scratchBytes == 0);
    CHECK(second->ldsBytes == 256);
    CHECK(second->maxThreads == 128);
  }
}

TEST_CASE("comgr: the target id's features reach the executable") {
  auto comgr = installed();
  if (!comgr)
    return;
  auto linked = comgr->link(compiled("gfx90a:sramecc+:xnack-"));
  INFO((linked ? "" : linked.error().message));
  REQUIRE(linked);
  CHECK(readCodeObjectTarget(*linked)->id.text() == "gfx90a:sramecc+:xnack-");
}

TEST_CASE("comgr: a chip that it does not know is refused with those that it knows") {
  auto comgr = installed();
  if (!comgr)
    return;
  if (comgr->knows("gfx950")) {
    WARN("skipped: " << comgr->name() << " knows gfx950");
    return;
  }
  const std::string version = comgr->name().substr(0, comgr->name().find(" ("));
  Bytes object = compiled("gfx950"), code = simtest::compileFile("basic.cl");
  for (auto message : {comgr->link(object).error().message, comgr->kernels(code).error().message})
    CHECK_THAT(message, Contains(version + " knows no gfx950; it knows: gfx10") &&
                            Contains("gfx90a") && Contains("libamd_comgr.so"));
  CHECK(comgr->link(object).error().code == ErrorCode::Unsupported);
}

TEST_CASE("comgr: what is no relocatable object, and what the linker does not like") {
  auto comgr = installed();
  if (!comgr)
    return;
  auto linked = comgr->link(compiled("gfx90a"));
  REQUIRE(linked);
  CHECK_THAT(comgr->link(*linked).error().message, Contains("linked already"));
  CHECK_THAT(comgr->link(Bytes(100, 1)).error().message, Contains("not a 64-bit"));
  CHECK_THAT(comgr->kernels(Bytes()).error().message, Contains("not a 64-bit"));

  std::string base = simtest::scratchDir() + "/undefined";
  std::ofstream(base + ".s") << ".amdgcn_target \"amdgcn-amd-amdhsa--gfx90a\"\n"
                                ".amdhsa_code_object_version 4\n.text\n.globl f\n.hidden g\nf:\n"
                                "s_getpc_b64 s[0:1]\ns_add_u32 s0, s0, g@rel32@lo+4\n";
  REQUIRE(
      simtest::runCommand("llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx90a -filetype=obj -o " +
                          base + ".o " + base + ".s"));
  auto undefined = comgr->link(readBytes(base + ".o"));
  REQUIRE_FALSE(undefined);
  CHECK_THAT(undefined.error().message, Contains("does not link this object for gfx90a: ") &&
                                            Contains("undefined") && Contains("g"));
}

TEST_CASE("comgr: damaged objects are answers, never crashes") {
  auto comgr = installed();
  if (!comgr)
    return;
  const Bytes object = compiled("gfx90a");
  auto linked = comgr->link(object);
  REQUIRE(linked);
  std::mt19937 random(11);
  int refused = 0, crashed = 0;
  for (int round = 0; round < 400; ++round) {
    Bytes damaged = round % 2 ? object : *linked;
    for (int flips = 0; flips < 2; ++flips)
      damaged[random() % damaged.size()] = uint8_t(random());
    auto kernels = comgr->kernels(damaged);
    refused += !kernels;
    if (round % 8 == 1)
      refused += !comgr->link(damaged);
    crashed += !kernels && kernels.error().message.find("died of signal") != std::string::npos;
  }
  INFO(refused << " refused, " << crashed << " by a crash");
  CHECK(refused > 0);
  for (size_t bytes = 0; bytes < object.size(); bytes += 61)
    CHECK_FALSE(comgr->kernels(std::span(object).first(bytes)));
}

TEST_CASE("comgr: threads may share it") {
  auto comgr = installed();
  if (!comgr)
    return;
  const Bytes object = compiled("gfx90a");
  auto expected = comgr->link(object);
  REQUIRE(expected);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 5; ++i) {
        auto linked = comgr->link(object);
        wrong += !linked || *linked != *expected || !comgr->kernels(*linked);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("comgr: no library, and a library of something else") {
  auto none = Comgr::open("/no/such/libamd_comgr.so");
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::NotFound);
  CHECK_THAT(none.error().message, Contains("no library of /no/such/libamd_comgr.so; install ROCm, "
                                            "or set ATTUNE_COMGR_LIBRARY to the library's path:"));
  setenv("ATTUNE_COMGR_LIBRARY", "libm.so.6", 1);
  auto other = Comgr::open();
  unsetenv("ATTUNE_COMGR_LIBRARY");
  REQUIRE_FALSE(other);
  CHECK_THAT(other.error().message,
             Contains("is no comgr of version 2 to 3: it lacks amd_comgr_action_data_count"));
}
