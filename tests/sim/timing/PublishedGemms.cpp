// GEMM loops of which the source's code is public: gfx950-gluon-tutorials, HipKittens, and the fp8
// kernels of AMD's developer hub. Counts, order, waits and addresses are theirs; what a compiler
// adds (address arithmetic, m0) is not, but for m0.
#include "tests/sim/timing/AblationLoops.h"
#include <algorithm>

using namespace attune::sim;

namespace timingtest {
namespace {

constexpr int kWaves8 = 8;
std::string literal(int n) { return std::to_string(uint32_t(n)); }

/// s11 from one load to the next, s13 and s19 from the last of a K step to the next K step.
std::string strides(int load, int stepBytes, int loadsA, int loadsB) {
  return "s_mov_b32 s11, " + literal(load) + "\ns_mov_b32 s13, " +
         literal(stepBytes - loadsA * load) + "\ns_mov_b32 s19, " +
         literal(stepBytes - loadsB * load) + "\n";
}

// gfx950-gluon-tutorials ------------------------------------------------------------------------

Loop gluon8(const std::string &turn, int vmKeep) {
  Loop l{.pattern = turn, .vmKeep = vmKeep};
  l.options = {.workgroups = 256, .sharers = 4, .xcds = 4};
  l.lds = 131072;
  return l;
}
double efficiency(const Loop &l, double matrixClk) {
  return 100 * matrixClk / timeOnce(l).loop.clk;
}

// HipKittens ------------------------------------------------------------------------------------

/// Bytes from row to row of A and of B; in the source 16384, which no model of lines can tell.
constexpr int kPitch = 2048;

/// Tiles lie in LDS in pieces of 16 rows of 64 bytes, one for each load of a wave; two pieces make
/// the 128 bytes of a K step. So a load touches 16 lines, half of each, and the next wave's the
/// other halves.
std::string halfLineLoads(int waves, int loadsA, int loadsB) {
  return sumOf("v1", {{7, 3, 16 * kPitch}, {2, 4, kPitch}, {6, 1, 64}, {0, 2, 16}}) +
         "v_mov_b32 v6, v1\ns_mov_b32 s21, " + literal(256 * kPitch) + "\n" +
         strides(waves / 2 * 16 * kPitch, 128, loadsA, loadsB);
}
std::string flip(int bit, int with) { // address bit 4 or 5 by a bit of the row
  return "v_bfe_u32 v3, v15, " + literal(bit) + ", 1\nv_lshlrev_b32 v3, " + literal(with) +
         ", v3\nv_xor_b32 v15, v15, v3\n";
}
std::string readsOf16Rows() { return sumOf("v15", {{0, 4, 64}, {4, 2, 16}}) + flip(9, 5); }
std::string readsOf32Rows() {
  return sumOf("v15", {{0, 5, 64}, {5, 1, 16}}) + flip(9, 5) + flip(10, 4);
}

Loop hipKittensLoop(HipKittens kind) {
  auto mma = [](const std::string &m) { return "w+" + m + "-b"; };
  Loop l;
  l.bufferBytes = 2 << 20;
  l.lds = 131072;
  switch (kind) {
  case HipKittens::Waves8Tiles16: { // two K steps: quadrants, a half tile loaded in each
    std::string m = mma("16m"), rest = "4K2Db" + m + "8K2Ab" + m;
    l.pattern = "12K2AWb" + m + rest + "4K2DVb+16m-bJ8K2AWb" + m + rest + "2DVb+16m-bJ";
    l.setUp = halfLineLoads(kWaves8, 4, 4) + readsOf16Rows();
    l.turns = 6;
    l.vmKeep = 6;
    return l;
  }
  case HipKittens::Waves8Tiles32: // a K step: two halves, all loads in the first
    l.pattern = "8K4A4K4DbJ" + mma("16M") + "12KZwb" + mma("16M");
    l.setUp = halfLineLoads(kWaves8, 4, 4) + readsOf32Rows();
    return l;
  case HipKittens::Feed4Of12:
  case HipKittens::Feed4Of16: { // waves 0-3 load tiles of 128 or 192 rows and 256 columns
    bool wide = kind == HipKittens::Feed4Of16;
    int loadsA = wide ? 6 : 4, loadsB = 8;
    l.threads = wide ? 1024 : 768;
    l.vgprs = wide ? 128 : 168;
    l.lds = wide ? 147456 : 98304;
    l.pingPong = false;
    l.producers = literal(loadsA) + "A" + literal(loadsB) + "DJZb";
    l.pattern = "8Kw+8m-4Kw+8m-4Kw+16m-" + std::string(wide ? "Zb" : "b");
    l.setUp = halfLineLoads(4, loadsA, loadsB) + readsOf16Rows();
    return l;
  }
  }
  return l;
}

// gfx942 ----------------------------------------------------------------------------------------

// Clumped by the compiler, and interleaved by the source's scheduler in four regions.
const std::string
    kClumped = "wb(4K)h(4K)(3h)wbh(3K)hVdV(2d)Vd(2L)h(2L)(4d)h(4L)(23h)KhK(46h)KhKhKwb(4d)(3L)(4d)"
               "(5L)(72h)(3K)(7h)(3K)(65h)(3K)(12h)(3K)(10h)(3K)(2h)K(8h)",
    kInterleavedRegion = "(26h)8(K(2h))V3(d(2h))dhL(2h)2(L(4h))L(5h)",
    kInterleaved = "3(hwb" + kInterleavedRegion + ")" + kInterleavedRegion;

// fp8 -------------------------------------------------------------------------------------------

/// A K step is 128 bytes of a row; a load of a wave 8 rows of them. All workgroups of a CU have the
/// same columns and rows of their own.
constexpr int kFp8Pitch = 4096, kFp8Steps = 32, kSize = 4096;

struct Fp8Shape {
  int tile, waves, resident, vgprs;
  uint32_t lds, sharers, xcds; ///< lines: of the first 256 workgroups a CU, in the order of ids
  const char *before, *turn, *after;
  bool swizzled = true;
};
/// Residency: by VGPRs as LLVM 22 allocates them for the source's code (256x256: as its launch
/// bounds ask), and LDS.
Fp8Shape fp8Shape(Fp8Gemm kind) {
  switch (kind) {
  case Fp8Gemm::Single:
    return {32, 4, 8, 40, 16384, 16, 2, "", "2A2DJZb4Rwqb", "4(vcS)"};
  case Fp8Gemm::Double:
    return {64, 4, 4, 73, 32768, 11, 2, "2A2DJZb", "2A2DJ8Rw4qZb", "16(vcS)"};
  case Fp8Gemm::DoubleUnswizzled:
    return {64, 4, 4, 73, 32768, 11, 2, "2A2DJZb", "2A2DJ8Kw4qZb", "16(vcS)", false};
  case Fp8Gemm::Tile128:
    return {128, 8, 2, 112, 65536, 6, 3, "2A2DJZb", "2A2DJ12Rw8qZb", "32(vcS)"};
  case Fp8Gemm::Tile256:
    return {256, 8, 1, 256, 131072, 4, 4, "4A4DJZb", "4A4DJ8Rw8Rw4R16q4Rw16qZb", "128(vcS)"};
  case Fp8Gemm::Tile256Waves16:
    return {256, 16, 1, 128, 131072, 4, 4, "2A2DJZb", "2A2DJ2(8Rw4q4Rw4q)Zb", "64(vcS)"};
  }
  return {};
}

std::string fp8Addresses(const Fp8Shape &s, bool ownTiles) {
  std::string text;
  int load = s.waves * 8 * kFp8Pitch, loads = s.tile / (s.waves * 8);
  if (ownTiles) { // 2 x 2 waves, each with 16 rows of A and of B in LDS of its own
    load = 8 * kFp8Pitch;
    loads = 2;
    text = sumOf("v1", {{3, 3, kFp8Pitch}, {0, 3, 16}, {7, 1, 16 * kFp8Pitch}}) +
           sumOf("v6", {{3, 3, kFp8Pitch}, {0, 3, 16}, {6, 1, 16 * kFp8Pitch}});
  } else {
    text =
        sumOf("v1", {{3, 3, kFp8Pitch}, {0, 3, 16}, {6, 4, 8 * kFp8Pitch}}) + "v_mov_b32 v6, v1\n";
  }
  text += strides(load, 128, loads, loads) + "s_lshr_b32 s20, s2, 8\ns_mul_i32 s20, s20, " +
          literal(s.tile * kFp8Pitch) + "\ns_add_u32 s20, s20, " + literal(256 * kFp8Pitch) + "\n";
  return s.swizzled ? text : text + sumOf("v15", {{0, 4, 128}, {4, 2, 16}});
}

} // namespace

double quadrants8() {
  return efficiency(gluon8("2(-16mb+8R2GVwb-16mb+4R2GVwb)", 10), 2 * 4 * 16 * 16);
}

/// K steps of 32, 64 bytes of a row: four lanes load a row, 16 rows a load.
double ring8(const std::string &memory) {
  Loop l = gluon8("3(-32mb+" + memory + "Vb)", 8);
  l.setUp = sumOf("v1", {{6, 3, kPitch}, {2, 4, 16 * kPitch}, {0, 2, 16}}) +
            "v_mov_b32 v6, v1\ns_mov_b32 s21, " + literal(256 * kPitch) + "\n" +
            strides(8 * kPitch, 64, 2, 2);
  l.turns = 10;
  return efficiency(l, 2 * 3 * 32 * 16);
}

const TimingReport &hipKittens(HipKittens kind, uint32_t sharers, uint32_t xcds) {
  Loop l = hipKittensLoop(kind);
  l.options = {.workgroups = 256, .sharers = sharers, .xcds = xcds};
  return timeOnce(l);
}

double hipKittensSpeed(HipKittens kind, uint32_t sharers, uint32_t xcds) {
  const TimingReport &r = hipKittens(kind, sharers, xcds);
  // Steps of 64 in K of a turn, and rows of the tile: what a turn multiplies.
  double work = kind == HipKittens::Waves8Tiles16   ? 2 * 256
                : kind == HipKittens::Waves8Tiles32 ? 256
                : kind == HipKittens::Feed4Of16     ? 192
                                                    : 128;
  return work * speed(r);
}

double waveShare(const TimingReport &r, std::initializer_list<Stall> reasons) {
  double clk = 0;
  for (Stall s : reasons)
    clk += double(r.stalls[size_t(s)]);
  return 100 * clk / (double(r.clk) * kWaves8);
}

double gfx942Clk(bool interleaved, const std::string &without) {
  std::string kept;
  for (char c : interleaved ? kInterleaved : kClumped)
    if (without.find(c) == std::string::npos)
      kept += c;
    else // and its count
      while (!kept.empty() && kept.back() >= '0' && kept.back() <= '9')
        kept.pop_back();
  Loop l{.pattern = kept, .threads = 256, .pingPong = false, .vmKeep = 12};
  l.setUp = conflictAddress(2);
  l.options = {.workgroups = 256, .sharers = 4, .xcds = 4};
  return timeOnce(l).loop.clk;
}

double fp8Tflops(Fp8Gemm kind) {
  Fp8Shape s = fp8Shape(kind);
  Loop l{
      .pattern = s.turn, .before = s.before, .after = s.after, .threads = uint32_t(s.waves) * 64};
  l.pingPong = false;
  l.turns = kFp8Steps;
  l.setUp = fp8Addresses(s, kind == Fp8Gemm::Single);
  uint64_t tiles = uint64_t(kSize / s.tile);
  l.options = {.workgroups = tiles * tiles, .sharers = s.sharers, .xcds = s.xcds};
  l.lds = s.lds;
  l.vgprs = s.vgprs;
  const bool more = tiles * tiles > uint64_t(s.resident) * 256; // a second round of workgroups
  const int replayed = s.resident * (more ? 2 : 1);
  l.workgroups = uint32_t(replayed - 1) * 256 + 1;
  l.bufferBytes = uint32_t((256 + s.tile * replayed) * kFp8Pitch);
  return timeOnce(l).tflops;
}

} // namespace timingtest
