#include "runtime/exec/JsonFields.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <set>

namespace attune::exec {

using nlohmann::json;

namespace {

/// Notices keys that an object has twice, which nlohmann::json itself lets pass.
class RepeatedKeys {
public:
  bool operator()(int, json::parse_event_t event, json &value) {
    if (event == json::parse_event_t::object_start)
      open_.emplace_back();
    else if (event == json::parse_event_t::object_end)
      open_.pop_back();
    else if (event == json::parse_event_t::key && !open_.back().insert(value).second &&
             repeated.empty())
      repeated = value;
    return true;
  }
  std::string repeated;

private:
  std::vector<std::set<std::string>> open_;
};

std::string range(uint64_t low, uint64_t high) {
  return fmt::format("a whole number from {} to {}", low, high);
}

std::optional<uint64_t> whole(const json &value, uint64_t low, uint64_t high) {
  if (!value.is_number_unsigned())
    return std::nullopt;
  auto number = value.get<uint64_t>();
  return number >= low && number <= high ? std::optional(number) : std::nullopt;
}

} // namespace

void Problem::add(const std::string &path, const std::string &what) {
  if (!error_)
    error_ = Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: {}{}{}", file_, path, path.empty() ? "" : ": ", what)};
}

std::optional<json> parseJson(std::string_view text, Problem &problem) {
  RepeatedKeys keys;
  json root;
  try {
    root = json::parse(text.begin(), text.end(), std::ref(keys));
  } catch (const json::parse_error &e) {
    size_t at = std::min(text.size(), e.byte ? e.byte - 1 : 0);
    std::string_view before = text.substr(0, at);
    size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
    problem.add("", fmt::format("not JSON at line {}, column {}: {}",
                                1 + std::count(before.begin(), before.end(), '\n'),
                                1 + at - lineStart, e.what()));
    return std::nullopt;
  }
  if (!keys.repeated.empty()) {
    problem.add("", fmt::format("an object has the key \"{}\" twice; remove one", keys.repeated));
    return std::nullopt;
  }
  return root;
}

Fields::Fields(const json &value, std::string path, std::string what, Problem &problem)
    : json_(value), path_(std::move(path)), what_(std::move(what)), problem_(problem) {
  if (!json_.is_object())
    problem_.add(path_, fmt::format("{} is an object, {{...}}; here is {}", what_, shown(json_)));
}

std::string Fields::pathOf(const std::string &key) const {
  return path_.empty() ? key : path_ + "." + key;
}

const json *Fields::find(const std::string &key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end())
    known_.push_back(key);
  auto at = json_.is_object() ? json_.find(key) : json_.end();
  return at == json_.end() ? nullptr : &*at;
}

std::optional<std::string> Fields::text(const std::string &key) {
  const json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_string() || value->get_ref<const std::string &>().empty()) {
    wrong(key, fmt::format("{} is not a non-empty string", shown(*value)));
    return std::nullopt;
  }
  return value->get<std::string>();
}

std::optional<uint64_t> Fields::integer(const std::string &key, uint64_t low, uint64_t high) {
  const json *value = find(key);
  if (!value)
    return std::nullopt;
  auto number = whole(*value, low, high);
  if (!number)
    wrong(key, fmt::format("{} is not {}", shown(*value), range(low, high)));
  return number;
}

std::optional<std::vector<uint64_t>> Fields::integers(const std::string &key, size_t least,
                                                      size_t most, uint64_t low, uint64_t high) {
  const json *value = find(key);
  if (!value)
    return std::nullopt;
  if (!value->is_array() || value->size() < least || value->size() > most) {
    wrong(key, fmt::format("{} is not a list of {} to {} numbers", shown(*value), least, most));
    return std::nullopt;
  }
  std::vector<uint64_t> numbers;
  for (const json &item : *value) {
    auto number = whole(item, low, high);
    if (!number) {
      wrong(fmt::format("{}[{}]", key, numbers.size()),
            fmt::format("{} is not {}", shown(item), range(low, high)));
      return std::nullopt;
    }
    numbers.push_back(*number);
  }
  return numbers;
}

void Fields::missing(const std::string &key, const std::string &example) {
  problem_.add(path_, fmt::format("{} needs {}, for instance {}", what_, key, example));
}

void Fields::wrong(const std::string &key, const std::string &what) const {
  problem_.add(pathOf(key), what);
}

void Fields::finish() const {
  if (!json_.is_object())
    return;
  std::vector<std::string> sorted = known_;
  std::sort(sorted.begin(), sorted.end());
  for (const auto &[key, value] : json_.items())
    if (!std::binary_search(sorted.begin(), sorted.end(), key))
      wrong(key, fmt::format("unknown key; {} has: {}", what_, fmt::join(sorted, ", ")));
}

std::string shown(const json &value) {
  constexpr size_t longest = 60;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() <= longest ? text : text.substr(0, longest) + "...";
}

std::optional<std::vector<uint8_t>> hexBytes(std::string_view text) {
  if (text.starts_with("0x"))
    text.remove_prefix(2);
  std::vector<uint8_t> bytes;
  int high = -1;
  for (char c : text) {
    if (c == ' ' || c == '_')
      continue;
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return std::nullopt;
    if (high >= 0)
      bytes.push_back(uint8_t(high * 16 + digit));
    high = high >= 0 ? -1 : digit;
  }
  if (high >= 0 || bytes.empty())
    return std::nullopt;
  return bytes;
}

} // namespace attune::exec
