// Libraries of ROCm are opened when they are wanted, never linked: Attune runs where there are
// none.
//
// A process must not have two HIP runtimes, for a stream of one is no stream of the other. So a
// library that the process has already (PyTorch brought it, say) comes before any other: first the
// file that the user named, then each candidate if it is loaded, then each candidate by a search.
// What is open stays open: neither HIP nor comgr can be unloaded.
#pragma once
#include "runtime/abi/Result.h"
#include <span>
#include <string>

namespace attune {

class SharedLibrary {
public:
  const std::string &path() const { return path_; } ///< the file, as the loader found it
  void *symbol(const char *name) const;             ///< null if there is none

  /// `file` alone if it is not empty, else `variable`'s value if that is not empty, else the first
  /// of `candidates`. Errors: NotFound, with all names that were tried, why each failed, and the
  /// variable to set.
  static Result<SharedLibrary> open(const std::string &file, const char *variable,
                                    std::span<const char *const> candidates);

private:
  void *handle_ = nullptr;
  std::string path_;
};

/// Whether the process has one of these libraries already. Opens nothing.
bool isLoaded(std::span<const char *const> names);

/// The folder of the library or executable that holds `code`, a function's address; "" if unknown.
std::string folderOfCode(const void *code);

} // namespace attune
