// Golden files: what the compiler makes of each spec, pinned by hashes.
//
// golden/SPEC.ARCH.golden is text, one "key value" a line, in three groups: the SHA-256 of every
// stage in the order in which they follow from each other, the kernel's resources, and how many
// instructions of each class its ISA has. The first stage that differs is where a change began; the
// other two groups say what it cost.
#pragma once
#include "runtime/abi/Result.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::tool {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Golden {
  Fields origin;    ///< llvm, plan
  Fields stages;    ///< spec, attn, tile, llvm, isa: SHA-256
  Fields resources; ///< vgpr, lds, ...
  Fields classes;   ///< instruction classes and counts

  bool operator==(const Golden &) const = default;
  std::string str() const;
  static Result<Golden> parse(std::string_view text);
  /// The first stage whose hash differs, or "" if none.
  std::string firstMovedStage(const Golden &other) const;
};

/// Instructions per class of ISA text, sorted by class.
Fields instructionClasses(std::string_view isa);

/// Fields of two golden files side by side, with a mark where they differ.
std::string sideBySide(const Golden &kept, const Golden &now);

} // namespace attune::tool
