// Compares a kernel's output with the oracle's, under tolerances that are fixed here and nowhere
// else.
//
// Output: an element may differ by the larger of
//   - an absolute part for inputs drawn from N(0, 1): bf16 1e-2, fp16 2e-3 (the coarser of the
//   types of q, k, v and
//     out), times the root mean square of V, so that the same rule serves inputs of any size;
//   - 2 units in the last place, at the expected value, of the type of out.
// LSE: 1e-3, absolute up to 1 and relative beyond it (natural; base 2 the same in its own unit, so
// 1e-3 / ln 2). Infinities must match exactly, and NaN is right only where the oracle has NaN.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/launch/HostTensor.h"
#include <cstdint>
#include <string>
#include <vector>

namespace attune::oracle {

/// How far off each element may be.
struct Tolerance {
  double absolute = 0; ///< always allowed
  double relative = 0; ///< of |expected|, allowed if larger
  DType ulpType = DType::F32;
  int ulps = 0; ///< of ulpType at the expected value, allowed if larger

  double at(double expected) const;
  std::string str() const; ///< "max(0.01, 2 ulp of bf16)"
};

Tolerance outTolerance(DType inputs, DType out, double rmsOfV);
Tolerance lseTolerance(LseKind);

/// Distance between neighbouring values of a float type around `x`.
double ulpOf(DType, double x);
/// Over finite values; 1 if there are none.
double rootMeanSquare(const HostTensor &);

struct Worst {
  Shape index; ///< empty if nothing was compared
  double expected = 0, actual = 0, error = 0, allowed = 0;
};

struct Comparison {
  bool ok = true;
  int64_t compared = 0, wrong = 0;
  double maxAbs = 0;
  double maxRel = 0; ///< over elements that are expected to exceed the absolute tolerance
  Worst worst;       ///< where error / allowed is greatest
  Tolerance tolerance;
};

/// `expected` is row-major of the tensor's shape.
Comparison compare(const std::vector<double> &expected, const HostTensor &actual,
                   const Tolerance &);

} // namespace attune::oracle
