// From a checked spec to the attn dialect: one module with one attn.kernel.
//
// The expressions of score and mask become arith and math ops, each sub-expression once, in the
// order in which they are first needed; so one Model always gives the same text. Locations point
// into the spec's file. Operations that have no value for some operands (x / 0, shifts by 32 or
// more) become ones that have some value: a mask such as `n != 0 && q % n == 0` evaluates both
// sides, and undefined behaviour on the way would let LLVM drop the first.
#pragma once
#include "compiler/spec/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace attune {

/// The context must have the attn, arith and math dialects loaded. The result verifies.
mlir::OwningOpRef<mlir::ModuleOp> buildAttn(mlir::MLIRContext &, const spec::Model &);

} // namespace attune
