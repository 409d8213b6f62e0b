// Collects errors with the place in the spec that they are about.
#include "compiler/driver/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

namespace attune {
namespace {

/// "file:line:column: " of the first position in a location; "" if it has none.
std::string place(mlir::Location location) {
  std::string text;
  location->walk([&](mlir::Location part) {
    auto position = llvm::dyn_cast<mlir::FileLineColLoc>(part);
    if (!position)
      return mlir::WalkResult::advance();
    llvm::raw_string_ostream(text) << position.getFilename().getValue() << ':' << position.getLine()
                                   << ':' << position.getColumn() << ": ";
    return mlir::WalkResult::interrupt();
  });
  return text;
}

void append(std::string &text, mlir::Diagnostic &diagnostic, const char *kind) {
  llvm::raw_string_ostream stream(text);
  stream << (text.empty() ? "" : "\n") << place(diagnostic.getLocation()) << kind << ": "
         << diagnostic;
}

} // namespace

DiagnosticCollector::DiagnosticCollector(mlir::MLIRContext &context)
    : handler_(&context, [this](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error) {
          append(text_, diagnostic, "error");
          for (mlir::Diagnostic &note : diagnostic.getNotes())
            append(text_, note, "note");
        }
        return mlir::success(); // warnings and remarks end here too
      }) {}

} // namespace attune
