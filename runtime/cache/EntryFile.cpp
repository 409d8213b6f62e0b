// Writes entries and checks them.
#include "runtime/cache/EntryFile.h"
#include "runtime/abi/Digest.h"
#include <fmt/format.h>
#include <variant>

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

struct Lengths {
  uint64_t key, sidecar, code;
};

/// The lengths of the parts, or what is wrong with the head. `bytes` may be a file's first ones.
std::variant<Lengths, Entry> readHead(std::span<const uint8_t> bytes, uint64_t fileBytes) {
  if (bytes.size() < headBytes || fileBytes < headBytes + digestBytes)
    return fault(EntryState::Corrupt, fmt::format("{} bytes, less than any entry has", fileBytes));
  if (textOf(bytes.first(magic.size())) != magic)
    return fault(EntryState::Corrupt, "does not begin like an entry");
  const uint64_t format = number(bytes, 8, 4);
  if (format != formatVersion)
    return fault(EntryState::Foreign,
                 fmt::format("format {}, this version reads {}", format, formatVersion));
  const uint64_t body = fileBytes - headBytes - digestBytes;
  const Lengths lengths{number(bytes, 12, 4), number(bytes, 16, 8), number(bytes, 24, 8)};
  if (lengths.key > body || lengths.sidecar > body - lengths.key ||
      lengths.code != body - lengths.key - lengths.sidecar)
    return fault(EntryState::Corrupt, fmt::format("{} bytes, its head says otherwise", fileBytes));
  return lengths;
}

Entry readKeyAndSidecar(std::span<const uint8_t> bytes, const Lengths &lengths) {
  auto sidecar =
      sidecarFromJson(std::string(textOf(bytes.subspan(headBytes + lengths.key, lengths.sidecar))));
  if (!sidecar)
    return fault(EntryState::Foreign, fmt::format("its sidecar: {}", sidecar.error().message));
  return {EntryState::Good,
          {},
          std::string(textOf(bytes.subspan(headBytes, lengths.key))),
          KernelImage{{}, std::move(*sidecar)}};
}

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
  auto head = readHead(bytes, bytes.size());
  if (const Entry *bad = std::get_if<Entry>(&head))
    return *bad;
  if (sha256Hex(textOf(bytes.first(bytes.size() - digestBytes))) != textOf(bytes.last(digestBytes)))
    return fault(EntryState::Corrupt, "its digest does not match its bytes");
  const Lengths &lengths = std::get<Lengths>(head);
  Entry entry = readKeyAndSidecar(bytes, lengths);
  if (!keyText.empty() && entry.state == EntryState::Good && entry.keyText != keyText)
    return fault(EntryState::Foreign, "it is the entry of another kernel");
  auto object = bytes.subspan(headBytes + lengths.key + lengths.sidecar, lengths.code);
  entry.image.codeObject.assign(object.begin(), object.end());
  return entry;
}

Entry decodeHead(std::span<const uint8_t> firstBytes, uint64_t fileBytes) {
  auto head = readHead(firstBytes, fileBytes);
  if (const Entry *bad = std::get_if<Entry>(&head))
    return *bad;
  const Lengths &lengths = std::get<Lengths>(head);
  if (firstBytes.size() - headBytes < lengths.key ||
      firstBytes.size() - headBytes - lengths.key < lengths.sidecar)
    return fault(EntryState::Foreign, "its key and sidecar are longer than any of ours");
  return readKeyAndSidecar(firstBytes, lengths);
}

} // namespace attune::cache
