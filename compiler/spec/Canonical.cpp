#include "compiler/spec/Canonical.h"
#include "compiler/spec/ExprBuilder.h"
#include "runtime/abi/Digest.h"
#include <algorithm>
#include <fmt/format.h>

namespace attune::spec {

namespace {

/// Prints expressions as prefix text, brought to a normal form on the way:
///   calls are their bodies · a > b is b < a · operands that commute are sorted · && and || are
///   flat, each operand once · !!a is a · !(a == b) is a != b · on i32 !(a < b) is b <= a ·
///   constants are the f32 they become
class Printer {
public:
  explicit Printer(const Model &model) : m(model) {}

  std::string print(ExprId id) const {
    using enum ExprKind;
    const Expr &e = at(id);
    switch (e.kind) {
    case ConstF:
      return fmt::format("{:a}", float(e.f));
    case ConstI:
      return fmt::format("{}", e.i);
    case ConstB:
      return e.i ? "true" : "false";
    case Index:
      return std::string(indexName(IndexName(e.i)));
    case Scalar:
      return "scalar:" + m.problem.scalars[size_t(e.i)].name;
    case Read:
      return list("read:" + m.tensors[size_t(e.i)].info.name, operands(e));
    case Call:
      return print(e.body);
    case Gt:
      return list("<", {print(e.args[1]), print(e.args[0])});
    case Ge:
      return list("<=", {print(e.args[1]), print(e.args[0])});
    case And:
    case Or:
      return junction(id, e.kind);
    case Not:
      return negation(e.args[0]);
    case Neg:
      return list("neg", operands(e));
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
      return list(spelling(e.kind), sorted(operands(e)));
    default:
      return list(spelling(e.kind), operands(e));
    }
  }

private:
  const Expr &at(ExprId id) const { return m.exprs[size_t(id)]; }

  static std::string_view indexName(IndexName name) {
    for (const IndexRow &row : indexNames())
      if (row.index == name)
        return row.name;
    return "?";
  }

  std::vector<std::string> operands(const Expr &e) const {
    std::vector<std::string> out;
    for (ExprId arg : e.args)
      out.push_back(print(arg));
    return out;
  }

  static std::vector<std::string> sorted(std::vector<std::string> parts) {
    std::sort(parts.begin(), parts.end());
    return parts;
  }

  static std::string list(std::string_view head, const std::vector<std::string> &parts) {
    std::string out = fmt::format("({}", head);
    for (const std::string &p : parts)
      out += " " + p;
    return out + ")";
  }

  /// Through calls, the node that decides what an operand is.
  ExprId core(ExprId id) const {
    while (at(id).kind == ExprKind::Call)
      id = at(id).body;
    return id;
  }

  std::string junction(ExprId id, ExprKind kind) const {
    std::vector<std::string> parts;
    std::vector<ExprId> work = {id};
    while (!work.empty()) {
      ExprId next = core(work.back());
      work.pop_back();
      if (at(next).kind == kind)
        work.insert(work.end(), at(next).args.begin(), at(next).args.end());
      else
        parts.push_back(print(next));
    }
    parts = sorted(std::move(parts));
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    return parts.size() == 1 ? parts[0] : list(spelling(kind), parts);
  }

  std::string negation(ExprId operand) const {
    using enum ExprKind;
    const Expr &e = at(core(operand));
    if (e.kind == Not)
      return print(e.args[0]);
    if (e.kind == Eq || e.kind == Ne)
      return list(e.kind == Eq ? "!=" : "==", sorted(operands(e)));
    bool whole = !e.args.empty() && at(e.args[0]).type == ScalarType::I32; // a float may be NaN
    if (whole && (e.kind == Lt || e.kind == Le || e.kind == Gt || e.kind == Ge)) {
      bool swap = e.kind == Lt || e.kind == Le; // !(a < b) is b <= a, !(a > b) is a <= b
      std::string a = print(e.args[swap]), b = print(e.args[!swap]);
      return list(e.kind == Lt || e.kind == Gt ? "<=" : "<", {a, b});
    }
    return list("!", {print(operand)});
  }

  const Model &m;
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

  Printer printer(m);
  auto field = [&](ExprId e, std::string_view whenAbsent) {
    return e < 0 ? std::string(whenAbsent) : printer.print(e);
  };
  m.canonical = problemText(m);
  m.canonical += fmt::format("scale {}\n", m.scale ? fmt::format("{:a}", float(*m.scale))
                                                   : printer.print(m.scaleExpr));
  m.canonical += fmt::format("score {}\nmask {}\n", field(m.score, "s"), field(m.mask, "true"));
  m.digest = sha256Hex(m.canonical);
}

} // namespace attune::spec
