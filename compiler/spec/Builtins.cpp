#include "compiler/spec/Builtins.h"
#include "compiler/spec/Parser.h"
#include <algorithm>

namespace attune::spec {

std::span<const Builtin> builtins() {
  using P = BuiltinParam;
  auto INT = [](std::string_view name, std::string_view noun, int64_t minimum) {
    return P{.name = name, .kind = P::Int, .noun = noun, .minimum = minimum};
  };
  auto POSITIVE = [](std::string_view name, std::string_view noun) {
    return P{.name = name, .kind = P::Positive, .noun = noun};
  };
  auto VALUE = [](std::string_view name) {
    return P{.name = name, .kind = P::Value, .noun = "a value"};
  };
  auto TENSOR = [](std::string_view name, ScalarType type, std::string_view dim) {
    return P{
        .name = name, .kind = P::Tensor, .noun = "a tensor", .tensorType = type, .tensorDim = dim};
  };
  constexpr ScalarType F32 = ScalarType::F32, I32 = ScalarType::I32;
  static const std::vector<Builtin> rows = {
#define ATTUNE_BUILTIN(name, body, summary, help, ...) {name, body, summary, help, {__VA_ARGS__}},
#include "compiler/spec/Builtins.def"
  };
  return rows;
}

std::span<const Maths> mathsFunctions() {
  using enum Maths::Type;
  static constexpr Maths rows[] = {
#define ATTUNE_MATHS(name, kind, arity, type, summary) {name, ExprKind::kind, arity, type, summary},
#include "compiler/spec/Builtins.def"
  };
  return rows;
}

std::span<const IndexRow> indexNames() {
  static constexpr IndexRow rows[] = {
#define ATTUNE_INDEX(name, index, summary) {name, IndexName::index, summary},
#include "compiler/spec/Builtins.def"
  };
  return rows;
}

std::span<const ShapeName> shapeNames() {
  static constexpr ShapeName rows[] = {
#define ATTUNE_SHAPE(name, summary) {name, summary},
#include "compiler/spec/Builtins.def"
  };
  return rows;
}

const AstFile &builtinBodies() {
  static const std::unique_ptr<AstFile> file = [] {
    std::string text;
    for (const Builtin &row : builtins()) {
      std::vector<std::string> params;
      for (const BuiltinParam &p : row.params)
        params.emplace_back(p.name);
      text += "fn " + std::string(row.name) + "(" + commaList(params) +
              ") = " + std::string(row.body) + "\n";
    }
    Diagnostics diags;
    auto parsed = parseFile("<built-in>", std::move(text), diags);
    assert(diags.empty() && parsed->fns.size() == builtins().size() &&
           "Builtins.def has a body that does not parse");
    return parsed;
  }();
  return *file;
}

const std::vector<std::string> &languageNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Builtin &row : builtins())
      if (all.empty() || all.back() != row.name)
        all.emplace_back(row.name);
    for (const Maths &row : mathsFunctions())
      all.emplace_back(row.name);
    for (const IndexRow &row : indexNames())
      all.emplace_back(row.name);
    for (const ShapeName &row : shapeNames())
      all.emplace_back(row.name);
    return all;
  }();
  return names;
}

const Maths *findMaths(std::string_view name) {
  for (const Maths &row : mathsFunctions())
    if (row.name == name)
      return &row;
  return nullptr;
}

const IndexRow *findIndex(std::string_view name) {
  for (const IndexRow &row : indexNames())
    if (row.name == name)
      return &row;
  return nullptr;
}

bool isLanguageName(std::string_view name) {
  const std::vector<std::string> &all = languageNames();
  return std::find(all.begin(), all.end(), name) != all.end();
}

} // namespace attune::spec
