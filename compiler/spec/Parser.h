// Recursive descent over the grammar of docs/spec-language.md. After an error the parser resumes at
// the next field or definition, so one run reports several. Nesting is bounded: a text can't make
// the parser, or anything that walks its tree, run out of stack.
#pragma once
#include "compiler/spec/Ast.h"
#include "compiler/spec/Lexer.h"
#include <memory>

namespace attune::spec {

constexpr int kMaxNesting = 200; ///< of parentheses, calls, operators and record blocks
constexpr size_t kMaxTextBytes = size_t(1) << 20;

std::unique_ptr<AstFile> parseFile(std::string name, std::string text, Diagnostics &);

/// Expressions: operator precedence climbing, one stack frame per level of nesting.
class ExprParser {
public:
  ExprParser(AstFile &file, std::vector<Token> tokens, Diagnostics &diags)
      : file_(file), tokens_(std::move(tokens)), diags_(diags) {}

protected:
  AstId expression(int minPrecedence = 0);
  bool arguments(std::string_view close, std::vector<AstId> &args);

  const Token &peek(size_t ahead = 0) const {
    return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
  }
  bool at(std::string_view text) const { return peek().is(text); }
  bool atName() const { return peek().kind == TokenKind::Name; }
  bool accept(std::string_view text);
  bool expect(std::string_view text, std::string_view context);
  bool expectName(AstName &name, std::string_view context);
  /// Reports "expected X, found Y" at the next token; always false.
  bool wrong(std::string_view expected, std::string help = "");
  /// What to write instead of a token that other languages have, or "".
  static std::string habit(const Token &);
  void error(const SourceRange &range, std::string message, std::string help = "");

  AstFile &file_;
  std::vector<Token> tokens_;
  Diagnostics &diags_;
  size_t at_ = 0;
  int nesting_ = 0;
  bool inRecord_ = false; ///< `.` and `++` have a meaning in record formats only

private:
  bool startsDeclaration() const;
  AstId unary();
  AstId primary();
  AstId nameOrCall();
  AstId let();
  AstId postfix(AstId base);
  AstId node(AstExpr);
};

} // namespace attune::spec
