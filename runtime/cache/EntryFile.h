// An entry: one compiled kernel as one file that proves itself.
//
//   offset   bytes   what
//   0        8       magic "ATTUNEK\n"
//   8        4       format version                      (numbers are little-endian)
//   12       4       bytes of the key's text       = K
//   16       8       bytes of the sidecar          = S
//   24       8       bytes of the code object      = C
//   32       K       the key's text                      (Key.h)
//   32+K     S       the sidecar as JSON                 (runtime/abi/KernelImage.h)
//   32+K+S   C       the code object
//   end-64   64      SHA-256 in hex of all bytes before
//
// One file, so that one rename publishes it: there is no moment at which a kernel has its code but
// not its sidecar. Key and sidecar come first so that `attune cache ls` reads only the head.
#pragma once
#include "runtime/abi/KernelImage.h"
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attune::cache {

using Bytes = std::vector<uint8_t>;

enum class EntryState {
  Good,
  Missing, ///< there is no such file
  Corrupt, ///< not whole: bad magic, length or digest, or it cannot be read
  Foreign, ///< whole, but of another key, another format or with a sidecar we do not understand
};

/// "good", "missing", "corrupt", "foreign".
std::string_view toText(EntryState);

struct Entry {
  EntryState state = EntryState::Missing;
  std::string reason; ///< of Corrupt and Foreign: what is wrong, for people
  std::string keyText;
  KernelImage image;
};

Bytes encodeEntry(std::string_view keyText, const KernelImage &);

/// Checks everything: magic, format, lengths, digest, key (unless `keyText` is empty), sidecar.
Entry decodeEntry(std::span<const uint8_t> bytes, std::string_view keyText);

/// Key and sidecar alone, from the first bytes of a file of `fileBytes`: what can be listed without
/// reading code objects. Checks no digest, so what it calls good may be corrupt.
Entry decodeHead(std::span<const uint8_t> firstBytes, uint64_t fileBytes);

/// As many first bytes as any key and sidecar need, and the most that a whole entry may have.
constexpr uint64_t listedBytes = uint64_t(1) << 18, mostEntryBytes = uint64_t(1) << 30;

} // namespace attune::cache
