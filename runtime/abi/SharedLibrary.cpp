#include "runtime/abi/SharedLibrary.h"
#include <algorithm>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
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

Result<SharedLibrary> SharedLibrary::openWith(std::span<const std::string> names, int flags) {
  SharedLibrary library;
  std::vector<std::string> reasons;
  for (const std::string &name : names) {
    if ((library.handle_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | flags))) {
      library.path_ = pathOf(library.handle_, name);
      return library;
    }
    const char *reason = dlerror();
    reasons.push_back(reason ? reason : name);
  }
  return Error{ErrorCode::NotFound, fmt::format("{}", fmt::join(reasons, "\n  "))};
}

Result<SharedLibrary> SharedLibrary::open(std::span<const std::string> names) {
  return openWith(names, 0);
}

Result<SharedLibrary> SharedLibrary::openRocm(const std::string &file, Variable variable,
                                              std::span<const std::string> candidates) {
  std::vector<std::string> names(candidates.begin(), candidates.end());
  const auto value = environment(variable);
  const bool fromVariable = file.empty() && value;
  if (!file.empty() || fromVariable)
    names = {fromVariable ? *value : file};
  if (auto present = openWith(names, RTLD_NOLOAD))
    return present;
  auto library = openWith(names, 0);
  if (library)
    return library;
  return Error{
      ErrorCode::NotFound,
      fmt::format("no library of {}{}; install ROCm, or set {} to the library's path:\n  {}",
                  fmt::join(names, ", "),
                  fromVariable ? fmt::format(" (from {})", nameOf(variable)) : "", nameOf(variable),
                  library.error().message)};
}

bool isLoaded(std::span<const std::string> names) {
  return std::any_of(names.begin(), names.end(), [](const std::string &name) {
    void *handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
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
