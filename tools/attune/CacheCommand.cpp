// attune cache: what the directory of compiled kernels holds, whether it is whole, and how it is
// kept small or filled.
#include "runtime/api/Context.h"
#include "runtime/cache/Directory.h"
#include "tools/attune/AotJobs.h"
#include "tools/attune/CommandLine.h"
#include "tools/attune/Progress.h"
#include <cstdio>
#include <ctime>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::tool {
namespace {

using cache::CollectReport;
using cache::Directory;
using cache::EntryInfo;
using cache::EntryState;
using nlohmann::json;

Result<Directory> directoryOf(const CacheArgs &args) {
  Result<cache::Options> options = cache::optionsFromEnvironment();
  if (!options)
    return options.error();
  const std::string path = args.directory.empty() ? options->directory : args.directory;
  if (path.empty())
    return Error{ErrorCode::NotFound, "there is no directory of kernels: HOME cannot be used and "
                                      "ATTUNE_CACHE_DIR is not set"};
  return Directory(path, cache::FileOps());
}

json toJsonObject(const EntryInfo &info) {
  json object{{"digest", info.digest},
              {"path", info.path},
              {"bytes", info.bytes},
              {"last_used", info.lastUsed},
              {"state", cache::toText(info.entry.state)}};
  if (info.entry.state == EntryState::Good) {
    const Sidecar &sidecar = info.entry.image.sidecar;
    object["spec"] = sidecar.problem.specName;
    object["arch"] = sidecar.arch;
    object["vgpr"] = sidecar.kernel.resources.vgpr;
  } else {
    object["reason"] = info.entry.reason;
  }
  return object;
}

int list(const CacheArgs &args, const Directory &directory, bool whole) {
  Progress progress(whole ? "checking kernels" : "listing kernels");
  Result<std::vector<EntryInfo>> entries = whole ? directory.verify() : directory.list();
  if (!entries)
    return fail(entries.error());
  uint64_t bytes = 0, bad = 0;
  json array = json::array();
  for (const EntryInfo &info : *entries) {
    bytes += info.bytes;
    bad += info.entry.state != EntryState::Good;
    if (args.json) {
      array.push_back(toJsonObject(info));
      continue;
    }
    const bool good = info.entry.state == EntryState::Good;
    fmt::print("{:.16}  {:>8}  {:%Y-%m-%d %H:%M}  {}\n", info.digest, info.bytes,
               fmt::localtime(std::time_t(info.lastUsed)),
               good ? fmt::format("{} {}", info.entry.image.sidecar.problem.specName,
                                  info.entry.image.sidecar.plan)
                    : fmt::format("{}: {}", cache::toText(info.entry.state), info.entry.reason));
  }
  if (args.json)
    fmt::print("{}\n", json{{"directory", directory.path()}, {"entries", array}}.dump(2));
  else
    fmt::print("{} kernels, {} bytes, {} not whole, in {}\n", entries->size(), bytes, bad,
               directory.path());
  return whole && bad ? exitFailed : exitOk;
}

int show(const CacheArgs &args, const Directory &directory) {
  Result<std::vector<EntryInfo>> entries = directory.verify();
  if (!entries)
    return fail(entries.error());
  const EntryInfo *found = nullptr;
  for (const EntryInfo &info : *entries) {
    if (!info.digest.starts_with(args.digest))
      continue;
    if (found)
      return fail({ErrorCode::InvalidArgument,
                   fmt::format("{}: begins the digests of {:.16} and {:.16}; give more of it",
                               args.digest, found->digest, info.digest)});
    found = &info;
  }
  if (!found)
    return fail({ErrorCode::NotFound, fmt::format("{}: no kernel in {} has a digest that begins so",
                                                  args.digest, directory.path())});
  if (found->entry.state != EntryState::Good)
    return fail({ErrorCode::Io, found->entry.reason});
  if (args.json)
    fmt::print("{}\n", json{{"digest", found->digest},
                            {"key", found->entry.keyText},
                            {"sidecar", json::parse(toJson(found->entry.image.sidecar))}}
                           .dump(2));
  else
    fmt::print("{}\n{} bytes, code object {} bytes\n\n{}\n{}\n", found->path, found->bytes,
               found->entry.image.codeObject.size(), found->entry.keyText,
               json::parse(toJson(found->entry.image.sidecar)).dump(2));
  return exitOk;
}

int report(const CacheArgs &args, const Directory &directory, const Result<CollectReport> &done) {
  if (!done)
    return fail(done.error());
  if (args.json)
    fmt::print("{}\n", json{{"directory", directory.path()},
                            {"removed", done->removedEntries},
                            {"removed_bytes", done->removedBytes},
                            {"kept", done->keptEntries},
                            {"kept_bytes", done->keptBytes},
                            {"leftovers", done->removedLeftovers}}
                           .dump(2));
  else
    fmt::print("removed {} kernels of {} bytes and {} leftovers; kept {} of {} bytes in {}\n",
               done->removedEntries, done->removedBytes, done->removedLeftovers, done->keptEntries,
               done->keptBytes, directory.path());
  return exitOk;
}

int collect(const CacheArgs &args, const Directory &directory) {
  Result<cache::Options> options = cache::optionsFromEnvironment();
  if (!options)
    return fail(options.error());
  uint64_t limit = options->limitBytes ? options->limitBytes : UINT64_MAX;
  if (!args.limit.empty()) {
    Result<uint64_t> bytes = cache::parseBytes(args.limit);
    if (!bytes)
      return fail(Error{bytes.error().code, "--limit: " + bytes.error().message});
    limit = *bytes;
  }
  return report(args, directory, directory.collect(limit));
}

/// The way to compiled kernels that ends in the directory. Errors: also InvalidArgument, nothing
/// would be kept.
Result<std::shared_ptr<Context>> warmingContext(const CacheArgs &args) {
  Result<ContextOptions> options = contextOptionsFromEnvironment();
  if (!options)
    return options.error();
  options->device = "sim"; // nothing runs; kernels are made for the simulator's chip
  if (!args.directory.empty())
    options->cache.directory = args.directory;
  if (options->cache.mode != cache::Mode::On)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("ATTUNE_CACHE is {}: nothing would be kept; set it to on",
                             options->cache.mode == cache::Mode::Off ? "off" : "readonly")};
  options->cache.mayBuild = true;
  options->cache.warn = [](const std::string &text) { fmt::print(stderr, "{}\n", text); };
  Result<std::shared_ptr<Context>> context = Context::create(std::move(*options));
  if (context && args.arch != (*context)->arch())
    return Error{ErrorCode::Unsupported,
                 fmt::format("--arch {}: kernels are made for {}", args.arch, (*context)->arch())};
  return context;
}

/// Compiles one kernel if it is not there; its digest.
Result<std::string> warmOne(Context &context, const aot::ListedKernel &kernel, std::string &label) {
  Result<ParsedSpec> spec = ParsedSpec::parseFile(kernel.spec, kernel.attention, kernel.parameters);
  if (!spec)
    return spec.error();
  label = aotLabel(spec->model.problem.specName, kernel.parameters, kernel.knobs);
  Result<cache::KernelRef> image = context.image(*spec, kernel.knobs);
  if (!image)
    return image.error();
  return context.key(*spec, kernel.knobs)->digest();
}

int warm(const CacheArgs &args) {
  Result<std::shared_ptr<Context>> context = warmingContext(args);
  if (!context)
    return fail(context.error());
  AotBuild asked;
  asked.inputs = args.specs;
  asked.attention = args.attention;
  asked.parameters = args.parameters;
  asked.knobs = args.knobs;
  Result<std::vector<aot::ListedKernel>> kernels = listedKernels(asked);
  if (!kernels)
    return fail(kernels.error());
  int worst = exitOk;
  json array = json::array();
  Progress progress("compiling");
  for (const aot::ListedKernel &kernel : *kernels) {
    progress.note(kernel.spec);
    std::string label;
    Result<std::string> digest = warmOne(**context, kernel, label);
    if (!digest) {
      worst = std::max(worst, fail(digest.error()));
      array.push_back({{"spec", kernel.spec}, {"error", digest.error().message}});
      continue;
    }
    array.push_back({{"spec", kernel.spec}, {"kernel", label}, {"digest", *digest}});
    if (!args.json)
      fmt::print("{}  {}\n", *digest, label);
  }
  const cache::Counters counters = (*context)->cache().counters();
  const uint64_t compiled = counters.published + counters.unpublished;
  const uint64_t present =
      counters.diskHits + counters.baseHits + counters.remoteHits + counters.served;
  if (args.json)
    fmt::print("{}\n", json{{"directory", (*context)->cache().options().directory},
                            {"compiled", compiled},
                            {"present", present},
                            {"kernels", array}}
                           .dump(2));
  else
    fmt::print(stderr, "{} compiled, {} were there\n", compiled, present);
  return counters.unpublished ? std::max<int>(worst, exitFailed) : worst;
}

} // namespace

int cacheCommand(const CacheArgs &args) {
  if (args.action == "warm")
    return warm(args);
  Result<Directory> directory = directoryOf(args);
  if (!directory)
    return fail(directory.error());
  if (args.action == "show")
    return show(args, *directory);
  if (args.action == "gc")
    return collect(args, *directory);
  if (args.action == "clear")
    return report(args, *directory, directory->clear());
  return list(args, *directory, args.action == "verify");
}

} // namespace attune::tool
