// libattune's way to the simulator: a library of its own beside it, loaded for a context on the
// simulator and by nobody else, so that a server with GPUs carries none of it (docs/adr/013).
#include "runtime/device/SimDevice.h"
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>

namespace attune {
namespace {

constexpr auto libraryName = "libattune-sim.so", entryName = "attune_sim_device_v1";
using Entry = Device *(*)(const sim::RunOptions *);

/// The path beside the file that holds this code.
std::string libraryPath() {
  Dl_info info;
  if (!dladdr(reinterpret_cast<const void *>(&libraryPath), &info) || !info.dli_fname)
    return libraryName;
  std::error_code failed;
  return std::filesystem::canonical(info.dli_fname, failed).parent_path() / libraryName;
}

} // namespace

Result<std::unique_ptr<Device>> openSimDevice(const sim::RunOptions &options) {
  // Never closed: devices of it may live as long as the process.
  void *library = dlopen(libraryPath().c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return Error{
        ErrorCode::NotFound,
        fmt::format("the simulator cannot be loaded: {}; it belongs beside libattune", dlerror())};
  const auto open = reinterpret_cast<Entry>(dlsym(library, entryName));
  if (!open)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: is of another version: it has no {}", libraryPath(), entryName)};
  return std::unique_ptr<Device>(open(&options));
}

} // namespace attune
