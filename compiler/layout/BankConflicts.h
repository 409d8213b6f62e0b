// LDS bank conflicts, counted by the published phases: a phase of lanes is served in as many clocks
// as the busiest bank has different dwords to deliver (the same dword for several lanes is a
// broadcast).
#pragma once
#include "compiler/layout/LdsLayout.h"
#include <functional>
#include <span>
#include <string_view>

namespace attune::layout {

enum class LdsAccess : uint8_t {
#define LDS_ACCESS(name, ...) name,
#include "compiler/layout/LdsAccess.def"
};

struct LdsAccessInfo {
  std::string_view mnemonic;
  int bytes = 0; ///< of one lane
  int banks = 0;
  std::span<const uint32_t> phases; ///< lane masks of the lower half; the upper half repeats them
};

const LdsAccessInfo &infoOf(LdsAccess);

struct Conflicts {
  int worst = 1;  ///< dwords of the busiest bank in the worst phase; 1 is conflict-free
  int clocks = 0; ///< of the bank array for the whole instruction
};

/// Of one wave instruction in which lane l accesses the bytes from addressOf(l) on.
Conflicts bankConflicts(LdsAccess, const std::function<uint32_t(int lane)> &addressOf);

/// The accesses of one place in a program: (lane, anything) -> (row, byte) of the first byte; each
/// value of the other inputs is one instruction.
struct LdsReader {
  LdsAccess access;
  LinearLayout coords;
};

/// A reader written out, for counting on many layouts.
struct LdsInstructions {
  struct Place {
    uint32_t row, byte;
  };
  LdsAccess access;
  std::vector<Place> places; ///< 64 lanes of the first instruction, then of the second ...
};
LdsInstructions expand(const LdsReader &);

/// The worst of all instructions on a tile laid out like this; stops counting at `enough`.
int worstConflict(const LdsLayout &, const LdsInstructions &, int enough = 64);

} // namespace attune::layout
