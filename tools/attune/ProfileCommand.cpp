// attune profile: run once under the timing model's recorder, replay, report.
#include "runtime/device/SimDevice.h"
#include "runtime/sim/timing/Timing.h"
#include "tools/attune/Inputs.h"
#include "tools/attune/Profile.h"
#include "tools/attune/Progress.h"
#include "tools/attune/Report.h"
#include "tools/attune/Source.h"
#include <cstdio>
#include <fmt/format.h>
#include <fstream>

namespace attune::tool {

namespace {

Result<void> runSpec(const ProfileArgs &args, sim::TimingRecorder &recorder, std::string &title) {
  auto source = readSource(args.call.spec);
  if (!source)
    return source.error();
  auto image = compileSource(*source, args.call.spec);
  if (!image)
    return image.error();
  auto jobs =
      prepareJobs(image->sidecar.problem, source->model ? &*source->model : nullptr, args.call);
  if (!jobs)
    return jobs.error();
  if (jobs->jobs.size() != 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("these lengths are {} launches of a dense kernel; profile takes one: "
                             "give all sequences the "
                             "same lengths (--batch, --q-len, --kv-len)",
                             jobs->jobs.size())};
  auto device = makeSimDevice({.threads = args.call.threads, .observers = &recorder});
  auto kernel = LoadedKernel::load(*device, *image);
  if (!kernel)
    return kernel.error();
  title = fmt::format("{}, {}", image->sidecar.kernel.name, jobs->jobs[0].label);
  Progress progress("simulating " + jobs->jobs[0].label);
  auto result = kernel->run(jobs->jobs[0].call);
  return result ? Result<void>() : result.error();
}

Result<void> runLaunchFile(const ProfileArgs &args, sim::TimingRecorder &recorder,
                           std::string &title) {
  ExecArgs exec{.codeObject = args.call.spec.path, .launch = args.launch, .options = {}};
  exec.options.threads = args.call.threads;
  exec.options.observers = &recorder;
  Progress progress("simulating " + args.call.spec.path);
  auto report = execute(exec);
  if (!report)
    return report.error();
  title = fmt::format("{}, {}", report->run.kernel.name, args.launch);
  return {};
}

Result<void> writeText(const std::string &path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (file)
    return {};
  return Error{ErrorCode::Io, fmt::format("{}: cannot be written", path)};
}

Result<sim::TimingReport> profile(const ProfileArgs &args) {
  sim::TimingRecorder recorder;
  std::string title;
  Result<void> ran =
      args.launch.empty() ? runSpec(args, recorder, title) : runLaunchFile(args, recorder, title);
  if (!ran)
    return ran.error();
  const bool timeline = !args.trace.empty() || !args.html.empty();
  auto report = sim::simulateTiming(
      recorder, {.params = {}, .workgroups = args.workgroups, .timeline = timeline});
  if (!report)
    return report;
  if (!args.trace.empty())
    if (auto ok = writeText(args.trace, profileTrace(*report)); !ok)
      return ok.error();
  if (!args.html.empty())
    if (auto ok = writeText(args.html, profileHtml(*report, title)); !ok)
      return ok.error();
  return report;
}

} // namespace

int profileCommand(const ProfileArgs &args) {
  auto report = profile(args);
  if (!report) {
    if (args.call.json)
      fmt::print("{}", errorAsJson(report.error()));
    return fail(report.error());
  }
  fmt::print("{}",
             args.call.json ? sim::timingJson(*report) + "\n" : sim::timingText(*report, args.top));
  return exitOk;
}

} // namespace attune::tool
