// attune profile: run once under the timing model's recorder, replay, report.
#include "runtime/device/SimDevice.h"
#include "runtime/launch/File.h"
#include "runtime/sim/timing/Timing.h"
#include "tools/attune/CachedKernel.h"
#include "tools/attune/Inputs.h"
#include "tools/attune/Profile.h"
#include "tools/attune/Progress.h"
#include <cstdio>
#include <fmt/format.h>
#include <sstream>

namespace attune::tool {

namespace {

SourceLines sourceLines(Listing listing) {
  std::vector<std::string> tile(1);
  std::istringstream text(listing.tile);
  for (std::string line; std::getline(text, line);)
    tile.push_back(line);
  SourceLines lines;
  for (ListingRow &row : listing.rows)
    lines[row.pc] = {std::move(row.isa), row.tileLine,
                     size_t(row.tileLine) < tile.size() ? tile[row.tileLine] : ""};
  return lines;
}

Result<void> runSpec(const ProfileArgs &args, sim::TimingRecorder &recorder, Profiled &profiled) {
  auto source = readSource(args.call.spec);
  if (!source)
    return source.error();
  auto found = [&] {
    Progress progress("compiling " + args.call.spec.path);
    return args.noLines ? cachedKernel(*source, args.call.spec, args.call.noCache)
                        : listedKernel(*source, args.call.spec, args.call.noCache);
  }();
  if (!found)
    return found.error();
  const KernelImage &image = found->image;
  auto jobs =
      prepareJobs(image.sidecar.problem, source->model ? &*source->model : nullptr, args.call);
  if (!jobs)
    return jobs.error();
  if (jobs->jobs.size() != 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("these lengths are {} launches of a dense kernel; profile takes one: "
                             "give all sequences the "
                             "same lengths (--batch, --q-len, --kv-len)",
                             jobs->jobs.size())};
  auto device = makeSimDevice({.threads = args.call.threads, .observers = &recorder});
  auto kernel = LoadedKernel::load(*device, image);
  if (!kernel)
    return kernel.error();
  profiled.cache = found->use;
  profiled.noLines = found->noListing;
  if (found->listing)
    profiled.lines = sourceLines(std::move(*found->listing));
  profiled.title = fmt::format("{}, {}", image.sidecar.kernel.name, jobs->jobs[0].label);
  if (jobs->jobs[0].call.q.elements() == 0)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: without query rows nothing is launched, and there is nothing to "
                             "time; give --q-len, --q-lens or --batch of 1 or more",
                             jobs->jobs[0].label)};
  Progress progress("simulating " + jobs->jobs[0].label);
  auto result = kernel->run(jobs->jobs[0].call);
  return result ? Result<void>() : result.error();
}

Result<void> runLaunchFile(const ProfileArgs &args, sim::TimingRecorder &recorder,
                           Profiled &profiled) {
  ExecArgs exec{.codeObject = args.call.spec.path, .launch = args.launch, .options = {}};
  exec.options.threads = args.call.threads;
  exec.options.observers = &recorder;
  Progress progress("simulating " + args.call.spec.path);
  auto report = execute(exec);
  if (!report)
    return report.error();
  profiled.title = fmt::format("{}, {}", report->run.kernel.name, args.launch);
  return {};
}

Result<void> writeText(const std::string &path, const std::string &text) {
  return writeFile(path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

Result<sim::TimingReport> profile(const ProfileArgs &args, Profiled &profiled) {
  for (const std::string &path : {args.trace, args.html})
    if (!path.empty())
      if (auto ok = checkWritable(path); !ok)
        return ok.error();
  sim::TimingRecorder recorder(args.params);
  Result<void> ran = args.launch.empty() ? runSpec(args, recorder, profiled)
                                         : runLaunchFile(args, recorder, profiled);
  if (!ran)
    return ran.error();
  const bool timeline = !args.trace.empty() || !args.html.empty();
  auto report = [&] {
    Progress progress("timing " + args.call.spec.path);
    return sim::simulateTiming(recorder, {.params = args.params,
                                          .workgroups = args.workgroups,
                                          .sharers = args.sharers,
                                          .xcds = args.xcds,
                                          .timeline = timeline});
  }();
  if (!report)
    return report;
  if (!args.trace.empty())
    if (auto ok = writeText(args.trace, profileTrace(*report)); !ok)
      return ok.error();
  if (!args.html.empty())
    if (auto ok = writeText(args.html, profileHtml(*report, profiled)); !ok)
      return ok.error();
  return report;
}

} // namespace

int profileCommand(const ProfileArgs &args) {
  Profiled profiled;
  auto report = profile(args, profiled);
  if (!report) {
    if (args.call.json)
      fmt::print("{}", errorAsJson(report.error()));
    return fail(report.error());
  }
  fmt::print("{}", args.call.json ? profileJson(*report, profiled)
                                  : profileText(*report, profiled, args.top));
  return exitOk;
}

} // namespace attune::tool
