// attune: compile, run, profile, explain and guard attention specs. Only this folder prints.
#include "tools/attune/CommandLine.h"
#include <cstdio>
#include <fmt/format.h>
#include <new>

namespace attune::tool {

int fail(const Error &error) {
  fmt::print(stderr, "{}\n", error.message);
  switch (error.code) {
  case ErrorCode::InvalidSpec:
  case ErrorCode::Unsupported:
  case ErrorCode::InvalidArgument:
  case ErrorCode::NotFound:
  case ErrorCode::Io:
    return exitRefused;
  case ErrorCode::Device:
  case ErrorCode::SimFault:
  case ErrorCode::Internal:
    break;
  }
  return exitFailed;
}

namespace {

/// The command of each alternative of AotArgs.
struct AotCommands {
  int operator()(const AotBuild &args) const { return aotBuildCommand(args); }
  int operator()(const AotMerge &args) const { return aotMergeCommand(args); }
  int operator()(const AotShow &args) const { return aotShowCommand(args); }
  int operator()(const AotVerify &args) const { return aotVerifyCommand(args); }
  int operator()(const AotPlan &args) const { return aotPlanCommand(args); }
  int operator()(const AotCoverage &args) const { return aotCoverageCommand(args); }
};

} // namespace

int aotCommand(const AotArgs &args) { return std::visit(AotCommands(), args); }

} // namespace attune::tool

namespace {

int runCommandLine(int argc, char **argv) {
  using namespace attune::tool;
  CommandLine line = parseCommandLine(argc, argv);
  if (line.compile)
    return compileCommand(*line.compile);
  if (line.run)
    return runCommand(*line.run);
  if (line.exec)
    return execCommand(*line.exec);
  if (line.profile)
    return profileCommand(*line.profile);
  if (line.explain)
    return explainCommand(*line.explain);
  if (line.cache)
    return cacheCommand(*line.cache);
  if (line.golden)
    return goldenCommand(*line.golden);
  if (line.aot)
    return aotCommand(*line.aot);
  return line.exitCode;
}

} // namespace

int main(int argc, char **argv) try {
  return runCommandLine(argc, argv);
} catch (const std::bad_alloc &) {
  fmt::print(stderr, "attune: out of memory\n");
  return attune::tool::exitFailed;
}
