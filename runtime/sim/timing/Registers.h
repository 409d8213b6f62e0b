// When the registers of a wave can be read: who wrote them last, and when.
//
// Results travel at different speeds to different readers: a VALU result reaches the next VALU
// instruction after 4 clk but the matrix unit after 12; an accumulator passes from one MFMA to the
// next of its kind without delay, and to anything else only after the hazard slots of its pass
// count. Loads are not here: the hardware does not know when they return, the kernel's s_waitcnt
// does.
#pragma once
#include "runtime/sim/timing/Classify.h"
#include <vector>

namespace attune::sim {

class RegisterTimes {
public:
  explicit RegisterTimes(const TimingParams &p) : params_(&p), times_(kTimedRegisters) {}

  struct Ready {
    uint64_t clk = 0;
    bool matrix = false; ///< an MFMA made the value
  };
  /// When the instruction's registers allow it to issue.
  Ready ready(const InstTiming &) const;
  /// The instruction issues at `clk`.
  void issue(const InstTiming &, uint64_t clk);

private:
  enum class Writer : uint8_t { None, Valu, Trans, Matrix, Scalar };
  struct Time {
    uint64_t issued = 0;
    uint16_t resultAfter = 0, otherAccAfter = 0, interval = 0;
    uint16_t opcode = 0, first = 0; ///< of an MFMA: whose result, from which register on
    uint8_t count = 0;
    Writer writer = Writer::None;
  };
  uint64_t readable(const Time &, const InstTiming &, int source) const;

  const TimingParams *params_;
  std::vector<Time> times_;
};

} // namespace attune::sim
