// Functions of the ExprLowering: maths, built-ins, user functions, and their expansion in place.
#include "compiler/spec/ExprLowering.h"
#include <fmt/format.h>

namespace attune::spec {

ExprId ExprLowering::call(const AstExpr &e, const Location &at) {
  if (const Maths *row = findMaths(e.text))
    return maths(*row, e, at);
  for (const Builtin &row : builtins())
    if (row.name == e.text)
      return builtin(e, at);
  if (auto it = functions_.find(e.text); it != functions_.end())
    return userFunction(it->second, e, at);
  if (e.hasArgs && (findLocal(e.text) || symbols_.count(e.text) || isLanguageName(e.text))) {
    report(at, fmt::format("{} is not a function", e.text),
           "tensors are indexed with brackets: t[q].");
    return -1;
  }
  return unknown(e, at, e.hasArgs);
}

ExprId ExprLowering::maths(const Maths &row, const AstExpr &e, const Location &at) {
  if (e.args.size() != row.arity) {
    report(at,
           fmt::format("{} takes {} argument{}, got {}", row.name, row.arity,
                       row.arity == 1 ? "" : "s", e.args.size()),
           "");
    return -1;
  }
  std::vector<ExprId> args;
  for (AstId arg : e.args)
    args.push_back(lower(arg));
  switch (row.type) {
  case Maths::To:
    return builder_.convert(row.kind, args[0], at);
  case Maths::Choose:
    return builder_.select(args[0], args[1], args[2], at);
  default:
    return row.arity == 1 ? builder_.unary(row.kind, args[0], at)
                          : builder_.binary(row.kind, args[0], args[1], at);
  }
}

/// A tensor's name stands for the tensor only here.
std::optional<ExprLowering::Local> ExprLowering::argument(AstId e) {
  const AstExpr &written = ast(e);
  if (written.kind == AstExpr::Name) {
    if (Local *local = findLocal(written.text); local && local->isTensor) {
      local->used = true;
      return Local{"", local->value, true, false};
    }
    auto it =
        frames_.empty() && !findLocal(written.text) ? symbols_.find(written.text) : symbols_.end();
    if (it != symbols_.end() && it->second.kind == Symbol::Tensor) {
      it->second.used = true;
      return Local{"", builder_.read(int(it->second.i), {}, location(e)), true, false};
    }
  }
  ExprId value = lower(e);
  return value < 0 ? std::nullopt : std::optional<Local>(Local{"", value, false, false});
}

ExprId ExprLowering::builtin(const AstExpr &e, const Location &at) {
  std::span<const Builtin> rows = builtins();
  std::string forms;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Builtin &row = rows[i];
    if (row.name != e.text)
      continue;
    if (row.params.size() == e.args.size()) {
      std::vector<Local> args;
      for (size_t p = 0; p < row.params.size(); ++p) {
        std::optional<Local> arg = builtinArgument(row, row.params[p], e.args[p]);
        if (!arg)
          return -1;
        args.push_back(std::move(*arg));
      }
      return expand(builtinBodies().fns[i], builtinBodies(), true, std::move(args), at);
    }
    std::vector<std::string> params;
    for (const BuiltinParam &p : row.params)
      params.emplace_back(p.name);
    forms += fmt::format("{}{}({})", forms.empty() ? "" : " or ", row.name, commaList(params));
  }
  report(at,
         fmt::format("{} does not take {} argument{}", e.text, e.args.size(),
                     e.args.size() == 1 ? "" : "s"),
         fmt::format("it reads {}.", forms));
  return -1;
}

std::optional<ExprLowering::Local>
ExprLowering::builtinArgument(const Builtin &row, const BuiltinParam &param, AstId written) {
  std::optional<Local> arg = argument(written);
  if (!arg || arg->value < 0)
    return std::nullopt;
  Location at = location(written);
  std::string help(row.help);
  if (param.kind == BuiltinParam::Tensor)
    return checkTensorArgument(row, param, *arg, at) ? arg : std::nullopt;
  if (arg->isTensor) {
    report(at, fmt::format("{} wants {} here, got a tensor", row.name, param.noun),
           "give it indices.");
    return std::nullopt;
  }
  if (param.kind != BuiltinParam::Int) {
    arg->value = builder_.toF32(arg->value, at, row.name);
    if (arg->value < 0)
      return std::nullopt;
    const Expr &e = builder_[arg->value];
    if (param.kind == BuiltinParam::Positive && e.kind == ExprKind::ConstF && !(e.f > 0)) {
      report(at, fmt::format("{} wants {} above 0, got {}", row.name, param.noun, e.f), help);
      return std::nullopt;
    }
    return arg;
  }
  const Expr &e = builder_[arg->value];
  if (e.type != ScalarType::I32) {
    report(at,
           fmt::format("{} wants {} that is a whole number (i32), got {}", row.name, param.noun,
                       nameOf(e.type)),
           help);
    return std::nullopt;
  }
  if (e.kind == ExprKind::ConstI && e.i < param.minimum) {
    report(
        at,
        fmt::format("{} wants {} of at least {}, got {}", row.name, param.noun, param.minimum, e.i),
        help);
    return std::nullopt;
  }
  return arg;
}

bool ExprLowering::checkTensorArgument(const Builtin &row, const BuiltinParam &param,
                                       const Local &arg, const Location &at) {
  std::string found = "a value";
  if (arg.isTensor) {
    const Expr &e = builder_[arg.value];
    const Tensor &tensor = model_.tensors[size_t(e.i)];
    if (e.type == param.tensorType &&
        tensor.info.dims == std::vector<std::string>{std::string(param.tensorDim)})
      return true;
    found = fmt::format("{} : {}[{}]", tensor.info.name, nameOf(tensor.info.dtype),
                        commaList(tensor.info.dims));
  }
  report(at,
         fmt::format("{} wants a tensor {}[{}], got {}", row.name, nameOf(param.tensorType),
                     param.tensorDim, found),
         std::string(row.help));
  return false;
}

ExprId ExprLowering::userFunction(const Function &function, const AstExpr &e, const Location &at) {
  const FnDecl &fn = *function.decl;
  if (e.args.size() != fn.params.size()) {
    std::vector<std::string> params;
    for (const AstName &p : fn.params)
      params.push_back(p.name);
    report(at,
           fmt::format("{} takes {} argument{}, got {}", fn.name.name, fn.params.size(),
                       fn.params.size() == 1 ? "" : "s", e.args.size()),
           fmt::format("it is defined as {}({}) at {}:{}.", fn.name.name, commaList(params),
                       function.file->source.name, fn.name.range.line));
    return -1;
  }
  for (const Frame &frame : frames_)
    if (frame.function == fn.name.name) {
      report(at, fmt::format("fn {} calls itself", fn.name.name),
             "functions are expanded in place and can't recurse.");
      return -1;
    }
  std::vector<Local> args;
  bool ok = fn.body >= 0;
  for (AstId arg : e.args) {
    std::optional<Local> value = argument(arg);
    ok = ok && value && value->value >= 0;
    args.push_back(value.value_or(Local{}));
  }
  return ok ? expand(fn, *function.file, false, std::move(args), at) : -1;
}

ExprId ExprLowering::expand(const FnDecl &fn, const AstFile &file, bool isBuiltin,
                            std::vector<Local> args, const Location &at) {
  std::vector<ExprId> values;
  for (size_t i = 0; i < args.size(); ++i) {
    values.push_back(args[i].value);
    args[i].name = fn.params[i].name;
  }
  std::optional<SourceRange> outerSite = builder_.site;
  if (!outerSite && &file != &main_)
    builder_.site = at.range;
  const AstFile *outerFile = std::exchange(file_, &file);
  size_t outerFirst = std::exchange(firstLocal_, locals_.size());
  frames_.push_back({fn.name.name, at});
  locals_.insert(locals_.end(), args.begin(), args.end());

  ExprId body = lower(fn.body);

  for (size_t i = 0; i < fn.params.size() && body >= 0; ++i)
    if (!locals_[firstLocal_ + i].used) {
      report({&file.source, fn.params[i].range},
             fmt::format("parameter {} of {} is never used", fn.params[i].name, fn.name.name),
             "everything in a spec has an effect: leave it out.");
      body = -1;
    }
  locals_.resize(firstLocal_);
  frames_.pop_back();
  firstLocal_ = outerFirst;
  file_ = outerFile;
  ExprId result = builder_.call(fn.name.name, isBuiltin, std::move(values), body, at);
  builder_.site = outerSite;
  return result;
}

} // namespace attune::spec
