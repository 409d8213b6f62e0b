// One question to one child process: bytes to its standard input, bytes from its standard output.
#pragma once
#include "runtime/abi/Result.h"
#include <chrono>
#include <string>
#include <vector>

namespace attune {

struct ChildCall {
  std::string program; ///< a path
  std::vector<std::string> arguments;
  std::string input;
  std::chrono::seconds timeout{600}; ///< then the child is killed
};

/// What the child wrote. Errors: NotFound if it cannot be started; Internal if it dies by a signal,
/// exits with another status than 0, or takes too long.
Result<std::string> callChild(const ChildCall &);

} // namespace attune
