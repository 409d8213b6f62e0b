// Directories, keys and processes for the tests of the cache.
#include "tests/runtime/cache/Testing.h"
#include "tests/runtime/Kernels.h"
#include <csignal>
#include <sched.h>
#include <stdexcept>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace attune::cache::testing {

Key keyOf(const std::string &name) {
  auto key = KeyBuilder()
                 .add("spec", "attention " + name)
                 .add("arch", "gfx950")
                 .add("compiler", "build 1")
                 .label(name)
                 .command("attune cache warm " + name)
                 .build();
  if (!key)
    throw std::runtime_error(key.error().message);
  return *key;
}

KernelImage imageOf(const std::string &name, size_t bytes) {
  KernelImage image{{}, attune::testing::sidecar(Storage::Dense)};
  image.sidecar.problem.specName = name;
  while (image.codeObject.size() < bytes)
    image.codeObject.insert(image.codeObject.end(), name.begin(), name.end());
  image.codeObject.resize(bytes);
  return image;
}

bool isImageOf(const Result<KernelRef> &kernel, const std::string &name, size_t bytes) {
  const KernelImage wanted = imageOf(name, bytes);
  return kernel && (*kernel)->codeObject == wanted.codeObject &&
         toJson((*kernel)->sidecar) == toJson(wanted.sidecar);
}

Cache::Build builderOf(const std::string &name, std::atomic<int> *count) {
  return [name, count]() -> Result<KernelImage> {
    if (count)
      ++*count;
    return imageOf(name);
  };
}

Options optionsFor(const std::string &directory, std::vector<std::string> *warnings) {
  Options options;
  options.directory = directory;
  if (warnings)
    options.warn = [warnings](const std::string &text) { warnings->push_back(text); };
  return options;
}

std::vector<std::string> temporariesIn(const std::string &directory) {
  auto names = namesIn(directory);
  std::erase_if(names, [](const std::string &name) { return !name.ends_with(".tmp"); });
  return names;
}

std::string entryIn(const std::string &directory, const std::string &name) {
  return directory + "/" + keyOf(name).digest() + ".kernel";
}

Child::Child(const std::function<int()> &body) : pid_(fork()) {
  if (pid_ != 0)
    return;
  int code = 99;
  try {
    code = body();
  } catch (...) { // 99 says it
  }
  _exit(code);
}

void Child::signal(int number) const { kill(pid_, number); }

int Child::wait() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool mountTmpfs(const std::string &directory, const std::string &options, bool readOnly) {
  static const bool alone =
      unshare(CLONE_NEWNS) == 0 && mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return alone &&
         mount("tmpfs", directory.c_str(), "tmpfs", readOnly ? MS_RDONLY : 0, options.c_str()) == 0;
}

} // namespace attune::cache::testing
