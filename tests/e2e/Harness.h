// What an end-to-end test needs: spec text in, numbers out of the simulator.
//
//   const Kernel &k = compile({.mask = "causal"});
//   HostCall call = zeros(k, {5}, {2});             // one sequence: 5 queries, 2 keys; q = k = v =
//   0 set(call.v, [](Index i) { return 10.0 * (i[0] + 1); }); Rows got = run(k, call);
//   CHECK(got.out(3) == 10);                        // row 3, head 0, column 0
//
// Exact tricks that need no oracle: Q = 0 makes O the mean of the visible V rows and LSE the
// logarithm of their number; V = 1 makes O exactly 1. Every run checks guard bytes around out and
// lse, and both start as NaN.
#pragma once
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include "runtime/launch/HostRun.h"
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace attune::e2e {

using Lens = std::vector<int64_t>;

/// The pieces of a spec with one attention; what is left out takes the language's default.
struct Variant {
  std::string dtype = "bf16";
  bool dense = false;
  int qHeads = 1, kvHeads = 1, dim = 64;
  int vDim = 0; ///< 0: the same as dim
  std::string score = "", mask = "", lse = "natural";
  std::string more = ""; ///< further fields, one a line: captured tensors, scalars, sink, scale
  std::string text() const;
};
std::ostream &operator<<(std::ostream &, const Variant &);

/// A spec compiled and loaded on the simulator: many calls.
struct Kernel {
  spec::Model model;
  KernelImage image;
  LoadedKernel loaded;
  const ProblemShape &problem() const { return model.problem; }
  bool dense() const { return problem().qStorage == Storage::Dense; }
};

/// Fails the test with the error if the spec is refused. Each text is compiled once per process.
const Kernel &compile(const Variant &);
const Kernel &compileText(const std::string &text);
const Kernel &compileFile(const std::string &path);

/// The error of a spec that parser or compiler must refuse; fails the test if it is accepted.
Error refusal(const std::string &text);

/// A call with q = k = v = 0: dense if the kernel is (then the lengths of all sequences are equal),
/// else packed varlen.
HostCall zeros(const Kernel &, const Lens &qLens, const Lens &kvLens);
/// The same with q, k, v, sink and every captured tensor drawn: floats from N(0, 1); integers 0 to
/// 3, ascending.
HostCall noise(const Kernel &, const Lens &qLens, const Lens &kvLens, uint64_t seed = 1);

void set(HostTensor &, const std::function<double(Index)> &value);
HostTensor tensorOf(DType, Shape, const std::function<double(Index)> &value);
/// Bytes of every element, row-major, whatever the layout: for comparisons bit by bit.
std::vector<uint8_t> bits(const HostTensor &);

/// Results by row: of varlen, row = token; of dense, row = sequence * q_len + qi.
struct Rows {
  HostResult result;
  double out(int64_t row, int64_t head = 0, int64_t column = 0) const;
  double lse(int64_t row, int64_t head = 0) const;
};
bool sameBits(const Rows &, const Rows &);

/// Runs with guards; fails the test on an error.
Rows run(const Kernel &, const HostCall &, HostRunOptions = {});

/// Fails the test, naming the worst place, if a result differs from the float64 oracle by more than
/// the tolerance.
void checkAgainstOracle(const Kernel &, const HostCall &, const Rows &);
/// run and checkAgainstOracle.
Rows runChecked(const Kernel &, const HostCall &, HostRunOptions = {});

Device &simulator();

} // namespace attune::e2e
