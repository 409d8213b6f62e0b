// libattune's way to the simulator: a library of its own beside it, loaded for a context on the
// simulator and by nobody else, so that a server with GPUs carries none of it (docs/adr/013).
#include "runtime/abi/SharedLibrary.h"
#include "runtime/device/SimDevice.h"
#include <filesystem>
#include <fmt/format.h>

namespace attune {
namespace {

constexpr auto libraryName = "libattune-sim.so", entryName = "attune_sim_device_v1";
using Entry = Device *(*)(const sim::RunOptions *);

/// The path beside the file that holds this code.
std::string libraryPath() {
  const auto *here = reinterpret_cast<const void *>(&libraryPath);
  return std::filesystem::path(folderOfCode(here)) / libraryName;
}

} // namespace

Result<std::unique_ptr<Device>> openSimDevice(const sim::RunOptions &options) {
  const std::string path = libraryPath();
  auto library = SharedLibrary::open({&path, 1});
  if (!library)
    return Error{ErrorCode::NotFound,
                 fmt::format("the simulator cannot be loaded: {}; it belongs beside libattune",
                             library.error().message)};
  const auto open = library->function<Entry>(entryName);
  if (!open)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: is of another version: it has no {}", path, entryName)};
  return std::unique_ptr<Device>(open(&options));
}

} // namespace attune
