// The bytes of a bundle, shared by the writer and the reader.
//
//   Header
//   KernelRow  x kernels     sorted by the digest of the key
//   uint32     x kernels     rows sorted by the digest of the key without its build fields
//   (zeros up to a multiple of 8)
//   ObjectRow  x objects
//   records                  one per kernel: RecordHead, a zstd frame of key, label and sidecar,
//   SHA-256
//                            of both
//   objects                  zstd frames, each code object once
//   SHA-256 of all bytes before
//
// Three kinds of checks, each where it is cheap. The CRC covers header and tables and is checked
// when a bundle is opened: a few microseconds, and no page of a kernel is touched. A record's
// SHA-256 and its object's are checked when that kernel is taken. The digest at the end covers
// everything, for `attune aot verify`. Row offsets are checked against the file each time they are
// used, so even a file that was damaged on purpose reads nothing outside itself.
//
// Nothing in a bundle depends on when, where, in which order or by how many processes it was built.
#pragma once
#include "runtime/bundle/Bundle.h"
#include <array>
#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace attune::bundle {

static_assert(std::endian::native == std::endian::little, "rows are read as they lie");

constexpr std::string_view magic = "ATTUNEB\n";
/// Raise it with every change of the layout; a reader knows one version.
constexpr uint32_t formatVersion = 1;

using RawDigest = std::array<uint8_t, 32>;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t indexCrc; ///< CRC-32 of header and tables, with this field 0
  uint64_t kernels, objects, fileBytes;
};

struct KernelRow {
  RawDigest key, buildFree;
  uint64_t offset; ///< of the record
  uint32_t bytes;  ///< of the record
  uint32_t object; ///< number of its ObjectRow
};

struct ObjectRow {
  uint64_t offset, packedBytes, bytes;
};

struct RecordHead {
  RawDigest object; ///< SHA-256 of the code object
  uint32_t keyBytes, labelBytes, sidecarBytes, zero;
};

static_assert(sizeof(Header) == 40 && sizeof(KernelRow) == 80 && sizeof(ObjectRow) == 24 &&
              sizeof(RecordHead) == 48);

/// Where the tables begin, from the counts.
struct Tables {
  explicit Tables(uint64_t kernels, uint64_t objects)
      : order(sizeof(Header) + kernels * sizeof(KernelRow)),
        objectRows((order + kernels * sizeof(uint32_t) + 7) / 8 * 8),
        end(objectRows + objects * sizeof(ObjectRow)) {}
  uint64_t rows = sizeof(Header);
  uint64_t order, objectRows, end;
};

/// More kernels, or larger ones, are taken for damage.
constexpr uint64_t mostKernels = uint64_t(1) << 24, mostObjectBytes = uint64_t(1) << 30,
                   mostRecordBytes = uint64_t(1) << 26;

inline std::string_view textOf(std::span<const uint8_t> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// The bytes of a row, at the end of `out`.
template <class T> void put(std::vector<uint8_t> &out, const T &row) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto *first = reinterpret_cast<const uint8_t *>(&row);
  out.insert(out.end(), first, first + sizeof(T));
}

RawDigest digestOf(std::string_view bytes);
/// 64 hex digits as bytes; nothing if they are not that.
std::optional<RawDigest> digestFromHex(std::string_view hex);
std::string hexOf(const RawDigest &);
/// The digest of a key without its build fields; nothing if no other field is left.
std::optional<RawDigest> buildFreeDigest(const cache::KeyFields &);
/// A zstd frame of these bytes, the same ones each time.
Result<std::vector<uint8_t>> packed(std::span<const uint8_t> bytes);
/// What is in a frame that must hold `bytes` bytes; nothing if it does not.
std::optional<std::vector<uint8_t>> unpacked(std::span<const uint8_t> frame, uint64_t bytes);
/// The CRC of header and tables, `bytes` being all of them.
uint32_t crcOfIndex(std::span<const uint8_t> bytes);

} // namespace attune::bundle
