// The process-wide handler of LLVM's fatal errors, and the per-thread place to come back to.
#include "compiler/codegen/FatalGuard.h"
#include "llvm/Support/ErrorHandling.h"
#include <csetjmp>
#include <mutex>

namespace attune::codegen {
namespace {

struct Frame {
  std::jmp_buf jump;
  std::string message;
};
thread_local Frame *current = nullptr;

void onFatalError(void *, const char *reason, bool) {
  if (!current)
    return; // not ours: LLVM goes on to end the process, as it would without us
  current->message = reason;
  std::longjmp(current->jump, 1);
}

} // namespace

std::optional<std::string> runGuarded(llvm::function_ref<void()> body) {
  static std::once_flag installed;
  std::call_once(installed, [] { llvm::install_fatal_error_handler(onFatalError); });

  Frame frame;
  Frame *const outer = current;
  current = &frame;
  const bool failed = setjmp(frame.jump) != 0;
  if (!failed)
    body();
  current = outer;
  if (failed)
    return std::move(frame.message);
  return std::nullopt;
}

} // namespace attune::codegen
