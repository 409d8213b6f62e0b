// MLIR reports through handlers and prints if there is none; a library does neither. While one of
// these lives, every error of its context is collected, to become the message of an Error.
#pragma once
#include "mlir/IR/Diagnostics.h"
#include <string>

namespace attune {

class DiagnosticCollector {
public:
  explicit DiagnosticCollector(mlir::MLIRContext &);

  /// "file:line:column: error: message" for each error, in order; "" if there was none.
  const std::string &text() const { return text_; }

private:
  std::string text_;
  mlir::ScopedDiagnosticHandler handler_;
};

} // namespace attune
