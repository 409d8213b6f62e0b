// attune aot: a list of kernels to a bundle.
//
// Finished kernels go into the work folder, which has the form of a cache directory, as soon as
// they are there; so a build that was stopped at any moment goes on where it was, and a build after
// a change compiles what the change touched. The bundle is written when every kernel is there, and
// only then.
#include "runtime/bundle/Bundle.h"
#include "runtime/cache/Directory.h"
#include "runtime/compile/CompilerLink.h"
#include "runtime/launch/File.h"
#include "tools/attune/AotFiles.h"
#include "tools/attune/AotJobs.h"
#include "tools/attune/AotNinja.h"
#include "tools/attune/AotReport.h"
#include "tools/attune/AotWorkers.h"
#include "tools/attune/CommandLine.h"
#include "tools/attune/Progress.h"
#include "tools/attune/Report.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::tool {

namespace {

Result<std::string> ownPath() {
  std::error_code failed;
  auto path = std::filesystem::read_symlink("/proc/self/exe", failed);
  if (failed)
    return Error{ErrorCode::Io, fmt::format("/proc/self/exe: {}", failed.message())};
  return path.string();
}

class Build {
public:
  Build(const AotBuild &args, const CompilerOptions &compiler, std::vector<AotJob> jobs)
      : args_(args), compiler_(compiler), jobs_(std::move(jobs)), rows_(jobs_.size()),
        images_(jobs_.size()),
        work_(args.work.empty() ? args.output.path + ".work" : args.work, cache::FileOps()) {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      rows_[i].label = jobs_[i].label;
      rows_[i].digest = jobs_[i].key.digest();
      rows_[i].arch = jobs_[i].request.arch;
      rows_[i].origin = jobs_[i].origin;
    }
  }

  Result<void> run() {
    takeKept();
    std::vector<std::string> requests;
    std::vector<size_t> numbers;
    for (size_t i = 0; i < jobs_.size(); ++i)
      if (!images_[i]) {
        requests.push_back(encodeRequest(jobs_[i].request));
        numbers.push_back(i);
      }
    if (requests.empty())
      return {};
    auto command = CompilerLink(compiler_).workerCommand();
    if (!command)
      return command.error();
    const uint64_t memory = args_.workerMiB << 20;
    const size_t workers = args_.jobs > 0 ? size_t(args_.jobs) : workersThatFit(memory);
    Progress progress("compiling kernels");
    size_t done = 0;
    return runWorkers(requests, {*command, workers, memory, compiler_.childTime},
                      [&](size_t request, Result<std::string> reply) {
                        finish(numbers[request], std::move(reply));
                        progress.note(fmt::format("{} of {}, {} kept", ++done, requests.size(),
                                                  jobs_.size() - requests.size()));
                      });
  }

  /// Errors leave the output as it was.
  Result<AotTotal> write() {
    if (failed())
      return AotTotal{args_.output.path, 0, 0};
    std::vector<bundle::Entry> entries;
    for (size_t i = 0; i < jobs_.size(); ++i)
      entries.push_back({jobs_[i].key.text(), jobs_[i].label, std::move(*images_[i])});
    auto bytes = bundle::writeBundle(std::move(entries));
    if (!bytes)
      return bytes.error();
    return writeOutput(args_.output, *bytes);
  }

  bool failed() const {
    return std::any_of(rows_.begin(), rows_.end(), [](const AotRow &r) { return bool(r.error); });
  }
  /// 1 if the compiler failed, 2 if it refused a spec and nothing failed.
  int exitCode() const {
    int code = exitOk;
    for (const AotRow &row : rows_)
      if (row.error)
        code =
            row.error->code == ErrorCode::Internal || code == exitFailed ? exitFailed : exitRefused;
    return code;
  }
  const std::vector<AotRow> &rows() const { return rows_; }

private:
  void takeKept() {
    for (size_t i = 0; i < jobs_.size(); ++i) {
      cache::Entry entry = work_.load(jobs_[i].key);
      if (entry.state != cache::EntryState::Good)
        continue; // missing, or damaged: compiled and replaced
      rows_[i].reused = true;
      take(i, std::move(entry.image));
    }
  }

  void take(size_t i, KernelImage image) {
    rows_[i].codeBytes = image.codeObject.size();
    rows_[i].sidecar = image.sidecar;
    images_[i] = std::move(image);
  }

  void finish(size_t i, Result<std::string> reply) {
    Result<CompileReply> answer = reply ? decodeReply(*reply) : Result<CompileReply>(reply.error());
    if (!answer) {
      rows_[i].error = answer.error();
      return;
    }
    KernelImage *image = &answer->image;
    if (auto ok =
            work_.publish(jobs_[i].key.digest(), cache::encodeEntry(jobs_[i].key.text(), *image));
        !ok && !warned_) {
      warned_ = true;
      fmt::print(stderr, "attune: {}; finished kernels are not kept\n", ok.error().message);
    }
    take(i, std::move(*image));
  }

  const AotBuild &args_;
  const CompilerOptions &compiler_;
  std::vector<AotJob> jobs_;
  std::vector<AotRow> rows_;
  std::vector<std::optional<KernelImage>> images_;
  cache::Directory work_;
  bool warned_ = false;
};

Result<std::vector<AotJob>> jobsOf(const AotBuild &args, const CompilerOptions &compiler) {
  auto identity = CompilerLink(compiler).identity();
  if (!identity)
    return identity.error();
  auto jobs = aotJobs(args, *identity);
  return jobs ? selectJobs(std::move(*jobs), args) : jobs;
}

Result<void> emitNinja(const AotBuild &args, const std::vector<AotJob> &jobs) {
  auto self = ownPath();
  if (!self)
    return self.error();
  auto text = aotNinja(*self, args, jobs);
  if (!text)
    return text.error();
  auto bytes = reinterpret_cast<const uint8_t *>(text->data());
  if (auto ok = writeFile(args.output.path, {bytes, text->size()}); !ok)
    return ok;
  const auto path = std::filesystem::absolute(args.output.path);
  if (args.json)
    fmt::print("{}\n", nlohmann::ordered_json(
                           {{"ok", true}, {"kernels", jobs.size()}, {"output", args.output.path}})
                           .dump(2));
  else
    fmt::print("{} kernels -> {}; run ninja -C {} -f {}\n", jobs.size(), args.output.path,
               path.parent_path().string(), path.filename().string());
  return {};
}

int failAs(const AotBuild &args, const Error &error) {
  if (args.json)
    fmt::print("{}", errorAsJson(error));
  return fail(error);
}

} // namespace

int aotBuildCommand(const AotBuild &args) {
  const auto compiler = compilerOptionsFromEnvironment();
  if (!compiler)
    return failAs(args, compiler.error());
  std::error_code ignored; // what is in the way is said next
  if (const auto folder = std::filesystem::path(args.output.path).parent_path(); !folder.empty())
    std::filesystem::create_directories(folder, ignored);
  if (auto ok = checkWritable(args.output.path); !ok)
    return failAs(args, ok.error());
  auto jobs = jobsOf(args, *compiler);
  if (!jobs)
    return failAs(args, jobs.error());
  if (args.output.form == AotForm::Ninja) {
    auto ok = emitNinja(args, *jobs);
    return ok ? exitOk : failAs(args, ok.error());
  }
  Build build(args, *compiler, std::move(*jobs));
  if (auto ok = build.run(); !ok)
    return failAs(args, ok.error());
  auto total = build.write();
  if (!total)
    return failAs(args, total.error());
  fmt::print("{}", args.json ? aotAsJson(build.rows(), *total) : aotAsText(build.rows(), *total));
  return build.exitCode();
}

} // namespace attune::tool
