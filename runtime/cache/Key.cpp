// Writes and reads the canonical text of keys.
#include "runtime/cache/Key.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace attune::cache {

namespace {

/// Raise the number when the meaning of a field changes without its name or value changing, or when
/// the layout of entries changes; old entries are then never looked up again and age out.
///   1  the first
constexpr std::string_view firstLine = "attune-key 1\n";

bool isName(std::string_view name) {
  auto legal = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), legal);
}

} // namespace

KeyBuilder &KeyBuilder::add(std::string name, std::string value) {
  fields_.emplace_back(std::move(name), std::move(value));
  return *this;
}

KeyBuilder &KeyBuilder::label(std::string text) {
  label_ = std::move(text);
  return *this;
}

KeyBuilder &KeyBuilder::command(std::string text) {
  command_ = std::move(text);
  return *this;
}

Result<Key> KeyBuilder::build() const {
  if (fields_.empty())
    return Error{ErrorCode::InvalidArgument, "a cache key needs at least one field"};
  auto sorted = fields_;
  std::sort(sorted.begin(), sorted.end());
  Key key;
  key.text_ = firstLine;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const auto &[name, value] = sorted[i];
    if (!isName(name))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("cache key field \"{}\": a name is made of a-z, 0-9, '_', '.' and "
                               "'-'",
                               name)};
    if (i > 0 && sorted[i - 1].first == name)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("cache key field \"{}\" is given twice", name)};
    key.text_ += fmt::format("{} {}:{}\n", name, value.size(), value);
  }
  key.digest_ = sha256Hex(key.text_);
  key.label_ = label_;
  key.command_ = command_;
  return key;
}

Result<KeyFields> parseKey(std::string_view text) {
  const Error notAKey{ErrorCode::Io, "the text is no cache key of this version"};
  if (!text.starts_with(firstLine))
    return notAKey;
  text.remove_prefix(firstLine.size());
  KeyFields fields;
  while (!text.empty()) {
    size_t space = text.find(' '), colon = text.find(':');
    if (space == text.npos || colon == text.npos || space > colon)
      return notAKey;
    size_t length = 0;
    auto [end, failed] = std::from_chars(text.data() + space + 1, text.data() + colon, length);
    if (failed != std::errc() || end != text.data() + colon ||
        length >= text.size() - (colon + 1) || text[colon + 1 + length] != '\n')
      return notAKey;
    fields.emplace_back(text.substr(0, space), text.substr(colon + 1, length));
    text.remove_prefix(colon + 1 + length + 1);
  }
  return fields;
}

std::vector<std::string> differingFields(const KeyFields &a, const KeyFields &b) {
  std::map<std::string, int> common; // name -> in how many of the two lists this value stands
  for (const auto &field : a)
    common[field.first] = std::find(b.begin(), b.end(), field) != b.end() ? 2 : 1;
  for (const auto &field : b)
    common.emplace(field.first, 1);
  std::vector<std::string> names;
  for (const auto &[name, count] : common)
    if (count != 2)
      names.push_back(name);
  return names;
}

} // namespace attune::cache
