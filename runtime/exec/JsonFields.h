// Reading JSON objects strictly: every key is asked for by name and type, and what was not asked
// for is an error. The first thing that is wrong is kept with its path ("args[2].value"); reading
// goes on with default values, so that a reader is a straight list of fields and asks once, at the
// end.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::exec {

/// The first error of a file.
class Problem {
public:
  explicit Problem(std::string file) : file_(std::move(file)) {}
  void add(const std::string &path, const std::string &what);
  const std::optional<Error> &error() const { return error_; }

private:
  std::string file_;
  std::optional<Error> error_;
};

/// Parses text; errors have a line and a column, a key that an object has twice is one.
std::optional<nlohmann::json> parseJson(std::string_view text, Problem &);

class Fields {
public:
  /// `what` is what the object describes ("a buffer argument"). Anything but an object is a
  /// problem.
  Fields(const nlohmann::json &, std::string path, std::string what, Problem &);

  const nlohmann::json *find(const std::string &key);
  bool has(const std::string &key) { return find(key) != nullptr; }
  std::optional<std::string> text(const std::string &key);
  std::optional<uint64_t> integer(const std::string &key, uint64_t low, uint64_t high);
  /// A list of `least` to `most` whole numbers.
  std::optional<std::vector<uint64_t>> integers(const std::string &key, size_t least, size_t most,
                                                uint64_t low, uint64_t high);
  void missing(const std::string &key, const std::string &example);
  void wrong(const std::string &key, const std::string &what) const;
  /// Call it last: a key that nobody asked for is a problem.
  void finish() const;
  std::string pathOf(const std::string &key) const;

private:
  const nlohmann::json &json_;
  std::string path_, what_;
  Problem &problem_;
  std::vector<std::string> known_;
};

/// A JSON value as it was written, cut to a length that fits a message.
std::string shown(const nlohmann::json &);

/// Bytes of "0x3f80 0000", in the order written; nothing if it is not that.
std::optional<std::vector<uint8_t>> hexBytes(std::string_view text);

} // namespace attune::exec
