#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

namespace attune::spec::test {

Model parsed(std::string_view text, std::map<std::string, std::string> parameters) {
  Options options;
  options.fileName = "test.attn";
  options.parameters = std::move(parameters);
  Result<Model> model = parseSpec(text, options);
  INFO(text);
  if (!model)
    FAIL(model.error().message);
  return *model;
}

std::string wrap(std::string_view fields, std::string_view definitions) {
  return std::string(definitions) + "\nattention test {\n  q, kv : bf16[tokens, 8 / 2, 64]\n" +
         std::string(fields) + "\n}\n";
}

Model fields(std::string_view f, std::string_view definitions) {
  return parsed(wrap(f, definitions));
}

namespace {

Error failure(std::string_view text, std::map<std::string, std::string> parameters) {
  Options options;
  options.fileName = "test.attn";
  options.parameters = std::move(parameters);
  Result<Model> model = parseSpec(text, options);
  INFO(text);
  REQUIRE_FALSE(model);
  return model.error();
}

} // namespace

std::string errors(std::string_view text, std::map<std::string, std::string> parameters) {
  return failure(text, std::move(parameters)).message;
}

std::string fieldErrors(std::string_view f, std::string_view definitions) {
  return errors(wrap(f, definitions));
}

ErrorCode errorCode(std::string_view text) { return failure(text, {}).code; }

size_t errorCount(std::string_view rendered) {
  size_t count = 0;
  for (size_t at = rendered.find(": error: "); at != std::string_view::npos;
       at = rendered.find(": error: ", at + 1))
    ++count;
  return count;
}

namespace {

double floorDiv(double a, double b) { return std::floor(a / b); }

double indexValue(IndexName name, const Point &p) {
  switch (name) {
  case IndexName::Score:
    return p.s;
  case IndexName::B:
    return double(p.b);
  case IndexName::H:
    return double(p.h);
  case IndexName::HK:
    return double(p.hk);
  case IndexName::Q:
    return double(p.q);
  case IndexName::K:
    return double(p.k);
  case IndexName::QI:
    return double(p.q - (p.kvLen - p.qLen));
  case IndexName::Ctx:
    return double(p.kvLen - p.qLen);
  case IndexName::QLen:
    return double(p.qLen);
  case IndexName::KvLen:
    return double(p.kvLen);
  }
  return 0;
}

double apply(ExprKind kind, bool whole, const std::vector<double> &v) {
  using enum ExprKind;
  double a = v.empty() ? 0 : v[0], b = v.size() > 1 ? v[1] : 0;
  switch (kind) {
  case Add:
    return a + b;
  case Sub:
    return a - b;
  case Mul:
    return a * b;
  case Div:
    return whole ? floorDiv(a, b) : a / b;
  case Rem:
    return a - b * floorDiv(a, b);
  case Min:
    return std::min(a, b);
  case Max:
    return std::max(a, b);
  case Pow:
    return std::pow(a, b);
  case Neg:
    return -a;
  case Abs:
    return std::fabs(a);
  case Floor:
    return std::floor(a);
  case Ceil:
    return std::ceil(a);
  case Exp:
    return std::exp(a);
  case Exp2:
    return std::exp2(a);
  case Log:
    return std::log(a);
  case Log2:
    return std::log2(a);
  case Tanh:
    return std::tanh(a);
  case Sigmoid:
    return 1 / (1 + std::exp(-a));
  case Sqrt:
    return std::sqrt(a);
  case Rsqrt:
    return 1 / std::sqrt(a);
  case Sin:
    return std::sin(a);
  case Cos:
    return std::cos(a);
  case Eq:
    return a == b;
  case Ne:
    return a != b;
  case Lt:
    return a < b;
  case Le:
    return a <= b;
  case Gt:
    return a > b;
  case Ge:
    return a >= b;
  case Xor:
    return (a != 0) != (b != 0);
  case Not:
    return a == 0;
  case BitAnd:
    return double(int64_t(a) & int64_t(b));
  case BitOr:
    return double(int64_t(a) | int64_t(b));
  case BitXor:
    return double(int64_t(a) ^ int64_t(b));
  case Shl:
    return double(int32_t(uint32_t(int64_t(a)) << int64_t(b)));
  case Shr:
    return double(int64_t(a) >> int64_t(b));
  case ToF32:
    return a;
  case ToI32:
    return std::trunc(a);
  default:
    FAIL("no such operation");
    return 0;
  }
}

} // namespace

double evaluate(const Model &m, ExprId id, const Point &p) {
  const Expr &e = m.exprs.at(size_t(id));
  auto arg = [&](size_t i) { return evaluate(m, e.args[i], p); };
  switch (e.kind) {
  case ExprKind::ConstF:
    return e.f;
  case ExprKind::ConstI:
  case ExprKind::ConstB:
    return double(e.i);
  case ExprKind::Index:
    return indexValue(IndexName(e.i), p);
  case ExprKind::Scalar:
    return p.scalars.at(m.problem.scalars[size_t(e.i)].name);
  case ExprKind::Call:
    return evaluate(m, e.body, p);
  case ExprKind::And:
    return arg(0) != 0 && arg(1) != 0;
  case ExprKind::Or:
    return arg(0) != 0 || arg(1) != 0;
  case ExprKind::Select:
    return arg(0) != 0 ? arg(1) : arg(2);
  default:
    break;
  }
  std::vector<double> values;
  for (size_t i = 0; i < e.args.size(); ++i)
    values.push_back(arg(i));
  if (e.kind == ExprKind::Read) {
    std::vector<int64_t> indices(values.begin(), values.end());
    return p.tensors.at(m.tensors[size_t(e.i)].info.name)(indices);
  }
  return apply(e.kind, m.exprs[size_t(e.args[0])].type == ScalarType::I32, values);
}

std::vector<int64_t> visible(const Model &m, Point p) {
  std::vector<int64_t> keys;
  for (p.k = 0; p.k < p.kvLen; ++p.k)
    if (m.mask < 0 || evaluate(m, m.mask, p) != 0)
      keys.push_back(p.k);
  return keys;
}

std::string sourceText(const std::string &path) {
  std::ifstream in(std::string(ATTUNE_SOURCE_DIR "/") + path, std::ios::binary);
  INFO(path);
  REQUIRE(in);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace attune::spec::test
