// attune golden check and attune golden bless, over every spec of a folder: compiles on all cores,
// then leaves the comparison, the report and the files to the parts that need no compiler.
#include "compiler/spec/Spec.h"
#include "tools/attune/CommandLine.h"
#include "tools/attune/GoldenFolder.h"
#include "tools/attune/GoldenKernel.h"
#include "tools/attune/GoldenReport.h"
#include "tools/attune/Progress.h"
#include "tools/attune/Report.h"
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fmt/format.h>
#include <thread>

namespace attune::tool {

namespace fs = std::filesystem;

namespace {

bool wanted(const GoldenArgs &args, const std::string &spec) {
  return args.only.empty() ||
         std::find(args.only.begin(), args.only.end(), spec) != args.only.end();
}

Result<std::vector<fs::path>> findSpecs(const GoldenArgs &args) {
  std::vector<fs::path> files;
  bool any = false;
  std::error_code failed;
  for (fs::directory_iterator it(args.specs, failed), end; !failed && it != end;
       it.increment(failed)) {
    if (it->path().extension() != ".attn")
      continue;
    any = true;
    if (wanted(args, it->path().stem().string()))
      files.push_back(it->path());
  }
  if (failed || !any)
    return Error{ErrorCode::NotFound,
                 fmt::format("{}: no specs there (--specs names the folder)", args.specs)};
  std::sort(files.begin(), files.end());
  return files;
}

Result<Described> describeFile(Compiler &compiler, const std::string &file,
                               const std::string &arch) {
  auto model = spec::parseSpecFile(file, {.fileName = file, .parameters = {}, .attention = {}});
  if (!model)
    return model.error();
  return describeKernel(compiler, *model, {.arch = arch, .knobs = {}});
}

/// One thread's share: the next spec that nobody has taken, until there is none.
class Work {
public:
  Work(const GoldenArgs &args, const std::vector<fs::path> &files)
      : args_(args), files_(files), results_(files.size(), Error{}),
        progress_("compiling the specs") {}

  void run() {
    auto compiler = Compiler::create();
    for (size_t i; (i = next_++) < files_.size();) {
      results_[i] = compiler ? describeFile(*compiler, files_[i].string(), args_.arch)
                             : Result<Described>(compiler.error());
      progress_.note(fmt::format("{} of {}", ++done_, files_.size()));
    }
  }
  std::vector<Result<Described>> take() { return std::move(results_); }

private:
  const GoldenArgs &args_;
  const std::vector<fs::path> &files_;
  std::vector<Result<Described>> results_; ///< each written by the thread that took it
  Progress progress_;
  std::atomic<size_t> next_ = 0, done_ = 0;
};

std::vector<Result<Described>> describeAll(const GoldenArgs &args,
                                           const std::vector<fs::path> &files) {
  size_t threads = args.threads > 0 ? static_cast<size_t>(args.threads)
                                    : std::max(1u, std::thread::hardware_concurrency());
  Work work(args, files);
  {
    std::vector<std::jthread> others;
    for (size_t i = 1; i < std::min(threads, files.size()); ++i)
      others.emplace_back([&] { work.run(); });
    work.run();
  }
  return work.take();
}

/// Both sides of every spec that is asked for.
Result<Entries> loadEntries(const GoldenArgs &args, const GoldenFolder &folder) {
  auto files = findSpecs(args);
  if (!files)
    return files.error();
  auto kept = folder.read();
  if (!kept)
    return kept.error();
  Entries entries;
  for (auto &[spec, described] : *kept)
    if (wanted(args, spec))
      entries[spec].kept = std::move(described);
  auto results = describeAll(args, *files);
  for (size_t i = 0; i < files->size(); ++i) {
    Entry &entry = entries[(*files)[i].stem().string()];
    if (results[i])
      entry.now = std::move(*results[i]);
    else
      entry.refusal = results[i].error().message;
  }
  for (const std::string &spec : args.only)
    if (!entries.contains(spec))
      return Error{ErrorCode::NotFound, fmt::format("--spec {}: neither {} nor {} has it", spec,
                                                    args.specs, args.folder)};
  return entries;
}

int check(const GoldenArgs &args, const std::vector<Change> &changes) {
  fmt::print("{}", args.json ? changesAsJson(changes, args.arch) : changesAsText(changes));
  int code = exitOk;
  for (const Change &change : changes)
    if (change.verdict == Verdict::Refused)
      return exitRefused;
    else if (change.verdict != Verdict::Same)
      code = exitFailed;
  return code;
}

Result<void> bless(const GoldenArgs &args, const GoldenFolder &folder, const Entries &entries,
                   const std::vector<Change> &changes) {
  for (const Change &change : changes)
    if (change.verdict == Verdict::Refused)
      return Error{ErrorCode::InvalidSpec,
                   fmt::format("{} does not compile: {}", change.spec, change.refusal)};
  if (auto ok = checkCause(args.cause, changes); !ok)
    return ok;
  std::string accepted = acceptedAsText(changes);
  if (accepted.empty()) {
    fmt::print("golden: nothing moved, nothing written\n");
    return {};
  }
  for (const Change &change : changes) {
    if (change.verdict == Verdict::Same)
      continue;
    const Entry &entry = entries.at(change.spec);
    auto ok = entry.now ? folder.write(change.spec, *entry.now) : folder.remove(change.spec);
    if (!ok)
      return ok;
  }
  if (auto ok = folder.log({args.cause, args.reason, changes}); !ok)
    return ok;
  fmt::print("golden: accepted with cause {}:\n{}", args.cause, accepted);
  return {};
}

} // namespace

int goldenCommand(const GoldenArgs &args) {
  GoldenFolder folder(args.folder, args.arch);
  auto entries = loadEntries(args, folder);
  if (!entries) {
    if (args.json)
      fmt::print("{}", errorAsJson(entries.error()));
    return fail(entries.error());
  }
  std::vector<Change> changes = compareAll(*entries);
  if (!args.bless)
    return check(args, changes);
  auto ok = bless(args, folder, *entries, changes);
  return ok ? exitOk : fail(ok.error());
}

} // namespace attune::tool
