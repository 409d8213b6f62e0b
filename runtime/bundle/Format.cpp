// Digests as bytes, and frames.
#include "runtime/bundle/Format.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

namespace attune::bundle {

namespace {

int hexDigit(char c) {
  if (c >= '0' && c <= '9')
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

} // namespace

std::optional<RawDigest> digestFromHex(std::string_view hex) {
  RawDigest raw;
  if (hex.size() != 2 * raw.size())
    return std::nullopt;
  for (size_t i = 0; i < raw.size(); ++i) {
    int high = hexDigit(hex[2 * i]), low = hexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0)
      return std::nullopt;
    raw[i] = uint8_t(16 * high + low);
  }
  return raw;
}

RawDigest digestOf(std::string_view bytes) { return *digestFromHex(sha256Hex(bytes)); }

std::string hexOf(const RawDigest &raw) {
  std::string hex;
  for (uint8_t byte : raw)
    hex += fmt::format("{:02x}", byte);
  return hex;
}

std::optional<RawDigest> buildFreeDigest(const cache::KeyFields &fields) {
  cache::KeyBuilder builder;
  for (const auto &[name, value] : fields)
    if (std::find(buildFields.begin(), buildFields.end(), name) == buildFields.end())
      builder.add(name, value);
  auto key = builder.build();
  return key ? digestFromHex(key->digest()) : std::nullopt;
}

Result<std::vector<uint8_t>> packed(std::span<const uint8_t> bytes) {
  constexpr int level = 19; // built once, read often
  std::vector<uint8_t> frame(ZSTD_compressBound(bytes.size()));
  const size_t size = ZSTD_compress(frame.data(), frame.size(), bytes.data(), bytes.size(), level);
  if (ZSTD_isError(size))
    return Error{ErrorCode::Internal, fmt::format("zstd: {}", ZSTD_getErrorName(size))};
  frame.resize(size);
  return frame;
}

std::optional<std::vector<uint8_t>> unpacked(std::span<const uint8_t> frame, uint64_t bytes) {
  if (ZSTD_getFrameContentSize(frame.data(), frame.size()) != bytes)
    return std::nullopt;
  std::vector<uint8_t> out(bytes);
  const size_t got = ZSTD_decompress(out.data(), out.size(), frame.data(), frame.size());
  return got == bytes ? std::optional(std::move(out)) : std::nullopt;
}

uint32_t crcOfIndex(std::span<const uint8_t> bytes) {
  constexpr size_t crcAt = offsetof(Header, indexCrc), after = crcAt + sizeof(Header::indexCrc);
  constexpr uint8_t zeros[sizeof(Header::indexCrc)] = {};
  uLong crc = crc32_z(0, bytes.data(), crcAt);
  crc = crc32_z(crc, zeros, sizeof(zeros));
  return uint32_t(crc32_z(crc, bytes.data() + after, bytes.size() - after));
}

} // namespace attune::bundle
