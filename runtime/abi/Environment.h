// The environment: every variable that Attune reads is a row of Environment.def and is read here,
// so that the documentation, `--help` and the test of the cache key see all of them. A name that is
// not in the table does not compile.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace attune {

enum class Variable {
#define ENVIRONMENT_VARIABLE(NAME, FIELDS, VALUES, UNSET, HELP) NAME,
#include "runtime/abi/Environment.def"
};

/// A row of the table.
struct VariableRow {
  const char *name;
  std::string_view fields, values, unset, help;
};
std::span<const VariableRow> variables();
inline const char *nameOf(Variable v) { return variables()[size_t(v)].name; }

/// How a variable is read: from the process, or from a map in tests. Empty is unset.
using Environment = std::function<std::optional<std::string>(Variable)>;
std::optional<std::string> environment(Variable);
/// For variables of others, to whom empty is a value.
std::optional<std::string> environmentOrEmpty(Variable);

/// InvalidArgument: "NAME=VALUE: legal values are ...".
Error illegalValue(Variable, std::string_view value);
/// A whole number from `least` to `most`, or `otherwise` if the variable is unset. Errors:
/// illegalValue.
Result<uint64_t> numberFrom(const Environment &, Variable, uint64_t least, uint64_t most,
                            uint64_t otherwise);

} // namespace attune
