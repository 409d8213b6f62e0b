// A directory that goes with its object, and files in it.
#pragma once
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace attune::testing {

inline std::string readText(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void writeText(const std::string &path, const std::string &text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// The names in a directory, sorted; none if it is not there.
inline std::vector<std::string> namesIn(const std::string &directory) {
  std::vector<std::string> names;
  std::error_code failed;
  for (const auto &item : std::filesystem::directory_iterator(directory, failed))
    names.push_back(item.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

class TempDir {
public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "attune-test-XXXXXX").string();
    if (!mkdtemp(pattern.data()))
      throw std::runtime_error("no temporary directory");
    path_ = pattern;
  }
  ~TempDir() {
    std::error_code failed;
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, failed);
    std::filesystem::remove_all(path_, failed);
  }
  TempDir(const TempDir &) = delete;
  TempDir &operator=(const TempDir &) = delete;

  const std::string &path() const { return path_; }
  std::string operator/(const std::string &name) const { return path_ + "/" + name; }
  /// The path of a new file.
  std::string write(const std::string &name, std::span<const uint8_t> bytes) const {
    writeText(*this / name, {bytes.begin(), bytes.end()});
    return *this / name;
  }

private:
  std::string path_;
};

} // namespace attune::testing
