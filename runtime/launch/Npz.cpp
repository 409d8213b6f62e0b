// Archives and folders of arrays.
#include "runtime/launch/Npz.h"
#include "runtime/launch/Zip.h"
#include <filesystem>
#include <fmt/format.h>
#include <system_error>

namespace attune {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view suffix = ".npy";

Result<TensorMap> readFolder(const std::string &path) {
  TensorMap tensors;
  std::error_code failed;
  for (fs::directory_iterator it(path, failed), end; !failed && it != end; it.increment(failed)) {
    if (it->path().extension() != suffix)
      continue;
    auto bytes = readFile(it->path().string());
    if (!bytes)
      return bytes.error();
    auto tensor = parseNpy(*bytes, it->path().string());
    if (!tensor)
      return tensor.error();
    tensors[it->path().stem().string()] = std::move(*tensor);
  }
  if (failed)
    return Error{ErrorCode::Io, fmt::format("{}: {}", path, failed.message())};
  if (tensors.empty())
    return Error{ErrorCode::NotFound, fmt::format("{}: the folder holds no .npy file", path)};
  return tensors;
}

} // namespace

Result<TensorMap> parseNpz(std::span<const uint8_t> bytes, std::string_view name) {
  auto members = zip::read(bytes);
  if (!members)
    return Error{members.error().code, fmt::format("{}: {}", name, members.error().message)};
  TensorMap tensors;
  for (const zip::Member &member : *members) {
    std::string_view key = member.name;
    if (!key.ends_with(suffix))
      continue;
    key.remove_suffix(suffix.size());
    auto tensor = parseNpy(member.data, fmt::format("{}:{}", name, key));
    if (!tensor)
      return tensor.error();
    if (!tensors.emplace(key, std::move(*tensor)).second)
      return Error{ErrorCode::Io, fmt::format("{}: two arrays are called {}", name, key)};
  }
  return tensors;
}

Result<Bytes> formatNpz(const TensorMap &tensors) {
  std::vector<zip::Member> members;
  for (const auto &[name, tensor] : tensors)
    members.push_back({name + std::string(suffix), formatNpy(tensor)});
  return zip::write(members);
}

Result<TensorMap> readTensors(const std::string &path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored))
    return readFolder(path);
  auto bytes = readFile(path);
  if (!bytes)
    return bytes.error();
  return parseNpz(*bytes, path);
}

Result<void> writeNpz(const std::string &path, const TensorMap &tensors) {
  auto bytes = formatNpz(tensors);
  if (!bytes)
    return bytes.error();
  return writeFile(path, *bytes);
}

} // namespace attune
