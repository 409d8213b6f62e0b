// The main loop of a GEMM tile as the source of row 3 measured it: the v9 kernel of
// gfx950-gluon-tutorials at other tile shapes.
//
// 4 waves in 2 x 2, 16x16x32 MFMAs, K in steps of 64, operands by LDS-DMA into two buffers. The
// tile is cut in 2 x 2 quadrants; each is a region of the loop that multiplies, reads the half tile
// that the next region needs from LDS, and loads the half tile of the step after the next into the
// buffer that has just become free:
//
//   region  multiplies      reads     loads (of the step after the next)
//   0       A top, B left   A bottom  B left
//   1       A bottom, B left  B right   A top
//   2       A top, B right  B left'   A bottom     (' of the next step)
//   3       A bottom, B right A top'    B right
//
// The order within a region is that of the source's scheduler: from the end backwards 2 MFMAs, then
// 4 behind each load and 1 behind each read while there are any; what is left over goes half to the
// end and half to the front. A region with too few has none at its front, so that its wait and its
// barrier follow the last MFMA of the region before, and its first reads come in a burst. What else
// the compiler emits is here too: a step pair to a turn of the loop, m0 and a wait state before
// each load, a wait state before pairs of MFMAs that follow others, a new descriptor for A once a
// turn.
//
// Only the timing is a GEMM's: addresses in LDS are those of one row, conflict-free or not.
#pragma once
#include "tests/sim/timing/TimingHarness.h"

namespace timingtest {

struct GemmTile {
  int m, n;
};

struct GemmVariant {
  /// Every other read has its lanes in pairs on the same banks.
  bool conflicts = false;
  /// What the source's last tool does: no wait states before MFMAs, scalar instructions between
  /// MFMAs that have room for them.
  bool peephole = false;
};

class GemmLoop {
public:
  explicit GemmLoop(GemmTile tile, GemmVariant variant = {})
      : halfA_(tile.m / 64), halfB_(tile.n / 64), variant_(variant) {}

  std::string text();
  /// Of a turn of the loop.
  double matrixClk() const { return kSteps * 4.0 * regionMfmas() * 16; }

private:
  enum Half { ATop, ABottom, BLeft, BRight };
  struct Region {
    Half a, b, read, load;
  };
  static constexpr Region kRegions[] = {{ATop, BLeft, ABottom, BLeft},
                                        {ABottom, BLeft, BRight, ATop},
                                        {ATop, BRight, BLeft, ABottom},
                                        {ABottom, BRight, ATop, BRight}};
  static constexpr int kSteps = 2, kGroupsInFlight = 5, kMfmasPerLoad = 4, kDrain = 2;

  void line(const std::string &s) { text_ += s + "\n"; }
  /// Loads of a wave for half a tile, and 16-row operands of that half.
  int size(Half h) const { return h == ATop || h == ABottom ? halfA_ : halfB_; }
  int stepLoads() const { return 2 * (halfA_ + halfB_); }
  int regionMfmas() const { return halfA_ * halfB_ * 2; }
  std::string operand(Half h, int n) const {
    int first = 8 + int(h) * 32 + n * 4;
    return "v[" + std::to_string(first) + ":" + std::to_string(first + 3) + "]";
  }
  /// The halves lie in the order A top, A bottom, B left, B right, two buffers each; an offset of
  /// 64 KiB or more does not fit an instruction.
  bool needsAddress(Half h) const {
    int before[] = {0, halfA_, 2 * halfA_, 2 * halfA_ + halfB_};
    return 2 * 4096 * before[h] >= 65536;
  }
  void read(Half h, int n) {
    line("ds_read_b128 " + operand(h, n) + (n % 2 ? ", v3" : ", v2") +
         " offset:" + std::to_string(n * 1024));
  }
  void load(const std::string &waitState = "s_nop 0");
  void prologue();
  std::vector<int> mfmasBehind(int reads, int loads) const;
  void mfma(int region, int n, bool afterMemory);
  void region(int number, bool newDescriptor);

  int halfA_, halfB_;
  GemmVariant variant_;
  int loaded_ = 0;
  std::string text_;
};

/// MFMA time over loop time in percent, on a chip where every CU has such a workgroup. A quarter of
/// what L1 asks for is not in L2 (measured for this kernel: 4.10 of 16.78 million), and a quarter
/// of that is the first read of its line on the chip: 1.05 million lines.
double gemmEfficiency(GemmTile, GemmVariant = {});

} // namespace timingtest
