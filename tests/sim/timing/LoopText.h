// Loops of kernels in a few letters, for timing: "16(M6v)" is 16 times an MFMA and 6 plain vector
// instructions. Only the timing is a kernel's; the values are whatever the registers hold.
#pragma once
#include "tests/sim/timing/TimingHarness.h"

namespace timingtest {

/// The instructions of a pattern: letters, a count before a letter or a group in parentheses.
///
///   M  v_mfma 32x32x16        m  v_mfma 16x16x32      h  v_mfma 16x16x16
///   q  v_mfma 16x16x128 fp8
///   v  plain VALU, 2 sources  f  v_fma   x  v_max3    c  v_cvt_pk
///   e  v_exp   p  v_pk_mul_f32   s  v_permlane32_swap   g  exp2 with guards against overflow
///   R  ds_read_b128   K  the same at other addresses (v15)   T  ds_read_b64_tr_b16 (v14)
///   B  ds_bpermute    d  ds_write_b128   o  ds_read_b64
///   G  an LDS-DMA load of 16 bytes a lane   u  of 4   L  a load of 16 bytes a lane to registers
///   A  an LDS-DMA load of 16 bytes a lane at v1 + s20   D  at v6 + s21   J  both to the next K
///   step S  a store of 2 bytes a lane   X  of 4   Y  a load of 4   l  a scalar load, and its wait
///   w  wait for all LDS   W  all but 8   V  for vector loads: all but `vmKeep`   Z  for all
///   b  s_barrier   n  s_nop 7   +  s_setprio 1   -  s_setprio 0
///   k  a block under an empty exec mask, skipped by a branch
std::string expand(const std::string &pattern, int vmKeep = 4);

/// Assembly for a register that is a sum of bit fields of the thread's number, each times a factor:
/// which row of a tile, and where in it.
struct BitField {
  int first, bits, factor;
};
std::string sumOf(const std::string &reg, std::initializer_list<BitField>);

struct Loop {
  std::string pattern;
  std::string before = "", after = ""; ///< patterns outside the loop
  /// What waves 0-3 do instead, a turn for a turn.
  std::string producers = "";
  uint32_t threads = 512;
  /// Waves 4-7 run a barrier behind waves 0-3.
  bool pingPong = true;
  int turns = 12;
  int vmKeep = 4;
  /// Assembly before the loop; v4 is the lane, v14 and v15 are addresses (default 8 and 16 bytes a
  /// lane), v1 and v6 those of loads (16 bytes a thread), s20 and s21 their offsets (0), which A
  /// and D advance by s11 and J by s13 and s19.
  std::string setUp = "";
  attune::sim::TimingOptions options = {.workgroups = 256, .sharers = 32};
  uint32_t lds = 65536;
  uint32_t workgroups = 1; ///< that run; 0, 256, 512 ... are on the timed CU
  int vgprs = 256;
  uint32_t bufferBytes = 0x400000;
};

attune::sim::TimingReport timeLoop(const Loop &);
/// Clk of a turn.
double loopClk(const Loop &);

} // namespace timingtest
