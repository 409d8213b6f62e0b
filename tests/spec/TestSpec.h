// Helpers of the spec tests: parse a text or a few fields, and evaluate the expressions of a Model
// one pair (q, k) at a time, in double, following the expansion of each call as the compiler does.
#pragma once
#include "compiler/spec/Spec.h"
#include <functional>
#include <map>

namespace attune::spec::test {

/// A whole text must parse.
Model parsed(std::string_view text, std::map<std::string, std::string> parameters = {});

/// An attention of 8 / 2 heads, dim 64, varlen bf16, with `fields` as its other lines (after
/// `definitions`).
std::string wrap(std::string_view fields, std::string_view definitions = "");
Model fields(std::string_view fields, std::string_view definitions = "");

/// The rendered errors of a text that must not parse.
std::string errors(std::string_view text, std::map<std::string, std::string> parameters = {});
std::string fieldErrors(std::string_view fields, std::string_view definitions = "");
ErrorCode errorCode(std::string_view text);

/// How many errors a rendered text holds.
size_t errorCount(std::string_view rendered);

/// One pair of positions and what surrounds it.
struct Point {
  double s = 0;
  int64_t b = 0, h = 0, hk = 0, q = 0, k = 0, qLen = 0, kvLen = 0;
  std::map<std::string, std::function<double(std::vector<int64_t>)>> tensors;
  std::map<std::string, double> scalars;
};
double evaluate(const Model &, ExprId, const Point &);

/// The keys in [0, kvLen) that row q sees.
std::vector<int64_t> visible(const Model &, Point);

/// The text of a file below the source directory.
std::string sourceText(const std::string &path);

} // namespace attune::spec::test
