#include "tests/sim/timing/TimingHarness.h"
#include <catch2/catch.hpp>

using namespace attune::sim;
using namespace simtest;

namespace timingtest {
namespace {

/// Workgroups of a snippet share one buffer, store where others load, and look at no value: by
/// intent a race of the simulated kernel, which is one of the host's threads too. The thread
/// sanitizer gets one.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define ATTUNE_ONE_THREAD
#endif
#endif
RunOptions recorded(TimingRecorder &recorder) {
  RunOptions options{.observers = &recorder};
#ifdef ATTUNE_ONE_THREAD
  options.threads = 1;
#endif
  return options;
}

} // namespace

TimingReport timeSnippet(const Snippet &s) {
  Fixture f(assemble(s.text.empty() ? kernelText(s.body) : s.text));
  uint64_t buffer = f.upload(std::vector<uint32_t>(s.bufferBytes / 4));
  TimingRecorder recorder(s.options.params);
  REQUIRE(f.launch("k", s.workgroups, s.threads, Args().add(buffer), recorded(recorder), s.lds) ==
          "");
  TimingOptions options = s.options;
  options.timeline = true;
  attune::Result<TimingReport> report = simulateTiming(recorder, options);
  INFO((report ? std::string() : report.error().message));
  REQUIRE(report);
  return std::move(*report);
}

double clkBetween(const TimingReport &r, const std::string &mnemonic) {
  std::vector<uint64_t> at;
  for (const TimedIssue &i : r.timeline)
    for (const InstReport &known : r.instructionReports)
      if (known.inst == i.inst && i.wave == 0 && known.mnemonic == mnemonic)
        at.push_back(i.clk);
  REQUIRE(at.size() > 1);
  return double(at.back() - at.front()) / double(at.size() - 1);
}

std::vector<uint64_t> issues(const TimingReport &r, uint32_t wave) {
  std::vector<uint64_t> at;
  for (const TimedIssue &i : r.timeline)
    if (i.wave == wave)
      at.push_back(i.clk);
  return at;
}

uint64_t clkFromTo(const TimingReport &r, size_t from, size_t to) {
  std::vector<uint64_t> at = issues(r);
  REQUIRE(to < at.size());
  return at[to] - at[from];
}

std::string repeat(const std::string &line, int times) {
  std::string text;
  for (int n = 0; n < times; ++n)
    text += line + "\n";
  return text;
}

} // namespace timingtest
