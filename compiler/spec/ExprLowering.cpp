// Names and operators; functions are in Calls.cpp.
#include "compiler/spec/ExprLowering.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace attune::spec {

namespace {

constexpr int kMaxLoweringDepth = 500;        ///< recursion of lower(), through nested functions
constexpr int64_t kMaxLoweringSteps = 100000; ///< nodes visited in one attention

constexpr std::array<std::pair<std::string_view, ExprKind>, 18> kBinary = {{
    {"+", ExprKind::Add},
    {"-", ExprKind::Sub},
    {"*", ExprKind::Mul},
    {"/", ExprKind::Div},
    {"%", ExprKind::Rem},
    {"==", ExprKind::Eq},
    {"!=", ExprKind::Ne},
    {"<", ExprKind::Lt},
    {"<=", ExprKind::Le},
    {">", ExprKind::Gt},
    {">=", ExprKind::Ge},
    {"&&", ExprKind::And},
    {"||", ExprKind::Or},
    {"&", ExprKind::BitAnd},
    {"|", ExprKind::BitOr},
    {"^", ExprKind::BitXor},
    {"<<", ExprKind::Shl},
    {">>", ExprKind::Shr},
}};

} // namespace

ExprLowering::ExprLowering(const AstFile &file, Model &model, SymbolTable &symbols,
                           const FunctionTable &functions, Diagnostics &diags)
    : main_(file), file_(&file), model_(model), symbols_(symbols), functions_(functions),
      diags_(diags),
      builder_(model, [this](const Location &at, std::string message, std::string help) {
        report(at, std::move(message), std::move(help));
      }) {}

/// Inside expanded functions the fault may lie in the arguments, so the calls are named too.
void ExprLowering::report(const Location &at, std::string message, std::string help) {
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && frame - frames_.rbegin() < 3;
       ++frame)
    help = joinHelp(help, fmt::format("(in {}, used at {}:{}:{})", frame->function,
                                      frame->call.file->name, frame->call.range.line,
                                      frame->call.range.column));
  diags_.error(at, std::move(message), std::move(help));
}

Location ExprLowering::location(AstId e) const { return {&file_->source, ast(e).range}; }

ExprId ExprLowering::lower(AstId e) {
  if (e < 0 || diags_.full() || steps_ > kMaxLoweringSteps)
    return -1;
  if (++steps_ > kMaxLoweringSteps || depth_ >= kMaxLoweringDepth) {
    steps_ = kMaxLoweringSteps + 1;
    report(location(e), "the expression is too large with its functions expanded",
           fmt::format("at most {} levels deep and {} operations in all.", kMaxLoweringDepth,
                       kMaxLoweringSteps));
    return -1;
  }
  ++depth_;
  ExprId result = lowerNode(ast(e), location(e));
  --depth_;
  return result;
}

ExprId ExprLowering::lowerNode(const AstExpr &e, const Location &at) {
  switch (e.kind) {
  case AstExpr::Int:
    return builder_.constI(e.i, at);
  case AstExpr::Float:
    return builder_.constF(e.f, at);
  case AstExpr::Bool:
    return builder_.constB(e.i, at);
  case AstExpr::Name:
    return name(e, at);
  case AstExpr::Unary:
    return unary(e, at);
  case AstExpr::Binary:
    return binary(e, at);
  case AstExpr::Call:
    return call(e, at);
  case AstExpr::Index:
    return index(e, at);
  case AstExpr::Let:
    return let(e, at);
  }
  return -1;
}

ExprId ExprLowering::unary(const AstExpr &e, const Location &at) {
  return builder_.unary(e.text == "!" ? ExprKind::Not : ExprKind::Neg, lower(e.args[0]), at);
}

ExprId ExprLowering::binary(const AstExpr &e, const Location &at) {
  ExprId a = lower(e.args[0]), b = lower(e.args[1]);
  for (auto [text, kind] : kBinary)
    if (text == e.text)
      return builder_.binary(kind, a, b, at);
  return -1;
}

ExprLowering::Local *ExprLowering::findLocal(std::string_view name) {
  for (size_t i = locals_.size(); i > firstLocal_; --i)
    if (locals_[i - 1].name == name)
      return &locals_[i - 1];
  return nullptr;
}

ExprId ExprLowering::shapeNumber(std::string_view name, const Location &at) {
  const ProblemShape &p = model_.problem;
  int value = name == "heads"      ? p.numQHeads
              : name == "kv_heads" ? p.numKvHeads
              : name == "dim"      ? p.headDim
                                   : p.vHeadDim;
  return value > 0 ? builder_.constI(value, at) : -1; // 0: the shape had an error of its own
}

ExprId ExprLowering::name(const AstExpr &e, const Location &at) {
  if (Local *local = findLocal(e.text)) {
    local->used = true;
    if (local->isTensor) {
      report(at, fmt::format("{} is a tensor and needs indices here", e.text), "");
      return -1;
    }
    return local->value;
  }
  if (const IndexRow *row = findIndex(e.text))
    return builder_.index(row->index, at);
  for (const ShapeName &row : shapeNames())
    if (row.name == e.text)
      return shapeNumber(e.text, at);
  auto it = frames_.empty() ? symbols_.find(e.text) : symbols_.end();
  if (it == symbols_.end())
    return call(e, at); // causal: a function without parameters needs no parentheses
  Symbol &symbol = it->second;
  symbol.used = true;
  switch (symbol.kind) {
  case Symbol::IntParam:
    return builder_.constI(symbol.i, at);
  case Symbol::RealParam:
    return builder_.constF(symbol.f, at);
  case Symbol::BoolParam:
    return builder_.constB(symbol.i, at);
  case Symbol::Scalar:
    return builder_.scalar(int(symbol.i), at);
  case Symbol::Let:
    return letField(symbol, e.text, at);
  case Symbol::TypeParam:
    report(at, fmt::format("{} is an element type, not a value", e.text), "");
    return -1;
  case Symbol::Tensor:
    report(at, fmt::format("tensor {} needs indices here", e.text),
           fmt::format("write {}[{}].", e.text,
                       commaList(model_.tensors[size_t(symbol.i)].info.dims)));
    return -1;
  case Symbol::Broken:
    break;
  }
  return -1;
}

/// Fields may come in any order, so a let is lowered where it is first used.
ExprId ExprLowering::letField(Symbol &symbol, const std::string &name, const Location &at) {
  if (symbol.state == Symbol::Active) {
    report(at, fmt::format("let {} refers to itself", name), "");
    return -1;
  }
  if (symbol.state == Symbol::Fresh) {
    symbol.state = Symbol::Active;
    size_t outer = std::exchange(firstLocal_, locals_.size());
    symbol.value = lower(symbol.let);
    firstLocal_ = outer;
    symbol.state = Symbol::Done;
  }
  return symbol.value;
}

ExprId ExprLowering::let(const AstExpr &e, const Location &at) {
  if (isLanguageName(e.text)) {
    report(at, fmt::format("`{}` is a name of the language", e.text), "choose another name.");
    return -1;
  }
  ExprId value = lower(e.args[0]);
  locals_.push_back({e.text, value, false, false});
  ExprId body = lower(e.args[1]);
  if (!locals_.back().used && body >= 0) {
    report(at, fmt::format("let {} is never used", e.text),
           "everything in a spec has an effect: leave it out.");
    body = -1;
  }
  locals_.pop_back();
  return body;
}

ExprId ExprLowering::index(const AstExpr &e, const Location &at) {
  int number = -1;
  if (Local *local = findLocal(e.text)) {
    local->used = true;
    if (local->value < 0)
      return -1;
    number = local->isTensor ? int(builder_[local->value].i) : -1;
  } else if (auto it = symbols_.find(e.text); frames_.empty() && it != symbols_.end()) {
    it->second.used = true;
    if (it->second.kind == Symbol::Broken)
      return -1;
    number = it->second.kind == Symbol::Tensor ? int(it->second.i) : -1;
  } else if (!isLanguageName(e.text)) {
    return unknown(e, at, false);
  }
  if (number < 0) {
    report(at, fmt::format("{} is not a tensor and takes no indices", e.text), "");
    return -1;
  }
  const Tensor &tensor = model_.tensors[size_t(number)];
  const std::vector<std::string> &dims = tensor.info.dims;
  if (e.args.size() != dims.size()) {
    report(at,
           fmt::format("{} has {} dimensions and gets {} indices", tensor.info.name, dims.size(),
                       e.args.size()),
           fmt::format("it is declared as {}[{}].", tensor.info.name, commaList(dims)));
    return -1;
  }
  std::vector<ExprId> indices;
  for (size_t i = 0; i < dims.size(); ++i)
    indices.push_back(checkIndex(lower(e.args[i]), dims[i], tensor, location(e.args[i])));
  return builder_.read(number, std::move(indices), at);
}

/// An index is i32, and one that is known to leave its dimension is refused.
ExprId ExprLowering::checkIndex(ExprId index, const std::string &dim, const Tensor &tensor,
                                const Location &at) {
  if (index < 0)
    return -1;
  const Expr &e = builder_[index];
  if (e.type != ScalarType::I32) {
    report(at, fmt::format("an index of {} must be i32, got {}", tensor.info.name, nameOf(e.type)),
           e.type == ScalarType::F32 ? "write i32(x) to round toward zero." : "");
    return -1;
  }
  const ProblemShape &p = model_.problem;
  int64_t extent = dim == "heads"      ? p.numQHeads
                   : dim == "kv_heads" ? p.numKvHeads
                                       : std::atoll(dim.c_str());
  int64_t last = -1;
  if (e.kind == ExprKind::ConstI)
    last = e.i;
  else if (e.kind == ExprKind::Index && IndexName(e.i) == IndexName::H)
    last = p.numQHeads - 1;
  else if (e.kind == ExprKind::Index && IndexName(e.i) == IndexName::HK)
    last = p.numKvHeads - 1;
  if ((extent > 0 && last >= extent) || (e.kind == ExprKind::ConstI && last < 0)) {
    report(at,
           fmt::format("the index of {} reaches {}, outside its dimension {} of {}",
                       tensor.info.name, last, dim, extent),
           "query heads are indexed by h, kv heads by hk.");
    return -1;
  }
  return index;
}

std::optional<int64_t> ExprLowering::wholeConstant(AstId e, std::string_view what) {
  ExprId value = lower(e);
  if (value < 0)
    return std::nullopt;
  if (builder_[value].kind == ExprKind::ConstI)
    return builder_[value].i;
  report(location(e), fmt::format("{} must be a whole number known at compile time", what), "");
  return std::nullopt;
}

ExprId ExprLowering::unknown(const AstExpr &e, const Location &at, bool isCall) {
  std::vector<std::string> names = languageNames();
  for (const auto &[name, function] : functions_)
    names.push_back(name);
  if (frames_.empty() && !isCall)
    for (const auto &[name, symbol] : symbols_)
      names.push_back(name);
  for (size_t i = firstLocal_; i < locals_.size(); ++i)
    names.push_back(locals_[i].name);
  std::string help = didYouMean(e.text, names);
  if (!frames_.empty() && symbols_.count(e.text))
    help = "a function sees its parameters only; pass it as an argument.";
  else if (std::find(withheld_.begin(), withheld_.end(), e.text) != withheld_.end())
    help = "a dimension is known at compile time: a number, or a parameter of the attention.";
  else if (!isCall && help.empty())
    help = fmt::format(
        "to read a value of the caller declare it: tensor {} : f32[heads], or scalar {} : f32.",
        e.text, e.text);
  report(at, fmt::format("there is no {} `{}`", isCall ? "function" : "name", e.text),
         std::move(help));
  return -1;
}

} // namespace attune::spec
