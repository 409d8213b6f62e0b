#include "compiler/spec/Canonical.h"
#include "compiler/spec/ExprBuilder.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace attune::spec {

namespace {

/// Brings expressions to their normal form, with its prefix text:
///   calls are their bodies · a > b is b < a · operands that commute are sorted by their text · &&
///   and || are flat, each operand once · !!a is a · !(a == b) is a != b · on i32 !(a < b) is b <=
///   a · constants are the f32 they become
class Normalizer {
public:
  explicit Normalizer(Model &model) : m_(model) {}

  ExprId run(ExprId id) {
    if (id < 0)
      return -1;
    if (auto known = done_.find(id); known != done_.end())
      return known->second;
    const ExprId normal = make(at(id));
    done_[id] = normal;
    return normal;
  }

  const std::string &text(ExprId normal) const { return texts_[size_t(normal)]; }

private:
  const Expr &at(ExprId id) const { return m_.exprs[size_t(id)]; }

  ExprId make(const Expr &e) {
    using enum ExprKind;
    switch (e.kind) {
    case ConstF:
      return leaf(e, fmt::format("{:a}", float(e.f)));
    case ConstI:
      return leaf(e, fmt::format("{}", e.i));
    case ConstB:
      return leaf(e, e.i ? "true" : "false");
    case Index:
      return leaf(e, std::string(indexName(IndexName(e.i))));
    case Scalar:
      return leaf(e, "scalar:" + m_.problem.scalars[size_t(e.i)].name);
    case Read:
      return list(e, e.kind, "read:" + m_.tensors[size_t(e.i)].info.name, operands(e));
    case Call:
      return run(e.body);
    case Gt:
      return list(e, Lt, {run(e.args[1]), run(e.args[0])});
    case Ge:
      return list(e, Le, {run(e.args[1]), run(e.args[0])});
    case And:
    case Or:
      return junction(e);
    case Not:
      return negation(e);
    case Add:
    case Mul:
    case Min:
    case Max:
    case Eq:
    case Ne:
    case Xor:
    case BitAnd:
    case BitOr:
    case BitXor:
      return list(e, e.kind, sorted(operands(e)));
    default:
      return list(e, e.kind, operands(e));
    }
  }

  static std::string_view indexName(IndexName name) {
    for (const IndexRow &row : indexNames())
      if (row.index == name)
        return row.name;
    return "?";
  }

  std::vector<ExprId> operands(const Expr &e) {
    std::vector<ExprId> out;
    for (ExprId arg : e.args)
      out.push_back(run(arg));
    return out;
  }

  /// Equal text is one node, so equal nodes stand side by side.
  std::vector<ExprId> sorted(std::vector<ExprId> parts) const {
    std::sort(parts.begin(), parts.end(), [&](ExprId a, ExprId b) { return text(a) < text(b); });
    return parts;
  }

  ExprId leaf(const Expr &e, std::string text) { return node(e, e.kind, {}, std::move(text)); }

  ExprId list(const Expr &e, ExprKind kind, std::vector<ExprId> parts) {
    return list(e, kind, kind == ExprKind::Neg ? "neg" : spelling(kind), std::move(parts));
  }

  ExprId list(const Expr &e, ExprKind kind, std::string_view head, std::vector<ExprId> parts) {
    std::string text = fmt::format("({}", head);
    for (ExprId part : parts)
      text += " " + this->text(part);
    return node(e, kind, std::move(parts), text + ")");
  }

  /// `from` gives type, literal and place.
  ExprId node(const Expr &from, ExprKind kind, std::vector<ExprId> args, std::string text) {
    const auto [at, isNew] = byText_.try_emplace(text, ExprId(texts_.size()));
    if (isNew) {
      Expr &e = m_.normal.exprs.emplace_back();
      e.kind = kind;
      e.type = from.type;
      e.f = from.f;
      e.i = from.i;
      e.args = std::move(args);
      e.range = from.range;
      texts_.push_back(std::move(text));
    }
    return at->second;
  }

  /// Through calls, the node that decides what an operand is.
  const Expr &core(ExprId id) const {
    while (at(id).kind == ExprKind::Call)
      id = at(id).body;
    return at(id);
  }

  ExprId junction(const Expr &e) {
    std::vector<ExprId> parts, work = e.args;
    while (!work.empty()) {
      const ExprId next = work.back();
      work.pop_back();
      if (const Expr &inner = core(next); inner.kind == e.kind)
        work.insert(work.end(), inner.args.begin(), inner.args.end());
      else
        parts.push_back(run(next));
    }
    parts = sorted(std::move(parts));
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    return parts.size() == 1 ? parts[0] : list(e, e.kind, std::move(parts));
  }

  ExprId negation(const Expr &whole) {
    using enum ExprKind;
    const Expr &e = core(whole.args[0]);
    if (e.kind == Not)
      return run(e.args[0]);
    if (e.kind == Eq || e.kind == Ne)
      return list(e, e.kind == Eq ? Ne : Eq, sorted(operands(e)));
    const bool i32 = !e.args.empty() && at(e.args[0]).type == ScalarType::I32; // a float may be NaN
    if (i32 && (e.kind == Lt || e.kind == Le || e.kind == Gt || e.kind == Ge)) {
      const bool swap = e.kind == Lt || e.kind == Le; // !(a < b) is b <= a, !(a > b) is a <= b
      const ExprId a = run(e.args[swap]), b = run(e.args[!swap]);
      return list(e, e.kind == Lt || e.kind == Gt ? Le : Lt, {a, b});
    }
    return list(whole, Not, "!", {run(whole.args[0])});
  }

  Model &m_;
  std::map<ExprId, ExprId> done_;
  std::map<std::string, ExprId> byText_;
  std::vector<std::string> texts_; ///< of m_.normal.exprs
};

/// Copies what `root` reaches to `out`, operands before users.
class Compactor {
public:
  explicit Compactor(std::vector<Expr> &from) : from_(from), moved_(from.size(), -1) {}

  ExprId move(ExprId id) {
    if (id < 0 || moved_[size_t(id)] >= 0)
      return id < 0 ? -1 : moved_[size_t(id)];
    Expr e = from_[size_t(id)];
    for (ExprId &arg : e.args)
      arg = move(arg);
    e.body = move(e.body);
    out.push_back(std::move(e));
    return moved_[size_t(id)] = ExprId(out.size() - 1);
  }

  std::vector<Expr> out;

private:
  const std::vector<Expr> &from_;
  std::vector<ExprId> moved_;
};

std::string_view nameOf(Storage s) { return s == Storage::Dense ? "dense" : "varlen"; }

std::string problemText(const Model &m) {
  const ProblemShape &p = m.problem;
  static constexpr std::string_view kLse[] = {"none", "natural", "base2"};
  std::string text = fmt::format(
      "attention 1\nstorage {} {}\ntype {} out {}\nheads {} {}\ndim {} {}\nlse {}\nsink {}\n",
      nameOf(p.qStorage), nameOf(p.kvStorage), nameOf(p.dtype), nameOf(p.outDtype), p.numQHeads,
      p.numKvHeads, p.headDim, p.vHeadDim, kLse[size_t(p.lse)], int(p.hasSink));
  for (const Tensor &t : m.tensors)
    text += fmt::format("tensor {} {}[{}]{}\n", t.info.name, nameOf(t.info.dtype),
                        commaList(t.info.dims), t.nondecreasing ? " nondecreasing" : "");
  for (const CapturedScalar &s : p.scalars)
    text += fmt::format("scalar {} {}\n", s.name, nameOf(s.dtype));
  return text;
}

} // namespace

void finishModel(Model &m) {
  Compactor compactor(m.exprs);
  m.scaleExpr = compactor.move(m.scaleExpr);
  m.score = compactor.move(m.score);
  m.mask = compactor.move(m.mask);
  m.exprs = std::move(compactor.out);

  Normalizer normalizer(m);
  m.normal = {};
  // What changes nothing is not there, however it was written.
  const auto normal = [&](ExprId e, std::string_view absent, ExprId &root) {
    root = normalizer.run(e);
    if (root >= 0 && normalizer.text(root) == absent)
      root = -1;
    return root < 0 ? std::string(absent) : normalizer.text(root);
  };
  m.canonical = problemText(m);
  // In double, as the compiler folds it with log2(e); in an expression it is an f32.
  m.canonical += fmt::format("scale {}\n", m.scale ? fmt::format("{:a}", *m.scale)
                                                   : normal(m.scaleExpr, "", m.normal.scale));
  m.canonical += fmt::format("score {}\n", normal(m.score, "s", m.normal.score));
  m.canonical += fmt::format("mask {}\n", normal(m.mask, "true", m.normal.mask));
  m.digest = sha256Hex(m.canonical);
}

} // namespace attune::spec
