// Files, definitions and fields; expressions are in ExprParser.cpp.
#include "compiler/spec/Parser.h"
#include <fmt/format.h>

namespace attune::spec {

namespace {

class FileParser : ExprParser {
public:
  using ExprParser::ExprParser;

  void run() {
    while (peek().kind != TokenKind::End) {
      size_t start = at_;
      if (!definition())
        skipToDefinition(start);
    }
  }

private:
  bool definition() {
    if (accept("import"))
      return importLine();
    if (accept("fn"))
      return function();
    if (accept("format"))
      return format();
    if (accept("attention"))
      return attention();
    return wrong("a definition", "a file holds import, fn, format and attention definitions.");
  }

  /// Leaves a definition that began at `start` and did not parse.
  void skipToDefinition(size_t start) {
    at_ = std::max(at_, start + 1);
    while (peek().kind != TokenKind::End && !(peek().firstOnLine && startsDefinition()))
      ++at_;
  }

  bool startsDefinition() const {
    return at("import") || at("fn") || at("format") || at("attention");
  }

  /// After a definition or a field: the next one begins on a new line.
  bool endOfLine(std::string_view what) {
    if (peek().firstOnLine || at("}"))
      return true;
    if (accept(";"))
      return wrong(fmt::format("a new line after {}", what),
                   "fields end with their line; leave the ; out.");
    return wrong(fmt::format("an operator or a new line after {}", what), habit(peek()));
  }

  bool importLine() {
    const Token &t = peek();
    if (t.kind != TokenKind::String)
      return wrong("a file name in quotes after import", "write import \"masks.attn\".");
    ++at_;
    file_.imports.push_back({std::string(t.text), t.range});
    return endOfLine("the import");
  }

  /// fn NAME [ ( params ) ] = expression
  bool function() {
    FnDecl fn;
    if (!expectName(fn.name, "after fn"))
      return false;
    bool ok = !accept("(") || parameters(fn.params);
    ok = ok && expect("=", "and the body of the function");
    fn.body = ok ? expression() : -1;
    ok = fn.body >= 0 && endOfLine("the function");
    file_.fns.push_back(std::move(fn));
    return ok;
  }

  bool parameters(std::vector<AstName> &params) {
    if (accept(")"))
      return true;
    do {
      AstName name;
      if (!expectName(name, "of a parameter"))
        return false;
      params.push_back(std::move(name));
    } while (accept(","));
    return expect(")", "after the parameters");
  }

  /// format NAME = record { … } | page(n) { … }
  bool format() {
    AstName name, kind, rows;
    if (!expectName(name, "after format") || !expect("=", "after the name of a format"))
      return false;
    if (!at("record") && !at("page"))
      return wrong("`record` or `page(n)`");
    file_.formats.push_back(name);
    bool ok = expectName(kind, "") &&
              (kind.name == "record" ||
               (expect("(", "after page") && expectName(rows, "of the row count") &&
                expect(")", "after the row count")));
    inRecord_ = true;
    ok = ok && recordBlock();
    inRecord_ = false;
    nesting_ = 0;
    return ok && endOfLine("the format");
  }

  /// { c : fp8e4m3[512]   k = c * g[. / 128] ++ r   row { … } }; members need no line of their own.
  bool recordBlock() {
    if (!expect("{", "before the members of a format"))
      return false;
    if (++nesting_ > kMaxNesting)
      return wrong("fewer nested blocks");
    while (!accept("}")) {
      AstName member, type;
      if (!expectName(member, "of a member"))
        return false;
      bool ok = false;
      if (accept(":"))
        ok = expectName(type, "of an element type") && expect("[", "and the element count") &&
             expression() >= 0 && expect("]", "after the element count");
      else if (accept("="))
        ok = expression() >= 0;
      else
        ok = recordBlock();
      if (!ok)
        return false;
    }
    --nesting_;
    return true;
  }

  bool attention() {
    AttentionDecl a;
    if (!expectName(a.name, "after attention"))
      return false;
    bool ok = (!accept("(") || attentionParameters(a)) && expect("{", "before the fields");
    while (ok && !at("}")) {
      if (peek().kind == TokenKind::End || (peek().firstOnLine && (at("attention") || at("fn")))) {
        ok = wrong(fmt::format("`}}` at the end of attention {}", a.name.name));
        break;
      }
      if (!field(a) || !endOfLine("the field"))
        skipField(a);
    }
    ok = ok && accept("}") && endOfLine("the attention");
    file_.attentions.push_back(std::move(a));
    return ok;
  }

  /// ( name : kind = default, … )
  bool attentionParameters(AttentionDecl &a) {
    if (accept(")"))
      return true;
    do {
      ParameterDecl p;
      if (!expectName(p.name, "of a parameter") || !expect(":", "and the kind of the parameter") ||
          !expectName(p.kind, "of a kind: int, f32, bool or float") ||
          !expect("=", "and a default; every parameter has one"))
        return false;
      p.value = expression();
      if (p.value < 0)
        return false;
      a.parameters.push_back(std::move(p));
    } while (accept(","));
    return expect(")", "after the parameters");
  }

  /// Leaves a field that did not parse: on to the next line that begins one, or the end of the
  /// block.
  void skipField(AttentionDecl &a) {
    for (const Token *t = &tokens_[fieldStart_]; t->kind == TokenKind::Name; t += 2) {
      bool keyword = t->is("let") || t->is("tensor") || t->is("scalar");
      a.broken.emplace_back((keyword ? t + 1 : t)->text);
      if (keyword || !t[1].is(","))
        break;
    }
    if (at_ == fieldStart_)
      ++at_;
    int depth = 0; // of blocks that the field opened itself
    for (size_t i = fieldStart_; i < at_; ++i)
      depth += tokens_[i].is("{") - tokens_[i].is("}");
    for (; peek().kind != TokenKind::End; ++at_) {
      if (at("}") && depth-- == 0)
        return;
      if (at("{"))
        ++depth;
      if (peek().firstOnLine && startsField())
        return;
    }
  }

  bool startsField() const {
    if (startsDefinition())
      return true;
    if (!atName())
      return false;
    const Token &after = peek(1);
    return after.is(":") || after.is("=") || after.is(",") || at("tensor") || at("scalar") ||
           (at("let") && peek(2).is("=")) || at("schedule");
  }

  bool field(AttentionDecl &a) {
    fieldStart_ = at_;
    if (!atName())
      return wrong("a field", "fields read `name : type` or `name = expression`.");
    if (at("let") && peek(1).kind == TokenKind::Name)
      return letField(a);
    if (at("tensor") && peek(1).kind == TokenKind::Name)
      return tensorField(a);
    if (at("scalar") && peek(1).kind == TokenKind::Name)
      return scalarField(a);
    if (at("schedule") && peek(1).is("{"))
      return scheduleBlock(a);
    if (peek(1).is(":") || peek(1).is(","))
      return typedField(a);
    if (peek(1).kind == TokenKind::Name && !peek(1).firstOnLine)
      return settings(a);
    ValuedField f;
    return valued(f, "the field") && (a.valued.push_back(std::move(f)), true);
  }

  bool valued(ValuedField &f, std::string_view what) {
    if (!expectName(f.name, fmt::format("of {}", what)))
      return false;
    if (!accept("="))
      return wrong("`:` or `=` after the name of the field");
    f.value = expression();
    return f.value >= 0;
  }

  bool letField(AttentionDecl &a) {
    ++at_;
    ValuedField f;
    if (!valued(f, "the let"))
      return false;
    if (at("in"))
      return wrong("a new line after the let",
                   "a let that is a field of its own is visible in all fields and has no `in`.");
    a.lets.push_back(std::move(f));
    return true;
  }

  /// q, kv : bf16[tokens, 32 / 8, 128]
  bool typedField(AttentionDecl &a) {
    TypedField f;
    do {
      AstName name;
      if (!expectName(name, "of a tensor"))
        return false;
      f.names.push_back(std::move(name));
    } while (accept(","));
    if (!expect(":", "and the type") || !words(f.words))
      return false;
    if (at("[")) {
      f.hasDims = true;
      if (!dims(f.dims) || !words(f.words))
        return false;
    }
    if (f.words.empty())
      return wrong("a type", "a field with a value reads name = expression.");
    a.typed.push_back(std::move(f));
    return true;
  }

  /// Words on this line, each with arguments or without: paged(page = 16) bf16
  bool words(std::vector<AstWord> &out) {
    while (atName() && !peek().firstOnLine) {
      AstWord w;
      w.name = {std::string(peek().text), peek().range};
      ++at_;
      if (at("(")) {
        ++at_;
        do {
          if (atName() && peek(1).is("="))
            at_ += 2;
          AstId arg = expression();
          if (arg < 0)
            return false;
          w.args.push_back(arg);
        } while (accept(","));
        if (!expect(")", "or `,` after an argument"))
          return false;
      }
      out.push_back(std::move(w));
    }
    return true;
  }

  /// [ tokens, heads = 8, 128 ]
  bool dims(std::vector<AstDim> &out) {
    if (!expect("[", "and the dimensions"))
      return false;
    if (accept("]"))
      return true;
    do {
      AstDim d;
      d.range = peek().range;
      if (atName() && peek(1).is("=")) {
        d.label = {std::string(peek().text), peek().range};
        at_ += 2;
      }
      d.size = expression();
      if (d.size < 0)
        return false;
      out.push_back(std::move(d));
    } while (accept(","));
    return expect("]", "or `,` after a dimension");
  }

  /// tensor NAME : dtype[dims] properties
  bool tensorField(AttentionDecl &a) {
    ++at_;
    TensorField f;
    if (!expectName(f.name, "after tensor") || !expect(":", "and the type of the tensor") ||
        !expectName(f.dtype, "of an element type") || !dims(f.dims))
      return false;
    while (atName() && !peek().firstOnLine) {
      AstName property;
      if (!expectName(property, "of a property"))
        return false;
      f.properties.push_back(std::move(property));
    }
    a.tensors.push_back(std::move(f));
    return true;
  }

  bool scalarField(AttentionDecl &a) {
    ++at_;
    ScalarField f;
    if (!expectName(f.name, "after scalar") || !expect(":", "and the type of the scalar") ||
        !expectName(f.dtype, "of a type: f32 or i32"))
      return false;
    a.scalars.push_back(std::move(f));
    return true;
  }

  /// precision p = bf16, …
  bool settings(AttentionDecl &a) {
    do {
      SettingField f;
      if (!expectName(f.name, "of a setting") || !expectName(f.word, "after the setting"))
        return false;
      if (accept("=") && (f.value = expression()) < 0)
        return false;
      a.settings.push_back(std::move(f));
    } while (accept(","));
    return true;
  }

  /// schedule { waves = 4  kv_tile = 64 }
  bool scheduleBlock(AttentionDecl &a) {
    at_ += 2;
    while (!accept("}")) {
      KnobField f;
      if (!expectName(f.name, "of a knob") || !expect("=", "and the value of the knob"))
        return false;
      const Token &t = peek();
      if (t.kind != TokenKind::Name && t.kind != TokenKind::Int && t.kind != TokenKind::Float)
        return wrong("a number or a word as the value of the knob");
      f.value = std::string(t.text);
      ++at_;
      accept(",");
      a.knobs.push_back(std::move(f));
    }
    return true;
  }

  size_t fieldStart_ = 0;
};

} // namespace

std::unique_ptr<AstFile> parseFile(std::string name, std::string text, Diagnostics &diags) {
  auto file = std::make_unique<AstFile>();
  file->source = {std::move(name), std::move(text)};
  if (file->source.text.size() > kMaxTextBytes) {
    diags.error({&file->source, {1, 1, 1}}, fmt::format("the file has {} bytes, more than {}",
                                                        file->source.text.size(), kMaxTextBytes));
    return file;
  }
  std::vector<Token> tokens = lex(file->source, diags);
  FileParser(*file, std::move(tokens), diags).run();
  return file;
}

} // namespace attune::spec
