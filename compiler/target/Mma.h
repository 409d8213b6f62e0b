// A matrix instruction as plain data; the rows are in Mma.def. Its fragment layouts follow from
// `shape` (compiler/layout/Fragment.h).
#pragma once
#include "compiler/layout/Fragment.h"
#include "compiler/target/Arch.h"
#include "runtime/abi/DType.h"
#include <vector>

namespace attune::target {

struct Mma {
  layout::MmaShape shape;
  DType dtype = DType::BF16;
  int passes = 0; ///< four clocks each
  std::string_view firstArch;
  std::string_view rocdl; ///< name of the MLIR operation
};

const std::vector<Mma> &allMmas();

/// The instruction of this shape; an error lists the shapes that the chip has for the dtype.
Result<Mma> findMma(const Arch &, DType, int m, int n, int k);

} // namespace attune::target
