// The stages' text behind a golden record, kept in golden/SPEC.ARCH.ir.zst: one zstd frame of all
// stages in pipeline order, each after a line ";; NAME BYTES". `zstd -dc FILE` shows it.
//
// What is compared is always the text, so another version of zstd moves nothing. The record's
// hashes say which texts belong to it; a file that is damaged or of another record is as good as
// missing.
#pragma once
#include "runtime/launch/File.h"
#include "tools/attune/Golden.h"
#include <array>
#include <optional>

namespace attune::tool {

/// Equal texts give equal bytes.
Result<Bytes> packTexts(const Fields &texts);
Result<Fields> unpackTexts(std::span<const uint8_t> packed);

/// Those of `texts` whose hash is in the record.
Fields textsOf(const Golden &record, Fields texts);

/// Where two texts part. A side that has ended there has no line.
struct LineChange {
  size_t number = 0;               ///< from 1; the same in both texts
  std::vector<std::string> before; ///< up to two lines, the same in both texts but for value names
  std::optional<std::string> kept, now;
  bool operator==(const LineChange &) const = default;
};
/// A line that differs only in the names of values (%5 for %4, a jump to a label that moved) is
/// what another line caused: it is passed over unless there is no other.
std::optional<LineChange> firstChange(std::string_view kept, std::string_view now);

/// A line of IR can be pages wide: about `width` characters of it, from before the first that
/// differs from `other`.
std::string clipped(const std::string &line, const std::string &other, size_t width = 160);

} // namespace attune::tool
