// Packs and unpacks the stages' text, and finds the first line that differs.
#include "tools/attune/GoldenText.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>
#include <map>
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

/// Which value of one text is which of the other. IR numbers its values: an instruction more, and
/// every later line has other numbers, or an earlier one that jumps there.
class Renaming {
public:
  /// The same line, but for the names of its values?
  bool sameBut(std::string_view kept, std::string_view now) {
    bool first = true; // what a line defines comes first: "%5 = ..." or "7:"
    while (true) {
      if (takePlain(kept) != takePlain(now))
        return false;
      if (kept.empty() || now.empty())
        return kept == now;
      const std::string a(takeName(kept)), b(takeName(now));
      if (first) {
        names_[a] = b;
        first = false;
      } else if (names_.try_emplace(a, b).first->second != b) {
        return false;
      }
    }
  }

private:
  static bool ofName(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
  }
  static bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

  /// All before the next name.
  static std::string_view takePlain(std::string_view &line) {
    size_t at = 0;
    const size_t label = size_t(std::find_if_not(line.begin(), line.end(), isDigit) - line.begin());
    if (label == 0 || label == line.size() || line[label] != ':') {
      const auto percent = [&] { return line[at] == '%' && at + 1 < line.size(); };
      while (at < line.size() && !(percent() && ofName(line[at + 1])))
        ++at;
      at += at < line.size();
    }
    const std::string_view plain = line.substr(0, at);
    line.remove_prefix(at);
    return plain;
  }
  static std::string_view takeName(std::string_view &line) {
    const size_t size = size_t(std::find_if_not(line.begin(), line.end(), ofName) - line.begin());
    const std::string_view name = line.substr(0, size);
    line.remove_prefix(size);
    return name;
  }

  std::map<std::string, std::string> names_;
};

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
  std::optional<LineChange> renamed; // the first line that differs in names alone
  Renaming names;
  LineChange change;
  while (true) {
    ++change.number;
    if (kept == now)
      return renamed;
    auto a = takeLine(kept), b = takeLine(now);
    if (!a && !b) // they differed in whether the last line has an end
      return renamed;
    const bool same = a && b && names.sameBut(*a, *b);
    if (a != b && !(same && renamed)) {
      LineChange found = change;
      found.kept = owned(a);
      found.now = owned(b);
      if (!same)
        return found;
      renamed = std::move(found);
    }
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
