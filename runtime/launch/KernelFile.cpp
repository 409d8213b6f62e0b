// Saves and loads the two files of a kernel.
#include "runtime/launch/KernelFile.h"
#include "runtime/launch/File.h"
#include <filesystem>
#include <fmt/format.h>

namespace attune {

namespace {

std::string stemOf(const std::string &path) {
  std::filesystem::path p(path);
  if (p.extension() == ".hsaco" || p.extension() == ".json")
    p.replace_extension();
  return p.string();
}

} // namespace

Result<void> saveKernel(const std::string &path, const KernelImage &image) {
  std::string stem = stemOf(path);
  if (auto ok = writeFile(stem + ".hsaco", image.codeObject); !ok)
    return ok;
  std::string json = toJson(image.sidecar);
  return writeFile(stem + ".json", {reinterpret_cast<const uint8_t *>(json.data()), json.size()});
}

Result<KernelImage> loadKernel(const std::string &path) {
  std::string stem = stemOf(path);
  auto code = readFile(stem + ".hsaco");
  if (!code)
    return code.error();
  auto json = readFile(stem + ".json");
  if (!json)
    return Error{json.error().code,
                 fmt::format("{}; {}.hsaco needs its sidecar beside it, as attune compile -o "
                             "writes both",
                             json.error().message, stem)};
  auto sidecar = sidecarFromJson(std::string(json->begin(), json->end()));
  if (!sidecar)
    return Error{sidecar.error().code, fmt::format("{}.json: {}", stem, sidecar.error().message)};
  return KernelImage{std::move(*code), std::move(*sidecar)};
}

} // namespace attune
