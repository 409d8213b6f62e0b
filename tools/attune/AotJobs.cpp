// Lists and specs to jobs. All refusals of a list come at once, before anything is compiled.
#include "tools/attune/AotJobs.h"
#include "compiler/schedule/Limits.h"
#include "compiler/spec/Spec.h"
#include "compiler/target/Arch.h"
#include "runtime/launch/File.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

namespace attune::tool {

namespace {

/// Files that many kernels of a list share are read once.
class Texts {
public:
  Result<std::string> read(const std::string &path) {
    if (auto known = texts_.find(path); known != texts_.end())
      return known->second;
    auto bytes = readFile(path);
    if (!bytes)
      return bytes.error();
    return texts_.emplace(path, std::string(bytes->begin(), bytes->end())).first->second;
  }

private:
  std::map<std::string, std::string> texts_;
};

Result<std::vector<aot::ListedKernel>> listed(const AotBuild &build, Texts &texts) {
  std::vector<aot::ListedKernel> all;
  bool lists = false;
  for (const std::string &input : build.inputs) {
    if (!input.ends_with(".toml")) {
      all.push_back({input, build.attention, build.parameters, build.knobs, input});
      continue;
    }
    lists = true;
    auto text = texts.read(input);
    if (!text)
      return text.error();
    auto items = aot::parseList(*text, input);
    if (!items)
      return items.error();
    auto kernels = aot::expand(*items, input);
    if (!kernels)
      return kernels.error();
    if (kernels->empty())
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("{}: names no kernel; a list has [[kernel]] entries (docs/aot.md)", input)};
    all.insert(all.end(), kernels->begin(), kernels->end());
  }
  if (lists && (!build.attention.empty() || !build.parameters.empty() || !build.knobs.empty()))
    return Error{ErrorCode::InvalidArgument,
                 "--attention, --set and --knob are for specs; a list says its own"};
  return all;
}

Result<AotJob> jobOf(const aot::ListedKernel &kernel, const std::string &arch,
                     const CompilerIdentity &identity, Texts &texts) {
  auto text = texts.read(kernel.spec);
  if (!text)
    return text.error();
  auto model = spec::parseSpec(
      *text,
      {.fileName = kernel.spec, .parameters = kernel.parameters, .attention = kernel.attention});
  if (!model)
    return model.error();
  auto key = kernelKey(*model, arch, kernel.knobs, identity, kernel.parameters);
  if (!key)
    return key.error();
  return AotJob{aotLabel(model->problem.specName, kernel.parameters, kernel.knobs), kernel.origin,
                CompileRequest{*text, kernel.spec, kernel.attention, kernel.parameters, arch,
                               kernel.knobs, model->digest},
                std::move(*key)};
}

} // namespace

Result<std::vector<aot::ListedKernel>> listedKernels(const AotBuild &build) {
  Texts texts;
  return listed(build, texts);
}

std::string aotLabel(const std::string &name, const std::map<std::string, std::string> &parameters,
                     const Knobs &knobs) {
  std::string label = name;
  for (const auto &[key, value] : parameters)
    label += fmt::format(" {}={}", key, value);
  for (const auto &[key, value] : knobs)
    label += fmt::format(" {}={}", key, value);
  return label;
}

Result<std::vector<AotJob>> aotJobs(const AotBuild &build, const CompilerIdentity &identity) {
  for (const std::string &name : build.archs) {
    auto arch = target::archByName(name);
    Result<void> able = arch ? schedule::checkArch(*arch) : Result<void>(arch.error());
    if (!able)
      return Error{able.error().code, fmt::format("--arch: {}", able.error().message)};
  }
  Texts texts;
  auto kernels = listed(build, texts);
  if (!kernels)
    return kernels.error();
  std::vector<AotJob> jobs;
  std::vector<std::string> refusals;
  std::set<std::string> digests;
  for (const aot::ListedKernel &kernel : *kernels)
    for (const std::string &arch : build.archs) {
      auto job = jobOf(kernel, arch, identity, texts);
      if (job && digests.insert(job->key.digest()).second)
        jobs.push_back(std::move(*job));
      if (job)
        continue;
      const std::string asked = kernel.origin == kernel.spec ? "" : kernel.origin + ": ";
      refusals.push_back(asked + job.error().message);
      break; // another chip would say the same
    }
  if (!refusals.empty())
    return Error{ErrorCode::InvalidSpec, fmt::format("{}", fmt::join(refusals, "\n"))};
  return jobs;
}

Result<std::vector<AotJob>> selectJobs(std::vector<AotJob> jobs, const AotBuild &build) {
  for (const std::string &wanted : build.only)
    if (std::none_of(jobs.begin(), jobs.end(),
                     [&](const AotJob &job) { return job.key.digest().starts_with(wanted); }))
      return Error{
          ErrorCode::InvalidArgument,
          fmt::format("--only {}: no kernel asked for has this key; a spec or the compiler "
                      "has changed since the digest was taken",
                      wanted)};
  std::vector<std::string> sorted;
  for (const AotJob &job : jobs)
    sorted.push_back(job.key.digest());
  std::sort(sorted.begin(), sorted.end());
  std::erase_if(jobs, [&](const AotJob &job) {
    const std::string &digest = job.key.digest();
    const auto place =
        size_t(std::lower_bound(sorted.begin(), sorted.end(), digest) - sorted.begin());
    const bool named = build.only.empty() ||
                       std::any_of(build.only.begin(), build.only.end(),
                                   [&](const std::string &o) { return digest.starts_with(o); });
    return place % build.shards != build.shard || !named;
  });
  return jobs;
}

} // namespace attune::tool
