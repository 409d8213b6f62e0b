// The ops of the attn dialect (Attn.td documents them).
//
// Example, walking a kernel:
//   for (auto kernel : module.getOps<attn::KernelOp>())
//     if (mlir::Block *mask = kernel.maskBody())
//       mlir::Value k = attn::maskArg(mask, attn::BodyArg::K);
#pragma once
#include "compiler/dialect/attn/AttnDialect.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include <string>
#include <utility>
#include <vector>

#define GET_OP_CLASSES
#include "compiler/dialect/attn/AttnOps.h.inc"

namespace attune::attn {

inline mlir::BlockArgument scoreArg(mlir::Block *body, BodyArg arg) {
  return body->getArgument(static_cast<unsigned>(arg));
}
inline mlir::BlockArgument maskArg(mlir::Block *body, BodyArg arg) {
  assert(arg != BodyArg::S && "a mask has no logit");
  return body->getArgument(static_cast<unsigned>(arg) - 1);
}

} // namespace attune::attn
