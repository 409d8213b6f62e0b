#include "compiler/spec/Sema.h"
#include "compiler/spec/Canonical.h"
#include <cmath>
#include <fmt/format.h>

namespace attune::spec {

namespace {

/// The first node below `root`, in the order of the text, for which `pred` holds; -1 if there is
/// none.
template <class Pred> ExprId findNode(const Model &m, ExprId root, Pred pred) {
  std::vector<char> seen(m.exprs.size());
  std::vector<ExprId> work = {root};
  while (!work.empty()) {
    ExprId id = work.back();
    work.pop_back();
    if (id < 0 || std::exchange(seen[size_t(id)], 1))
      continue;
    const Expr &e = m.exprs[size_t(id)];
    if (pred(e))
      return id;
    if (e.kind == ExprKind::Call)
      work.push_back(e.body);
    else
      work.insert(work.end(), e.args.rbegin(), e.args.rend());
  }
  return -1;
}

bool isScore(const Expr &e) {
  return e.kind == ExprKind::Index && IndexName(e.i) == IndexName::Score;
}

class Attention {
public:
  explicit Attention(SemaContext &context) : c(context), m(context.model) {}

  void run(const std::map<std::string, std::string> &parameters) {
    for (const AstName &format : c.file.formats)
      c.unsupported(format.range,
                    fmt::format("format {}: record formats are not built yet", format.name),
                    "today k and v are bf16 or fp16 tensors, [tokens, heads, dim] or [batch, seq, "
                    "heads, dim].");
    declareParameters(c, parameters);
    checkTypedFields(c);
    declareCaptured(c);
    valuedFields();
    settings();
    knobs();
    letsAndUses();
  }

private:
  void valuedFields() {
    m.scale = m.problem.headDim > 0 ? std::optional(1 / std::sqrt(double(m.problem.headDim)))
                                    : std::nullopt;
    std::map<std::string, int> lines;
    for (const ValuedField &f : c.decl.valued) {
      auto [seen, isNew] = lines.emplace(f.name.name, f.name.range.line);
      if (isNew)
        valuedField(f);
      else
        c.error(f.name.range, fmt::format("{} is given twice", f.name.name),
                fmt::format("it is at line {} already{}.", seen->second,
                            f.name.name == "mask" ? "; join conditions with &&" : ""));
    }
  }

  void valuedField(const ValuedField &f) {
    const std::string &name = f.name.name;
    m.places[name] = f.name.range;
    if (name == "scale")
      return scale(f);
    if (name == "score")
      return score(f);
    if (name == "mask")
      return mask(f);
    if (name == "empty")
      return contract(f, "zero", "a row that sees no key gives out 0 and lse -inf");
    if (name == "unread")
      return contract(f, "any", "values that no row sees may be anything, NaN included");
    if (name == "deterministic")
      return c.unsupported(
          f.name.range, "deterministic is not built yet",
          "leave it out: kernels have no split today and give the same bits on every run.");
    for (std::string_view typed : {"k", "kv", "lse", "out", "q", "sink", "v"})
      if (name == typed)
        return c.error(f.name.range, fmt::format("{} is declared by its type", name),
                       fmt::format("write {} : type.", name));
    c.error(f.name.range, fmt::format("there is no field `{}`", name),
            joinHelp(didYouMean(name, {"scale", "score", "mask", "empty", "unread", "let"}),
                     "fields with a value are scale, score, mask, empty, unread and let NAME."));
  }

  void contract(const ValuedField &f, std::string_view word, std::string_view meaning) {
    const AstExpr &e = c.file.exprs[size_t(f.value)];
    if (e.kind != AstExpr::Name || e.text != word)
      c.error(e.range, fmt::format("{} can only be `{}`", f.name.name, word),
              fmt::format("{} = {}: {}.", f.name.name, word, meaning));
  }

  void scale(const ValuedField &f) {
    ExprBuilder &b = c.lowering.builder();
    Location at = c.lowering.location(f.value);
    ExprId value = b.toF32(c.lowering.lower(f.value), at, "scale");
    if (value < 0)
      return;
    ExprId varying = findNode(m, value, [](const Expr &e) {
      return e.kind == ExprKind::Index || e.kind == ExprKind::Read;
    });
    if (varying >= 0)
      return c.error(
          m.exprs[size_t(varying)].range, "scale is one number for the whole call",
          "what depends on heads, positions or tensors belongs in score: score = s * f.");
    if (b[value].kind != ExprKind::ConstF) {
      m.scale.reset();
      m.scaleExpr = value;
      return;
    }
    if (!(float(b[value].f) > 0))
      return c.diags.error(at, fmt::format("scale wants a value above 0, got {}", b[value].f),
                           "the default is 1 / sqrt(dim).");
    m.scale = b[value].f;
  }

  void score(const ValuedField &f) {
    ExprBuilder &b = c.lowering.builder();
    Location at = c.lowering.location(f.value);
    ExprId value = c.lowering.lower(f.value);
    if (value < 0)
      return;
    if (b.typeOf(value) == ScalarType::Bool)
      return c.diags.error(
          at, "score wants a number (f32), got a condition (bool)",
          "to hide keys write the condition in mask; to weigh them, select(condition, a, b).");
    value = b.toF32(value, at, "score");
    if (value < 0)
      return;
    if (findNode(m, value, isScore) < 0)
      return c.diags.error(at, "score does not use s, so q and k would have no effect",
                           "s is the scaled logit: write s + ... to add a bias.");
    m.score = isScore(b[value]) ? -1 : value;
  }

  void mask(const ValuedField &f) {
    ExprBuilder &b = c.lowering.builder();
    Location at = c.lowering.location(f.value);
    ExprId value = c.lowering.lower(f.value);
    if (value < 0)
      return;
    if (b.typeOf(value) != ScalarType::Bool)
      return c.diags.error(
          at, fmt::format("mask wants a condition (bool), got {}", nameOf(b.typeOf(value))),
          "a mask is true where a row sees a key: k <= q, doc[q] == doc[k].");
    if (ExprId s = findNode(m, value, isScore); s >= 0)
      return c.error(m.exprs[size_t(s)].range, "mask can't use s",
                     "which keys are visible does not depend on their score.");
    if (b[value].kind == ExprKind::ConstB && !b[value].i)
      return c.diags.error(at, "mask is false for every pair", "no row would see any key.");
    m.mask = b[value].kind == ExprKind::ConstB ? -1 : value;
  }

  void settings() {
    for (const SettingField &f : c.decl.settings) {
      if (f.name.name == "precision" && f.word.name == "p")
        precision(f);
      else if (f.name.name == "max" || f.name.name == "split" || f.name.name == "partials")
        c.unsupported(f.name.range,
                      fmt::format("`{} {}` is not built yet", f.name.name, f.word.name),
                      "leave it out.");
      else
        c.error(f.name.range, fmt::format("there is no field `{} {}`", f.name.name, f.word.name),
                joinHelp(didYouMean(f.name.name, {"precision", "tensor", "scalar", "let"}),
                         "fields read name : type or name = expression."));
    }
  }

  /// precision p = bf16: the type that softmax weights are rounded to before they meet v.
  void precision(const SettingField &f) {
    DType type = m.problem.dtype;
    std::string legal =
        fmt::format("p is rounded to the element type of v: write precision p = {}.", nameOf(type));
    if (f.value < 0)
      return c.error(f.word.range, "precision wants a type", legal);
    const AstExpr &e = c.file.exprs[size_t(f.value)];
    std::optional<DType> wanted =
        e.kind == AstExpr::Name ? c.elementType({e.text, e.range}) : std::nullopt;
    if (e.kind != AstExpr::Name)
      c.error(e.range, "precision wants an element type", legal);
    else if (wanted && *wanted != type && m.problem.headDim > 0)
      c.unsupported(e.range, fmt::format("precision p can't be {} today", e.text), legal);
  }

  void knobs() {
    for (const KnobField &f : c.decl.knobs) {
      for (const auto &[name, value] : m.schedule)
        if (name == f.name.name)
          c.error(f.name.range, fmt::format("knob {} is given twice", name));
      m.schedule.emplace_back(f.name.name, f.value);
      m.places["schedule." + f.name.name] = f.name.range;
    }
  }

  /// A let that nothing used is still checked, then refused, like every name without an effect.
  void letsAndUses() {
    for (auto &[name, symbol] : c.symbols)
      if (symbol.kind == Symbol::Let && symbol.state == Symbol::Fresh)
        (void)c.lowering.lower(symbol.let);
    if (!c.complete)
      return;
    for (auto &[name, symbol] : c.symbols)
      if (!symbol.used && symbol.kind != Symbol::Broken)
        c.error(symbol.declared, fmt::format("{} {} is never used", nameOf(symbol.kind), name),
                "everything in a spec has an effect: leave it out.");
  }

  SemaContext &c;
  Model &m;
};

} // namespace

Model checkAttention(const AstFile &file, const AttentionDecl &decl, const FunctionTable &functions,
                     const std::map<std::string, std::string> &parameters, bool complete,
                     Diagnostics &diags) {
  SemaContext context(file, decl, functions, complete, diags);
  context.model.fileName = file.source.name;
  context.model.problem.specName = decl.name.name;
  context.model.places["attention"] = decl.name.range;
  Attention(context).run(parameters);
  if (diags.empty())
    finishModel(context.model);
  return std::move(context.model);
}

} // namespace attune::spec
