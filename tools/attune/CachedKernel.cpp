#include "tools/attune/CachedKernel.h"
#include "runtime/api/Context.h"
#include <cstdio>
#include <fmt/format.h>

namespace attune::tool {
namespace {

CacheUse unused(std::string reason) {
  CacheUse use;
  use.reason = std::move(reason);
  return use;
}

/// With the compiler that is part of this command.
Result<CachedKernel> withoutCache(const Source &source, const SpecArgs &args, std::string reason) {
  auto image = compileSource(source, args);
  if (!image)
    return image.error();
  return CachedKernel{std::move(*image), unused(std::move(reason)), {}, {}};
}

Result<ListedKernel> compileListed(const Source &source, const SpecArgs &args) {
  auto compiler = Compiler::create();
  if (!compiler)
    return compiler.error();
  return compiler->compileListed(*source.model, compileOptions(args));
}

/// What the cache's counters say of the one kernel that was asked for.
CacheUse useOf(cache::Cache &cache, const cache::Key &key) {
  const cache::Counters count = cache.counters();
  CacheUse use;
  use.digest = key.digest();
  use.directory = cache.options().directory;
  use.result = count.builds ? CacheResult::Miss : CacheResult::Hit;
  use.kept = count.published > 0;
  use.from = count.baseHits     ? "base"
             : count.remoteHits ? "store"
             : count.served     ? "process"
                                : "disk";
  return use;
}

} // namespace

Result<CachedKernel> cachedKernel(const Source &source, const SpecArgs &args, bool noCache) {
  if (!source.model)
    return withoutCache(source, args, "only kernels of specs (.attn) are kept");
  Result<ContextOptions> options = contextOptionsFromEnvironment();
  if (!options)
    return options.error();
  std::string off = options->cache.mode == cache::Mode::Off ? "ATTUNE_CACHE=off" : "";
  if (noCache) {
    off = "--no-cache";
    options->cache.mode = cache::Mode::Off;
  }
  options->device = "sim"; // for its chip; the run opens one with its own options
  options->cache.warn = [](const std::string &text) { fmt::print(stderr, "{}\n", text); };
  const bool mayBuild = options->cache.mayBuild;
  Result<std::shared_ptr<Context>> context = Context::create(std::move(*options));
  if (!context)
    return context.error();
  Result<ParsedSpec> spec = ParsedSpec::parseFile(args.path, args.attention, args.parameters);
  if (!spec)
    return spec.error();
  Result<cache::Key> key = (*context)->key(*spec, args.knobs);
  if (!key && !mayBuild)
    return key.error();
  if (!key || args.arch != (*context)->arch()) // it says which chips there are
    return withoutCache(source, args, key ? "kernels for another chip" : key.error().message);
  Result<cache::KernelRef> kernel = (*context)->image(*spec, args.knobs);
  if (!kernel)
    return kernel.error();
  CachedKernel found{**kernel, useOf((*context)->cache(), *key), {}, {}};
  if (!off.empty())
    found.use = unused(off);
  if (found.use.result == CacheResult::Hit)
    found.image.sidecar.compileMs = 0; // another run's
  return found;
}

Result<CachedKernel> listedKernel(const Source &source, const SpecArgs &args, bool noCache) {
  Result<ContextOptions> options = contextOptionsFromEnvironment();
  if (!options)
    return options.error();
  const bool off = options->cache.mode == cache::Mode::Off;
  const bool once = source.model && options->cache.mayBuild && (noCache || off);
  Result<CachedKernel> found =
      once ? CachedKernel{{}, unused(noCache ? "--no-cache" : "ATTUNE_CACHE=off"), {}, {}}
           : cachedKernel(source, args, noCache);
  if (!found)
    return found;
  if (!source.model || !options->cache.mayBuild) {
    found->noListing =
        source.model ? "ATTUNE_NO_JIT forbids compiling" : "only a spec (.attn) has them";
    return found;
  }
  Result<ListedKernel> listed = compileListed(source, args);
  if (!listed)
    return listed.error();
  if (once)
    found->image = std::move(listed->image);
  else if (listed->image.codeObject != found->image.codeObject)
    found->noListing = "the caches' compiler makes another kernel than this command's";
  if (found->noListing.empty())
    found->listing = std::move(listed->listing);
  return found;
}

} // namespace attune::tool
