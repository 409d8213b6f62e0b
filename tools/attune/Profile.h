// What `attune profile` shows of a timed launch, beside the table and the JSON that the timing
// model has itself: a trace for Perfetto or chrome://tracing, and a page for people that needs
// nothing but a browser.
#pragma once
#include "runtime/sim/timing/TimingReport.h"
#include <string>

namespace attune::tool {

/// Chrome's trace event format: a thread for each wave, an event for each issue, its wait before it
/// as an event of its own with the reason as name. One microsecond of the viewer is one clk.
std::string profileTrace(const sim::TimingReport &);

/// A self-contained HTML page: numbers, timeline, stalls, roofline, LDS banks, instructions.
/// `title` says what was run.
std::string profileHtml(const sim::TimingReport &, const std::string &title);

} // namespace attune::tool
