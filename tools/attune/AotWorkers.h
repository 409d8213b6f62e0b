// Work done by child processes (runtime/process), so that a crash costs one piece of it.
//
// Each worker serves one request after another. A worker that ends without an answer costs the
// request it was at, and another takes its place. A worker that has grown beyond the memory limit
// is replaced after its answer; beyond twice the limit it is stopped, so that one kernel cannot
// take the machine down with it. One that takes too long is stopped as well.
#pragma once
#include "runtime/abi/Result.h"
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace attune::tool {

struct WorkersOptions {
  std::vector<std::string> command; ///< program and arguments of a worker
  size_t workers = 1;
  uint64_t memoryBytes = 0;                ///< 0: no limit
  std::chrono::milliseconds time{600'000}; ///< that a request may take
};

/// Runs every request once. `done` is called from this thread, in the order in which answers come;
/// an error is Internal and says how the worker ended. Errors: a worker cannot be started.
Result<void> runWorkers(const std::vector<std::string> &requests, const WorkersOptions &,
                        const std::function<void(size_t request, Result<std::string> reply)> &done);

/// As many workers of this size as processors and free memory (the control group's too) allow; at
/// least one.
size_t workersThatFit(uint64_t memoryBytes);

} // namespace attune::tool
