// attune golden check and attune golden bless, over every spec of a folder.
#include "compiler/spec/Spec.h"
#include "runtime/launch/File.h"
#include "tools/attune/CommandLine.h"
#include "tools/attune/GoldenKernel.h"
#include "tools/attune/Progress.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace attune::tool {

namespace fs = std::filesystem;

namespace {

/// Golden files and what the compiler makes now, by spec.
struct Entry {
  std::optional<Golden> kept, now;
};

std::span<const uint8_t> bytesOf(const std::string &text) {
  return {reinterpret_cast<const uint8_t *>(text.data()), text.size()};
}

class GoldenRun {
public:
  explicit GoldenRun(const GoldenArgs &args) : args_(args), ending_("." + args.arch + ".golden") {}

  Result<void> load() {
    if (auto ok = readKept(); !ok)
      return ok;
    return compileAll();
  }

  int check() const {
    int moved = 0;
    for (const auto &[name, entry] : entries_)
      moved += !checkEntry(name, entry);
    if (moved == 0) {
      fmt::print("golden: {} specs, nothing moved\n", entries_.size());
      return exitOk;
    }
    fmt::print("golden: {} of {} specs differ. If that is meant: attune golden bless --cause "
               "spec|compiler|llvm --reason \"...\"\n",
               moved, entries_.size());
    return exitFailed;
  }

  Result<std::vector<std::string>> bless() {
    std::vector<std::string> changed;
    std::error_code failed;
    fs::create_directories(args_.folder, failed);
    for (const auto &[name, entry] : entries_) {
      if (entry.kept == entry.now)
        continue;
      changed.push_back(name);
      if (!entry.now)
        fs::remove(file(name), failed);
      else if (auto ok = writeFile(file(name), bytesOf(entry.now->str())); !ok)
        return ok.error();
    }
    if (!changed.empty())
      if (auto ok = appendLog(changed); !ok)
        return ok.error();
    return changed;
  }

private:
  std::string file(const std::string &name) const {
    return (fs::path(args_.folder) / (name + ending_)).string();
  }

  Result<void> readKept() {
    std::error_code none; // no folder yet: no golden files
    for (fs::directory_iterator it(args_.folder, none), end; !none && it != end;
         it.increment(none)) {
      std::string name = it->path().filename().string();
      if (!name.ends_with(ending_))
        continue;
      auto bytes = readFile(it->path().string());
      if (!bytes)
        return bytes.error();
      auto golden = Golden::parse({reinterpret_cast<const char *>(bytes->data()), bytes->size()});
      if (!golden)
        return Error{golden.error().code,
                     fmt::format("{}: {}", it->path().string(), golden.error().message)};
      entries_[name.substr(0, name.size() - ending_.size())].kept = std::move(*golden);
    }
    return {};
  }

  Result<void> compileAll() {
    std::vector<fs::path> specs;
    std::error_code failed;
    for (fs::directory_iterator it(args_.specs, failed), end; !failed && it != end;
         it.increment(failed))
      if (it->path().extension() == ".attn")
        specs.push_back(it->path());
    if (failed || specs.empty())
      return Error{ErrorCode::NotFound,
                   fmt::format("{}: no specs there (--specs names the folder)", args_.specs)};
    std::sort(specs.begin(), specs.end());
    auto compiler = Compiler::create();
    if (!compiler)
      return compiler.error();
    Progress progress("compiling the specs");
    for (size_t i = 0; i < specs.size(); ++i) {
      progress.note(fmt::format("{} of {}", i + 1, specs.size()));
      auto model = spec::parseSpecFile(
          specs[i].string(), {.fileName = specs[i].string(), .parameters = {}, .attention = {}});
      if (!model)
        return model.error();
      auto golden = describeKernel(*compiler, *model, {.arch = args_.arch, .knobs = {}});
      if (!golden)
        return Error{golden.error().code,
                     fmt::format("{}: {}", specs[i].string(), golden.error().message)};
      entries_[specs[i].stem().string()].now = std::move(*golden);
    }
    return {};
  }

  /// Prints what is wrong with one spec; true if nothing is.
  bool checkEntry(const std::string &name, const Entry &entry) const {
    if (!entry.kept) {
      fmt::print("{}: has no golden file ({})\n", name, file(name));
      return false;
    }
    if (!entry.now) {
      fmt::print("{}: has a golden file but no spec\n", name);
      return false;
    }
    if (*entry.kept == *entry.now)
      return true;
    std::string stage = entry.kept->firstMovedStage(*entry.now);
    fmt::print("{}: {}\n{}", name,
               stage.empty() ? "same stages, other resources"
                             : "the first stage that moved is " + stage,
               sideBySide(*entry.kept, *entry.now));
    return false;
  }

  /// One line per bless: when, why, and for which specs.
  Result<void> appendLog(const std::vector<std::string> &changed) const {
    std::string path = (fs::path(args_.folder) / "LOG.md").string();
    std::string log =
        "# Why golden files changed\n\nWritten by `attune golden bless`, newest last.\n\n";
    if (auto old = readFile(path))
      log.assign(old->begin(), old->end());
    else if (old.error().code != ErrorCode::NotFound)
      return old.error();
    std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    log += fmt::format("- {:%Y-%m-%d} {} ({}): {} [{}]\n", fmt::gmtime(now), args_.cause,
                       args_.arch, args_.reason, fmt::join(changed, ", "));
    return writeFile(path, bytesOf(log));
  }

  const GoldenArgs &args_;
  std::string ending_;
  std::map<std::string, Entry> entries_;
};

} // namespace

int goldenCommand(const GoldenArgs &args) {
  GoldenRun run(args);
  if (auto ok = run.load(); !ok)
    return fail(ok.error());
  if (!args.bless)
    return run.check();
  auto changed = run.bless();
  if (!changed)
    return fail(changed.error());
  fmt::print("golden: {}\n", changed->empty() ? "nothing moved, nothing written"
                                              : fmt::format("wrote {}", fmt::join(*changed, ", ")));
  return exitOk;
}

} // namespace attune::tool
