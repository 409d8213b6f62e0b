// Walks the expression arena for one row; each node is computed once.
#include "tests/oracle/Eval.h"
#include <cstdlib>
#include <fmt/format.h>
#include <set>

namespace attune::oracle {

using spec::Expr;
using spec::ExprId;
using spec::ExprKind;
using spec::IndexName;
using spec::ScalarType;

Evaluation::Evaluation(const Evaluator &evaluator, const Row &row, std::span<const int64_t> keys,
                       std::span<const double> s)
    : evaluator_(evaluator), row_(row), keys_(keys), s_(s), memo_(evaluator.model().exprs.size()) {}

const Value *Evaluation::fail(std::string message) {
  if (!error_)
    error_ = Error{ErrorCode::Unsupported, std::move(message)};
  return nullptr;
}

const Value *Evaluation::node(ExprId id) {
  std::optional<Value> &slot = memo_[static_cast<size_t>(id)];
  if (slot)
    return &*slot;
  const Expr &e = evaluator_.model().exprs[static_cast<size_t>(id)];
  std::optional<Value> value;
  switch (e.kind) {
  case ExprKind::ConstF:
  case ExprKind::ConstI:
  case ExprKind::ConstB:
  case ExprKind::Index:
  case ExprKind::Scalar:
    value = leaf(e);
    break;
  case ExprKind::Call:
    if (e.builtin) {
      value = evaluateBuiltin(e, *this);
    } else if (const Value *body = node(e.body)) {
      value = *body;
    }
    break;
  default:
    value = compound(e);
  }
  if (!value)
    return fail("an expression has no value");
  slot = std::move(value);
  return &*slot;
}

Value Evaluation::leaf(const Expr &e) {
  if (e.kind == ExprKind::ConstF) // constants fold in double and become f32 once
    return Value::ofFloat(static_cast<float>(e.f));
  if (e.kind == ExprKind::ConstI || e.kind == ExprKind::ConstB)
    return Value::ofInt(e.i);
  if (e.kind == ExprKind::Scalar) {
    const CapturedScalar &scalar = evaluator_.model().problem.scalars[static_cast<size_t>(e.i)];
    double value = evaluator_.call().scalars.at(scalar.name);
    return scalar.dtype == DType::F32 ? Value::ofFloat(static_cast<float>(value))
                                      : Value::ofInt(static_cast<int64_t>(value));
  }
  switch (static_cast<IndexName>(e.i)) {
  case IndexName::Score:
    return {true, {s_.begin(), s_.end()}, {}, {}};
  case IndexName::K:
    return {false, {}, {keys_.begin(), keys_.end()}, {}};
  case IndexName::B:
    return Value::ofInt(row_.b);
  case IndexName::H:
    return Value::ofInt(row_.h);
  case IndexName::HK:
    return Value::ofInt(row_.hk);
  case IndexName::Q:
    return Value::ofInt(row_.q());
  case IndexName::QI:
    return Value::ofInt(row_.qi);
  case IndexName::Ctx:
    return Value::ofInt(row_.ctx());
  case IndexName::QLen:
    return Value::ofInt(row_.bounds.qLen);
  case IndexName::KvLen:
    return Value::ofInt(row_.bounds.kvLen);
  }
  return {};
}

std::optional<Value> Evaluation::compound(const Expr &e) {
  std::vector<const Value *> args;
  for (ExprId arg : e.args) {
    const Value *value = node(arg);
    if (!value)
      return std::nullopt;
    args.push_back(value);
  }
  if (e.kind == ExprKind::Read)
    return read(e.i, args);
  return applyPrimitive(e.kind, args);
}

std::optional<int64_t> Evaluation::tensorArgument(ExprId id) {
  const Expr &e = evaluator_.model().exprs[static_cast<size_t>(id)];
  if (e.kind == ExprKind::Read && e.args.empty())
    return e.i;
  fail("a built-in that takes a tensor was given a number");
  return std::nullopt;
}

/// A `tokens` dimension holds every sequence's keys; an index into it is a position of this
/// sequence.
int64_t Evaluation::extent(const std::string &dim, int64_t actual) const {
  return dim == "tokens" ? row_.bounds.kvLen : actual;
}

Value Evaluation::read(int64_t number, const std::vector<const Value *> &indices) {
  const spec::Tensor &declared = evaluator_.model().tensors[static_cast<size_t>(number)];
  const HostTensor &tensor = evaluator_.call().tensors.at(declared.info.name);
  size_t lanes = 1;
  for (const Value *index : indices)
    lanes = std::max(lanes, index->lanes());
  Value out{isFloat(tensor.dtype), {}, {}, {}};
  (out.floating ? out.f.resize(lanes) : out.i.resize(lanes));
  Shape place(indices.size());
  for (size_t lane = 0; lane < lanes; ++lane) {
    bool inside = true;
    for (size_t d = 0; d < indices.size() && inside; ++d) {
      const std::string &dim = declared.info.dims[d];
      int64_t index = indices[d]->integer(lane), limit = extent(dim, tensor.shape[d]);
      inside = !indices[d]->isUndefined(lane) && index >= 0 && index < limit;
      if (!inside && whyUndefined_.empty())
        whyUndefined_ = fmt::format("{}: index {} of dimension {} ({}) is outside [0, {})",
                                    declared.info.name, index, d, dim, limit);
      place[d] = index + (dim == "tokens" ? row_.bounds.kStart : 0);
    }
    if (!inside) {
      out.undefined.resize(lanes, 0);
      out.undefined[lane] = 1;
    } else if (out.floating) {
      out.f[lane] = tensor.get(place);
    } else {
      out.i[lane] = decodeInt(tensor.dtype, tensor.address(place));
    }
  }
  return out;
}

namespace {

/// As many lanes as keys.
void widen(Value &value, size_t lanes) {
  if (value.floating && value.f.size() == 1)
    value.f.assign(lanes, value.f[0]);
  if (!value.floating && value.i.size() == 1)
    value.i.assign(lanes, value.i[0]);
  if (value.undefined.size() == 1)
    value.undefined.assign(lanes, value.undefined[0]);
}

} // namespace

Result<Value> Evaluator::evaluate(ExprId id, const Row &row, std::span<const int64_t> keys,
                                  std::span<const double> s) const {
  Evaluation evaluation(*this, row, keys, s);
  const Value *found = evaluation.node(id);
  if (!found)
    return *evaluation.error();
  Value value = *found;
  widen(value, keys.size());
  for (size_t lane = 0; lane < keys.size(); ++lane)
    if (value.isUndefined(lane))
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("sequence {}, head {}, query row {}, key {}: the answer depends on "
                               "an undefined value ({})",
                               row.b, row.h, row.qi, keys[lane],
                               evaluation.whyUndefined().empty() ? "division by zero or overflow"
                                                                 : evaluation.whyUndefined())};
  return value;
}

bool Evaluator::dependsOnHead(ExprId root) const {
  std::set<ExprId> seen;
  std::vector<ExprId> open{root};
  while (!open.empty()) {
    ExprId id = open.back();
    open.pop_back();
    if (id < 0 || !seen.insert(id).second)
      continue;
    const Expr &e = model_.exprs[static_cast<size_t>(id)];
    if (e.kind == ExprKind::Index && (static_cast<IndexName>(e.i) == IndexName::H ||
                                      static_cast<IndexName>(e.i) == IndexName::HK))
      return true;
    if (e.kind == ExprKind::Call && e.builtin && builtinDependsOnHead(e.name))
      return true;
    open.insert(open.end(), e.args.begin(), e.args.end());
    if (e.kind == ExprKind::Call && !e.builtin)
      open.push_back(e.body);
  }
  return false;
}

} // namespace attune::oracle
