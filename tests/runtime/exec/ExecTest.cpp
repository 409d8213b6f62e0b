// Launches through files: values in, values out, sparse buffers, and what is refused once buffers
// and code object are known.
#include "runtime/exec/Exec.h"
#include "runtime/launch/Npz.h"
#include "runtime/sim/AddressSpace.h"
#include "tests/runtime/exec/Kernels.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace attune;
using Catch::Contains;
using exectest::scratchFile;
using exectest::writeText;

namespace {

constexpr int count = 100;

/// a.npy holds 0, 1, 2, ...; b.npy holds 1000 everywhere.
void writeInputs() {
  HostTensor a = HostTensor::packed(DType::F32, {count}), b = a;
  for (int64_t i = 0; i < count; ++i) {
    a.set({i}, double(i));
    b.set({i}, 1000);
  }
  REQUIRE(writeFile(scratchFile("a.npy"), formatNpy(a)));
  REQUIRE(writeFile(scratchFile("b.npy"), formatNpy(b)));
}

const simtest::Bytes &addObject() {
  static const simtest::Bytes bytes = simtest::assemble(exectest::scaledAdd());
  return bytes;
}

std::string launchText(const std::string &args) {
  return fmt::format(R"({{"kernel": "k", "grid": [2], "block": [64, 1, 1], "args": [{}]}})", args);
}

const char *const abn =
    R"({"kind": "buffer", "file": "a.npy"}, {"kind": "buffer", "file": "b.npy"},)";

exec::LaunchFile parsed(const std::string &text) {
  auto file = exec::parseLaunch(text, scratchFile("launch.json"));
  if (!file)
    FAIL(file.error().message);
  return *file;
}

exec::Report ran(const simtest::Bytes &object, const std::string &args) {
  auto report = exec::run(object, parsed(launchText(args)), {});
  if (!report)
    FAIL(report.error().message);
  return *report;
}

std::string refusal(const simtest::Bytes &object, const exec::LaunchFile &file) {
  auto report = exec::run(object, file, {});
  return report ? "accepted" : report.error().message;
}

std::string refusal(const std::string &args) {
  return refusal(addObject(), parsed(launchText(args)));
}

HostTensor loaded(const std::string &name) {
  auto bytes = readFile(scratchFile(name));
  REQUIRE(bytes);
  auto tensor = parseNpy(*bytes, name);
  REQUIRE(tensor);
  return *tensor;
}

} // namespace

TEST_CASE("exec: arrays in, arrays out, the bound honoured") {
  writeInputs();
  exec::Report r = ran(addObject(), std::string(abn) +
                                        R"({"kind": "buffer", "size": 400, "fill": "0000c0ff",
      "out": "c.npy", "dtype": "f32", "shape": [20, 5]},
     {"kind": "i32", "value": 90}, {"kind": "f32", "value": 0.5})");
  HostTensor c = loaded("c.npy");
  CHECK(c.shape == Shape{20, 5});
  for (int64_t i = 0; i < 90; ++i)
    REQUIRE(c.get({i / 5, i % 5}) == double(i) + 500);
  for (int64_t i = 90; i < count; ++i)
    REQUIRE(std::isnan(c.get({i / 5, i % 5}))); // the fill
  CHECK(r.stats.workgroups == 2);
  CHECK(r.kernargGiven == 32);
  REQUIRE(r.outputs.size() == 1);
  CHECK(r.outputs[0].contents == "f32[20, 5]");
  CHECK(r.outputs[0].path == scratchFile("c.npy"));
}

TEST_CASE(
    "exec: an output without dtype has its input's; the kernel may be left out; offsets given") {
  writeInputs();
  std::string text = R"({"grid": [2, 1, 1], "block": [64, 1, 1], "args": [
    {"kind": "f32", "offset": 28, "value": 1}, {"kind": "u32", "offset": 24, "value": 100},
    {"kind": "buffer", "offset": 16, "same_as": "a"},
    {"kind": "buffer", "offset": 0, "file": "a.npy", "name": "a", "out": "sum.npy"},
    {"kind": "buffer", "offset": 8, "file": "b.npy"}]})";
  REQUIRE(exec::run(addObject(), parsed(text), {}));
  HostTensor sum = loaded("sum.npy");
  CHECK(sum.shape == Shape{count});
  CHECK(sum.get({99}) == 1099);
}

TEST_CASE("exec: pointers into a buffer, raw files, kernel arguments as bytes") {
  writeInputs();
  std::vector<float> both(2 * count, 2.0f);
  writeText("both.bin", {reinterpret_cast<const char *>(both.data()), both.size() * 4});
  ran(addObject(), R"({"kind": "buffer", "file": "both.bin", "name": "both"},
    {"kind": "buffer", "same_as": "both", "at": 400},
    {"kind": "buffer", "same_as": "both", "at": 400, "out": "half.bin"},
    {"kind": "bytes", "value": "0x0a000000 00004040"})");
  auto half = readFile(scratchFile("half.bin"));
  REQUIRE(half);
  REQUIRE(half->size() == 400); // from the pointer to the end
  std::vector<float> values(count);
  std::memcpy(values.data(), half->data(), 400);
  CHECK(values[9] == 8.0f); // 2 + 3 * 2
  CHECK(values[10] == 2.0f);
}

TEST_CASE("exec: a buffer claims 6 GiB and touches a page at 5 GiB") {
  simtest::Bytes object = simtest::assemble(exectest::farStore());
  ran(object, R"({"kind": "buffer", "claim": 6442450944, "name": "sparse"},
    {"kind": "u64", "value": 5368709120},
    {"kind": "buffer", "same_as": "sparse", "at": 5368709120, "offset": 32, "out": "far.npy",
     "dtype": "i32", "shape": [2]})");
  HostTensor far = loaded("far.npy");
  CHECK(far.get({0}) == 0x600d);
  CHECK(far.get({1}) == 0);
  CHECK_THAT(refusal(object, parsed(launchText(R"({"kind": "buffer", "claim": 6442450944,
      "name": "sparse"}, {"kind": "u64", "value": 6442450944})"))),
             Contains("0 bytes past the end of args[0] sparse"));
}

TEST_CASE("exec: a buffer at an address of the file's choice") {
  // Found free a moment ago: 64 MiB in the middle of a gap of 1 GiB.
  uint64_t gap = *sim::nearestFreeRange(uint64_t(1) << 44, uint64_t(1) << 30);
  uint64_t base = gap + (uint64_t(1) << 29);
  auto placed = [&](uint64_t at) {
    return fmt::format(R"({{"kind": "buffer", "size": 400, "fill": "0000803f", "base": "{:#x}"}})",
                       at);
  };
  std::string text = R"({"grid": [1], "block": [64], "args": [)" + placed(base) + R"(,
    {"kind": "buffer", "size": 400, "fill": "00000040"},
    {"kind": "buffer", "size": 400, "out": "placed.bin"},
    {"kind": "i32", "value": 64}, {"kind": "f32", "value": 1}]})";
  {
    sim::Memory memory;
    auto prepared = exec::prepare(memory, parsed(text));
    REQUIRE(prepared);
    CHECK(prepared->pointers[0].address == base);
    uint64_t inKernarg = 0;
    std::memcpy(&inKernarg, prepared->kernarg.data(), 8);
    CHECK(inKernarg == base);
    auto second = exec::prepare(memory, parsed(text)); // the first one lies there
    REQUIRE_FALSE(second);
    CHECK_THAT(second.error().message,
               Contains(fmt::format("args[0].base: {:#x} is taken; nearest free: 0x", base)));
    uint64_t nearest =
        std::stoull(second.error().message.substr(second.error().message.rfind("0x")), nullptr, 16);
    CHECK(nearest % 4096 == 0);
    CHECK(std::max(nearest, base) - std::min(nearest, base) < (8u << 20));
    CHECK(memory.allocAt(nearest, 400)); // it is
  }
  REQUIRE(exec::run(addObject(), parsed(text), {}));
  auto out = readFile(scratchFile("placed.bin"));
  REQUIRE(out);
  float first = 0;
  std::memcpy(&first, out->data(), 4);
  CHECK(first == 3);
  CHECK_THAT(refusal(placed(base + 1)),
             Contains(fmt::format("args[0].base: {:#x} is not a multiple of 4096", base + 1)) &&
                 Contains(fmt::format("nearest: {:#x}", base)));
  CHECK_THAT(refusal(placed(4096)), Contains("nearest: 0x200000"));
  CHECK_THAT(refusal(placed(uint64_t(1) << 60)), Contains("args[0].base"));
}

TEST_CASE("exec: a file at the start of a larger claim") {
  writeInputs();
  ran(addObject(), std::string(abn) + R"({"kind": "buffer", "file": "a.npy", "claim": 4194304,
      "at": 4096, "out": "more.npy", "dtype": "f32", "shape": [100]},
      {"kind": "i32", "value": 1}, {"kind": "f32", "value": 1})");
  CHECK(loaded("more.npy").get({0}) == 1000);
  CHECK_THAT(refusal(R"({"kind": "buffer", "file": "a.npy", "claim": 100})"),
             Contains("args[0].claim: 100 bytes are claimed, a.npy has 400"));
}

TEST_CASE("exec: refusals that need the buffers") {
  writeInputs();
  CHECK_THAT(refusal(R"({"kind": "buffer", "file": "none.npy"})"),
             Contains("args[0].file") && Contains("none.npy: no such file"));
  writeText("bad.npy", "not numpy");
  CHECK_THAT(refusal(R"({"kind": "buffer", "file": "bad.npy"})"), Contains("not a .npy file"));
  CHECK_THAT(refusal(R"({"kind": "buffer", "size": 8, "at": 9})"),
             Contains("args[0].at: 9 is past the end of the buffer; it may be 0 to 8"));
  CHECK_THAT(refusal(R"({"kind": "buffer", "size": 10000000000000, "fill": 1})"),
             Contains("args[0].size: 10000000000000 bytes to fill, this machine has "));
  CHECK_THAT(refusal(R"({"kind": "buffer", "size": 8, "out": "none/x.bin"})"),
             Contains("args[0].out: ") && Contains("there is no folder "));
  CHECK_THAT(refusal(R"({"kind": "buffer", "size": 8, "out": "x.npy"})"),
             Contains("args[0].out: a .npy needs dtype and shape"));
  CHECK_THAT(refusal(R"({"kind": "buffer", "file": "a.npy", "at": 4, "out": "x.npy"})"),
             Contains("args[0].out: a .npy needs dtype and shape"));
  CHECK_THAT(refusal(R"({"kind": "buffer", "size": 8, "at": 4, "out": "x.npy", "dtype": "bf16",
                         "shape": [3]})"),
             Contains("args[0].shape: bf16[3] takes 6 bytes") && Contains("there are 4"));
  CHECK_THAT(refusal(R"({"kind": "buffer", "size": 8, "out": "x.npy", "dtype": "i64",
                         "shape": [1099511627776, 1099511627776]})"),
             Contains("more than 2^64"));
}

TEST_CASE("exec: a run that fails writes nothing and says what the simulator said") {
  std::string message = refusal(R"({"kind": "buffer", "size": 4, "out": "never.bin"},
    {"kind": "buffer", "size": 400, "fill": 0}, {"kind": "buffer", "size": 400},
    {"kind": "i32", "value": 64}, {"kind": "f32", "value": 1})");
  CHECK_THAT(message, Contains("global_load_dword") && Contains("past the end of args[0]"));
  CHECK_FALSE(readFile(scratchFile("never.bin")));
  CHECK_THAT(refusal(addObject(), parsed(R"({"grid": [1], "block": [1024, 2], "args": []})")),
             Contains("2048 threads"));
}

TEST_CASE("exec: an argument of the metadata that the file leaves out is noted") {
  auto file = parsed(R"({"kernel": "vector_add", "grid": [1], "block": [256], "args": [
    {"kind": "buffer", "size": 64}, {"kind": "buffer", "size": 64, "offset": 16}]})");
  auto report = exec::run(simtest::compileFile("basic.cl"), file, {});
  REQUIRE(report);
  REQUIRE(report->notes.size() == 2);
  CHECK_THAT(report->notes[0], Contains("argument 1 of the kernel (8 bytes at 8) is not in"));
  CHECK_THAT(report->notes[1], Contains("argument 3 of the kernel (4 bytes at 24) is not in"));
}

TEST_CASE("exec: outputs that cannot be written") {
  writeInputs();
  CHECK_THAT(refusal(std::string(abn) + R"({"kind": "buffer", "size": 400,
      "out": "no/such/folder.bin"}, {"kind": "i32", "value": 1}, {"kind": "f32", "value": 1})"),
             Contains("args[2].out") && Contains("folder.bin"));
}

TEST_CASE("exec: which kernel") {
  auto file = parsed(R"({"kernel": "other", "grid": [1], "block": [64], "args": []})");
  CHECK_THAT(refusal(addObject(), file),
             Contains("kernel: the code object has no \"other\"; it has: k"));
  file.kernel = "k.kd";
  CHECK_THAT(refusal(addObject(), file), Catch::Equals("accepted"));
  file.kernel = "";
  const simtest::Bytes &two = simtest::compileFile("basic.cl");
  CHECK_THAT(refusal(two, file), Contains("kernel: name one of the code object's"));
  CHECK_THAT(refusal({1, 2, 3}, file), Contains("code object"));
}
