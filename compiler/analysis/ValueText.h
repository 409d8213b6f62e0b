// A value of a score or mask region in the words of the spec language: "doc[q] == doc[k]". For
// explain and errors.
#pragma once
#include "mlir/IR/Value.h"
#include <string>

namespace attune::analysis {

std::string valueText(mlir::Value);

} // namespace attune::analysis
