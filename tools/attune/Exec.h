// attune exec without its command line: options as plain data, the run, the report in both forms.
#pragma once
#include "runtime/exec/Exec.h"
#include "runtime/sim/strict/Strict.h"
#include "runtime/sim/timing/TimingReport.h"
#include <optional>

namespace attune::tool {

struct ExecArgs {
  std::string codeObject, launch;
  sim::RunOptions options;
  bool stats = false, strict = false, timing = false, json = false; ///< strict or timing, not both
  std::string trace = {}; ///< file for the timeline of the timing model; not with strict
};

/// "arrival=latest,schedule=random,quantum=7,seed=3", each key at most once, into `options`.
Result<void> parsePolicy(std::string_view text, sim::RunOptions &options);

struct ExecReport {
  exec::LaunchFile file;
  exec::Report run;
  std::optional<std::vector<sim::strict::Finding>> findings; ///< of strict mode
  std::optional<sim::TimingReport> timing;
  std::string trace; ///< the file written
  bool ok() const { return !findings || findings->empty(); }
};
Result<ExecReport> execute(const ExecArgs &);

/// `stats`: with instruction counts.
std::string asText(const ExecReport &, bool stats);
std::string asJson(const ExecReport &, bool stats);

} // namespace attune::tool
