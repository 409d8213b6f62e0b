// Target ids, and code objects read before they are loaded; LLVM's assembler is the oracle.
#include "runtime/abi/CodeObjectTarget.h"
#include "runtime/device/SimDevice.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <elf.h>
#include <fmt/format.h>
#include <fstream>
#include <random>

using namespace attune;
using Catch::Contains;
using simtest::Bytes;

namespace {

/// A relocatable or linked object without code, by LLVM's own tools; empty if they know no such
/// target.
Bytes object(const std::string &targetId, int version = 5, bool linked = true) {
  std::string base = simtest::scratchDir() + "/target";
  size_t colon = std::min(targetId.find(':'), targetId.size());
  std::string processor = targetId.substr(0, colon), features;
  for (std::string rest = targetId.substr(colon); !rest.empty();) { // ":xnack+" to ",+xnack"
    size_t end = std::min(rest.find(':', 1), rest.size());
    features += std::string(features.empty() ? "" : ",") + rest[end - 1] + rest.substr(1, end - 2);
    rest = rest.substr(end);
  }
  std::ofstream(base + ".s") << ".amdgcn_target \"amdgcn-amd-amdhsa--" << targetId << "\"\n"
                             << ".amdhsa_code_object_version " << version << "\n.text\n.long 0\n";
  if (!simtest::runCommand("llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=" + processor + " -mattr=" +
                           features + " -filetype=obj -o " + base + ".o " + base + ".s"))
    return {};
  if (linked && !simtest::runCommand("ld.lld-22 -shared -o " + base + ".co " + base + ".o"))
    return {};
  std::string text = simtest::readText(base + (linked ? ".co" : ".o"));
  return Bytes(text.begin(), text.end());
}

std::vector<std::string> processors() {
  return {
#define AMDGPU_PROCESSOR(NAME, NUMBER) NAME,
#define AMDGPU_GENERIC(NAME, NUMBER, MEMBERS)
#include "runtime/abi/Processors.def"
  };
}

std::string refusalBy(const std::string &device, const Bytes &code) {
  auto target = parseTargetId(device);
  REQUIRE(target);
  auto checked = checkCodeObject(code, *target, "hip:0");
  return checked ? "" : checked.error().message;
}

} // namespace

TEST_CASE("target: ids are read and written") {
  auto id = parseTargetId("gfx950:sramecc+:xnack-");
  REQUIRE(id);
  CHECK(id->processor == "gfx950");
  CHECK(id->sramecc == FeatureState::On);
  CHECK(id->xnack == FeatureState::Off);
  for (const char *text : {"gfx950", "gfx90a:xnack+", "gfx9-4-generic", "gfx906:sramecc-:xnack-"})
    CHECK((parseTargetId(text) && parseTargetId(text)->text() == text));
  CHECK(parseTargetId("gfx950:xnack-:sramecc+")->text() == "gfx950:sramecc+:xnack-");
  for (const char *text : {"", "gfx", "sm_90", "gfx950:", "gfx950:xnack", "gfx950:wave+",
                           "gfx950:xnack+:xnack-", "gfx950 ", "gfx950::", "gfx950:+"}) {
    INFO(text);
    CHECK_FALSE(parseTargetId(text));
  }
}

TEST_CASE("target: every processor of the table has LLVM's number") {
  int known = 0;
  for (const std::string &processor : processors()) {
    if (processor == "gfx940" || processor == "gfx941") // withdrawn
      continue;
    INFO(processor);
    Bytes code = object(processor);
    REQUIRE_FALSE(code.empty());
    auto target = readCodeObjectTarget(code);
    REQUIRE(target);
    CHECK(target->id.processor == processor);
    CHECK(target->version == 5);
    CHECK(target->linked);
    ++known;
  }
  CHECK(known > 40);
  auto generic = readCodeObjectTarget(object("gfx9-4-generic", 6));
  REQUIRE(generic);
  CHECK(generic->id.processor == "gfx9-4-generic");
  CHECK(generic->version == 6);
}

TEST_CASE("target: feature states are LLVM's") {
  for (std::string id : {"gfx950", "gfx950:xnack+", "gfx950:xnack-", "gfx950:sramecc-",
                         "gfx90a:sramecc+:xnack+", "gfx906:xnack-", "gfx1100"})
    for (int version : {4, 5, 6}) {
      INFO(id << " version " << version);
      auto target = readCodeObjectTarget(object(id, version));
      REQUIRE(target);
      CHECK(target->id.text() == id);
      CHECK(target->version == version);
    }
}

TEST_CASE("target: which code runs on which device") {
  const std::string mi355 = "gfx950:sramecc+:xnack-";
  for (const char *runs : {"gfx950", "gfx950:xnack-", "gfx950:sramecc+", "gfx950:sramecc+:xnack-"})
    CHECK(refusalBy(mi355, object(runs)) == "");
  CHECK(refusalBy(mi355, object("gfx9-4-generic", 6)) == "");
  CHECK(refusalBy(mi355, object("gfx942")) ==
        "the code object is for gfx942, hip:0 is gfx950:sramecc+:xnack-: build it for gfx950");
  CHECK(refusalBy(mi355, object("gfx950:xnack+")) ==
        "the code object is for gfx950:xnack+, hip:0 is gfx950:sramecc+:xnack-, without xnack+: "
        "build it for gfx950, which runs under either state");
  CHECK_THAT(refusalBy(mi355, object("gfx950:sramecc-")), Contains("without sramecc-"));
  CHECK_THAT(refusalBy(mi355, object("gfx9-generic", 6)), Contains("is for gfx9-generic"));
  CHECK_THAT(refusalBy("gfx942:sramecc+:xnack-", object("gfx950")), Contains("hip:0 is gfx942"));
  CHECK_THAT(refusalBy("gfx950", object("gfx950:xnack-")), Contains("without xnack-"));
  CHECK_THAT(refusalBy(mi355, object("gfx950", 5, false)), Contains("not linked"));
}

TEST_CASE("target: the simulator's device refuses by the same rules") {
  auto device = makeSimDevice();
  auto loaded = device->load(object("gfx942"));
  REQUIRE_FALSE(loaded);
  CHECK(loaded.error().code == ErrorCode::Unsupported);
  CHECK(loaded.error().message ==
        "the code object is for gfx942, sim is gfx950:sramecc+:xnack-: build it for gfx950");
  CHECK_THAT(device->load(object("gfx950:xnack+")).error().message, Contains("without xnack+"));
  CHECK_THAT(device->load(object("gfx9-4-generic", 6)).error().message, Contains("gfx9-4-generic"));
}

TEST_CASE("target: what is no code object, and what is cut off") {
  Bytes code = simtest::compileFile("basic.cl");
  auto message = [](const Bytes &bytes) {
    auto target = readCodeObjectTarget(bytes);
    return target ? "" : target.error().message;
  };
  CHECK(message(code) == "");
  for (size_t bytes = 0; bytes < code.size(); bytes += bytes < 64 ? 1 : 97)
    CHECK(message(Bytes(code.begin(), code.begin() + bytes)) != "");
  CHECK_THAT(message(Bytes(code.begin(), code.end() - 1)), Contains("cut off or damaged"));
  CHECK_THAT(message(Bytes(1000, 7)), Contains("not a 64-bit little-endian ELF"));
  std::string self = simtest::readText("/proc/self/exe");
  CHECK_THAT(message(Bytes(self.begin(), self.end())), Contains("ELF machine "));
  Bytes old = code;
  old[EI_ABIVERSION] = 1;
  CHECK_THAT(message(old), Contains("code object version 3; versions 4 to 6 are known"));
}

TEST_CASE("target: damage is an answer, never a crash") {
  const Bytes code = simtest::compileFile("basic.cl");
  CHECK(kernelNames(code).size() > 1);
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    Bytes damaged = code;
    for (int flips = 0; flips < 3; ++flips) {
      bool header = random() % 2;
      damaged[random() % (header ? 512 : damaged.size())] = uint8_t(random());
    }
    auto target = readCodeObjectTarget(damaged);
    CHECK((target || !target.error().message.empty()));
    CHECK(kernelNames(damaged).size() < 100);
  }
}
