// The typed fields: where q, k, v, out, lse and sink live and how large they are.
//
//   q, kv : bf16[tokens, 32 / 8, 128]        short: `a / b` in the heads place is query heads over
//   kv heads q     : bf16[batch, seq, heads = 32, dim = 128] kv    : bf16[batch, seq, heads = 8,
//   dim = 128]
#include "compiler/spec/Sema.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace attune::spec {

namespace {

constexpr int kMaxHeads = 1024, kMaxHeadDim = 1024;
constexpr std::string_view kStorageToday =
    "today q, k and v are [tokens, heads, dim] or [batch, seq, heads, dim].";

struct Operand {
  bool given = false;
  bool known = false; ///< checked without error
  Storage storage = Storage::Dense;
  DType dtype = DType::BF16;
  int64_t heads = 0, dim = 0;
  SourceRange name, headsRange, dimRange;
  int64_t kvHeads = 0; ///< of `heads / kv heads`, when the line is q's too
  SourceRange kvHeadsRange;
};

class TypedFields {
public:
  explicit TypedFields(SemaContext &context) : c(context) {}

  void run() {
    for (const TypedField &f : c.decl.typed)
      field(f);
    operandsAgree();
    if (!outGiven_)
      c.model.problem.outDtype = c.model.problem.dtype;
  }

private:
  enum Role { Q, K, V };

  void field(const TypedField &f) {
    const std::string &first = f.names[0].name;
    if (f.names.size() == 1 && first == "out")
      return out(f);
    if (f.names.size() == 1 && first == "lse")
      return lse(f);
    if (f.names.size() == 1 && first == "sink")
      return sink(f);
    bool ok = true;
    for (const AstName &n : f.names)
      ok = claim(n) && ok;
    if (ok)
      operands(f);
  }

  static std::vector<Role> rolesOf(std::string_view name) {
    if (name == "kv")
      return {K, V};
    return {name == "q" ? Q : name == "k" ? K : V};
  }

  bool claim(const AstName &n) {
    if (n.name == "out" || n.name == "lse" || n.name == "sink") {
      c.error(n.range, fmt::format("{} is declared on a line of its own", n.name));
      return false;
    }
    if (n.name != "q" && n.name != "k" && n.name != "v" && n.name != "kv") {
      c.error(
          n.range, fmt::format("there is no field `{}`", n.name),
          joinHelp(
              didYouMean(n.name, {"q", "k", "v", "kv", "out", "lse", "sink", "tensor", "scalar"}),
              "fields with a type are q, k, v, kv, out, lse, sink, tensor NAME and scalar NAME."));
      return false;
    }
    for (Role role : rolesOf(n.name)) {
      if (at(role).given) {
        c.error(n.range, fmt::format("{} is declared twice", n.name),
                fmt::format("it is at line {} already.", at(role).name.line));
        return false;
      }
      at(role).given = true;
      at(role).name = n.range;
    }
    return true;
  }

  /// The element type among the words of a field; every other word is a wish for later or a
  /// mistake.
  std::optional<DType> typeOf(const TypedField &f) {
    static constexpr std::array<std::string_view, 6> kLater = {"paged", "gather",  "latent",
                                                               "rope",  "segment", "order"};
    std::optional<DType> type;
    for (const AstWord &w : f.words) {
      if (std::find(kLater.begin(), kLater.end(), w.name.name) != kLater.end()) {
        c.unsupported(w.name.range, fmt::format("`{}` storage is not built yet", w.name.name),
                      std::string(kStorageToday));
        return std::nullopt;
      }
      for (const AstName &format : c.file.formats)
        if (format.name == w.name.name)
          return std::nullopt; // the format itself was refused
      if (type || !w.args.empty()) {
        c.error(w.name.range, fmt::format("`{}` is not expected here", w.name.name),
                "a field names one element type.");
        return std::nullopt;
      }
      type = c.elementType(w.name);
      if (!type)
        return std::nullopt;
    }
    return type;
  }

  void operands(const TypedField &f) {
    std::optional<DType> type = typeOf(f);
    if (!type)
      return;
    if (*type != DType::BF16 && *type != DType::F16) {
      c.unsupported(f.words[0].name.range,
                    fmt::format("{} wants bf16 or fp16, got {}", f.names[0].name, nameOf(*type)),
                    "q, k and v are bf16 or fp16 today; out may also be f32.");
      return;
    }
    if (!f.hasDims)
      return c.error(f.words.back().name.range, fmt::format("{} wants dimensions", f.names[0].name),
                     std::string(kStorageToday));
    Operand shape;
    shape.dtype = *type;
    if (!dims(f, shape))
      return;
    for (const AstName &n : f.names)
      for (Role role : rolesOf(n.name)) {
        shape.given = shape.known = true;
        shape.name = n.range;
        at(role) = shape;
        if (role != Q && shape.kvHeads > 0) {
          at(role).heads = shape.kvHeads;
          at(role).headsRange = shape.kvHeadsRange;
        }
      }
  }

  bool dims(const TypedField &f, Operand &shape) {
    if (f.dims.size() != 3 && f.dims.size() != 4) {
      c.error(f.words[0].name.range,
              fmt::format("{} wants 3 or 4 dimensions, got {}", f.names[0].name, f.dims.size()),
              std::string(kStorageToday));
      return false;
    }
    shape.storage = f.dims.size() == 3 ? Storage::Varlen : Storage::Dense;
    bool ok = shape.storage == Storage::Varlen ? runTimeDim(f.dims[0], "tokens")
                                               : runTimeDim(f.dims[0], "batch");
    if (shape.storage == Storage::Dense)
      ok = runTimeDim(f.dims[1], "seq") && ok;
    const AstDim &headDim = f.dims[f.dims.size() - 2], &dim = f.dims.back();
    shape.headsRange = c.lowering.location(headDim.size).range;
    shape.dimRange = c.lowering.location(dim.size).range;
    ok = label(headDim, {"heads", "kv_heads"}) && label(dim, {"dim", "v_dim"}) && ok;
    ok = heads(f, headDim, shape) && ok;
    return number(dim.size, "dim", kMaxHeadDim, shape.dim) && ok;
  }

  /// Sizes that change from call to call are names, never numbers.
  bool runTimeDim(const AstDim &dim, std::string_view name) {
    const AstExpr &e = c.file.exprs[size_t(dim.size)];
    if (dim.label.name.empty() && e.kind == AstExpr::Name && e.text == name)
      return true;
    bool isName = e.kind == AstExpr::Name;
    c.error(dim.range,
            isName ? fmt::format("this dimension is called `{}`, not `{}`", name, e.text)
                   : fmt::format("this dimension is set by each call: write `{}`", name),
            joinHelp(isName ? didYouMean(e.text, {std::string(name)}) : "", kStorageToday));
    return false;
  }

  bool label(const AstDim &dim, std::array<std::string_view, 2> allowed) {
    if (dim.label.name.empty() || dim.label.name == allowed[0] || dim.label.name == allowed[1])
      return true;
    c.error(dim.label.range,
            fmt::format("this dimension is `{}`, not `{}`", allowed[0], dim.label.name),
            std::string(kStorageToday));
    return false;
  }

  bool heads(const TypedField &f, const AstDim &dim, Operand &shape) {
    const AstExpr &e = c.file.exprs[size_t(dim.size)];
    if (e.kind != AstExpr::Binary || e.text != "/" || e.parens)
      return number(dim.size, "heads", kMaxHeads, shape.heads);
    bool hasQ = false, hasKv = false;
    for (const AstName &n : f.names)
      (n.name == "q" ? hasQ : hasKv) = true;
    if (!hasQ || !hasKv) {
      c.error(e.range, "`query heads / kv heads` is for a line that declares q and kv together",
              "write q, kv : …, or one number here; in parentheses / divides.");
      return false;
    }
    shape.headsRange = c.lowering.location(e.args[0]).range;
    shape.kvHeadsRange = c.lowering.location(e.args[1]).range;
    bool ok = number(e.args[0], "heads", kMaxHeads, shape.heads);
    return number(e.args[1], "kv_heads", kMaxHeads, shape.kvHeads) && ok;
  }

  bool number(AstId e, std::string_view what, int64_t limit, int64_t &value) {
    std::optional<int64_t> n = c.lowering.wholeConstant(e, what);
    if (!n)
      return false;
    if (*n < 1 || *n > limit) {
      c.diags.error(c.lowering.location(e),
                    fmt::format("{} wants 1 to {}, got {}", what, limit, *n));
      return false;
    }
    value = *n;
    return true;
  }

  void out(const TypedField &f) {
    if (outGiven_)
      return c.error(f.names[0].range, "out is declared twice");
    outGiven_ = true;
    c.model.places["out"] = f.names[0].range;
    if (f.hasDims)
      c.error(f.dims.empty() ? f.names[0].range : f.dims[0].range, "out takes an element type only",
              "its shape is that of q with the head dim of v.");
    std::optional<DType> type = typeOf(f);
    if (!type)
      return;
    if (*type != DType::BF16 && *type != DType::F16 && *type != DType::F32)
      c.unsupported(f.words[0].name.range,
                    fmt::format("out wants bf16, fp16 or f32, got {}", nameOf(*type)));
    c.model.problem.outDtype = *type;
  }

  /// lse : [f32] natural | base2
  void lse(const TypedField &f) {
    LseKind &kind = c.model.problem.lse;
    if (kind != LseKind::None)
      return c.error(f.names[0].range, "lse is declared twice");
    bool typed = false;
    for (const AstWord &w : f.words) {
      const std::string &word = w.name.name;
      if (w.args.empty() && word == "f32" && !typed)
        typed = true;
      else if (w.args.empty() && kind == LseKind::None && (word == "natural" || word == "base2"))
        kind = word == "natural" ? LseKind::Natural : LseKind::Base2;
      else
        return c.error(w.name.range, fmt::format("lse does not take `{}`", word),
                       joinHelp(didYouMean(word, {"natural", "base2", "f32"}),
                                "write lse : f32 natural, or lse : f32 base2."));
    }
    if (kind == LseKind::None)
      c.error(f.names[0].range, "lse wants its base",
              "write lse : f32 natural, or lse : f32 base2.");
    if (f.hasDims)
      c.error(f.names[0].range, "lse takes no dimensions",
              "it has one f32 per query head and row.");
  }

  void sink(const TypedField &f) {
    if (c.model.problem.hasSink)
      return c.error(f.names[0].range, "sink is declared twice");
    c.model.problem.hasSink = true;
    const AstExpr *dim = f.dims.size() == 1 ? &c.file.exprs[size_t(f.dims[0].size)] : nullptr;
    bool perHead =
        dim && dim->kind == AstExpr::Name && dim->text == "heads" && f.dims[0].label.name.empty();
    if (f.words.size() != 1 || f.words[0].name.name != "f32" || !f.words[0].args.empty() ||
        !perHead)
      c.error(f.names[0].range, "a sink is one f32 per query head", "write sink : f32[heads].");
  }

  void operandsAgree() {
    bool known = true;
    for (auto [role, name] : {std::pair{Q, "q"}, {K, "k"}, {V, "v"}}) {
      if (!at(role).given && c.complete)
        c.error(c.decl.name.range,
                fmt::format("{} does not say what {} is", c.decl.name.name, name),
                "write q, kv : bf16[tokens, 32 / 8, 128], or q, k and v one by one.");
      known = known && at(role).known;
    }
    if (!known)
      return;
    const Operand &q = at(Q), &k = at(K), &v = at(V);
    for (const Operand *o : {&k, &v}) {
      if (o->dtype != q.dtype)
        c.unsupported(o->name, fmt::format("k and v want q's element type {}, got {}",
                                           nameOf(q.dtype), nameOf(o->dtype)));
      if (o->storage != q.storage)
        c.unsupported(o->name,
                      "q, k and v want one storage: all [tokens, …] or all [batch, seq, …]");
    }
    if (k.heads != v.heads)
      c.error(v.headsRange, fmt::format("v wants k's {} heads, got {}", k.heads, v.heads));
    if (k.dim != q.dim)
      c.error(k.dimRange, fmt::format("k wants q's dim of {}, got {}", q.dim, k.dim));
    if (q.heads % k.heads != 0)
      headRatio(q, k);
    c.model.places["q"] = q.name;
    c.model.places["k"] = k.name;
    c.model.places["v"] = v.name;
    c.model.places["heads"] = q.headsRange;
    c.model.places["kv_heads"] = k.headsRange;
    c.model.places["dim"] = q.dimRange;
    c.model.places["v_dim"] = v.dimRange;
    ProblemShape &p = c.model.problem;
    p.qStorage = q.storage;
    p.kvStorage = k.storage;
    p.dtype = q.dtype;
    p.numQHeads = int(q.heads);
    p.numKvHeads = int(k.heads);
    p.headDim = int(q.dim);
    p.vHeadDim = int(v.dim);
  }

  void headRatio(const Operand &q, const Operand &k) {
    std::vector<std::string> legal;
    auto offer = [&](int64_t a, int64_t b) {
      std::string text = fmt::format("{} / {}", a, b);
      if (a >= b && b >= 1 && std::find(legal.begin(), legal.end(), text) == legal.end())
        legal.push_back(std::move(text));
    };
    offer(q.heads / k.heads * k.heads, k.heads);
    offer((q.heads / k.heads + 1) * k.heads, k.heads);
    int64_t below = std::min(k.heads, q.heads), above = k.heads;
    while (q.heads % below != 0)
      --below;
    while (above < q.heads && q.heads % above != 0)
      ++above;
    offer(q.heads, below);
    offer(q.heads, above);
    c.error(q.headsRange,
            fmt::format("{} query heads can't share {} kv heads evenly", q.heads, k.heads),
            fmt::format("the ratio must be a whole number; nearest legal: {}.", commaList(legal)));
  }

  Operand &at(Role role) { return operands_[size_t(role)]; }

  SemaContext &c;
  std::array<Operand, 3> operands_;
  bool outGiven_ = false;
};

} // namespace

void checkTypedFields(SemaContext &c) { TypedFields(c).run(); }

} // namespace attune::spec
