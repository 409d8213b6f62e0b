// Golden records: what the compiler makes of each spec, pinned by hashes.
//
// golden/SPEC.ARCH.golden is text for review, one "key value" a line, in four groups: where it came
// from, the SHA-256 of every stage in the order in which they follow from each other, the kernel's
// resources, and how many instructions of each class its ISA has. The first stage that differs is
// where a change began; the last two groups say what it cost. The text of the stages themselves is
// kept beside it, compressed (GoldenText.h), so that a change is shown and not only told.
#pragma once
#include "runtime/abi/Result.h"
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::tool {

using Fields = std::vector<std::pair<std::string, std::string>>;

/// The value of a key, or `otherwise`.
std::string fieldOr(const Fields &, std::string_view key, std::string_view otherwise);

struct Golden {
  Fields origin;    ///< arch, llvm, plan
  Fields stages;    ///< spec, attn, tile, llvm, isa: SHA-256
  Fields resources; ///< vgpr, lds_bytes, ...
  Fields classes;   ///< instruction classes and counts

  bool operator==(const Golden &) const = default;
  std::string str() const;
  static Result<Golden> parse(std::string_view text);
  std::string llvm() const { return fieldOr(origin, "llvm", "unknown"); }
};

/// A record with the text of its stages, by name: all but isa, which moves with every LLVM patch.
struct Described {
  Golden golden;
  Fields texts;
  bool operator==(const Described &) const = default;
};

/// Instructions per class of ISA text, sorted by class.
Fields instructionClasses(std::string_view isa);

} // namespace attune::tool
