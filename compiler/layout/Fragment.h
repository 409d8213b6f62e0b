// How a matrix instruction (MFMA) spreads its operands over the 64 lanes of a wave, derived from
// its shape.
//
// Lanes fall into groups of m: within a group the lane is the row (of A; the column of B), and each
// group holds its own run of the contraction index k. The accumulator has the column on the lane
// and deals rows to the groups four at a time. Fields: "register" is the index of an element within
// the lane's vector (not of a 32-bit register), "lane"; "row", "col" and "k" are coordinates in the
// instruction's tile.
#pragma once
#include "compiler/layout/LinearLayout.h"

namespace attune::layout {

/// D[m x n] += A[m x k] * B[k x n]; a lane holds `elementsPerLane` elements of A and as many of B.
struct MmaShape {
  int m = 0, n = 0, k = 0;
  int elementsPerLane = 0;
  int accumulatorsPerLane() const { return m * n / 64; }
  bool operator==(const MmaShape &) const = default;
};

enum class Operand { A, B, Accumulator };

/// (register, lane) -> (row, k), (k, col) or (row, col). Refuses shapes that are not of this
/// family: m = n in {16, 32} and every element of an operand in exactly one lane.
Result<LinearLayout> fragmentLayout(const MmaShape &, Operand);

/// (register, lane) -> (row, col) of a tile whose columns are rows of memory, as loads and stores
/// of 16 bytes a lane should have it: lanes 0, 32, 16 and 48 hold four neighbouring chunks of a
/// row, which are 64 bytes, what L1 asks L2 for. An operand as the matrix instruction wants it has
/// two. At least 64 bytes of rows and 16 columns.
LinearLayout sectorLayout(int rowBits, int colBits, int elementBytes);

} // namespace attune::layout
