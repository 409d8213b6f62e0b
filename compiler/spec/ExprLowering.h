// From written expressions to typed ones: resolves names, expands functions and built-ins in place,
// checks arguments.
//
// A function has no type of its own: its body is lowered anew for the arguments of each call, so
// `soft(x, c)` serves i32 and f32 alike. Bodies see their parameters, the names of the language and
// other functions, never the names of the attention that calls them: what a library mask reads is
// in its argument list.
#pragma once
#include "compiler/spec/ExprBuilder.h"
#include "compiler/spec/Imports.h"
#include "compiler/spec/Symbols.h"

namespace attune::spec {

class ExprLowering {
public:
  ExprLowering(const AstFile &file, Model &model, SymbolTable &symbols,
               const FunctionTable &functions, Diagnostics &diags);

  /// An expression of the attention. -1: an error was reported.
  ExprId lower(AstId);
  /// A constant i32 (a dimension); nothing after reporting if it is anything else.
  std::optional<int64_t> wholeConstant(AstId, std::string_view what);
  /// Names of the attention that a dimension cannot read, because callers give their values.
  void withhold(std::vector<std::string> names) { withheld_ = std::move(names); }
  /// The range to underline for a whole expression.
  Location location(AstId) const;
  ExprBuilder &builder() { return builder_; }

private:
  /// A parameter of an expanded function or a let: a value, or a tensor that was passed on.
  struct Local {
    std::string name;
    ExprId value = -1;
    bool isTensor = false;
    bool used = false;
  };
  struct Frame {
    std::string function;
    Location call;
  };

  const AstExpr &ast(AstId e) const { return file_->exprs[size_t(e)]; }
  ExprId lowerNode(const AstExpr &, const Location &);
  ExprId name(const AstExpr &, const Location &);
  ExprId unary(const AstExpr &, const Location &);
  ExprId binary(const AstExpr &, const Location &);
  ExprId index(const AstExpr &, const Location &);
  ExprId let(const AstExpr &, const Location &);
  ExprId letField(Symbol &, const std::string &name, const Location &);
  ExprId call(const AstExpr &, const Location &);
  ExprId maths(const Maths &, const AstExpr &, const Location &);
  ExprId builtin(const AstExpr &, const Location &);
  ExprId userFunction(const Function &, const AstExpr &, const Location &);
  ExprId expand(const FnDecl &, const AstFile &, bool isBuiltin, std::vector<Local> args,
                const Location &);

  std::optional<Local> argument(AstId);
  std::optional<Local> builtinArgument(const Builtin &, const BuiltinParam &, AstId);
  bool checkTensorArgument(const Builtin &, const BuiltinParam &, const Local &, const Location &);
  ExprId checkIndex(ExprId index, const std::string &dim, const Tensor &, const Location &);
  Local *findLocal(std::string_view name);
  ExprId shapeNumber(std::string_view name, const Location &);
  ExprId unknown(const AstExpr &, const Location &, bool isCall);
  void report(const Location &, std::string message, std::string help);

  const AstFile &main_;
  const AstFile *file_; ///< of the body being lowered
  Model &model_;
  SymbolTable &symbols_;
  const FunctionTable &functions_;
  Diagnostics &diags_;
  ExprBuilder builder_;
  std::vector<std::string> withheld_;
  std::vector<Local> locals_;
  size_t firstLocal_ = 0;     ///< of the function being expanded
  std::vector<Frame> frames_; ///< functions being expanded, outermost first
  int depth_ = 0;
  int64_t steps_ = 0;
};

} // namespace attune::spec
