// Making, writing and reading golden records.
#include "tools/attune/Golden.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace attune::tool {

namespace {

struct ClassRow {
  std::string_view start, name;
};
constexpr ClassRow classRows[] = {
#define ATTUNE_CLASS(mnemonic, name) {mnemonic, name},
#include "tools/attune/InstructionClasses.def"
};

/// Groups of a golden file: a line's key is "group.key".
struct Group {
  std::string_view name;
  Fields Golden::*fields;
};
constexpr Group groups[] = {{"origin", &Golden::origin},
                            {"sha256", &Golden::stages},
                            {"resource", &Golden::resources},
                            {"instructions", &Golden::classes}};

std::string_view classOf(std::string_view mnemonic, std::string_view operands) {
  if (operands.ends_with(" lds") || operands.find(" lds ") != std::string_view::npos ||
      mnemonic.starts_with("global_load_lds_"))
    return "lds_dma";
  const ClassRow *best = nullptr;
  for (const ClassRow &row : classRows)
    if (mnemonic.starts_with(row.start) && (!best || row.start.size() > best->start.size()))
      best = &row;
  return best ? best->name : "other";
}

/// The next line, without its comment and the white space around it.
std::string_view takeLine(std::string_view &text) {
  size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  line = line.substr(0, line.find(';'));
  constexpr std::string_view space = " \t\r";
  size_t first = line.find_first_not_of(space);
  if (first == std::string_view::npos)
    return {};
  return line.substr(first, line.find_last_not_of(space) - first + 1);
}

} // namespace

std::string fieldOr(const Fields &fields, std::string_view key, std::string_view otherwise) {
  for (const auto &[name, value] : fields)
    if (name == key)
      return value;
  return std::string(otherwise);
}

Fields instructionClasses(std::string_view isa) {
  std::map<std::string, int64_t> counts;
  while (!isa.empty()) {
    std::string_view line = takeLine(isa);
    size_t end = std::min(line.find_first_of(" \t"), line.size());
    std::string_view mnemonic = line.substr(0, end);
    // Labels end in a colon, directives begin with a point; metadata has neither an underscore nor
    // an operand.
    if (mnemonic.empty() || mnemonic.front() == '.' || mnemonic.back() == ':' ||
        mnemonic.find('_') == std::string_view::npos ||
        mnemonic.find(':') != std::string_view::npos)
      continue;
    ++counts[std::string(classOf(mnemonic, line.substr(end)))];
  }
  Fields fields;
  for (const auto &[name, count] : counts)
    fields.emplace_back(name, std::to_string(count));
  return fields;
}

std::string Golden::str() const {
  std::string text;
  for (const Group &group : groups)
    for (const auto &[key, value] : this->*group.fields)
      text += fmt::format("{}.{} {}\n", group.name, key, value);
  return text;
}

Result<Golden> Golden::parse(std::string_view text) {
  Golden golden;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = takeLine(text);
    size_t point = line.find('.'), space = line.find(' ');
    const Group *group = nullptr;
    for (const Group &g : groups)
      if (line.substr(0, point) == g.name)
        group = &g;
    if (!group || point == std::string_view::npos || space == std::string_view::npos ||
        point > space)
      return Error{ErrorCode::Io,
                   fmt::format("line {} is not of the form group.key value", number)};
    (golden.*group->fields)
        .emplace_back(line.substr(point + 1, space - point - 1), line.substr(space + 1));
  }
  return golden;
}

} // namespace attune::tool
