// Text to tokens. Newlines are not tokens, but each token knows whether it is the first of its
// line: a field ends where a line begins that can't continue it, and recovery after an error
// resumes there.
#pragma once
#include "compiler/spec/Diagnostics.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attune::spec {

enum class TokenKind : uint8_t { End, Name, Int, Float, String, Punct };

struct Token {
  TokenKind kind = TokenKind::End;
  std::string_view text; ///< as written; a String without its quotes
  SourceRange range;
  bool firstOnLine = false;
  int64_t i = 0; ///< Int
  double f = 0;  ///< Float

  bool is(std::string_view punctOrName) const {
    return (kind == TokenKind::Punct || kind == TokenKind::Name) && text == punctOrName;
  }
};

/// All tokens of a file, ended by an End token. Bad characters are reported and left out.
std::vector<Token> lex(const SourceFile &, Diagnostics &);

} // namespace attune::spec
