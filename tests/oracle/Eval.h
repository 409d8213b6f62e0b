// Evaluates score and mask expressions of a checked spec in double and 64-bit integers.
//
// One query row at a time, all of its keys at once: a node's value is one lane per key, or a single
// lane if it is the same for every key. Integers wrap to 32 bits as the language says. A value can
// be *undefined* (a read outside a tensor, a division by zero); `false && undefined` is false and
// `select` looks only at the branch taken, so an undefined value is an error only where the answer
// depends on it.
//
// Built-ins are computed from the definitions in Builtins.cpp, not from the expansion that the
// compiler lowers.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/launch/HostRun.h"
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace attune::oracle {

/// Where a row stands; `qi` counts within the call's query.
struct Row {
  int64_t b = 0, h = 0, hk = 0, qi = 0;
  SequenceBounds bounds;
  int64_t ctx() const { return bounds.kvLen - bounds.qLen; }
  int64_t q() const { return ctx() + qi; }
};

/// A node's value over the keys of a row: one lane, or one per key.
struct Value {
  bool floating = false;
  std::vector<double> f;          ///< if floating
  std::vector<int64_t> i;         ///< integers and truth values otherwise
  std::vector<uint8_t> undefined; ///< same length, or empty: all defined
  size_t lanes() const { return floating ? f.size() : i.size(); }
  bool isUndefined(size_t lane) const {
    return !undefined.empty() && undefined[undefined.size() == 1 ? 0 : lane];
  }
  double number(size_t lane) const { return f[f.size() == 1 ? 0 : lane]; }
  int64_t integer(size_t lane) const { return i[i.size() == 1 ? 0 : lane]; }

  static Value ofInt(int64_t v) { return {false, {}, {v}, {}}; }
  static Value ofFloat(double v) { return {true, {v}, {}, {}}; }
};

class Evaluator {
public:
  Evaluator(const spec::Model &model, const HostCall &call) : model_(model), call_(call) {}

  /// The value of an expression at the given keys (at least one). `s` holds the scaled logits, one
  /// per key; empty in masks. The lanes are as many as the keys.
  Result<Value> evaluate(spec::ExprId, const Row &, std::span<const int64_t> keys,
                         std::span<const double> s) const;

  /// Whether a value can differ from head to head.
  bool dependsOnHead(spec::ExprId) const;

  const spec::Model &model() const { return model_; }
  const HostCall &call() const { return call_; }

private:
  const spec::Model &model_;
  const HostCall &call_;
};

/// One evaluation under way; what built-ins are written against.
class Evaluation {
public:
  Evaluation(const Evaluator &evaluator, const Row &row, std::span<const int64_t> keys,
             std::span<const double> s);
  /// Null after an error, which `error` tells.
  const Value *node(spec::ExprId);

  const Row &row() const { return row_; }
  std::span<const int64_t> keys() const { return keys_; }
  const Value *fail(std::string message);
  const std::optional<Error> &error() const { return error_; }
  const std::string &whyUndefined() const { return whyUndefined_; }

  /// The number of the captured tensor that an argument names (a read with no indices).
  std::optional<int64_t> tensorArgument(spec::ExprId);
  /// A captured tensor at the given indices, lane by lane.
  Value read(int64_t tensor, const std::vector<const Value *> &indices);

private:
  Value leaf(const spec::Expr &);
  std::optional<Value> compound(const spec::Expr &);
  int64_t extent(const std::string &dim, int64_t actual) const;

  const Evaluator &evaluator_;
  const Row &row_;
  std::span<const int64_t> keys_;
  std::span<const double> s_;
  std::vector<std::optional<Value>> memo_;
  std::optional<Error> error_;
  std::string whyUndefined_;
};

/// The language's built-ins by name (Builtins.cpp). Nothing, after fail, if the name or an argument
/// is unknown.
std::optional<Value> evaluateBuiltin(const spec::Expr &call, Evaluation &);
/// Whether a built-in looks at the head by itself.
bool builtinDependsOnHead(const std::string &name);

/// Applies a primitive operation (Primitives.cpp). The operands' types decide between float and
/// integer.
Value applyPrimitive(spec::ExprKind, const std::vector<const Value *> &args);

} // namespace attune::oracle
