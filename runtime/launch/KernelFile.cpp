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

std::array<std::string, 2> kernelFiles(const std::string &path) {
  const std::string stem = stemOf(path);
  return {stem + ".hsaco", stem + ".json"};
}

Result<void> saveKernel(const std::string &path, const KernelImage &image) {
  const auto [code, sidecar] = kernelFiles(path);
  if (auto ok = writeFile(code, image.codeObject); !ok)
    return ok;
  std::string json = toJson(image.sidecar);
  return writeFile(sidecar, {reinterpret_cast<const uint8_t *>(json.data()), json.size()});
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
