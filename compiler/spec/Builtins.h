// The names the language itself brings: built-in masks and scores, maths, index names. All from
// Builtins.def.
#pragma once
#include "compiler/spec/Ast.h"
#include "compiler/spec/Model.h"
#include <span>
#include <string_view>

namespace attune::spec {

struct BuiltinParam {
  enum Kind : uint8_t { Int, Positive, Value, Tensor };
  std::string_view name;
  Kind kind;
  std::string_view noun;                   ///< "a width", for errors
  int64_t minimum = 0;                     ///< Int
  ScalarType tensorType = ScalarType::F32; ///< Tensor
  std::string_view tensorDim = "";         ///< Tensor
};

struct Builtin {
  std::string_view name, body, summary, help;
  std::vector<BuiltinParam> params;
};

struct Maths {
  enum Type : uint8_t { Real, Number, To, Choose };
  std::string_view name;
  ExprKind kind;
  size_t arity;
  Type type;
  std::string_view summary;
};

struct IndexRow {
  std::string_view name;
  IndexName index;
  std::string_view summary;
};

/// A number that follows from the shapes ("heads").
struct ShapeName {
  std::string_view name, summary;
};

std::span<const Builtin> builtins();
std::span<const Maths> mathsFunctions();
std::span<const IndexRow> indexNames();
std::span<const ShapeName> shapeNames();

/// The bodies, parsed: function number i is that of builtins()[i].
const AstFile &builtinBodies();

/// Every name of the above, for "did you mean" and to refuse their redefinition.
const std::vector<std::string> &languageNames();

const Maths *findMaths(std::string_view name);
const IndexRow *findIndex(std::string_view name);
bool isLanguageName(std::string_view name);

} // namespace attune::spec
