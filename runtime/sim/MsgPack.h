// MessagePack, as much of it as AMDGPU metadata uses: a tree of maps, arrays, strings, integers and
// booleans. Floats, binaries and extensions are skipped over and read as nothing.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attune::sim {

struct MsgValue {
  enum class Kind : uint8_t { Nothing, Integer, String, Array, Map } kind = Kind::Nothing;
  int64_t integer = 0;
  std::string string;
  std::vector<MsgValue> array;
  std::vector<std::string> keys; ///< of a map; entries whose key is not a string are dropped
  std::vector<MsgValue> values;

  /// Member of a map, or null.
  const MsgValue *find(const std::string &key) const;
  int64_t integerAt(const std::string &key, int64_t otherwise) const;
  std::string stringAt(const std::string &key) const;
};

Result<MsgValue> parseMsgPack(std::span<const uint8_t>);

} // namespace attune::sim
