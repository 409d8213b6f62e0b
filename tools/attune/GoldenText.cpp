// Packs and unpacks the stages' text, and finds the first line that differs.
#include "tools/attune/GoldenText.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <memory>
#include <zstd.h>

namespace attune::tool {

namespace {

/// The texts of a spec are some 200 KB; a file that claims more than this is not one of ours.
constexpr uint64_t maxTextBytes = uint64_t{64} << 20;
constexpr int level = 19;
constexpr std::string_view heading = ";; ";

Error damaged(std::string_view what) {
  return {ErrorCode::Io, fmt::format("the kept text is damaged: {}", what)};
}

/// The next line without its end; nothing at the end of the text.
std::optional<std::string_view> takeLine(std::string_view &text) {
  if (text.empty())
    return std::nullopt;
  size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<std::string> owned(std::optional<std::string_view> line) {
  return line ? std::optional<std::string>(*line) : std::nullopt;
}

/// "NAME BYTES" and that many bytes, off the front of `text`.
Result<Fields::value_type> takeStage(std::string_view &text) {
  std::string_view line = *takeLine(text);
  size_t space = line.rfind(' ');
  if (!line.starts_with(heading) || space < heading.size())
    return damaged("a stage has no heading");
  std::string_view count = line.substr(space + 1);
  size_t bytes = 0;
  auto [end, failed] = std::from_chars(count.data(), count.data() + count.size(), bytes);
  if (failed != std::errc() || end != count.data() + count.size() || bytes > text.size())
    return damaged("a stage is cut short");
  Fields::value_type stage(line.substr(heading.size(), space - heading.size()),
                           text.substr(0, bytes));
  text.remove_prefix(bytes);
  return stage;
}

} // namespace

Result<Bytes> packTexts(const Fields &texts) {
  std::string all;
  for (const auto &[name, text] : texts)
    all += fmt::format("{}{} {}\n{}", heading, name, text.size(), text);
  std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> zstd(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  if (!zstd)
    return Error{ErrorCode::Internal, "zstd did not start"};
  ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_compressionLevel, level);
  ZSTD_CCtx_setParameter(zstd.get(), ZSTD_c_checksumFlag, 1);
  Bytes packed(ZSTD_compressBound(all.size()));
  size_t size = ZSTD_compress2(zstd.get(), packed.data(), packed.size(), all.data(), all.size());
  if (ZSTD_isError(size))
    return Error{ErrorCode::Internal, fmt::format("zstd: {}", ZSTD_getErrorName(size))};
  packed.resize(size);
  return packed;
}

Result<Fields> unpackTexts(std::span<const uint8_t> packed) {
  // Unknown and unreadable sizes are the largest numbers.
  uint64_t size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size > maxTextBytes)
    return damaged("its frame states no size, or one that no text of ours has");
  std::string all(size, '\0');
  size_t got = ZSTD_decompress(all.data(), all.size(), packed.data(), packed.size());
  if (ZSTD_isError(got))
    return damaged(ZSTD_getErrorName(got));
  if (got != size)
    return damaged("it is shorter than its frame states");
  Fields texts;
  for (std::string_view rest = all; !rest.empty();) {
    auto stage = takeStage(rest);
    if (!stage)
      return stage.error();
    texts.push_back(std::move(*stage));
  }
  return texts;
}

Fields textsOf(const Golden &record, Fields texts) {
  std::erase_if(texts, [&](const auto &stage) {
    return fieldOr(record.stages, stage.first, "") != sha256Hex(stage.second);
  });
  return texts;
}

std::optional<LineChange> firstChange(std::string_view kept, std::string_view now) {
  LineChange change;
  while (true) {
    ++change.number;
    if (kept == now)
      return std::nullopt;
    auto a = takeLine(kept), b = takeLine(now);
    if (a != b) {
      change.kept = owned(a);
      change.now = owned(b);
      return change;
    }
    // Texts that differ only in whether the last line has an end.
    if (!a)
      return std::nullopt;
    if (change.before.size() == 2)
      change.before.erase(change.before.begin());
    change.before.emplace_back(*a);
  }
}

std::string clipped(const std::string &line, const std::string &other, size_t width) {
  if (line.size() <= width)
    return line;
  size_t at = static_cast<size_t>(
      std::mismatch(line.begin(), line.end(), other.begin(), other.end()).first - line.begin());
  size_t lead = width / 4;
  size_t start = std::min(at > lead ? at - lead : 0, line.size() - width);
  std::string text = start ? "..." : "";
  text += line.substr(start, width);
  return start + width < line.size() ? text + "..." : text;
}

} // namespace attune::tool
