// The state of one wave, and what the instruction handlers may ask of the machine around it.
//
// Registers. VGPRs and AGPRs are one file: a_i is row accumOffset + i (kernel descriptor, rsrc3).
// The array has 512 rows whatever the kernel was given, so that no register number can leave it.
// Scalar registers are an array indexed by the hardware's operand number, with VCC (106), M0 (124)
// and EXEC (126) in place, so that reading any of them is the same load.
//
// Memory. A handler never touches memory itself: it fills in an Access and calls issue(). When the
// access takes effect (Access::complete) is the arrival policy's choice, bounded by s_waitcnt.
#pragma once
#include "runtime/sim/Instruction.h"
#include "runtime/sim/Memory.h"
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>

namespace attune::sim {

inline constexpr int kLanes = 64;
inline constexpr uint64_t kAllLanes = ~uint64_t(0);
using LaneRow = uint32_t[kLanes];

namespace reg {
inline constexpr int kFlatScratch = 102, kXnackMask = 104, kVcc = 106, kM0 = 124, kExec = 126;
inline constexpr int kSgprFile = 128;
} // namespace reg

enum class WaveState : uint8_t { Running, AtBarrier, Ended, Faulted };

/// A memory or LDS access: addresses and store data were read at issue. The arrays are left
/// uninitialised where an access has no use for them.
struct Access {
  using Complete = void (*)(Wave &, const Access &);
  const Inst *inst = nullptr;
  Complete complete = nullptr;
  uint64_t exec = 0;                    ///< lanes that execute it
  uint32_t ldsBase = 0;                 ///< LDS-DMA: LDS byte address of lane 0
  alignas(64) uint64_t address[kLanes]; ///< memory address, or LDS byte address
  uint8_t bytes[kLanes];                ///< leading bytes inside a buffer's range; the rest reads 0
  alignas(64) LaneRow data[4];          ///< store data, compare values
  uint64_t issued = 0;                  ///< Wave::time at issue
};

class Observer;

/// Which of the two counters of s_waitcnt an access is counted by.
enum class Counter : uint8_t { Vm = 1, Lgkm = 2, Both = 3 };

/// What waves of one workgroup share.
struct Workgroup {
  Observer *observer = nullptr; ///< of this host thread
  uint32_t id[3] = {0, 0, 0};
  Region lds;                ///< base: host address
  Region scratch;            ///< of all waves; wave n, lane l at base + (64 n + l) * scratchBytes
  uint32_t scratchBytes = 0; ///< per lane
  const Memory *memory = nullptr;
  uint64_t textBase = 0; ///< device address of the text section
  uint32_t textBytes = 0;
  const Inst *code = nullptr;
  const int32_t *indexOfDword = nullptr; ///< text dword -> index in code, -1 inside an instruction
  uint32_t codeCount = 0;
  bool latestArrival = false; ///< accesses complete when s_waitcnt demands it
  bool delayed = false;       ///< or after ldsDelay, memoryDelay instructions if that is sooner
  uint32_t ldsDelay = 0, memoryDelay = 0;

  /// Accesses take effect at once and nobody watches them: no need to write one down.
  bool direct() const { return !observer && !latestArrival; }
};

struct Wave {
  alignas(64) LaneRow v[512];
  uint32_t
      s[reg::kSgprFile + 16]; ///< room for a multi-dword operand that starts at the last register
  bool scc = false;
  uint32_t mode = 0; ///< MODE: [1:0] f32 round, [3:2] f16/f64 round, [5:4] f32 denorm, [7:6]
                     ///< f16/f64 denorm, 23 fp16 overflow
  /// What becomes of vector instructions; 0: they run as they are. Bits 0..3, while kIndexed is
  /// set: s_set_gpr_idx adds M0[7:0] to the number of src0, src1, src2, dst. kSkipped: none is
  /// executed.
  uint32_t vectorMode = 0;
  static constexpr uint32_t kIndexed = 16, kSkipped = 32;
  uint32_t ip = 0; ///< index of the next instruction
  uint32_t accumOffset = 0;
  WaveState state = WaveState::Running;
  uint32_t id = 0; ///< in the workgroup
  uint64_t executed = 0;
  uint64_t time = 0; ///< with delays: instructions so far, an MFMA counted for its length
  Workgroup *group = nullptr;
  const Inst *current = nullptr; ///< being executed or completed
  std::string faultMessage;
  int faultLane = -1;
  const Inst *faultInst = nullptr;
  const Region *lastRegion =
      nullptr; ///< the region of the last access, which the next one is likely to hit
  std::deque<std::shared_ptr<Access>> vmQueue, lgkmQueue;
  /// What lane 0 of an LDS-DMA read last, by the instruction's place.
  struct Stream {
    const Inst *inst = nullptr;
    uint64_t address = 0;
  } streams[32];

  uint64_t pair(int r) const { return s[r] | uint64_t(s[r + 1]) << 32; }
  void setPair(int r, uint64_t value) {
    s[r] = uint32_t(value);
    s[r + 1] = uint32_t(value >> 32);
  }
  uint64_t exec() const { return pair(reg::kExec); }
  void setExec(uint64_t mask) { setPair(reg::kExec, mask); }
  uint64_t vcc() const { return pair(reg::kVcc); }

  LaneRow &row(const Operand &o, int dword = 0) {
    return v[o.index + dword + (o.kind == OperandKind::Agpr ? accumOffset : 0)];
  }

  /// Stops the wave with an error; `lane` -1 when no single lane is to blame.
  void fault(std::string message, int lane = -1);
  /// Takes effect now or later, as the arrival policy says.
  void issue(const Access &, Counter);
  /// s_waitcnt: completes the oldest accesses until no more than these are outstanding.
  void wait(uint32_t vm, uint32_t lgkm);
  /// With delays, before `next` runs: completes what has been outstanding for long enough.
  void completeDue(const Inst &next);
  /// Host pointer to `bytes` of memory, LDS (through its aperture) or scratch; null after fault().
  uint8_t *memory(uint64_t address, uint32_t bytes, int lane);
  /// Pointer into LDS; null after fault().
  uint8_t *lds(uint32_t address, uint32_t bytes, int lane);
};

} // namespace attune::sim
