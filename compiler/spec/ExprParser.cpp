#include "compiler/spec/Parser.h"
#include <array>
#include <fmt/format.h>

namespace attune::spec {

namespace {

struct Operator {
  std::string_view text;
  int precedence;
};

/// From loosest to tightest. Unlike C, bit operators bind tighter than comparisons: `bits[q] >> k &
/// 1 == 1` reads as meant. Comparisons do not chain.
constexpr int kCompare = 4;
constexpr std::array<Operator, 19> kOperators = {{
    {"++", 1},        {"||", 2},        {"&&", 3},       {"==", kCompare}, {"!=", kCompare},
    {"<=", kCompare}, {">=", kCompare}, {"<", kCompare}, {">", kCompare},  {"|", 5},
    {"^", 6},         {"&", 7},         {"<<", 8},       {">>", 8},        {"+", 9},
    {"-", 9},         {"*", 10},        {"/", 10},       {"%", 10},
}};

const Operator *operatorOf(const Token &t) {
  if (t.kind == TokenKind::Punct)
    for (const Operator &op : kOperators)
      if (op.text == t.text)
        return &op;
  return nullptr;
}

} // namespace

std::string ExprParser::habit(const Token &t) {
  if (t.is("and"))
    return "write && for and.";
  if (t.is("or"))
    return "write || for or.";
  if (t.is("not"))
    return "write ! for not.";
  if (t.is("?"))
    return "write select(condition, a, b).";
  if (t.is("="))
    return "write == to compare.";
  if (t.is("~"))
    return "write x ^ -1 to flip all bits, ! to negate a condition.";
  if (t.is("**"))
    return "write pow(x, y).";
  return "";
}

bool ExprParser::accept(std::string_view text) {
  if (!at(text))
    return false;
  ++at_;
  return true;
}

bool ExprParser::expect(std::string_view text, std::string_view context) {
  return accept(text) || wrong(fmt::format("`{}` {}", text, context), habit(peek()));
}

bool ExprParser::expectName(AstName &name, std::string_view context) {
  if (!atName())
    return wrong(fmt::format("a name {}", context));
  name = {std::string(peek().text), peek().range};
  ++at_;
  return true;
}

bool ExprParser::wrong(std::string_view expected, std::string help) {
  const Token &t = peek();
  std::string found =
      t.kind == TokenKind::End ? "the end of the file" : fmt::format("`{}`", t.text);
  error(t.range, fmt::format("expected {}, found {}", expected, found), std::move(help));
  return false;
}

void ExprParser::error(const SourceRange &range, std::string message, std::string help) {
  diags_.error({&file_.source, range}, std::move(message), std::move(help));
}

AstId ExprParser::node(AstExpr e) {
  for (AstId arg : e.args) {
    if (arg < 0)
      return -1;
    e.height = std::max(e.height, file_.exprs[size_t(arg)].height + 1);
  }
  if (e.height > kMaxNesting) {
    error(e.range, fmt::format("the expression nests deeper than {} levels", kMaxNesting),
          "split it with let or fn.");
    return -1;
  }
  file_.exprs.push_back(std::move(e));
  return AstId(file_.exprs.size() - 1);
}

AstId ExprParser::expression(int minPrecedence) {
  if (++nesting_ > kMaxNesting) {
    error(peek().range, fmt::format("the expression nests deeper than {} levels", kMaxNesting),
          "split it with let or fn.");
    --nesting_;
    return -1;
  }
  AstId left = unary();
  for (bool compared = false; left >= 0;) {
    const Token &t = peek();
    const Operator *op = operatorOf(t);
    if (!op || op->precedence < minPrecedence || (op->precedence == 1 && !inRecord_))
      break;
    if (op->precedence == kCompare && std::exchange(compared, true)) {
      error(t.range, "comparisons do not chain", "write a < b && b < c.");
      left = -1;
      break;
    }
    ++at_;
    AstExpr e;
    e.kind = AstExpr::Binary;
    e.text = op->text;
    e.range = t.range;
    e.args = {left, expression(op->precedence + 1)};
    left = node(std::move(e));
  }
  --nesting_;
  return left;
}

AstId ExprParser::unary() {
  if (!at("-") && !at("!") && !at("+"))
    return postfix(primary());
  const Token &t = peek();
  ++at_;
  if (t.is("+")) {
    error(t.range, "there is no unary +", "leave it out.");
    return -1;
  }
  if (++nesting_ > kMaxNesting) {
    error(t.range, fmt::format("the expression nests deeper than {} levels", kMaxNesting));
    --nesting_;
    return -1;
  }
  AstExpr e;
  e.kind = AstExpr::Unary;
  e.text = t.text;
  e.range = t.range;
  AstId operand = unary();
  --nesting_;
  if (operand < 0)
    return -1;
  const SourceRange &inner = file_.exprs[size_t(operand)].range;
  if (inner.line == e.range.line && inner.column > e.range.column)
    e.range.length = inner.column + inner.length - e.range.column;
  e.args = {operand};
  return node(std::move(e));
}

AstId ExprParser::primary() {
  const Token &t = peek();
  AstExpr e;
  e.range = t.range;
  switch (t.kind) {
  case TokenKind::Int:
    e.kind = AstExpr::Int;
    e.i = t.i;
    break;
  case TokenKind::Float:
    e.kind = AstExpr::Float;
    e.f = t.f;
    break;
  case TokenKind::Name:
    return nameOrCall();
  default:
    if (accept("(")) {
      AstId inner = expression();
      if (inner < 0 || !expect(")", "to close the parenthesis"))
        return -1;
      file_.exprs[size_t(inner)].parens = true;
      return inner;
    }
    if (inRecord_ && t.is(".")) {
      e.kind = AstExpr::Name;
      e.text = ".";
      break;
    }
    wrong("an expression", habit(t));
    return -1;
  }
  ++at_;
  return node(std::move(e));
}

bool ExprParser::startsDeclaration() const {
  if (at("schedule") && peek(1).is("{"))
    return true;
  for (std::string_view word : {"attention", "fn", "format", "import", "scalar", "tensor"})
    if (at(word))
      return peek(1).kind == TokenKind::Name || peek(1).kind == TokenKind::String;
  return false;
}

AstId ExprParser::nameOrCall() {
  if (at("let"))
    return let();
  const Token &t = peek();
  // A name that begins a line and is followed by `:` or `=` is the next field, not an operand.
  if (t.firstOnLine && (peek(1).is(":") || peek(1).is("=") || startsDeclaration())) {
    wrong("an expression");
    return -1;
  }
  ++at_;
  AstExpr e;
  e.text = t.text;
  e.range = t.range;
  if (t.is("true") || t.is("false")) {
    e.kind = AstExpr::Bool;
    e.i = t.is("true");
  } else if (t.is("not") || t.is("and") || t.is("or")) {
    error(t.range, fmt::format("`{}` is not an operator here", t.text), habit(t));
    return -1;
  } else if (at("(") && !peek().firstOnLine) {
    ++at_;
    e.kind = AstExpr::Call;
    e.hasArgs = true;
    if (!arguments(")", e.args))
      return -1;
  } else {
    e.kind = AstExpr::Name;
  }
  return node(std::move(e));
}

/// let NAME = value in body
AstId ExprParser::let() {
  ++at_;
  AstExpr e;
  e.kind = AstExpr::Let;
  AstName name;
  if (!expectName(name, "after let") || !expect("=", "after the name of a let"))
    return -1;
  AstId value = expression();
  if (value < 0)
    return -1;
  if (!accept("in")) {
    wrong("`in` and the expression that uses the let",
          fmt::format("write let {} = value in expression.", name.name));
    return -1;
  }
  e.text = name.name;
  e.range = name.range;
  e.args = {value, expression()};
  return node(std::move(e));
}

/// tensor[i, j]; the element read of `c[...]` in records has the same form.
AstId ExprParser::postfix(AstId base) {
  while (base >= 0 && at("[") && !peek().firstOnLine) {
    const AstExpr &tensor = file_.exprs[size_t(base)];
    if (tensor.kind != AstExpr::Name) {
      error(peek().range, "only a tensor can be indexed");
      return -1;
    }
    AstExpr e;
    e.kind = AstExpr::Index;
    e.text = tensor.text;
    e.range = tensor.range;
    ++at_;
    if (!arguments("]", e.args))
      return -1;
    base = node(std::move(e));
  }
  return base;
}

bool ExprParser::arguments(std::string_view close, std::vector<AstId> &args) {
  if (accept(close))
    return true;
  do {
    AstId arg = expression();
    if (arg < 0)
      return false;
    args.push_back(arg);
  } while (accept(","));
  return expect(close, "or `,` after an argument");
}

} // namespace attune::spec
