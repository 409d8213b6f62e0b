// The oracle's own definitions of the language's built-ins, from docs/spec-language.md. They share
// no code with the compiler and never look at the expansion that a call carries.
#include "tests/oracle/Eval.h"
#include <cmath>
#include <fmt/format.h>

namespace attune::oracle {

namespace {

using spec::Expr;
using Maybe = std::optional<Value>;

/// A truth value per key from its position.
template <class F> Value perKey(Evaluation &e, F visible) {
  Value out{false, {}, std::vector<int64_t>(e.keys().size()), {}};
  for (size_t lane = 0; lane < e.keys().size(); ++lane)
    out.i[lane] = visible(e.keys()[lane], lane);
  return out;
}

/// The integer arguments of a call, or nothing after an error.
std::optional<std::vector<const Value *>> arguments(const Expr &call, Evaluation &e) {
  std::vector<const Value *> values;
  for (spec::ExprId arg : call.args) {
    const Value *value = e.node(arg);
    if (!value)
      return std::nullopt;
    values.push_back(value);
  }
  return values;
}

/// An undefined argument makes the whole answer undefined.
Value inherit(Value out, const std::vector<const Value *> &args) {
  for (size_t lane = 0; lane < out.lanes(); ++lane)
    for (const Value *arg : args)
      if (arg->isUndefined(lane)) {
        out.undefined.resize(out.lanes(), 0);
        out.undefined[lane] = 1;
      }
  return out;
}

/// A key is visible to the queries at or after it.
Maybe causal(const Expr &, Evaluation &e) {
  return perKey(e, [&](int64_t k, size_t) { return k <= e.row().q(); });
}

/// window(n): the query's own key and the n - 1 before it. window(left, right): `left` keys before
/// the query's own key, that key, and `right` after it.
Maybe window(const Expr &call, Evaluation &e) {
  auto args = arguments(call, e);
  if (!args)
    return std::nullopt;
  int64_t q = e.row().q();
  return inherit(perKey(e,
                        [&](int64_t k, size_t lane) {
                          if (args->size() == 1)
                            return k <= q && q - k < (*args)[0]->integer(lane);
                          return q - k <= (*args)[0]->integer(lane) &&
                                 k - q <= (*args)[1]->integer(lane);
                        }),
                 *args);
}

/// The first n keys are visible to everyone.
Maybe prefix(const Expr &call, Evaluation &e) {
  auto args = arguments(call, e);
  if (!args)
    return std::nullopt;
  return inherit(perKey(e, [&](int64_t k, size_t lane) { return k < (*args)[0]->integer(lane); }),
                 *args);
}

/// Positions fall into chunks of n; a query sees the keys of its own chunk. Chunks of 0 are none.
Maybe chunk(const Expr &call, Evaluation &e) {
  auto args = arguments(call, e);
  if (!args)
    return std::nullopt;
  double q = static_cast<double>(e.row().q());
  Value seen = perKey(e, [&](int64_t k, size_t lane) {
    double n = static_cast<double>((*args)[0]->integer(lane));
    return std::floor(q / n) == std::floor(static_cast<double>(k) / n);
  });
  for (size_t lane = 0; lane < seen.lanes(); ++lane)
    if ((*args)[0]->integer(lane) == 0) {
      seen.undefined.resize(seen.lanes(), 0);
      seen.undefined[lane] = 1;
    }
  return inherit(std::move(seen), *args);
}

/// A query sees the keys that carry its own document number.
Maybe document(const Expr &call, Evaluation &e) {
  auto tensor = e.tensorArgument(call.args[0]);
  if (!tensor)
    return std::nullopt;
  Value position = Value::ofInt(e.row().q());
  Value keys{false, {}, {e.keys().begin(), e.keys().end()}, {}};
  Value own = e.read(*tensor, {&position}), theirs = e.read(*tensor, {&keys});
  std::vector<const Value *> args{&own, &theirs};
  return inherit(perKey(e,
                        [&](int64_t, size_t lane) {
                          return own.floating ? own.number(lane) == theirs.number(lane)
                                              : own.integer(lane) == theirs.integer(lane);
                        }),
                 args);
}

/// softcap(s, c): bends s smoothly into (-c, c).
Maybe softcap(const Expr &call, Evaluation &e) {
  auto args = arguments(call, e);
  if (!args)
    return std::nullopt;
  Value out{true, std::vector<double>(e.keys().size()), {}, {}};
  for (size_t lane = 0; lane < out.f.size(); ++lane) {
    double s = (*args)[0]->number(lane), cap = (*args)[1]->number(lane);
    out.f[lane] = cap * std::tanh(s / cap);
  }
  return inherit(std::move(out), *args);
}

/// The head's slope times how far the key lies behind the query, as a negative number.
Maybe alibi(const Expr &call, Evaluation &e) {
  auto tensor = e.tensorArgument(call.args[0]);
  if (!tensor)
    return std::nullopt;
  Value head = Value::ofInt(e.row().h);
  Value slope = e.read(*tensor, {&head});
  Value out{true, std::vector<double>(e.keys().size()), {}, {}};
  for (size_t lane = 0; lane < out.f.size(); ++lane)
    out.f[lane] = slope.number(lane) * static_cast<double>(e.keys()[lane] - e.row().q());
  return inherit(std::move(out), {&slope});
}

struct Builtin {
  std::string_view name;
  Maybe (*evaluate)(const Expr &, Evaluation &);
  size_t leastArgs, mostArgs;
  bool readsHead = false;
};

constexpr Builtin builtins[] = {
    {"alibi", alibi, 1, 1, true}, {"causal", causal, 0, 0}, {"chunk", chunk, 1, 1},
    {"document", document, 1, 1}, {"prefix", prefix, 1, 1}, {"softcap", softcap, 2, 2},
    {"window", window, 1, 2},
};

const Builtin *find(const std::string &name) {
  for (const Builtin &b : builtins)
    if (b.name == name)
      return &b;
  return nullptr;
}

} // namespace

std::optional<Value> evaluateBuiltin(const Expr &call, Evaluation &e) {
  const Builtin *builtin = find(call.name);
  if (!builtin || call.args.size() < builtin->leastArgs || call.args.size() > builtin->mostArgs) {
    e.fail(fmt::format("the oracle has no definition of the built-in {} with {} arguments",
                       call.name, call.args.size()));
    return std::nullopt;
  }
  return builtin->evaluate(call, e);
}

bool builtinDependsOnHead(const std::string &name) {
  const Builtin *builtin = find(name);
  return builtin && builtin->readsHead;
}

} // namespace attune::oracle
