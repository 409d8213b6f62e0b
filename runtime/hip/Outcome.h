// What a HIP call came to: HIP's number and, for an error, the sentence that goes to stderr.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/hip/Abi.h"
#include <string>
#include <utility>

namespace attune::hip {

struct Outcome {
  hipError_t code = hipSuccess;
  std::string message;

  Outcome(hipError_t error = hipSuccess, std::string text = "")
      : code(error), message(std::move(text)) {}
  bool ok() const { return code == hipSuccess; }
};

/// The HIP error that stands for one of ours.
Outcome outcomeOf(const Error &);

} // namespace attune::hip
