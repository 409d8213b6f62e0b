// Whole files, in and out.
#include "runtime/launch/File.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <system_error>
#include <unistd.h>

namespace attune {

namespace fs = std::filesystem;

Result<Bytes> readFile(const std::string &path) {
  std::error_code failed;
  if (!fs::exists(path, failed))
    return Error{ErrorCode::NotFound, fmt::format("{}: no such file", path)};
  if (!fs::is_regular_file(path, failed))
    return Error{ErrorCode::Io, fmt::format("{}: not a regular file", path)};
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  auto size = in ? static_cast<std::streamoff>(in.tellg()) : -1;
  if (size < 0)
    return Error{ErrorCode::Io, fmt::format("{}: cannot be read", path)};
  Bytes bytes(static_cast<size_t>(size));
  in.seekg(0);
  in.read(reinterpret_cast<char *>(bytes.data()), size);
  if (in.gcount() != size)
    return Error{ErrorCode::Io,
                 fmt::format("{}: reading stopped after {} of {} bytes", path, in.gcount(), size)};
  return bytes;
}

Result<void> checkWritable(const std::string &path) {
  std::error_code failed;
  const auto wrong = [&](const std::string &why) {
    return Error{ErrorCode::Io, fmt::format("{}: cannot be written: {}", path, why)};
  };
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  if (!fs::exists(folder, failed))
    return wrong(fmt::format("there is no folder {}", folder));
  if (!fs::is_directory(folder, failed))
    return wrong(fmt::format("{} is no folder", folder));
  if (fs::is_directory(path, failed))
    return wrong("it is a folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    return wrong(fmt::format("{}: {}", folder, std::strerror(errno)));
  return {};
}

Result<void> writeFile(const std::string &path, std::span<const uint8_t> bytes) {
  if (auto ok = checkWritable(path); !ok)
    return ok;
  std::string partial = fmt::format("{}.{}.partial", path, getpid());
  std::error_code failed;
  {
    errno = 0; // the stream has no reason of its own
    std::ofstream out(partial, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char *>(bytes.data()),
              static_cast<std::streamsize>(bytes.size()));
    out.close();
    if (!out) {
      const std::string reason = std::strerror(errno);
      fs::remove(partial, failed);
      return Error{ErrorCode::Io, fmt::format("{}: cannot be written: {}", path, reason)};
    }
  }
  fs::rename(partial, path, failed);
  if (failed) {
    std::string reason = failed.message();
    fs::remove(partial, failed);
    return Error{ErrorCode::Io, fmt::format("{}: {}", path, reason)};
  }
  return {};
}

} // namespace attune
