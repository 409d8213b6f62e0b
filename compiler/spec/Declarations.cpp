// The names an attention declares: parameters, captured tensors and scalars, let fields.
#include "compiler/spec/Sema.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace attune::spec {

namespace {

constexpr size_t kMaxTensorRank = 8;

const std::vector<std::string> &dtypeNames() {
  static const std::vector<std::string> names = {"f32", "fp16", "bf16", "i64", "i32",
                                                 "i16", "i8",   "u8",   "bool"};
  return names;
}

const std::vector<std::string> &dimNames() {
  static const std::vector<std::string> names = {"batch", "heads", "k", "kv_heads", "q", "tokens"};
  return names;
}

template <class T> bool parseNumber(std::string_view text, T &value) {
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc() && end == text.data() + text.size();
}

/// Sets the value of a parameter from text, by its kind; false if the text does not fit the kind.
bool setValue(Symbol &symbol, std::string_view text) {
  int32_t whole = 0;
  switch (symbol.kind) {
  case Symbol::IntParam:
    if (!parseNumber(text, whole))
      return false;
    symbol.i = whole;
    return true;
  case Symbol::RealParam:
    return parseNumber(text, symbol.f) && std::abs(symbol.f) <= std::numeric_limits<float>::max();
  case Symbol::BoolParam:
    symbol.i = text == "true";
    return text == "true" || text == "false";
  default:
    break;
  }
  std::optional<DType> type = dtypeFromName(text);
  if (!type || (*type != DType::F32 && *type != DType::F16 && *type != DType::BF16))
    return false;
  symbol.dtype = *type;
  return true;
}

std::string_view wants(Symbol::Kind kind) {
  switch (kind) {
  case Symbol::IntParam:
    return "a whole number (i32)";
  case Symbol::RealParam:
    return "a number (f32)";
  case Symbol::BoolParam:
    return "true or false";
  default:
    return "a floating element type: bf16, fp16 or f32";
  }
}

std::optional<Symbol::Kind> parameterKind(std::string_view name) {
  if (name == "int")
    return Symbol::IntParam;
  if (name == "f32")
    return Symbol::RealParam;
  if (name == "bool")
    return Symbol::BoolParam;
  if (name == "float")
    return Symbol::TypeParam;
  return std::nullopt;
}

/// The text of a default: a literal, a negated literal or a type name.
std::string defaultText(const AstFile &file, AstId value) {
  const AstExpr &e = file.exprs[size_t(value)];
  switch (e.kind) {
  case AstExpr::Int:
    return fmt::format("{}", e.i);
  case AstExpr::Float:
    return fmt::format("{}", e.f);
  case AstExpr::Bool:
    return e.i ? "true" : "false";
  case AstExpr::Name:
    return e.text;
  case AstExpr::Unary:
    if (const AstExpr &inner = file.exprs[size_t(e.args[0])];
        e.text == "-" && (inner.kind == AstExpr::Int || inner.kind == AstExpr::Float))
      return "-" + defaultText(file, e.args[0]);
    return "";
  default:
    return "";
  }
}

void declareParameter(SemaContext &c, const ParameterDecl &p,
                      const std::map<std::string, std::string> &values) {
  std::optional<Symbol::Kind> kind = parameterKind(p.kind.name);
  Symbol *symbol = c.declare(p.name, kind.value_or(Symbol::Broken));
  if (!kind)
    return c.error(p.kind.range, fmt::format("there is no parameter kind `{}`", p.kind.name),
                   "kinds are int, f32, bool, and float (an element type: bf16, fp16 or f32).");
  if (!symbol)
    return;
  if (!setValue(*symbol, defaultText(c.file, p.value))) {
    c.diags.error(c.lowering.location(p.value),
                  fmt::format("the default of {} wants {}", p.name.name, wants(*kind)));
    symbol->kind = Symbol::Broken;
    return;
  }
  auto given = values.find(p.name.name);
  if (given != values.end() && !setValue(*symbol, given->second)) {
    c.error(p.name.range,
            fmt::format("{} wants {}, got \"{}\"", p.name.name, wants(*kind), given->second),
            given->second.find(',') != std::string::npos
                ? "a compile takes one value of each parameter."
                : "");
    symbol->kind = Symbol::Broken;
  }
}

void checkProperties(SemaContext &c, const TensorField &f, Tensor &tensor) {
  for (const AstName &property : f.properties) {
    if (property.name != "nondecreasing") {
      c.error(property.range, fmt::format("there is no tensor property `{}`", property.name),
              joinHelp(didYouMean(property.name, {"nondecreasing"}),
                       "the only property today is nondecreasing."));
      continue;
    }
    if (tensor.info.dims != std::vector<std::string>{"tokens"} || tensor.info.dtype == DType::Bool)
      c.error(property.range, "nondecreasing is a promise about a number per token",
              fmt::format("write tensor {} : i32[tokens] nondecreasing.", f.name.name));
    tensor.nondecreasing = true;
  }
}

/// A dimension is one of a few names, or a number.
std::optional<std::string> tensorDim(SemaContext &c, const AstDim &dim) {
  if (!dim.label.name.empty()) {
    c.error(dim.label.range, "dimensions of a captured tensor have no labels",
            "write the name or the number alone.");
    return std::nullopt;
  }
  const AstExpr &e = c.file.exprs[size_t(dim.size)];
  bool isParameter = e.kind == AstExpr::Name && c.symbols.count(e.text);
  if (e.kind == AstExpr::Name && !isParameter) {
    const std::vector<std::string> &names = dimNames();
    if (std::find(names.begin(), names.end(), e.text) != names.end())
      return e.text;
    c.error(e.range, fmt::format("there is no dimension `{}`", e.text),
            joinHelp(didYouMean(e.text, names),
                     fmt::format("dimensions of a captured tensor are {} or a number; tokens holds "
                                 "one element per key of "
                                 "every sequence.",
                                 commaList(names))));
    return std::nullopt;
  }
  std::optional<int64_t> size = c.lowering.wholeConstant(dim.size, "a dimension");
  if (size && *size < 1) {
    c.diags.error(c.lowering.location(dim.size),
                  fmt::format("a dimension must be at least 1, got {}", *size));
    return std::nullopt;
  }
  return size ? std::optional(fmt::format("{}", *size)) : std::nullopt;
}

std::optional<Tensor> checkTensor(SemaContext &c, const TensorField &f) {
  Tensor tensor;
  tensor.info.name = f.name.name;
  tensor.range = f.name.range;
  std::optional<DType> type = c.elementType(f.dtype);
  bool ok = type.has_value();
  tensor.info.dtype = type.value_or(DType::F32);
  for (const AstDim &dim : f.dims) {
    std::optional<std::string> text = tensorDim(c, dim);
    ok = ok && text;
    tensor.info.dims.push_back(text.value_or(""));
  }
  if (f.dims.size() > kMaxTensorRank) {
    c.error(f.name.range, fmt::format("tensor {} has {} dimensions, more than {}", f.name.name,
                                      f.dims.size(), kMaxTensorRank));
    ok = false;
  }
  if (ok)
    checkProperties(c, f, tensor);
  return ok ? std::optional(tensor) : std::nullopt;
}

} // namespace

Symbol *SemaContext::declare(const AstName &name, Symbol::Kind kind) {
  if (isLanguageName(name.name)) {
    error(name.range, fmt::format("`{}` is a name of the language", name.name),
          "choose another name.");
    return nullptr;
  }
  auto [it, isNew] = symbols.try_emplace(name.name);
  if (!isNew) {
    error(name.range, fmt::format("`{}` is declared twice", name.name),
          fmt::format("it is a {} at line {} already.", nameOf(it->second.kind),
                      it->second.declared.line));
    return nullptr;
  }
  it->second.kind = kind;
  it->second.declared = name.range;
  return &it->second;
}

std::optional<DType> SemaContext::elementType(const AstName &name) {
  if (std::optional<DType> type = dtypeFromName(name.name))
    return type;
  auto it = symbols.find(name.name);
  if (it != symbols.end()) {
    it->second.used = true;
    if (it->second.kind == Symbol::TypeParam)
      return it->second.dtype;
    if (it->second.kind == Symbol::Broken)
      return std::nullopt;
  }
  std::vector<std::string> names = dtypeNames();
  if (name.name.rfind("fp8", 0) == 0 || name.name == "ue8m0")
    unsupported(name.range, fmt::format("element type {} is not built yet", name.name),
                fmt::format("types today: {}.", commaList(names)));
  else
    error(name.range, fmt::format("there is no element type `{}`", name.name),
          joinHelp(didYouMean(name.name, names), fmt::format("types are {}.", commaList(names))));
  return std::nullopt;
}

void declareParameters(SemaContext &c, const std::map<std::string, std::string> &values) {
  std::vector<std::string> names;
  for (const ParameterDecl &p : c.decl.parameters) {
    declareParameter(c, p, values);
    names.push_back(p.name.name);
  }
  for (const auto &[name, value] : values)
    if (std::find(names.begin(), names.end(), name) == names.end())
      c.error(c.decl.name.range,
              fmt::format("{} has no parameter `{}` to set", c.decl.name.name, name),
              names.empty() ? "it has no parameters."
                            : joinHelp(didYouMean(name, names),
                                       fmt::format("parameters: {}.", commaList(names))));
}

/// Tensors and scalars are numbered by name, so that the order of fields does not reach the
/// kernel's arguments.
void declareCaptured(SemaContext &c) {
  for (const std::string &name : c.decl.broken)
    c.symbols.try_emplace(name);
  // All dimensions before the first name: none may be read from another tensor, which has no number
  // yet.
  std::vector<std::string> names;
  for (const TensorField &f : c.decl.tensors)
    names.push_back(f.name.name);
  for (const ScalarField &f : c.decl.scalars)
    names.push_back(f.name.name);
  for (const ValuedField &f : c.decl.lets)
    names.push_back(f.name.name);
  c.lowering.withhold(std::move(names));
  std::vector<std::optional<Tensor>> checked;
  for (const TensorField &f : c.decl.tensors)
    checked.push_back(checkTensor(c, f));
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < checked.size(); ++i)
    if (c.declare(c.decl.tensors[i].name, checked[i] ? Symbol::Tensor : Symbol::Broken) &&
        checked[i])
      tensors.push_back(std::move(*checked[i]));
  std::sort(tensors.begin(), tensors.end(),
            [](auto &a, auto &b) { return a.info.name < b.info.name; });
  for (Tensor &t : tensors) {
    c.symbols[t.info.name].i = int64_t(c.model.tensors.size());
    c.model.problem.tensors.push_back(t.info);
    c.model.tensors.push_back(std::move(t));
  }
  std::vector<CapturedScalar> &scalars = c.model.problem.scalars;
  for (const ScalarField &f : c.decl.scalars) {
    bool ok = f.dtype.name == "f32" || f.dtype.name == "i32";
    if (!ok)
      c.error(f.dtype.range, fmt::format("a scalar is f32 or i32, got {}", f.dtype.name));
    if (c.declare(f.name, ok ? Symbol::Scalar : Symbol::Broken) && ok)
      scalars.push_back({f.name.name, f.dtype.name == "f32" ? DType::F32 : DType::I32});
  }
  std::sort(scalars.begin(), scalars.end(), [](auto &a, auto &b) { return a.name < b.name; });
  for (size_t i = 0; i < scalars.size(); ++i)
    c.symbols[scalars[i].name].i = int64_t(i);
  for (const ValuedField &f : c.decl.lets)
    if (Symbol *symbol = c.declare(f.name, Symbol::Let))
      symbol->let = f.value;
}

} // namespace attune::spec
