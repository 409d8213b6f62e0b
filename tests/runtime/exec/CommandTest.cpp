// The parts of `attune exec`: policies from text, files in, both forms of the report out.
#include "runtime/launch/File.h"
#include "tests/runtime/exec/Kernels.h"
#include "tools/attune/Exec.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace attune;
using namespace attune::tool;
using Catch::Contains;
using exectest::scratchFile;
using exectest::writeText;

namespace {

std::string refusedPolicy(const std::string &text) {
  sim::RunOptions options;
  auto ok = parsePolicy(text, options);
  return ok ? "accepted" : ok.error().message;
}

ExecArgs vectorAdd() {
  REQUIRE(writeFile(scratchFile("add.co"), simtest::assemble(exectest::scaledAdd())));
  writeText("add.json", R"({"kernel": "k", "grid": [2, 1, 1], "block": [64, 1, 1], "args": [
    {"kind": "buffer", "size": 512, "fill": "0000803f"}, {"kind": "buffer", "size": 512, "fill": "00000040"},
    {"kind": "buffer", "size": 512, "out": "add.bin"},
    {"kind": "i32", "value": 128}, {"kind": "f32", "value": 1}]})");
  return {.codeObject = scratchFile("add.co"), .launch = scratchFile("add.json"), .options = {}};
}

} // namespace

TEST_CASE("policy: all keys") {
  sim::RunOptions o;
  REQUIRE(parsePolicy("arrival=latest,schedule=random,quantum=7,seed=18446744073709551615", o));
  CHECK(o.arrival == sim::Arrival::Latest);
  CHECK(o.schedule == sim::Schedule::Random);
  CHECK(o.quantum == 7);
  CHECK(o.seed == UINT64_MAX);
  REQUIRE(parsePolicy("schedule=reverse", o));
  CHECK(o.schedule == sim::Schedule::Reverse);
  CHECK(o.arrival == sim::Arrival::Latest); // what is not named stays
}

TEST_CASE("policy: refusals") {
  CHECK_THAT(refusedPolicy(""), Contains("'' is not of the form name=value"));
  CHECK_THAT(refusedPolicy("arrival"), Contains("'arrival' is not of the form"));
  CHECK_THAT(refusedPolicy("arrival=late"),
             Contains("late is not arrival: it is instant or latest or typical"));
  CHECK_THAT(refusedPolicy("schedule="), Contains("to-barrier or in-turn or reverse or random"));
  CHECK_THAT(refusedPolicy("quantum=0"), Contains("a whole number from 1 to 4294967295"));
  CHECK_THAT(refusedPolicy("seed=1x"), Contains("1x is not seed"));
  CHECK_THAT(refusedPolicy("speed=1"),
             Contains("policies: arrival, lds-delay, memory-delay, quantum, "));
  CHECK_THAT(refusedPolicy("seed=1,seed=2"), Contains("seed is set twice"));
  CHECK_THAT(refusedPolicy("seed=1,"), Contains("'' is not of the form"));
}

TEST_CASE("execute: from files to a report") {
  auto report = execute(vectorAdd());
  REQUIRE(report);
  auto out = readFile(scratchFile("add.bin"));
  REQUIRE(out);
  float last = 0;
  std::memcpy(&last, out->data() + 508, 4);
  CHECK(last == 3);
  std::string text = asText(*report, true);
  CHECK_THAT(text, Contains("kernel  k\n") && Contains("grid 2 x 1 x 1  block 64 x 1 x 1") &&
                       Contains("add.bin  512 bytes") && Contains("2 workgroups") &&
                       Contains("4  global_load_dword") && Contains("none: every instruction"));
  CHECK_THAT(asText(*report, false), !Contains("global_load_dword"));
  auto json = nlohmann::json::parse(asJson(*report, true));
  CHECK(json["ok"] == true);
  CHECK(json["kernel"]["name"] == "k");
  CHECK(json["grid"] == nlohmann::json({2, 1, 1}));
  CHECK(json["stats"]["opcodes"]["v_fma_f32"] == 2);
  CHECK(json["stats"]["mfma_instructions"] == 0);
  CHECK(json["outputs"][0]["contents"] == "512 bytes");
  nlohmann::json brief = nlohmann::json::parse(asJson(*report, false));
  CHECK_FALSE(brief.contains("stats"));
  CHECK(brief["approximate"] == report->run.stats.approximate);
  CHECK(asText(*report, false).find("\napprox  ") != std::string::npos);
}

TEST_CASE("execute: a trace has every instruction of every wave that was timed, in order") {
  ExecArgs args = vectorAdd();
  args.trace = scratchFile("add.trace.json");
  auto report = execute(args);
  REQUIRE(report);
  CHECK_FALSE(report->timing); // nobody asked
  CHECK_THAT(asText(*report, false), Contains("add.trace.json  trace for Perfetto"));
  CHECK(nlohmann::json::parse(asJson(*report, false))["trace"] == args.trace);
  auto bytes = readFile(args.trace);
  REQUIRE(bytes);
  auto trace = nlohmann::json::parse(*bytes);
  CHECK(trace["otherData"]["kernel"] == "k");
  std::map<int, std::vector<nlohmann::json>> issued;
  for (const auto &event : trace["traceEvents"])
    if (event.value("cat", "") == "issue")
      issued[event["tid"]].push_back(event);
  REQUIRE(issued.size() == 1); // workgroup 0 runs on the compute unit that is modelled, 1 elsewhere
  const auto &wave = issued.begin()->second;
  CHECK(wave.size() == report->run.stats.waveInstructions / 2);
  CHECK(wave.front()["args"]["pc"] == "0x0");
  CHECK(wave.back()["name"] == "s_endpgm");
  for (size_t n = 1; n < wave.size(); ++n)
    CHECK(wave[n]["ts"] > wave[n - 1]["ts"]);
  args.trace = "/no/such/folder/trace.json";
  auto refused = execute(args);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("/no/such/folder/trace.json"));
}

TEST_CASE("execute: every policy gives the same bytes; a budget stops a kernel") {
  ExecArgs args = vectorAdd();
  std::optional<Bytes> first;
  for (const char *policy : {"arrival=instant", "arrival=latest", "schedule=reverse",
                             "arrival=latest,schedule=random,quantum=1,seed=5"}) {
    args.options = {};
    REQUIRE(parsePolicy(policy, args.options));
    REQUIRE(execute(args));
    auto out = readFile(scratchFile("add.bin"));
    REQUIRE(out);
    if (!first)
      first = *out;
    CHECK(*out == *first);
  }
  args.options.instructionBudget = 3;
  auto stopped = execute(args);
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::SimFault);
}

TEST_CASE("execute: files that are not there") {
  ExecArgs args = vectorAdd();
  args.codeObject = "/no/such.co";
  auto none = execute(args);
  REQUIRE_FALSE(none);
  CHECK(none.error().code == ErrorCode::NotFound);
}
