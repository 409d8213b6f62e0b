// The kernel of a spec by way of the caches that every program uses (docs/cache.md), and what
// became of that, in words.
#pragma once
#include "tools/attune/Report.h"
#include "tools/attune/Source.h"

namespace attune::tool {

struct CachedKernel {
  KernelImage image;
  CacheUse use;
  std::optional<Listing> listing; ///< if asked for
  std::string noListing;          ///< why there is none
};

/// As compileSource(), but a kernel that a cache has is not compiled. With `noCache`, and for what
/// is no spec, no cache is looked into or written to. ATTUNE_NO_JIT holds in any case.
Result<CachedKernel> cachedKernel(const Source &, const SpecArgs &, bool noCache);

/// With the listing. No cache keeps listings: what a cache has is compiled for it again, anything
/// else once for both.
Result<CachedKernel> listedKernel(const Source &, const SpecArgs &, bool noCache);

} // namespace attune::tool
