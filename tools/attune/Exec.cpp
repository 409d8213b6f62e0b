#include "tools/attune/Exec.h"
#include "runtime/launch/File.h"
#include "runtime/sim/timing/Timing.h"
#include "tools/attune/Findings.h"
#include "tools/attune/Profile.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace attune::tool {

using nlohmann::ordered_json;

namespace {

Error wrongPolicy(std::string_view key, std::string_view value, std::string_view legal) {
  return {ErrorCode::InvalidArgument,
          fmt::format("--policy: {} is not {}: it is {}", value, key, legal)};
}

template <class T>
Result<void> setNumber(std::string_view key, std::string_view value, T least, T &out) {
  T number{};
  auto [end, failed] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (failed != std::errc() || end != value.data() + value.size() || number < least)
    return wrongPolicy(
        key, value,
        fmt::format("a whole number from {} to {}", least, std::numeric_limits<T>::max()));
  out = number;
  return {};
}

template <class E>
Result<void> setNamed(std::string_view key, std::string_view value,
                      std::initializer_list<std::pair<std::string_view, E>> names, E &out) {
  std::vector<std::string_view> legal;
  for (const auto &[name, meaning] : names) {
    legal.push_back(name);
    if (name == value) {
      out = meaning;
      return {};
    }
  }
  return wrongPolicy(key, value, fmt::format("{}", fmt::join(legal, " or ")));
}

Result<void> setPolicy(std::string_view key, std::string_view value, sim::RunOptions &o) {
  using sim::Arrival, sim::Schedule;
  if (key == "arrival")
    return setNamed<Arrival>(
        key, value,
        {{"instant", Arrival::Instant}, {"latest", Arrival::Latest}, {"typical", Arrival::Typical}},
        o.arrival);
  if (key == "schedule")
    return setNamed<Schedule>(key, value,
                              {{"to-barrier", Schedule::ToBarrier},
                               {"in-turn", Schedule::InTurn},
                               {"reverse", Schedule::Reverse},
                               {"random", Schedule::Random}},
                              o.schedule);
  if (key == "quantum")
    return setNumber<uint32_t>(key, value, 1, o.quantum);
  if (key == "lds-delay")
    return setNumber<uint32_t>(key, value, 0, o.ldsDelay);
  if (key == "memory-delay")
    return setNumber<uint32_t>(key, value, 0, o.memoryDelay);
  if (key == "seed")
    return setNumber<uint64_t>(key, value, 0, o.seed);
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format(
          "--policy: no policy is called {}; policies: arrival, lds-delay, memory-delay, quantum, "
          "schedule, seed",
          key)};
}

/// Mnemonics by count, the largest first.
std::vector<std::pair<std::string, uint64_t>> byCount(const sim::RunStats &stats) {
  std::vector<std::pair<std::string, uint64_t>> rows(stats.opcodeCounts.begin(),
                                                     stats.opcodeCounts.end());
  std::sort(rows.begin(), rows.end(), [](const auto &a, const auto &b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return rows;
}

/// The instructions used whose results may differ from hardware's.
std::string approximateText(const sim::RunStats &s) {
  return fmt::format("approx  {}\n", s.approximate.empty()
                                         ? "none: every instruction used is exact"
                                         : fmt::format("{}", fmt::join(s.approximate, " ")));
}

std::string statsText(const sim::RunStats &s) {
  std::string text = fmt::format("stats   {} wave instructions in {} workgroups, {} of them MFMA\n",
                                 s.waveInstructions, s.workgroups, s.mfmaInstructions);
  for (const auto &[mnemonic, count] : byCount(s))
    text += fmt::format("{:>12}  {}\n", count, mnemonic);
  return text;
}

} // namespace

Result<void> parsePolicy(std::string_view text, sim::RunOptions &options) {
  std::set<std::string_view> seen;
  for (size_t at = 0; at <= text.size();) {
    size_t comma = std::min(text.find(',', at), text.size());
    std::string_view item = text.substr(at, comma - at);
    size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("--policy: '{}' is not of the form name=value; for instance "
                               "arrival=latest,schedule=random,seed=3",
                               item)};
    std::string_view key = item.substr(0, equals);
    if (auto ok = setPolicy(key, item.substr(equals + 1), options); !ok)
      return ok;
    if (!seen.insert(key).second)
      return Error{ErrorCode::InvalidArgument, fmt::format("--policy: {} is set twice", key)};
    at = comma + 1;
  }
  return {};
}

Result<ExecReport> execute(const ExecArgs &args) {
  const bool traced = !args.trace.empty();
  if (traced)
    if (auto ok = checkWritable(args.trace); !ok)
      return ok.error();
  auto file = exec::readLaunch(args.launch);
  if (!file)
    return file.error();
  auto code = readFile(args.codeObject);
  if (!code)
    return code.error();
  sim::strict::StrictChecker checker;
  sim::TimingRecorder recorder;
  sim::RunOptions options = args.strict ? checker.watch(args.options) : args.options;
  if (args.timing || traced)
    options.observers = &recorder;
  auto run = exec::run(*code, *file, options);
  if (!run)
    return run.error();
  ExecReport report{std::move(*file), std::move(*run), {}, {}, {}};
  if (args.strict)
    report.findings = checker.findings();
  if (args.timing || traced) {
    auto timing = sim::simulateTiming(recorder, {.params = {}, .timeline = traced});
    if (!timing)
      return timing.error();
    if (traced) {
      std::string text = profileTrace(*timing);
      const auto *bytes = reinterpret_cast<const uint8_t *>(text.data());
      if (auto ok = writeFile(args.trace, {bytes, text.size()}); !ok)
        return ok.error();
      report.trace = args.trace;
    }
    if (args.timing)
      report.timing = std::move(*timing);
  }
  return report;
}

std::string asText(const ExecReport &r, bool stats) {
  const sim::KernelInfo &k = r.run.kernel;
  std::string text = fmt::format("kernel  {}\n        vgpr {} (accum offset {})  lds {} B  scratch "
                                 "{} B  kernarg {} B, given {}\n",
                                 k.name, k.vgprs, k.accumOffset, k.ldsBytes, k.scratchBytes,
                                 k.kernargBytes, r.run.kernargGiven);
  text +=
      fmt::format("launch  grid {}  block {}  dynamic lds {} B\n", fmt::join(r.file.grid, " x "),
                  fmt::join(r.file.block, " x "), r.file.dynamicLds);
  for (const std::string &note : r.run.notes)
    text += fmt::format("note    {}\n", note);
  text += fmt::format("run     {:.0f} ms on the simulator\n", r.run.runMs);
  for (const exec::Written &w : r.run.outputs)
    text += fmt::format("wrote   {}  {}\n", w.path, w.contents);
  if (!r.trace.empty())
    text += fmt::format("wrote   {}  trace for Perfetto\n", r.trace);
  text += approximateText(r.run.stats);
  if (stats)
    text += statsText(r.run.stats);
  if (r.findings)
    text += findingsText(*r.findings);
  return r.timing ? text + sim::timingText(*r.timing) : text;
}

std::string asJson(const ExecReport &r, bool stats) {
  const sim::KernelInfo &k = r.run.kernel;
  ordered_json json{{"ok", r.ok()},
                    {"kernel",
                     {{"name", k.name},
                      {"vgprs", k.vgprs},
                      {"accum_offset", k.accumOffset},
                      {"lds_bytes", k.ldsBytes},
                      {"scratch_bytes", k.scratchBytes},
                      {"kernarg_bytes", k.kernargBytes},
                      {"max_threads", k.maxThreads}}},
                    {"grid", r.file.grid},
                    {"block", r.file.block},
                    {"dynamic_lds", r.file.dynamicLds},
                    {"kernarg_given", r.run.kernargGiven},
                    {"run_ms", r.run.runMs},
                    {"approximate", r.run.stats.approximate},
                    {"notes", r.run.notes},
                    {"outputs", ordered_json::array()}};
  for (const exec::Written &w : r.run.outputs)
    json["outputs"].push_back({{"path", w.path}, {"contents", w.contents}});
  if (!r.trace.empty())
    json["trace"] = r.trace;
  if (stats)
    json["stats"] = {{"workgroups", r.run.stats.workgroups},
                     {"wave_instructions", r.run.stats.waveInstructions},
                     {"mfma_instructions", r.run.stats.mfmaInstructions},
                     {"opcodes", r.run.stats.opcodeCounts}};
  if (r.findings)
    json["strict"] = findingsJson(*r.findings);
  if (r.timing)
    json["timing"] = ordered_json::parse(sim::timingJson(*r.timing));
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace attune::tool
