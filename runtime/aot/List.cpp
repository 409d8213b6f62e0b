// The only file that sees toml++.
#include "runtime/aot/List.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <optional>
#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace attune::aot {

namespace {

/// Reads the file; the first thing that is wrong is kept.
class Reader {
public:
  explicit Reader(const std::string &fileName) : fileName_(fileName) {}

  std::vector<ListItem> items(const toml::table &root) {
    std::vector<ListItem> items;
    for (const auto &[key, value] : root) {
      const toml::array *kernels = key == "kernel" ? value.as_array() : nullptr;
      if (!kernels || !kernels->is_homogeneous(toml::node_type::table)) {
        wrong(key.source(), fmt::format("\"{}\": a list holds [[kernel]] tables", key.str()));
        return items;
      }
      for (const toml::node &kernel : *kernels)
        items.push_back(item(*kernel.as_table()));
    }
    return items;
  }

  void wrong(const toml::source_region &where, const std::string &what) {
    if (!error_)
      error_ =
          Error{ErrorCode::InvalidSpec, fmt::format("{}:{}:{}: error: {}", fileName_,
                                                    where.begin.line, where.begin.column, what)};
  }
  const std::optional<Error> &error() const { return error_; }

private:
  ListItem item(const toml::table &table) {
    ListItem item;
    item.line = int(table.source().begin.line);
    for (const auto &[key, value] : table) {
      if (key == "spec")
        item.spec = text(key, value);
      else if (key == "attention")
        item.attention = text(key, value);
      else if (key == "reason")
        item.reason = text(key, value);
      else if (key == "set")
        item.set = choices(key, value);
      else if (key == "knob")
        item.knob = choices(key, value);
      else
        wrong(key.source(), fmt::format("a kernel has no \"{}\"; it has spec, attention, set, knob "
                                        "and reason",
                                        key.str()));
    }
    if (item.spec.empty())
      wrong(table.source(), "a kernel needs spec = \"PATH\"");
    return item;
  }

  std::string text(const toml::key &key, const toml::node &node) {
    if (const auto *value = node.as_string(); value && !value->get().empty())
      return value->get();
    wrong(node.source(), fmt::format("{} must be text in quotes", key.str()));
    return {};
  }

  Choices choices(const toml::key &key, const toml::node &node) {
    Choices all;
    const toml::table *table = node.as_table();
    if (!table) {
      wrong(node.source(),
            fmt::format("{} must be a table: {} = {{name = value}}", key.str(), key.str()));
      return all;
    }
    for (const auto &[name, value] : *table) {
      std::vector<std::string> values;
      if (const toml::array *list = value.as_array()) {
        for (const toml::node &one : *list)
          values.push_back(scalar(name, one));
        if (values.empty())
          wrong(value.source(), fmt::format("{}: an empty list stands for no kernel", name.str()));
      } else {
        values.push_back(scalar(name, value));
      }
      all.emplace_back(name.str(), std::move(values));
    }
    return all;
  }

  std::string scalar(const toml::key &name, const toml::node &node) {
    if (const auto *value = node.as_integer())
      return fmt::format("{}", value->get());
    if (const auto *value = node.as_floating_point()) {
      std::string number = fmt::format("{}", value->get());
      return number.find_first_not_of("-0123456789") == number.npos ? number + ".0" : number;
    }
    if (const auto *value = node.as_boolean())
      return value->get() ? "true" : "false";
    if (const auto *value = node.as_string())
      return value->get();
    wrong(node.source(),
          fmt::format("{}: a value is a number, a text, true or false, or a list of them",
                      name.str()));
    return {};
  }

  std::string fileName_;
  std::optional<Error> error_;
};

std::string inQuotes(std::string_view text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", c);
    else
      out += c;
  return out + "\"";
}

/// As a number where TOML reads it back as the same text.
std::string valueText(const std::string &text) {
  const bool whole = !text.empty() && text.size() < 19 &&
                     text.find_first_not_of("0123456789") == text.npos &&
                     (text == "0" || text[0] != '0');
  return whole || text == "true" || text == "false" ? text : inQuotes(text);
}

std::string choicesText(std::string_view name, const Choices &choices) {
  std::vector<std::string> parts;
  for (const auto &[key, values] : choices) {
    std::vector<std::string> texts;
    for (const std::string &value : values)
      texts.push_back(valueText(value));
    parts.push_back(texts.size() == 1 ? fmt::format("{} = {}", key, texts[0])
                                      : fmt::format("{} = [{}]", key, fmt::join(texts, ", ")));
  }
  return parts.empty() ? "" : fmt::format("{} = {{{}}}\n", name, fmt::join(parts, ", "));
}

size_t combinations(const ListItem &item) {
  size_t count = 1;
  for (const Choices *choices : {&item.set, &item.knob})
    for (const auto &[name, values] : *choices)
      count = std::min(count * values.size(), mostListed + 1);
  return count;
}

} // namespace

Result<std::vector<ListItem>> parseList(std::string_view text, const std::string &fileName) {
  auto parsed = toml::parse(text, fileName);
  Reader reader(fileName);
  if (!parsed) {
    reader.wrong(parsed.error().source(), std::string(parsed.error().description()));
    return *reader.error();
  }
  auto items = reader.items(parsed.table());
  if (reader.error())
    return *reader.error();
  return items;
}

std::string listText(const std::vector<ListItem> &items, std::string_view heading) {
  std::string text(heading);
  for (const ListItem &item : items) {
    text += fmt::format("\n[[kernel]]\nspec = {}\n", inQuotes(item.spec));
    if (!item.attention.empty())
      text += fmt::format("attention = {}\n", inQuotes(item.attention));
    text += choicesText("set", item.set) + choicesText("knob", item.knob);
    if (!item.reason.empty())
      text += fmt::format("reason = {}\n", inQuotes(item.reason));
  }
  return text;
}

Result<std::vector<ListedKernel>> expand(const std::vector<ListItem> &items,
                                         const std::string &fileName) {
  std::vector<ListedKernel> all;
  const auto folder = std::filesystem::path(fileName).parent_path();
  for (const ListItem &item : items) {
    const std::string origin = fmt::format("{}:{}", fileName, item.line);
    const size_t count = combinations(item);
    if (all.size() + count > mostListed)
      return Error{ErrorCode::InvalidSpec,
                   fmt::format("{}: error: the list stands for more than {} kernels; if that is "
                               "meant, use several lists and merge their bundles",
                               origin, mostListed)};
    for (size_t number = 0; number < count; ++number) {
      ListedKernel kernel{(folder / item.spec).string(), item.attention, {}, {}, origin};
      size_t rest = number;
      auto choose = [&](const std::vector<std::string> &values) {
        const std::string &value = values[rest % values.size()];
        rest /= values.size();
        return value;
      };
      for (const auto &[name, values] : item.set)
        kernel.parameters.emplace(name, choose(values));
      for (const auto &[name, values] : item.knob)
        kernel.knobs.emplace_back(name, choose(values));
      std::sort(kernel.knobs.begin(), kernel.knobs.end());
      all.push_back(std::move(kernel));
    }
  }
  return all;
}

} // namespace attune::aot
