// Finds libcurl and its functions.
#include "runtime/cache/Curl.h"
#include "runtime/abi/SharedLibrary.h"
#include <fmt/format.h>

namespace attune::cache {

namespace {

/// One interface since 2006, under the names that distributions give its TLS libraries.
const std::string libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

Result<Curl> load() {
  auto library = SharedLibrary::open(libraries);
  if (!library)
    return Error{ErrorCode::NotFound,
                 fmt::format("libcurl cannot be loaded: {}", library.error().message)};
  Curl curl;
#define CURL_FUNCTION(name)                                                                        \
  curl.name = library->function<decltype(curl.name)>("curl_" #name);                               \
  if (!curl.name)                                                                                  \
    return Error{ErrorCode::NotFound,                                                              \
                 "libcurl has no curl_" #name "; version 7.68 or later is needed"};
#include "runtime/cache/Curl.def"
  if (CURLcode failed = curl.global_init(CURL_GLOBAL_DEFAULT))
    return Error{ErrorCode::NotFound,
                 fmt::format("libcurl does not start: {}", curl.easy_strerror(failed))};
  return curl;
}

} // namespace

const Result<Curl> &loadCurl() {
  static const Result<Curl> curl = load();
  return curl;
}

} // namespace attune::cache
