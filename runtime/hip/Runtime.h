// The process's simulated devices, and how a HIP call runs on them.
//
// The whole library is synchronous: a kernel runs to its end inside the call that launches it, so
// that every stream is always idle, every event has happened, and a fault is reported by the launch
// itself (and, as HIP does, by every call that waits afterwards). Streams matter for capture only.
//
// Every exported function is `return call(__func__, [&](Runtime &r) { ... })`: one lock around all,
// no exception leaves, an error becomes the thread's last error, and its message goes to stderr,
// since HIP has no other way to say more than a number.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/hip/Abi.h"
#include "runtime/hip/Allocations.h"
#include "runtime/hip/Gpus.h"
#include "runtime/hip/Modules.h"
#include "runtime/hip/Streams.h"
#include <functional>
#include <mutex>

namespace attune::hip {

struct Runtime {
  std::recursive_mutex mutex;
  Gpus gpus;
  Allocations allocations{gpus};
  Modules modules{gpus};
  Streams streams{gpus};

  /// Never destroyed: programs call HIP from their own destructors.
  static Runtime &get();
};

hipError_t call(const char *name, const std::function<Outcome(Runtime &)> &body);

/// Runs a kernel now. A fault becomes the device's error.
Outcome launch(const KernelCall &);

hipError_t &lastError(); ///< of this thread

/// One line on stderr.
void say(const char *call, const std::string &message);

} // namespace attune::hip
