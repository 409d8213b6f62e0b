// A value of a score or mask region in the words of the spec language: "doc[q] == doc[k]". For
// explain and errors.
#pragma once
#include "mlir/IR/Value.h"
#include <string>

namespace attune::analysis {

/// In parentheses if an operator binding at `binding` or tighter (6: +, 7: *, 8: any) stands beside
/// it.
std::string valueText(mlir::Value, int binding = 0);

} // namespace attune::analysis
