// From one attention of a file to a checked Model. See docs/spec-language.md for every rule.
#pragma once
#include "compiler/spec/ExprLowering.h"
#include "compiler/spec/Imports.h"
#include <map>

namespace attune::spec {

/// Faults go to the Diagnostics; the Model means nothing if there are any. `complete` is false when
/// the parser already reported faults, so that fields which seem to be missing are not reported
/// again.
Model checkAttention(const AstFile &, const AttentionDecl &, const FunctionTable &,
                     const std::map<std::string, std::string> &parameters, bool complete,
                     Diagnostics &);

/// What the steps of checking one attention share.
struct SemaContext {
  const AstFile &file;
  const AttentionDecl &decl;
  Diagnostics &diags;
  Model model;
  SymbolTable symbols;
  ExprLowering lowering;
  bool complete;

  SemaContext(const AstFile &f, const AttentionDecl &d, const FunctionTable &functions,
              bool isComplete, Diagnostics &out)
      : file(f), decl(d), diags(out), lowering(f, model, symbols, functions, out),
        complete(isComplete) {}

  Location at(const SourceRange &range) const { return {&file.source, range}; }
  void error(const SourceRange &range, std::string message, std::string help = "") {
    diags.error(at(range), std::move(message), std::move(help));
  }
  void unsupported(const SourceRange &range, std::string message, std::string help = "") {
    diags.unsupported(at(range), std::move(message), std::move(help));
  }
  bool isBroken(std::string_view name) const {
    for (const std::string &b : decl.broken)
      if (b == name)
        return true;
    return false;
  }
  /// Adds a name of the attention; refuses names of the language and second declarations.
  Symbol *declare(const AstName &, Symbol::Kind);
  /// An element type by name or parameter; nothing after reporting.
  std::optional<DType> elementType(const AstName &);
};

/// The typed fields: q, k, v, kv, out, lse, sink. (Storage.cpp)
void checkTypedFields(SemaContext &);

/// Parameters with the values of --set, captured tensors and scalars, let fields.
/// (Declarations.cpp)
void declareParameters(SemaContext &, const std::map<std::string, std::string> &values);
void declareCaptured(SemaContext &);

} // namespace attune::spec
