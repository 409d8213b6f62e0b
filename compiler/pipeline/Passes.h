// The passes of Passes.td, as functions that create them.
#pragma once
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>

namespace attune {

#define GEN_PASS_DECL
#include "compiler/pipeline/Passes.h.inc"

} // namespace attune
