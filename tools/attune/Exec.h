// attune exec without its command line: options as plain data, the run, the report in both forms.
#pragma once
#include "runtime/exec/Exec.h"

namespace attune::tool {

struct ExecArgs {
  std::string codeObject, launch;
  sim::RunOptions options;
  bool stats = false, json = false;
};

/// "arrival=latest,schedule=random,quantum=7,seed=3", each key at most once, into `options`.
Result<void> parsePolicy(std::string_view text, sim::RunOptions &options);

struct ExecReport {
  exec::LaunchFile file;
  exec::Report run;
};
Result<ExecReport> execute(const ExecArgs &);

/// `stats`: with instruction counts.
std::string asText(const ExecReport &, bool stats);
std::string asJson(const ExecReport &, bool stats);

} // namespace attune::tool
