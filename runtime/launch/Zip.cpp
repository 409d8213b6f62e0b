// Reads and writes zip files; see Zip.h for the shape of the format.
#include "runtime/launch/Zip.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <optional>
#include <zlib.h>

namespace attune::zip {

namespace {

constexpr uint32_t localMagic = 0x04034b50, centralMagic = 0x02014b50, endMagic = 0x06054b50;
constexpr uint32_t end64Magic = 0x06064b50, locator64Magic = 0x07064b50;
constexpr size_t localSize = 30, centralSize = 46, endSize = 22, locator64Size = 20, end64Size = 56;
constexpr uint16_t methodStored = 0, methodDeflated = 8;
constexpr uint16_t zip64Extra = 1;
/// DEFLATE cannot expand further than this; a member that claims more is damaged or hostile.
constexpr uint64_t maxInflation = 1032;

Error damaged(std::string what) {
  return {ErrorCode::Io, "not a readable zip: " + std::move(what)};
}

/// Little-endian fields out of a file, each read checked.
class Reader {
public:
  explicit Reader(std::span<const uint8_t> file) : file_(file) {}
  bool has(uint64_t at, uint64_t bytes) const {
    return at <= file_.size() && bytes <= file_.size() - at;
  }
  /// The caller has checked the range of the whole record.
  uint64_t field(uint64_t at, int bytes) const {
    uint64_t value = 0;
    for (int i = 0; i < bytes; ++i)
      value |= static_cast<uint64_t>(file_[at + i]) << (8 * i);
    return value;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(field(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(field(at, 4)); }
  uint64_t u64(uint64_t at) const { return field(at, 8); }
  std::span<const uint8_t> bytes(uint64_t at, uint64_t n) const { return file_.subspan(at, n); }
  uint64_t size() const { return file_.size(); }

private:
  std::span<const uint8_t> file_;
};

struct Directory {
  uint64_t offset = 0, bytes = 0, members = 0;
};

/// One entry of the central directory.
struct Entry {
  std::string name;
  uint16_t flags = 0, method = 0;
  uint32_t crc = 0;
  uint64_t packed = 0, unpacked = 0, local = 0;
};

/// The end record may be followed by a comment of up to 64 KiB, so it is searched for from the
/// back.
std::optional<uint64_t> findEnd(const Reader &in) {
  if (in.size() < endSize)
    return std::nullopt;
  uint64_t first = in.size() - endSize;
  uint64_t last = first > 0xFFFF ? first - 0xFFFF : 0;
  for (uint64_t at = first + 1; at-- > last;)
    if (in.u32(at) == endMagic)
      return at;
  return std::nullopt;
}

Result<Directory> findDirectory(const Reader &in) {
  std::optional<uint64_t> end = findEnd(in);
  if (!end)
    return damaged("it has no end-of-directory record (cut short?)");
  Directory dir{in.u32(*end + 16), in.u32(*end + 12), in.u16(*end + 10)};
  bool zip64 = *end >= locator64Size && in.u32(*end - locator64Size) == locator64Magic;
  if (zip64) {
    uint64_t at = in.u64(*end - locator64Size + 8);
    if (!in.has(at, end64Size) || in.u32(at) != end64Magic)
      return damaged("its zip64 record is missing");
    dir = {in.u64(at + 48), in.u64(at + 40), in.u64(at + 32)};
  }
  if (!in.has(dir.offset, dir.bytes))
    return damaged("its directory lies outside the file");
  return dir;
}

/// 32-bit sizes that are all ones stand in the zip64 extra field, in this order, present only where
/// needed.
Result<void> readZip64(const Reader &in, uint64_t extra, uint64_t extraBytes, Entry &entry) {
  uint64_t at = extra, end = extra + extraBytes;
  while (at + 4 <= end) {
    uint16_t id = in.u16(at);
    uint64_t size = in.u16(at + 2);
    at += 4;
    if (size > end - at)
      return damaged(fmt::format("the extra field of {} is cut short", entry.name));
    if (id == zip64Extra) {
      for (uint64_t *value : {&entry.unpacked, &entry.packed, &entry.local}) {
        if (*value != 0xFFFFFFFF)
          continue;
        if (size < 8)
          return damaged(fmt::format("the zip64 field of {} is too short", entry.name));
        *value = in.u64(at);
        at += 8;
        size -= 8;
      }
      return {};
    }
    at += size;
  }
  return {};
}

Result<Entry> readEntry(const Reader &in, uint64_t &at, uint64_t end) {
  if (end - at < centralSize || in.u32(at) != centralMagic)
    return damaged("its directory is cut short");
  Entry entry;
  uint64_t nameBytes = in.u16(at + 28), extraBytes = in.u16(at + 30), comment = in.u16(at + 32);
  if (end - at - centralSize < nameBytes + extraBytes + comment)
    return damaged("its directory is cut short");
  auto name = in.bytes(at + centralSize, nameBytes);
  entry.name.assign(name.begin(), name.end());
  entry.flags = in.u16(at + 8);
  entry.method = in.u16(at + 10);
  entry.crc = in.u32(at + 16);
  entry.packed = in.u32(at + 20);
  entry.unpacked = in.u32(at + 24);
  entry.local = in.u32(at + 42);
  if (auto ok = readZip64(in, at + centralSize + nameBytes, extraBytes, entry); !ok)
    return ok.error();
  at += centralSize + nameBytes + extraBytes + comment;
  return entry;
}

Result<std::vector<uint8_t>> inflateRaw(std::span<const uint8_t> packed, const Entry &entry) {
  std::vector<uint8_t> out;
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return Error{ErrorCode::Internal, "zlib did not start"};
  // zlib counts in 32 bits, so large members go in pieces. Output grows as data comes, never by
  // what a header claims.
  constexpr uint64_t piece = 1u << 26;
  uint64_t given = 0, taken = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    if (stream.avail_in == 0) {
      uint64_t n = std::min(piece, packed.size() - given);
      stream.next_in = const_cast<Bytef *>(packed.data() + given);
      stream.avail_in = static_cast<uInt>(n);
      given += n;
    }
    if (stream.avail_out == 0) {
      uint64_t n = std::min(piece, entry.unpacked - taken);
      out.resize(taken + n);
      stream.next_out = out.data() + taken;
      stream.avail_out = static_cast<uInt>(n);
      taken += n;
    }
    status = inflate(&stream, Z_NO_FLUSH);
  }
  bool complete = status == Z_STREAM_END && taken - stream.avail_out == entry.unpacked;
  inflateEnd(&stream);
  if (!complete)
    return damaged(fmt::format("the compressed data of {} is wrong", entry.name));
  return out;
}

uint32_t crcOf(std::span<const uint8_t> data) {
  return static_cast<uint32_t>(crc32_z(0, data.data(), data.size()));
}

Result<Member> readMember(const Reader &in, const Entry &entry) {
  if (entry.flags & 1)
    return Error{ErrorCode::Unsupported, fmt::format("{} is encrypted", entry.name)};
  if (!in.has(entry.local, localSize) || in.u32(entry.local) != localMagic)
    return damaged(fmt::format("{} has no local header", entry.name));
  uint64_t data = entry.local + localSize + in.u16(entry.local + 26) + in.u16(entry.local + 28);
  if (!in.has(data, entry.packed))
    return damaged(fmt::format("the data of {} lies outside the file", entry.name));
  std::span<const uint8_t> packed = in.bytes(data, entry.packed);
  Member member{entry.name, {}};
  if (entry.method == methodStored) {
    if (entry.packed != entry.unpacked)
      return damaged(fmt::format("{} is stored with two sizes", entry.name));
    member.data.assign(packed.begin(), packed.end());
  } else if (entry.method == methodDeflated) {
    if (entry.unpacked / maxInflation > entry.packed)
      return damaged(fmt::format("{} claims an impossible size of {}", entry.name, entry.unpacked));
    auto data = inflateRaw(packed, entry);
    if (!data)
      return data.error();
    member.data = std::move(*data);
  } else {
    return Error{ErrorCode::Unsupported,
                 fmt::format("{} is compressed with zip method {}; stored and deflated are "
                             "read (np.savez, np.savez_compressed)",
                             entry.name, entry.method)};
  }
  if (crcOf(member.data) != entry.crc)
    return damaged(fmt::format("the checksum of {} does not match its data", entry.name));
  return member;
}

class Writer {
public:
  void put(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
      out.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void put(std::string_view text) { out.insert(out.end(), text.begin(), text.end()); }
  std::vector<uint8_t> out;
};

/// The fields that local header and directory share, from "version needed" to the extra field's
/// length.
void putCommon(Writer &w, const Member &m, uint32_t crc) {
  constexpr uint16_t version = 20, noFlags = 0, midnight = 0, firstOfJanuary1980 = 0x21;
  for (uint16_t v : {version, noFlags, methodStored, midnight, firstOfJanuary1980})
    w.put(v, 2);
  w.put(crc, 4);
  w.put(m.data.size(), 4);
  w.put(m.data.size(), 4);
  w.put(m.name.size(), 2);
  w.put(0, 2);
}

} // namespace

Result<std::vector<Member>> read(std::span<const uint8_t> file) {
  Reader in(file);
  auto dir = findDirectory(in);
  if (!dir)
    return dir.error();
  std::vector<Member> members;
  uint64_t at = dir->offset, end = dir->offset + dir->bytes;
  for (uint64_t n = 0; n < dir->members; ++n) {
    auto entry = readEntry(in, at, end);
    if (!entry)
      return entry.error();
    auto member = readMember(in, *entry);
    if (!member)
      return member.error();
    members.push_back(std::move(*member));
  }
  return members;
}

Result<std::vector<uint8_t>> write(const std::vector<Member> &members) {
  uint64_t total = endSize;
  for (const Member &m : members)
    total += localSize + centralSize + 2 * m.name.size() + m.data.size();
  if (total > 0xFFFFFFFF || members.size() > 0xFFFF)
    return Error{
        ErrorCode::Unsupported,
        fmt::format("a .npz of {} bytes; below 4 GiB and 65536 tensors can be written", total)};
  Writer local, central;
  for (const Member &m : members) {
    uint32_t crc = crcOf(m.data);
    uint64_t offset = local.out.size();
    local.put(localMagic, 4);
    putCommon(local, m, crc);
    local.put(m.name);
    local.out.insert(local.out.end(), m.data.begin(), m.data.end());
    central.put(centralMagic, 4);
    central.put(20, 2); // made by: MS-DOS attributes, format 2.0
    putCommon(central, m, crc);
    central.put(0, 6); // comment length, disk, internal attributes
    central.put(0, 4); // external attributes
    central.put(offset, 4);
    central.put(m.name);
  }
  uint64_t offset = local.out.size(), bytes = central.out.size();
  local.out.insert(local.out.end(), central.out.begin(), central.out.end());
  local.put(endMagic, 4);
  local.put(0, 4); // disk numbers
  local.put(members.size(), 2);
  local.put(members.size(), 2);
  local.put(bytes, 4);
  local.put(offset, 4);
  local.put(0, 2); // no comment
  return std::move(local.out);
}

} // namespace attune::zip
