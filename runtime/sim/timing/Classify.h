// What the timing model knows of an instruction before it runs: which unit executes it, how long it
// keeps that unit, which registers it reads and writes. Made once per code object from the decoded
// text and the rows of Gfx950Timing.def; the replay works on these and never looks at a mnemonic.
#pragma once
#include "runtime/sim/Instruction.h"
#include "runtime/sim/timing/Params.h"
#include <array>
#include <span>
#include <string_view>
#include <vector>

namespace attune::sim {

enum class Unit : uint8_t {
  Valu,
  Mfma,
  Lds,
  Vmem,
  Smem,
  Salu,
  Branch,
  Waitcnt,
  Nop,
  Sleep,
  Barrier,
  Priority,
  End,
};

enum class ValuKind : uint8_t { Plain, Trans, NoCoissue };
enum class MfmaKind : uint8_t { Xdl, Blocking };

/// Which lanes of a wave LDS serves in the same clk.
enum class LdsPhases : uint8_t { None, Lanes32, Lanes16, Lanes8, Read96, Read128, Pair };

/// Registers by number: VGPRs and AGPRs as they lie in the unified file, then SGPRs.
inline constexpr int kSgprBase = 512, kTimedRegisters = kSgprBase + 144;
struct RegisterRange {
  uint16_t first = 0;
  uint8_t count = 0;
};

struct InstTiming {
  std::string_view mnemonic;
  uint32_t pc = 0;
  uint32_t target = ~0u; ///< of a branch, as an index of the text
  uint16_t opcode = 0;
  Unit unit = Unit::Salu;
  ValuKind valu = ValuKind::Plain;
  uint16_t clk = 4; ///< time that the unit or, for Nop and Sleep, the wave is busy
  // MFMA, in clk from its issue: when others may follow
  uint16_t valuAfter = 0, packedAfter = 0, memAfter = 0, resultAfter = 0, otherAccAfter = 0;
  bool scaled = false;
  uint64_t flops = 0;
  // LDS
  LdsPhases phases = LdsPhases::None;
  uint8_t banks = 0, ldsData = 0, ldsSlots = 1;
  bool store = false;                 ///< LDS or memory
  uint8_t literal = 0;                ///< s_setprio: the priority
  uint8_t vmKeep = 63, lgkmKeep = 15; ///< s_waitcnt
  uint8_t readCount = 0, writeCount = 0;
  std::array<RegisterRange, 5> reads; ///< MFMA: A, B, C
  std::array<RegisterRange, 2> writes;
};

InstTiming classify(const Inst &, uint32_t accumOffset, const TimingParams &);
std::vector<InstTiming> classifyText(std::span<const Inst>, uint32_t accumOffset,
                                     const TimingParams &);

} // namespace attune::sim
