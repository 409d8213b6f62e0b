// What the tests of the cache share: keys, kernels that are cheap to make and easy to
// tell apart, and processes.
#pragma once
#include "runtime/cache/Cache.h"
#include "tests/support/TempDir.h"
#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace attune::cache::testing {

using attune::testing::namesIn;
using attune::testing::readText;
using attune::testing::TempDir;
using attune::testing::writeText;

/// The key of a kernel called `name`.
Key keyOf(const std::string &name);

/// What building `name` yields: `bytes` bytes of code that only this name has.
KernelImage imageOf(const std::string &name, size_t bytes = 3000);
bool isImageOf(const Result<KernelRef> &, const std::string &name, size_t bytes = 3000);

/// A build function that yields imageOf(name); `count` is raised if there is one.
Cache::Build builderOf(const std::string &name, std::atomic<int> *count = nullptr);

/// Options with this directory; warnings go to `warnings` if there is a list.
Options optionsFor(const std::string &directory, std::vector<std::string> *warnings = nullptr);

/// Names of the temporary files in a directory; the path of a kernel's entry.
std::vector<std::string> temporariesIn(const std::string &directory);
std::string entryIn(const std::string &directory, const std::string &name);

/// A process that runs `body` and exits with its value. No assertion macro may be used in it.
class Child {
public:
  explicit Child(const std::function<int()> &body);
  pid_t pid() const { return pid_; }
  void signal(int number) const;
  /// The exit code, or minus the signal that ended it.
  int wait();

private:
  pid_t pid_;
};

/// The exit code by which a child says that this machine does not let it do what it tests.
constexpr int skipped = 77;

/// In a child: mounts a tmpfs with these options over `directory`, visible to the child alone.
bool mountTmpfs(const std::string &directory, const std::string &options, bool readOnly = false);

} // namespace attune::cache::testing
