// Options of caches that share a store.
#pragma once
#include "tests/runtime/http/Servers.h"
#include <chrono>

namespace attune::cache::testing {

/// Where time is not the subject: CI machines may be slow.
constexpr std::chrono::seconds patient{20};
/// Where it is: a store's time-out, and what a machine with other things to do may add to a bound.
constexpr std::chrono::milliseconds timeout{300}, slack{1500};

inline Options sharing(const std::string &directory, const std::string &url, bool mayWrite = true,
                       std::vector<std::string> *warnings = nullptr,
                       std::chrono::milliseconds wait = patient) {
  Options options = optionsFor(directory, warnings);
  options.remote.url = url;
  options.remote.mayWrite = mayWrite;
  options.remote.timeout = wait;
  return options;
}

} // namespace attune::cache::testing
