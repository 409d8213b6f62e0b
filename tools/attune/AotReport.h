// What a build made of each kernel, and what a bundle holds, as a table or JSON.
#pragma once
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include <optional>
#include <string>
#include <vector>

namespace attune::tool {

struct AotRow {
  std::string label, digest, arch, origin;
  bool reused = false;
  std::optional<Error> error;
  uint64_t codeBytes = 0;
  Sidecar sidecar; ///< without an error
};

struct AotTotal {
  std::string path;
  uint64_t bytes = 0; ///< of the file; 0: it was not written
  uint64_t objects = 0;
};

std::string aotAsText(const std::vector<AotRow> &, const AotTotal &);
std::string aotAsJson(const std::vector<AotRow> &, const AotTotal &);

} // namespace attune::tool
