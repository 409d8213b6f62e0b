// Declarations of all handlers, and how an operand becomes 64 numbers: the one place where
// modifiers are applied.
//
// A vector source is a register row, or a scalar or constant in all lanes, and then, in this order:
// SDWA selects a byte or word, DPP moves it between lanes, op_sel takes a high half, abs and neg
// change its sign. A vector result goes the other way: omod and clamp (in Lanes.h, where its type
// is known), SDWA or op_sel placement, and EXEC.
#pragma once
#include "runtime/sim/Wave.h"

namespace attune::sim {

#define SIM_OP(handler, mnemonic, format, code, signature, flags)                                  \
  void handler(Wave &, const Inst &);
#include "runtime/sim/Gfx950.def"
#undef SIM_OP

/// How wide a source is and what an inline constant means in it.
enum class Width : uint8_t { B16, B32, B64, F64 };

/// Scalar sources. 32-bit inline floats are f32; 64-bit inline integers are sign-extended, literals
/// zero-extended.
uint32_t scalar32(const Wave &, const Inst &, const Operand &);
uint64_t scalar64(const Wave &, const Inst &, const Operand &);
void writeScalar32(Wave &, const Operand &, uint32_t);
void writeScalar64(Wave &, const Operand &, uint64_t);

inline bool inVgprs(const Operand &o) {
  return o.kind == OperandKind::Vgpr || o.kind == OperandKind::Agpr;
}

/// 64 lanes of source `n`: pointers to a register row, or to `buffer` where the value had to be
/// made.
struct SourceRows {
  const uint32_t *lo, *hi; ///< hi: 64-bit widths only
};
/// `mask`: lanes to write; DPP clears some.
SourceRows fetchSource(Wave &, const Inst &, int n, Width, LaneRow *buffer, uint64_t &mask);

/// Writes one row of a result under `mask`, placed as SDWA says.
void commitRow(Wave &, const Inst &, int dword, const uint32_t *value, uint64_t mask);
/// Writes a 16-bit result (low halves of `value`).
void commitHalf(Wave &, const Inst &, const uint32_t *value, uint64_t mask);

/// The host's floating-point environment (MXCSR) follows MODE's f32 rounding and denormal bits, so
/// that the lane loops are plain arithmetic. Handlers of other widths set their own.
void setHostFloatMode(uint32_t mode);
/// Bit of MODE under which vector instructions are not executed (no VALU, memory or LDS).
inline constexpr uint32_t kModeVskip = 1u << 28;
/// Writes MODE and follows it.
void setMode(Wave &, uint32_t mode);

/// Another floating-point environment for the time of a handler, given as f32's bits of a MODE.
/// Writing the host's mode costs as much as a small handler: nothing is done where MODE asks for
/// the same.
class HostFloatMode {
public:
  HostFloatMode(const Wave &w, uint32_t mode)
      : mode_(w.mode), differs_((w.mode & kF32Bits) != (mode & kF32Bits)) {
    if (differs_)
      setHostFloatMode(mode);
  }
  ~HostFloatMode() {
    if (differs_)
      setHostFloatMode(mode_);
  }
  HostFloatMode(const HostFloatMode &) = delete;

private:
  static constexpr uint32_t kF32Bits = 0x33; ///< what setHostFloatMode looks at
  uint32_t mode_;
  bool differs_;
};
/// Round to nearest, denormals kept: handlers that ignore MODE.
struct DefaultFloatMode : HostFloatMode {
  explicit DefaultFloatMode(const Wave &w) : HostFloatMode(w, 0xf0) {}
};
/// MODE's rounding and denormal bits of f64 (and f16): handlers of f64.
struct DoubleFloatMode : HostFloatMode {
  explicit DoubleFloatMode(const Wave &w) : HostFloatMode(w, of(w.mode)) {}
  static constexpr uint32_t of(uint32_t mode) { return (mode >> 2 & 3) | (mode >> 6 & 3) << 4; }
};

/// Upper halves of the addresses that FLAT instructions take for LDS and scratch.
inline constexpr int64_t kSharedAperture = int64_t(1) << 32;
inline constexpr int64_t kPrivateAperture = int64_t(2) << 32;

} // namespace attune::sim
