#include "compiler/spec/Lexer.h"
#include <array>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attune::spec {

namespace {

bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isNameStart(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool isNamePart(char c) { return isNameStart(c) || isDigit(c); }

/// Longest first, so that "<<" is never two "<".
constexpr std::array<std::string_view, 34> kPuncts = {
    "&&", "||", "==", "!=", "<=", ">=", "<<", ">>", "++", "(", ")", "[", "]", "{", "}", ",", ":",
    "=",  "+",  "-",  "*",  "/",  "%",  "<",  ">",  "!",  "&", "|", "^", ".", ";", "?", "~", "@"};

class Lexer {
public:
  Lexer(const SourceFile &file, Diagnostics &diags)
      : file_(file), diags_(diags), text_(file.text) {}

  std::vector<Token> run() {
    if (text_.substr(0, 3) == "\xef\xbb\xbf")
      lineStart_ = at_ = 3; // byte order mark
    while (skipBlanks(), at_ < text_.size())
      next();
    Token end;
    end.range = rangeFrom(at_, 1);
    end.firstOnLine = true;
    tokens_.push_back(end);
    return std::move(tokens_);
  }

private:
  void skipBlanks() {
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '\n') {
        ++line_;
        lineStart_ = at_ + 1;
        first_ = true;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size()) - 1;
      } else if (c != ' ' && c != '\t' && c != '\r') {
        return;
      }
    }
  }

  void next() {
    char c = text_[at_];
    if (isNameStart(c))
      return emit(TokenKind::Name, spanOf(isNamePart));
    if (isDigit(c))
      return number();
    if (c == '"')
      return string();
    for (std::string_view p : kPuncts)
      if (text_.substr(at_, p.size()) == p)
        return emit(TokenKind::Punct, p.size());
    badCharacters();
  }

  template <class Pred> size_t spanOf(Pred pred) const {
    size_t n = 0;
    while (at_ + n < text_.size() && pred(text_[at_ + n]))
      ++n;
    return n;
  }

  SourceRange rangeFrom(size_t start, size_t length) const {
    return {line_, int(start - lineStart_) + 1, int(length)};
  }

  void emit(TokenKind kind, size_t length, int64_t i = 0, double f = 0) {
    Token t;
    t.kind = kind;
    t.text = text_.substr(at_, length);
    t.range = rangeFrom(at_, length);
    t.firstOnLine = std::exchange(first_, false);
    t.i = i;
    t.f = f;
    tokens_.push_back(t);
    at_ += length;
  }

  void error(size_t length, std::string message, std::string help = "") {
    diags_.error({&file_, rangeFrom(at_, length)}, std::move(message), std::move(help));
  }

  /// digits, hex digits after 0x, or digits . digits with an exponent. "1." and ".5" are not
  /// numbers: a lone dot means the element index inside record formats.
  void number() {
    size_t length = spanOf(isNamePart);
    std::string_view word = text_.substr(at_, length);
    bool hex = word.size() > 2 && (word[1] == 'x' || word[1] == 'X') && word[0] == '0';
    size_t end = at_ + spanOf(isDigit);
    auto digitsAt = [&](size_t p) { return p < text_.size() && isDigit(text_[p]); };
    auto skipDigits = [&] {
      while (digitsAt(end))
        ++end;
    };
    bool real = false;
    if (!hex) {
      if (end < text_.size() && text_[end] == '.' && digitsAt(end + 1)) {
        real = true;
        ++end;
        skipDigits();
      }
      if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
        size_t sign = end + 1 < text_.size() && (text_[end + 1] == '+' || text_[end + 1] == '-');
        if (digitsAt(end + 1 + sign)) {
          real = true;
          end += 1 + sign;
          skipDigits();
        }
      }
      length = end - at_;
      while (end < text_.size() && isNamePart(text_[end]))
        ++end;
      if (end - at_ != length) {
        error(end - at_, fmt::format("`{}` is not a number", text_.substr(at_, end - at_)),
              "numbers read 4096, 0x1000, 50.0 or 1e-3; a name can't begin with a digit.");
        length = end - at_;
        return emit(TokenKind::Int, length, 1);
      }
    }
    return real ? realNumber(length) : wholeNumber(length, hex);
  }

  void realNumber(size_t length) {
    double value = 0;
    std::string_view word = text_.substr(at_, length);
    auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    bool fits = code == std::errc() && std::abs(value) <= std::numeric_limits<float>::max();
    if (!fits) {
      error(length, fmt::format("{} does not fit in f32", word));
      value = 1;
    }
    emit(TokenKind::Float, length, 0, value);
  }

  void wholeNumber(size_t length, bool hex) {
    std::string_view word = text_.substr(at_, length);
    std::string_view digits = hex ? word.substr(2) : word;
    int64_t value = 0;
    auto [end, code] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
    if (code == std::errc::invalid_argument || end != digits.data() + digits.size()) {
      error(length, fmt::format("`{}` is not a number", word));
      value = 1;
    } else if (code != std::errc() || value > std::numeric_limits<int32_t>::max()) {
      error(length, fmt::format("{} does not fit in i32", word),
            "whole numbers go up to 2147483647; write a decimal point for a float.");
      value = 1;
    }
    emit(TokenKind::Int, length, value);
  }

  void string() {
    size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != '"' && text_[end] >= ' ')
      ++end;
    if (end >= text_.size() || text_[end] != '"') {
      error(end - at_, "the text in quotes has no end", "close it with \" on the same line.");
      at_ = end;
      return;
    }
    size_t length = end + 1 - at_;
    emit(TokenKind::String, length);
    Token &t = tokens_.back();
    t.text = t.text.substr(1, length - 2);
  }

  void badCharacters() {
    size_t length = spanOf([](char c) {
      return static_cast<unsigned char>(c) >= 0x80 ||
             (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t' && c != '\r');
    });
    std::string help;
    if (length == 0) {
      length = 1;
      if (text_[at_] == '#')
        help = "comments begin with //.";
    } else if (text_.substr(at_, 3) == "\xe2\x88\x92") {
      help = "this is the typographic minus; write -.";
    }
    error(length, "this character is not part of the language", std::move(help));
    at_ += length;
  }

  const SourceFile &file_;
  Diagnostics &diags_;
  std::string_view text_;
  std::vector<Token> tokens_;
  size_t at_ = 0, lineStart_ = 0;
  int line_ = 1;
  bool first_ = true;
};

} // namespace

std::vector<Token> lex(const SourceFile &file, Diagnostics &diags) {
  return Lexer(file, diags).run();
}

} // namespace attune::spec
