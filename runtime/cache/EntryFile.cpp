// Writes entries and checks them.
#include "runtime/cache/EntryFile.h"
#include "runtime/abi/Digest.h"
#include <fmt/format.h>

namespace attune::cache {

namespace {

constexpr std::string_view magic = "ATTUNEK\n";
constexpr uint32_t formatVersion = 1;
constexpr size_t headBytes = 32, digestBytes = 64;

void putNumber(Bytes &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out.push_back(uint8_t(value >> (8 * i)));
}

uint64_t number(std::span<const uint8_t> bytes, size_t at, int count) {
  uint64_t value = 0;
  for (int i = 0; i < count; ++i)
    value |= uint64_t(bytes[at + i]) << (8 * i);
  return value;
}

std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

void append(Bytes &out, std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }

Entry fault(EntryState state, std::string reason) { return {state, std::move(reason), {}, {}}; }

} // namespace

std::string_view toText(EntryState state) {
  switch (state) {
  case EntryState::Good:
    return "good";
  case EntryState::Missing:
    return "missing";
  case EntryState::Corrupt:
    return "corrupt";
  case EntryState::Foreign:
    return "foreign";
  }
  return "unknown";
}

Bytes encodeEntry(std::string_view keyText, const KernelImage &image) {
  const std::string sidecar = toJson(image.sidecar);
  Bytes out;
  out.reserve(headBytes + keyText.size() + sidecar.size() + image.codeObject.size() + digestBytes);
  append(out, magic);
  putNumber(out, formatVersion, 4);
  putNumber(out, keyText.size(), 4);
  putNumber(out, sidecar.size(), 8);
  putNumber(out, image.codeObject.size(), 8);
  append(out, keyText);
  append(out, sidecar);
  out.insert(out.end(), image.codeObject.begin(), image.codeObject.end());
  append(out, sha256Hex(textOf(out)));
  return out;
}

Entry decodeEntry(std::span<const uint8_t> bytes, std::string_view keyText) {
  if (bytes.size() < headBytes + digestBytes)
    return fault(EntryState::Corrupt,
                 fmt::format("{} bytes, less than any entry has", bytes.size()));
  if (textOf(bytes.first(magic.size())) != magic)
    return fault(EntryState::Corrupt, "does not begin like an entry");
  const uint64_t format = number(bytes, 8, 4);
  if (format != formatVersion)
    return fault(EntryState::Foreign,
                 fmt::format("format {}, this version reads {}", format, formatVersion));
  const uint64_t body = bytes.size() - headBytes - digestBytes;
  const uint64_t key = number(bytes, 12, 4), side = number(bytes, 16, 8),
                 code = number(bytes, 24, 8);
  if (key > body || side > body - key || code != body - key - side)
    return fault(EntryState::Corrupt,
                 fmt::format("{} bytes, its head says otherwise", bytes.size()));
  if (sha256Hex(textOf(bytes.first(bytes.size() - digestBytes))) != textOf(bytes.last(digestBytes)))
    return fault(EntryState::Corrupt, "its digest does not match its bytes");

  Entry entry{EntryState::Good, {}, std::string(textOf(bytes.subspan(headBytes, key))), {}};
  if (!keyText.empty() && entry.keyText != keyText)
    return fault(EntryState::Foreign, "it is the entry of another kernel");
  auto sidecar = sidecarFromJson(std::string(textOf(bytes.subspan(headBytes + key, side))));
  if (!sidecar)
    return fault(EntryState::Foreign, fmt::format("its sidecar: {}", sidecar.error().message));
  auto object = bytes.subspan(headBytes + key + side, code);
  entry.image = {Bytes(object.begin(), object.end()), std::move(*sidecar)};
  return entry;
}

} // namespace attune::cache
