// Libraries that are opened when they are wanted, never linked: the compiler, the simulator,
// libcurl, ROCm's. Attune runs where there are none. What is open stays open: LLVM, HIP and comgr
// keep globals and cannot be unloaded.
//
// A process must not have two HIP runtimes, for a stream of one is no stream of the other. So a
// library of ROCm that the process has already (PyTorch brought it, say) comes before any other:
// first the file that the user named, then each candidate if it is loaded, then each candidate by a
// search.
#pragma once
#include "runtime/abi/Environment.h"
#include "runtime/abi/Result.h"
#include <span>
#include <string>

namespace attune {

class SharedLibrary {
public:
  const std::string &path() const { return path_; } ///< the file, as the loader found it
  void *symbol(const char *name) const;             ///< null if there is none
  template <class Function> Function function(const char *name) const {
    return reinterpret_cast<Function>(symbol(name));
  }

  /// The first of `names`, paths or names that the loader looks for, that can be loaded. Its
  /// symbols are visible to nobody else. Errors: NotFound, the loader's reason for each name.
  static Result<SharedLibrary> open(std::span<const std::string> names);
  /// `file` alone if it is not empty, else `variable`'s value if it is set, else the first of
  /// `candidates`. Errors: NotFound, with all names that were tried, why each failed, and the
  /// variable to set.
  static Result<SharedLibrary> openRocm(const std::string &file, Variable variable,
                                        std::span<const std::string> candidates);

private:
  static Result<SharedLibrary> openWith(std::span<const std::string> names, int flags);
  void *handle_ = nullptr;
  std::string path_;
};

/// Whether the process has one of these libraries already. Opens nothing.
bool isLoaded(std::span<const std::string> names);

/// The folder of the library or executable that holds `code`, a function's address; "" if unknown.
std::string folderOfCode(const void *code);

} // namespace attune
