// attune run: compile or find in a cache, draw or load, launch, compare, report.
#include "runtime/device/SimDevice.h"
#include "runtime/launch/File.h"
#include "runtime/launch/Npz.h"
#include "tests/oracle/Oracle.h"
#include "tools/attune/CachedKernel.h"
#include "tools/attune/Inputs.h"
#include "tools/attune/Progress.h"
#include "tools/attune/Report.h"
#include <cstdio>
#include <fmt/format.h>

namespace attune::tool {

namespace {

Result<void> compareWithOracle(const spec::Model &model, const Job &job, const HostResult &result,
                               int threads, CallReport &report) {
  Progress progress("computing the float64 oracle for " + job.label);
  auto answer = oracle::attention(model, job.call, {.threads = threads});
  if (!answer)
    return answer.error();
  const ProblemShape &p = model.problem;
  double rmsOfV = oracle::rootMeanSquare(job.call.v);
  report.out =
      oracle::compare(answer->out, result.out, oracle::outTolerance(p.dtype, p.outDtype, rmsOfV));
  if (result.lse)
    report.lse = oracle::compare(answer->lse, *result.lse, oracle::lseTolerance(p.lse));
  report.checkMs = progress.elapsedMs();
  return {};
}

class Runner {
public:
  explicit Runner(const RunArgs &args) : args_(args) {}

  Result<RunReport> run() {
    if (!args_.output.empty())
      if (auto ok = checkWritable(args_.output); !ok)
        return ok.error();
    auto source = readSource(args_.spec);
    if (!source)
      return source.error();
    source_ = std::move(*source);
    if (args_.check && !source_.model)
      return Error{ErrorCode::InvalidArgument,
                   "--check: the oracle needs the spec's text; give the .attn file"};
    auto kernel = compile();
    if (!kernel)
      return kernel.error();
    const KernelImage &image = kernel->image;
    const ProblemShape &problem = image.sidecar.problem;
    auto jobs = prepareJobs(problem, source_.model ? &*source_.model : nullptr, args_);
    if (!jobs)
      return jobs.error();
    report_ = {.spec = args_.spec.path,
               .cache = kernel->use,
               .seed = args_.seed,
               .checked = args_.check,
               .notes = jobs->notes,
               .kernels = {image.sidecar},
               .calls = {},
               .findings = {}};
    if (auto ok = runJobs(image, jobs->jobs); !ok)
      return ok.error();
    if (args_.strict)
      report_.findings = checker_.findings();
    return std::move(report_);
  }

private:
  Result<CachedKernel> compile() {
    Progress progress("compiling " + args_.spec.path);
    return cachedKernel(source_, args_.spec, args_.noCache);
  }

  Result<void> runJobs(const KernelImage &image, const std::vector<Job> &jobs) {
    sim::RunOptions options = args_.strict ? checker_.watch(args_.policy) : args_.policy;
    options.threads = args_.threads;
    auto device = makeSimDevice(options);
    auto kernel = LoadedKernel::load(*device, image);
    if (!kernel)
      return kernel.error();
    TensorMap saved;
    for (size_t i = 0; i < jobs.size(); ++i) {
      auto result = runJob(*kernel, jobs[i]);
      if (!result)
        return result.error();
      std::string suffix = jobs.size() > 1 ? fmt::format(".{}", i) : "";
      if (args_.output.empty())
        continue;
      if (result->lse)
        saved["lse" + suffix] = std::move(*result->lse);
      saved["out" + suffix] = std::move(result->out);
    }
    return args_.output.empty() ? Result<void>() : writeNpz(args_.output, saved);
  }

  Result<HostResult> runJob(const LoadedKernel &kernel, const Job &job) {
    CallReport call;
    call.label = job.label;
    auto launch = [&]() -> Result<HostResult> {
      Progress progress("simulating " + job.label);
      auto result = kernel.run(job.call);
      call.runMs = progress.elapsedMs();
      return result;
    };
    auto result = launch();
    if (!result)
      return result;
    if (args_.check)
      if (auto ok = compareWithOracle(*source_.model, job, *result, args_.threads, call); !ok)
        return ok.error();
    report_.calls.push_back(std::move(call));
    return result;
  }

  const RunArgs &args_;
  Source source_;
  RunReport report_;
  sim::strict::StrictChecker checker_;
};

} // namespace

int runCommand(const RunArgs &args) {
  auto report = Runner(args).run();
  if (!report) {
    if (args.json)
      fmt::print("{}", errorAsJson(report.error()));
    return fail(report.error());
  }
  fmt::print("{}", args.json ? asJson(*report) : asText(*report));
  return report->ok() ? exitOk : exitFailed;
}

} // namespace attune::tool
