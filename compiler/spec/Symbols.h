// The names that one attention declares: parameters, captured tensors and scalars, lets.
#pragma once
#include "compiler/spec/Ast.h"
#include "compiler/spec/Model.h"
#include <map>
#include <optional>
#include <string>

namespace attune::spec {

struct Symbol {
  enum Kind : uint8_t {
    IntParam,
    RealParam,
    BoolParam,
    TypeParam, ///< value in i, f, i, dtype
    Tensor,
    Scalar, ///< number `i` of the Model
    Let,    ///< AST `let`; lowered on first use into `value`
    Broken, ///< its declaration had an error
  };
  Kind kind = Broken;
  SourceRange declared;
  int64_t i = 0;
  double f = 0;
  DType dtype = DType::F32;
  AstId let = -1;
  ExprId value = -1;
  enum State : uint8_t { Fresh, Active, Done } state = Fresh;
  bool used = false;
};

/// For messages.
constexpr std::string_view nameOf(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::Tensor:
    return "tensor";
  case Symbol::Scalar:
    return "scalar";
  case Symbol::Let:
    return "let";
  case Symbol::Broken:
    return "name";
  default:
    return "parameter";
  }
}

using SymbolTable = std::map<std::string, Symbol>;

} // namespace attune::spec
