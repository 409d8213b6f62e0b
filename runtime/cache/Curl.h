// libcurl, found when the first request is made and not when the process starts: only who sets
// ATTUNE_CACHE_URL pays for it, and needs it installed (docs/adr/012).
#pragma once
// PROTOCOLS is deprecated for PROTOCOLS_STR, which only libcurl 7.85 and later know.
#define CURL_DISABLE_DEPRECATION
#include "runtime/abi/Result.h"
#include <curl/curl.h>

namespace attune::cache {

struct Curl {
#define CURL_FUNCTION(name) decltype(&::curl_##name) name;
#include "runtime/cache/Curl.def"
};

/// Loads libcurl once per process. Errors: NotFound, with the loader's reason.
const Result<Curl> &loadCurl();

} // namespace attune::cache
