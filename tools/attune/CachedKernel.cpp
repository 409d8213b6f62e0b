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

constexpr auto onlySpecsHaveLines = "only a spec (.attn) has them";

/// With the compiler that is part of this command.
Result<CachedKernel> withoutCache(const Source &source, const SpecArgs &args, std::string reason,
                                  bool listed) {
  if (listed && source.model) {
    auto compiler = Compiler::create();
    if (!compiler)
      return compiler.error();
    auto both = compiler->compileListed(*source.model, compileOptions(args));
    if (!both)
      return both.error();
    return CachedKernel{
        std::move(both->image), unused(std::move(reason)), std::move(both->listing), {}};
  }
  auto image = compileSource(source, args);
  if (!image)
    return image.error();
  return CachedKernel{
      std::move(*image), unused(std::move(reason)), {}, listed ? onlySpecsHaveLines : ""};
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

Result<CachedKernel> withCache(Context &context, const ParsedSpec &spec, const cache::Key &key,
                               const Knobs &knobs, bool listed) {
  if (!listed) {
    Result<cache::KernelRef> kernel = context.image(spec, knobs);
    if (!kernel)
      return kernel.error();
    return CachedKernel{**kernel, useOf(context.cache(), key), {}, {}};
  }
  Result<Context::ListedImage> both = context.listedImage(spec, knobs);
  if (!both)
    return both.error();
  CachedKernel found{*both->image, useOf(context.cache(), key), std::move(both->listing), {}};
  if (!found.listing)
    found.noListing = "ATTUNE_NO_JIT forbids compiling";
  return found;
}

Result<CachedKernel> kernelOf(const Source &source, const SpecArgs &args, bool noCache,
                              bool listed) {
  if (!source.model)
    return withoutCache(source, args, "only kernels of specs (.attn) are kept", listed);
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
    return withoutCache(source, args, key ? "kernels for another chip" : key.error().message,
                        listed);
  Result<CachedKernel> found = withCache(**context, *spec, *key, args.knobs, listed);
  if (found && !off.empty())
    found->use = unused(off);
  if (found && found->use.result == CacheResult::Hit)
    found->image.sidecar.compileMs = 0; // another run's
  return found;
}

} // namespace

Result<CachedKernel> cachedKernel(const Source &source, const SpecArgs &args, bool noCache) {
  return kernelOf(source, args, noCache, false);
}

Result<CachedKernel> listedKernel(const Source &source, const SpecArgs &args, bool noCache) {
  return kernelOf(source, args, noCache, true);
}

} // namespace attune::tool
