// Work done by processes, so that a crash costs one piece of it.
//
// Each worker serves one request after another over a socket that is its stdin and stdout: eight
// bytes of length, then that many bytes, in both directions. A worker that ends without an answer
// costs the request it was at, and another takes its place. A worker that has grown beyond the
// memory limit is replaced after its answer; beyond twice the limit it is stopped, so that one
// kernel cannot take the machine down with it.
#pragma once
#include "runtime/abi/Result.h"
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attune::tool {

struct WorkersOptions {
  std::vector<std::string> command; ///< program and arguments of a worker
  size_t workers = 1;
  uint64_t memoryBytes = 0; ///< 0: no limit
};

/// Runs every request once. `done` is called from this thread, in the order in which answers come;
/// an error is Internal and says how the worker ended. Errors: Io, a worker cannot be started.
Result<void> runWorkers(const std::vector<std::string> &requests, const WorkersOptions &,
                        const std::function<void(size_t request, Result<std::string> reply)> &done);

/// A frame of the protocol; false or nothing when the other side is gone.
bool sendFrame(int socket, std::string_view bytes);
std::optional<std::string> receiveFrame(int socket);

/// As many workers of this size as processors and free memory (the control group's too) allow; at
/// least one.
size_t workersThatFit(uint64_t memoryBytes);

} // namespace attune::tool
