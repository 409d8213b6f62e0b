// A file as it was written: names unresolved, types unknown, every node with its place in the text.
//
// Expressions live in one arena per file and refer to each other by index, so that no destructor or
// copy ever recurses over what a user nested. Fields come in three general forms; which names exist
// and what they want is Sema's business, so a new field changes no grammar:
//   typed    q, kv : bf16[tokens, 32 / 8, 128]      names : words [dims] words
//   valued   score = softcap(s, 50.0)               name = expression
//   setting  precision p = bf16                     name word [= expression]
#pragma once
#include "compiler/spec/Diagnostics.h"
#include <string>
#include <vector>

namespace attune::spec {

using AstId = int32_t; // index into AstFile::exprs; -1: none

struct AstExpr {
  enum Kind : uint8_t { Int, Float, Bool, Name, Unary, Binary, Call, Index, Let };
  Kind kind = Int;
  std::string text;        ///< name, or the operator
  int64_t i = 0;           ///< Int, Bool
  double f = 0;            ///< Float
  std::vector<AstId> args; ///< operands, arguments, indices; Let: value, body
  SourceRange range;       ///< what an error underlines: the name or operator
  bool parens = false;     ///< written in parentheses
  bool hasArgs = false;    ///< Call: with parentheses
  int height = 1;          ///< longest path to a leaf
};

struct AstName {
  std::string name;
  SourceRange range;
};

/// A word of a typed field with its arguments: `bf16`, `paged(16)`, `segment main`.
struct AstWord {
  AstName name;
  std::vector<AstId> args;
};

struct AstDim {
  AstName label; ///< `heads` of `heads = 8`; name empty if there is none
  AstId size = -1;
  SourceRange range;
};

struct TypedField {
  std::vector<AstName> names;
  std::vector<AstWord> words;
  bool hasDims = false;
  std::vector<AstDim> dims;
};

struct ValuedField {
  AstName name;
  AstId value = -1;
};

struct SettingField {
  AstName name, word;
  AstId value = -1; ///< -1: none was given
};

struct TensorField {
  AstName name, dtype;
  std::vector<AstDim> dims;
  std::vector<AstName> properties;
};

struct ScalarField {
  AstName name, dtype;
};

struct KnobField {
  AstName name;
  std::string value;
};

struct ParameterDecl {
  AstName name, kind;
  AstId value = -1; ///< the default
};

struct AttentionDecl {
  AstName name;
  std::vector<ParameterDecl> parameters;
  std::vector<TypedField> typed;
  std::vector<ValuedField> valued;
  std::vector<ValuedField> lets;
  std::vector<SettingField> settings;
  std::vector<TensorField> tensors;
  std::vector<ScalarField> scalars;
  std::vector<KnobField> knobs;
  std::vector<std::string>
      broken; ///< names of fields that did not parse: known, but of unknown content
};

struct FnDecl {
  AstName name;
  std::vector<AstName> params;
  AstId body = -1; ///< -1: did not parse
};

struct AstFile {
  SourceFile source;
  std::vector<AstExpr> exprs;
  std::vector<AstName> imports; ///< name: the text in quotes
  std::vector<AstName> formats;
  std::vector<FnDecl> fns;
  std::vector<AttentionDecl> attentions;
};

} // namespace attune::spec
