// LLVM says "this cannot go on" by report_fatal_error, which ends the process. A library must not:
// inside runGuarded the message comes back to the caller instead.
//
// The way back is a longjmp over LLVM's frames, as in LLVM's own CrashRecoveryContext (which would
// also take over the process's signal handlers, so it is not used). Whatever those frames owned is
// leaked, and the IR they worked on must be abandoned, not destroyed. One kernel's IR leaks per
// such error; the process and other kernels go on.
#pragma once
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>
#include <string>

namespace attune::codegen {

/// Runs `body` to its end and returns nothing, or returns the message of the fatal error that
/// stopped it.
std::optional<std::string> runGuarded(llvm::function_ref<void()> body);

} // namespace attune::codegen
