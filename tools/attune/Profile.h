// What `attune profile` shows of a timed launch, beside the table and the JSON that the timing
// model has itself: a trace for Perfetto or chrome://tracing, and a page for people that needs
// nothing but a browser.
#pragma once
#include "runtime/sim/timing/TimingReport.h"
#include "tools/attune/Report.h"
#include <map>
#include <string>

namespace attune::tool {

/// Chrome's trace event format: a thread for each wave, an event for each issue, its wait before it
/// as an event of its own with the reason as name. One microsecond of the viewer is one clk.
std::string profileTrace(const sim::TimingReport &);

/// Where an instruction came from: empty for a code object that others compiled.
struct SourceLine {
  std::string isa;  ///< the instruction with its operands
  int tileLine = 0; ///< of `attune compile --emit tile`, from 1; 0: of none
  std::string tile; ///< that line
};
using SourceLines = std::map<uint32_t, SourceLine>; ///< by pc

/// What was profiled, beside its times.
struct Profiled {
  std::string title;
  std::optional<CacheUse> cache; ///< of the kernel; a launch file's has none
  SourceLines lines;
  std::string noLines; ///< why there are none, though they were asked for
};

/// Where the kernel is from, the timing model's table, then the tile ops at which waves waited
/// longest.
std::string profileText(const sim::TimingReport &, const Profiled &, size_t top);
/// The timing model's JSON with "cache"; each of its instructions has "isa", "tileLine" and "tile"
/// where they are known.
std::string profileJson(const sim::TimingReport &, const Profiled &);

/// A self-contained HTML page: numbers, timeline, stalls, roofline, LDS banks, instructions.
std::string profileHtml(const sim::TimingReport &, const Profiled &);

} // namespace attune::tool
