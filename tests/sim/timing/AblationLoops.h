// Loops of the kernels that the ablations changed, each built from what its source states: the
// instructions of a turn, and their order where the source has it.
#pragma once
#include "tests/sim/timing/LoopText.h"

namespace timingtest {

/// What TFLOPS are in proportion to: the loop's rate, and the clock at its density of MFMAs.
/// Sources that state TFLOPS measured at the power cap.
double speed(const attune::sim::TimingReport &);

/// Rows share loops, above all the one that is changed: each is timed once.
const attune::sim::TimingReport &timeOnce(const Loop &);

/// Lanes of ds_read_b128 in groups of `ways` on the same banks; 8: two columns of rows of 256
/// bytes.
std::string conflictAddress(int ways);

// gfx950-gluon-tutorials: GEMM in 8 waves, MFMA time in percent
double quadrants8();
double ring8(const std::string &memory);

// HipKittens: GEMM 256x256, and of waves that load beside waves that multiply
enum class HipKittens { Waves8Tiles16, Waves8Tiles32, Feed4Of12, Feed4Of16 };
const attune::sim::TimingReport &hipKittens(HipKittens, uint32_t sharers = 5, uint32_t xcds = 2);
/// In proportion to TFLOPS.
double hipKittensSpeed(HipKittens, uint32_t sharers = 5, uint32_t xcds = 2);
/// Of the waves' time, in percent.
double waveShare(const attune::sim::TimingReport &, std::initializer_list<attune::sim::Stall>);

/// A K step of the 4-wave kernel of gfx942. `without`: letters to leave out.
double gfx942Clk(bool interleaved, const std::string &without = "");

// AMD's fp8 GEMM, 4096 x 4096 x 4096: TFLOPS of the whole launch
enum class Fp8Gemm { Single, Double, DoubleUnswizzled, Tile128, Tile256, Tile256Waves16 };
double fp8Tflops(Fp8Gemm);

// rocke's dense prefill: a kv tile of 64, 8 waves. K rows are padded to 272 bytes, V rows to 320.
struct Rocke {
  std::string exp = "e", rescale = "k", relayout = "", raise = "+", lower = "-";
  int keyRow = 272, valueRow = 320;
  uint32_t sharers = 14;
};
/// What a lever gains: a kernel with it against the same without.
double gain(const Rocke &without, const Rocke &with = {});
/// The kernel that the first lever was added to.
Rocke firstRocke(int keyRow);
double persistentGain();
double raggedCost();
/// The d64 kernel: 4 waves of 32 rows, `resident` workgroups. In proportion to TFLOPS.
double smallHeadRate(int resident);
/// The unified d128 kernel, a tile of 64 keys, two workgroups a CU.
const attune::sim::TimingReport &unifiedPrefill(bool fourWaves);
double unifiedPrefillGain();

// aiter's sparse decode
Loop decode(uint32_t threads, const std::string &read = "R", const std::string &math = "136h64v");
double decodeConflicts(int ways);
double decodeResident(int workgroups);
double decodeGridOrder(int tiles);
double decodeSpills();

/// Clk of the CU for each PV MFMA of a kernel that transposes V with 6 shuffles, less those with
/// the transposing read.
double transposeClk();

} // namespace timingtest
