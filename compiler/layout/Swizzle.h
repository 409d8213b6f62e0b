// Finds the XOR swizzle under which none of a tile's readers has a bank conflict.
#pragma once
#include "compiler/layout/BankConflicts.h"

namespace attune::layout {

struct SwizzleChoice {
  LdsLayout layout;
  int worst = 1; ///< worst conflict over all readers; 1 is conflict-free
};

/// Searches chunk ^= f(row) for linear f, for `rows` rows of `rowBytes` bytes (both powers of two).
/// Of the conflict-free f it takes the one that looks at the fewest low row bits (so that reads
/// further down the tile are at a constant distance), then the one with the fewest ones, then the
/// first in order. Each row bit toggles at most two chunk bits. If no f is free of conflicts, the
/// best one is returned with its degree.
SwizzleChoice findSwizzle(int rowBytes, int rows, const std::vector<LdsReader> &readers);

} // namespace attune::layout
