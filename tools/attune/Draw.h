// Deterministic inputs: the same seed and name give the same values on every machine and in every
// run.
//
// Value number i of a tensor is a function of (seed, name, i) alone, so drawing one tensor more, or
// in another order, changes no other. Floats come from N(0, 1). What a captured tensor means is
// told by its type and dimensions:
//   i32[tokens]       documents: 0 at a sequence's start, rising by one about every 16 tokens
//   integers [batch]  a length of that sequence, 0 to its kv_len
//   other integers    0 to the longest kv_len
//   ALiBi slopes      2^(-8 (h + 1) / heads), as published for powers of two
#pragma once
#include "runtime/launch/HostRun.h"
#include <cstdint>
#include <set>
#include <string>

namespace attune::tool {

class Random {
public:
  Random(uint64_t seed, std::string_view name);
  uint64_t bits(int64_t i) const;
  double uniform(int64_t i) const; ///< in [0, 1)
  double normal(int64_t i) const;

private:
  uint64_t key_;
};

/// A packed tensor of N(0, 1).
HostTensor drawNormal(DType, Shape, const Random &);

/// Lengths of every sequence; dense calls have equal ones.
struct Lens {
  std::vector<int64_t> q, kv;
  int64_t longestQ() const;
  int64_t longestKv() const;
};

/// How many elements a captured tensor has along a dimension.
int64_t extentOf(const std::string &dim, const ProblemShape &, const Lens &);

/// `slopes`: the tensors that alibi reads.
HostTensor drawCaptured(const CapturedTensor &, const ProblemShape &, const Lens &,
                        const std::set<std::string> &slopes, uint64_t seed);

} // namespace attune::tool
