// attune exec: a code object and a launch file, run on the simulator.
#include "tools/attune/CommandLine.h"
#include "tools/attune/Progress.h"
#include "tools/attune/Report.h"
#include <cstdio>
#include <fmt/format.h>

namespace attune::tool {

int execCommand(const ExecArgs &args) {
  auto report = [&] {
    Progress progress("simulating " + args.codeObject);
    return execute(args);
  }();
  if (!report) {
    if (args.json)
      fmt::print("{}", errorAsJson(report.error()));
    return fail(report.error());
  }
  fmt::print("{}", args.json ? asJson(*report, args.stats) : asText(*report, args.stats));
  return exitOk;
}

} // namespace attune::tool
