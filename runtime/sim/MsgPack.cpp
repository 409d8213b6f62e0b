#include "runtime/sim/MsgPack.h"
#include <optional>

namespace attune::sim {
namespace {

constexpr int kMaxDepth = 32;

class Reader {
public:
  explicit Reader(std::span<const uint8_t> bytes) : rest_(bytes) {}
  std::optional<MsgValue> value(int depth);

private:
  bool take(uint64_t n, std::span<const uint8_t> &out) {
    if (n > rest_.size())
      return false;
    out = rest_.first(n);
    rest_ = rest_.subspan(n);
    return true;
  }
  /// Big-endian unsigned of n bytes.
  bool number(unsigned n, uint64_t &out) {
    std::span<const uint8_t> bytes;
    if (!take(n, bytes))
      return false;
    out = 0;
    for (uint8_t b : bytes)
      out = out << 8 | b;
    return true;
  }
  static MsgValue integer(uint64_t n) {
    MsgValue v;
    v.kind = MsgValue::Kind::Integer;
    v.integer = int64_t(n);
    return v;
  }
  std::optional<MsgValue> string(uint64_t n);
  std::optional<MsgValue> array(uint64_t n, int depth);
  std::optional<MsgValue> map(uint64_t n, int depth);
  std::optional<MsgValue> sized(uint8_t tag, int depth);
  std::optional<MsgValue> skipped(uint64_t n) {
    std::span<const uint8_t> bytes;
    return take(n, bytes) ? std::optional<MsgValue>(MsgValue()) : std::nullopt;
  }

  std::span<const uint8_t> rest_;
};

std::optional<MsgValue> Reader::string(uint64_t n) {
  std::span<const uint8_t> bytes;
  if (!take(n, bytes))
    return std::nullopt;
  MsgValue v;
  v.kind = MsgValue::Kind::String;
  v.string.assign(bytes.begin(), bytes.end());
  return v;
}

std::optional<MsgValue> Reader::array(uint64_t n, int depth) {
  MsgValue v;
  v.kind = MsgValue::Kind::Array;
  for (uint64_t k = 0; k < n; ++k) {
    auto item = value(depth);
    if (!item)
      return std::nullopt;
    v.array.push_back(std::move(*item));
  }
  return v;
}

std::optional<MsgValue> Reader::map(uint64_t n, int depth) {
  MsgValue v;
  v.kind = MsgValue::Kind::Map;
  for (uint64_t k = 0; k < n; ++k) {
    auto key = value(depth), item = key ? value(depth) : std::nullopt;
    if (!item)
      return std::nullopt;
    if (key->kind != MsgValue::Kind::String)
      continue;
    v.keys.push_back(std::move(key->string));
    v.values.push_back(std::move(*item));
  }
  return v;
}

/// Tags 0xc0 .. 0xdf: a size or a value of 1, 2, 4 or 8 bytes follows.
std::optional<MsgValue> Reader::sized(uint8_t tag, int depth) {
  uint64_t n = 0;
  auto width = [&](uint8_t first) { return 1u << (tag - first); };
  if (tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
    return tag == 0xc0 ? MsgValue() : integer(tag == 0xc3);
  if (tag >= 0xc4 && tag <= 0xc6) // binary
    return number(width(0xc4), n) ? skipped(n) : std::nullopt;
  if (tag >= 0xc7 && tag <= 0xc9) // extension: a type byte besides
    return number(width(0xc7), n) ? skipped(n + 1) : std::nullopt;
  if (tag == 0xca || tag == 0xcb) // float, double
    return skipped(tag == 0xca ? 4 : 8);
  if (tag >= 0xcc && tag <= 0xcf)
    return number(width(0xcc), n) ? std::optional(integer(n)) : std::nullopt;
  if (tag >= 0xd0 && tag <= 0xd3) {
    unsigned bytes = width(0xd0);
    if (!number(bytes, n))
      return std::nullopt;
    return integer(uint64_t(int64_t(n << (64 - 8 * bytes)) >> (64 - 8 * bytes)));
  }
  if (tag >= 0xd4 && tag <= 0xd8) // fixed extension
    return skipped(1 + width(0xd4));
  if (tag >= 0xd9 && tag <= 0xdb)
    return number(width(0xd9), n) ? string(n) : std::nullopt;
  if (tag == 0xdc || tag == 0xdd)
    return number(tag == 0xdc ? 2 : 4, n) ? array(n, depth) : std::nullopt;
  if (tag == 0xde || tag == 0xdf)
    return number(tag == 0xde ? 2 : 4, n) ? map(n, depth) : std::nullopt;
  return std::nullopt;
}

std::optional<MsgValue> Reader::value(int depth) {
  uint64_t tag = 0;
  if (depth >= kMaxDepth || !number(1, tag))
    return std::nullopt;
  if (tag < 0x80)
    return integer(tag);
  if (tag < 0x90)
    return map(tag & 15, depth + 1);
  if (tag < 0xa0)
    return array(tag & 15, depth + 1);
  if (tag < 0xc0)
    return string(tag & 31);
  if (tag >= 0xe0)
    return integer(uint64_t(int64_t(int8_t(tag))));
  return sized(uint8_t(tag), depth + 1);
}

} // namespace

const MsgValue *MsgValue::find(const std::string &key) const {
  for (size_t n = 0; n < keys.size(); ++n)
    if (keys[n] == key)
      return &values[n];
  return nullptr;
}

int64_t MsgValue::integerAt(const std::string &key, int64_t otherwise) const {
  const MsgValue *v = find(key);
  return v && v->kind == Kind::Integer ? v->integer : otherwise;
}

std::string MsgValue::stringAt(const std::string &key) const {
  const MsgValue *v = find(key);
  return v && v->kind == Kind::String ? v->string : "";
}

Result<MsgValue> parseMsgPack(std::span<const uint8_t> bytes) {
  auto value = Reader(bytes).value(0);
  if (!value)
    return Error{ErrorCode::InvalidArgument, "code object: the metadata is not valid MessagePack"};
  return std::move(*value);
}

} // namespace attune::sim
