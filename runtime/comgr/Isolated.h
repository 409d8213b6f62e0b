// Runs a piece of work in a child process, because the work may crash: comgr traps on damaged
// objects instead of refusing them, and what takes an inference server down is no error handling.
//
// The child is a fork of the calling thread, says nothing on stdout and stderr, dumps no core, and
// sends its result through a pipe. A message that is not whole means that it died. The program may
// reap the child before us (a SIGCHLD handler of its own); nothing here depends on its exit status.
#pragma once
#include "runtime/abi/Result.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune {

using Bytes = std::vector<uint8_t>;

/// What `work` returns, bytes or an Error. `what` begins the message of an error that is not its
/// own: it crashed, took longer than `limit`, or no process could be made (all Device).
Result<Bytes> runIsolated(const std::string &what, std::chrono::milliseconds limit,
                          const std::function<Result<Bytes>()> &work);

} // namespace attune
