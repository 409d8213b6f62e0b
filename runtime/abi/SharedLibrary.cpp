#include "runtime/abi/SharedLibrary.h"
#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <link.h>
#include <vector>

namespace attune {
namespace {

std::string pathOf(void *handle, const std::string &name) {
  link_map *map = nullptr;
  bool found = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map && map->l_name && *map->l_name;
  return found ? map->l_name : name;
}

} // namespace

void *SharedLibrary::symbol(const char *name) const { return dlsym(handle_, name); }

Result<SharedLibrary> SharedLibrary::open(const std::string &file, const char *variable,
                                          std::span<const char *const> candidates) {
  std::vector<std::string> names(candidates.begin(), candidates.end());
  const char *value = std::getenv(variable);
  bool fromVariable = file.empty() && value && *value;
  if (!file.empty() || fromVariable)
    names = {fromVariable ? value : file};
  SharedLibrary library;
  std::string reasons;
  for (int flags : {RTLD_NOLOAD, 0})
    for (const std::string &name : names) {
      if ((library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags))) {
        library.path_ = pathOf(library.handle_, name);
        return library;
      }
      const char *reason = dlerror();
      if (flags == 0)
        reasons += fmt::format("\n  {}", reason ? reason : name.c_str());
    }
  return Error{ErrorCode::NotFound,
               fmt::format("no library of {}{}; install ROCm, or set {} to the library's path:{}",
                           fmt::join(names, ", "),
                           fromVariable ? fmt::format(" (from {})", variable) : "", variable,
                           reasons)};
}

bool isLoaded(std::span<const char *const> names) {
  return std::any_of(names.begin(), names.end(), [](const char *name) {
    void *handle = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    return handle && dlclose(handle) == 0;
  });
}

std::string folderOfCode(const void *code) {
  Dl_info info;
  if (!dladdr(code, &info) || !info.dli_fname)
    return {};
  std::error_code failed;
  // Of the executable the loader knows argv[0] alone, which is no path where PATH found it.
  const bool isPath = std::string_view(info.dli_fname).find('/') != std::string_view::npos;
  return std::filesystem::canonical(isPath ? info.dli_fname : "/proc/self/exe", failed)
      .parent_path();
}

} // namespace attune
