// Makes typed expression nodes of a Model: converts, checks types, folds constants, and drops
// operations that do nothing (x + 0 on integers, true && x), so that a parameter and the literal it
// stands for give the same nodes.
//
// Each make function takes the Location to blame and returns -1 after reporting an error; -1 as an
// operand gives -1 in silence, so one fault is reported once. Constants fold in double and i32; a
// whole-number division that lost a remainder is remembered, and refused if its value is later used
// as a float (`1 / 2 * s` is never meant to be 0).
#pragma once
#include "compiler/spec/Builtins.h"
#include "compiler/spec/Diagnostics.h"
#include "compiler/spec/Model.h"
#include <functional>
#include <map>

namespace attune::spec {

constexpr int kMaxExprDepth = 400;      ///< longest path in a Model expression, through call bodies
constexpr int64_t kMaxExprSize = 10000; ///< operations of one field with all functions expanded

std::string_view nameOf(ScalarType);

class ExprBuilder {
public:
  using Report = std::function<void(const Location &, std::string message, std::string help)>;
  ExprBuilder(Model &model, Report report) : model_(model), report_(std::move(report)) {}

  ExprId constF(double v, const Location &at);
  ExprId constI(int64_t v, const Location &at);
  ExprId constB(bool v, const Location &at);
  ExprId index(IndexName name, const Location &at);
  ExprId scalar(int number, const Location &at);
  /// A read; no indices: the tensor itself, as an argument of a call.
  ExprId read(int tensor, std::vector<ExprId> indices, const Location &at);
  ExprId call(std::string name, bool builtin, std::vector<ExprId> args, ExprId body,
              const Location &at);
  ExprId unary(ExprKind kind, ExprId a, const Location &at);
  ExprId binary(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId select(ExprId condition, ExprId a, ExprId b, const Location &at);
  /// `what` names the user of the value in errors: "scale", "softcap".
  ExprId toF32(ExprId a, const Location &at, std::string_view what);
  ExprId convert(ExprKind kind, ExprId a, const Location &at);

  const Expr &operator[](ExprId e) const { return model_.exprs[size_t(e)]; }
  ScalarType typeOf(ExprId e) const { return (*this)[e].type; }
  bool isConst(ExprId e) const;
  int64_t sizeOf(ExprId e) const { return shape_[size_t(e)].size; }
  void error(const Location &at, std::string message, std::string help = "") {
    report_(at, std::move(message), std::move(help));
  }

  /// Nodes of an inlined body of another file carry the place of the call instead, for errors found
  /// later.
  std::optional<SourceRange> site;

private:
  struct Shape {
    int depth = 1;
    int64_t size = 1;
  };

  ExprId node(ExprKind kind, ScalarType type, std::vector<ExprId> args, const Location &at);
  ExprId add(Expr e, const Location &at);
  bool sameNumeric(ExprKind kind, ExprId &a, ExprId &b, const Location &at);
  ExprId arithmetic(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId foldInt(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId foldReal(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId compare(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId logic(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId bits(ExprKind kind, ExprId a, ExprId b, const Location &at);
  ExprId identity(ExprKind kind, ExprId a, ExprId b) const;
  ExprId typeError(ExprKind kind, ExprId a, ExprId b, const Location &at);

  Model &model_;
  Report report_;
  std::vector<Shape> shape_;                 ///< parallel to model_.exprs
  std::map<ExprId, Location> lostRemainder_; ///< constants that stem from an inexact i32 division
};

/// The operator or function as a spec writes it ("+", "tanh").
std::string_view spelling(ExprKind);

} // namespace attune::spec
