// The oracle: attention in float64, straight from the definition, for any spec that the checker
// accepts.
//
//   O[r]   = sum over visible k of  exp(score(r, k)) * V[k]  /  Z        s(r, k) = scale *
//   dot(Q[r], K[k]) Z      = sum over visible k of  exp(score(r, k))  (+ exp(sink[h]))   LSE[r] =
//   log Z, or log2 Z
//
// A row that sees nothing has O = 0 and LSE = -inf (with a sink: LSE = sink). It is written apart
// from the compiler and shares no mask, score or addressing code with it: built-ins are defined
// again in Builtins.cpp. A key that no row sees is never read. Inputs are taken as stored, so the
// rounding of q, k and v is not part of the error.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/launch/HostRun.h"
#include <vector>

namespace attune::oracle {

struct Options {
  int threads = 0; ///< 0: all cores; the answer does not depend on it
};

/// Row-major, with the shapes of the call's out and lse. Rows of no sequence (varlen tokens outside
/// cu_seqlens) are NaN.
struct Answer {
  Shape outShape, lseShape;
  std::vector<double> out;
  std::vector<double> lse; ///< in the spec's base; natural if the spec has no LSE
};

/// Errors: a tensor is missing or misshaped; a read outside a captured tensor decides the answer.
Result<Answer> attention(const spec::Model &, const HostCall &, const Options & = {});

} // namespace attune::oracle
