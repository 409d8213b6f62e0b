#include "runtime/abi/Environment.h"
#include <charconv>
#include <cstdlib>
#include <fmt/format.h>

namespace attune {

std::span<const VariableRow> variables() {
  static constexpr VariableRow rows[] = {
#define ENVIRONMENT_VARIABLE(NAME, FIELDS, VALUES, UNSET, HELP)                                    \
  {#NAME, FIELDS, VALUES, UNSET, HELP},
#include "runtime/abi/Environment.def"
  };
  return rows;
}

std::optional<std::string> environmentOrEmpty(Variable variable) {
  const char *value = std::getenv(nameOf(variable));
  return value ? std::optional<std::string>(value) : std::nullopt;
}

std::optional<std::string> environment(Variable variable) {
  auto value = environmentOrEmpty(variable);
  return value && value->empty() ? std::nullopt : value;
}

Error illegalValue(Variable variable, std::string_view value) {
  return {ErrorCode::InvalidArgument, fmt::format("{}={}: legal values are {}", nameOf(variable),
                                                  value, variables()[size_t(variable)].values)};
}

Result<uint64_t> numberFrom(const Environment &get, Variable variable, uint64_t least,
                            uint64_t most, uint64_t otherwise) {
  const auto text = get(variable);
  if (!text)
    return otherwise;
  uint64_t value = 0;
  const char *last = text->data() + text->size();
  auto [end, failed] = std::from_chars(text->data(), last, value);
  if (failed != std::errc() || end != last || value < least || value > most)
    return illegalValue(variable, *text);
  return value;
}

} // namespace attune
