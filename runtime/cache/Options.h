// What a cache is told: directories, limits, what it may do. optionsFromEnvironment() reads the
// ATTUNE_CACHE variables of runtime/abi/Environment.def; a program may fill in the struct itself
// instead.
#pragma once
#include "runtime/abi/Environment.h"
#include "runtime/cache/FileOps.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace attune::cache {

enum class Mode {
  On,
  ReadOnly, ///< read the directories, write none
  Off,      ///< touch no directory; a process still keeps what it has built
};

/// A store on the network that many machines share (Remote.h).
struct RemoteOptions {
  std::string url;                         ///< without a slash at its end; empty: none
  bool mayWrite = false;                   ///< what is built here is stored there as well
  std::chrono::milliseconds timeout{2000}; ///< that a miss, or the end of the cache, may wait
  std::string token;                       ///< "Authorization: Bearer TOKEN"; empty: none
  std::string caFile;                      ///< instead of the system's certificates
  int failures = 3; ///< so many in a row, and the store is left alone for the length of a pause
  std::chrono::milliseconds pause{30'000};
};

struct Options {
  Mode mode = Mode::On;
  std::string directory;                   ///< the user's; empty: none
  std::vector<std::string> base;           ///< searched after it, in this order, never written
  uint64_t limitBytes = uint64_t(1) << 30; ///< of the user's directory; 0: none
  uint64_t memoryBytes = uint64_t(256) << 20;
  RemoteOptions remote;
  bool mayBuild = true;                        ///< false: a miss is an error that names the key
  std::chrono::milliseconds waitLimit{10'000}; ///< for another process to finish the same kernel
  /// Told what a person should know, each kind of trouble once. May be called from any thread.
  std::function<void(const std::string &)> warn;
  std::string startWarning; ///< something to warn of at the beginning; empty: nothing
  FileHook fileHook;        ///< for tests
};

/// Without ATTUNE_CACHE_DIR the user's directory is $XDG_CACHE_HOME/attune, then
/// $HOME/.cache/attune, then, with a warning, a private directory below $TMPDIR or /tmp, then none.
/// Errors: InvalidArgument, naming the variable and its legal values.
Result<Options> optionsFromEnvironment(const Environment & = environment);

/// "1048576", "512M": a size in bytes. Errors: InvalidArgument.
Result<uint64_t> parseBytes(std::string_view text);

/// A URL as messages show it: without "user:password@".
std::string withoutPassword(const std::string &url);

} // namespace attune::cache
