// Attention loops of which the instructions are stated but not their order: rocke's prefills,
// aiter's sparse decode, a transposition by shuffles. Each stage has its instructions in the
// plainest order.
#include "runtime/sim/timing/Occupancy.h"
#include "tests/sim/timing/AblationLoops.h"
#include <algorithm>

using namespace attune::sim;

namespace timingtest {
namespace {

double loopTime(const std::string &pattern) {
  return loopClk({.pattern = pattern, .pingPong = false});
}

// rocke -------------------------------------------------------------------------------------------

constexpr int kKeyTiles = 66; ///< of a q block, on average: causal, 8192 rows

/// K: row lane % 32, 16 bytes at lane / 32. V: row lane % 16 / 4 (+ 4 for the upper half of the
/// lanes), 32 bytes for each 16 lanes of a half.
std::string operandAddresses(int keyRow, int valueRow) {
  return sumOf("v15", {{0, 5, keyRow}, {5, 1, 16}}) +
         sumOf("v14", {{2, 2, valueRow}, {5, 1, 4 * valueRow}, {4, 1, 32}, {0, 2, 8}});
}

/// PV: two reads an MFMA, one MFMA ahead of it.
const TimingReport &timeRocke(const Rocke &r) {
  std::string beside = "M2f2" + r.exp;
  Loop l{.pattern = "Vb16Kw16M32vBw4v" + r.relayout + r.raise + "2Tw15(2T" + beside + ")" + beside +
                    r.lower + r.rescale + "16cb16u",
         .pingPong = false,
         .vmKeep = 8};
  l.options = {.workgroups = 256, .sharers = r.sharers};
  l.setUp = operandAddresses(r.keyRow, r.valueRow);
  return timeOnce(l);
}

// Decode ------------------------------------------------------------------------------------------

/// Clk of a workgroup whose prologue reads its list bounds and its q: dependent on each other, as
/// the tiles' loads are on them.
double decodePrologue(uint32_t sharers, uint32_t xcds) {
  Loop l{.pattern = "b", .before = "l4LZ", .threads = 256, .pingPong = false, .turns = 1};
  l.options = {.workgroups = 512, .sharers = sharers, .xcds = xcds};
  l.workgroups = 257;
  return double(timeOnce(l).clk);
}

/// Clk of two workgroups of a CU with so many tiles each; `dequant`: VALU of a tile before its LDS
/// writes, `spills`: what goes to scratch there and comes back.
double decodeKernel(int tiles, int dequant, const std::string &spills) {
  Loop l{.pattern =
             "LZ8LZ" + std::to_string(dequant) + "v" + spills + "16dwb32Rw136h64v2(16vBwbb)b2b",
         .before = "l4LZ",
         .after = "16X",
         .threads = 256,
         .pingPong = false,
         .turns = tiles};
  l.options = {.workgroups = 512, .sharers = 1};
  l.workgroups = 257;
  return double(timeOnce(l).clk);
}
constexpr int kDequant = 96;

} // namespace

double gain(const Rocke &without, const Rocke &with) {
  return speed(timeRocke(with)) / speed(timeRocke(without));
}

Rocke firstRocke(int keyRow) {
  return {.exp = "g",
          .rescale = "32p",
          .relayout = "96Bw",
          .raise = "",
          .lower = "",
          .keyRow = keyRow,
          .valueRow = 256};
}

/// Causal prefill of 8192 rows, 128 heads: tiles of the longest XCD, a workgroup for each q block
/// against workgroups that stay.
double persistentGain() {
  constexpr int kHeads = 128, kBlocks = 32, kTilesPerBlock = 4;
  constexpr double kColdTiles = 4.5;
  TimingParams p;
  std::vector<uint64_t> tenths; // of a tile
  double all = 0;
  for (int head = 0; head < kHeads; ++head)
    for (int block = 0; block < kBlocks; ++block) {
      tenths.push_back(uint64_t(10 * (kTilesPerBlock * (block + 1) + kColdTiles)));
      all += kTilesPerBlock * (block + 1);
    }
  double each = double(dispatchClk(tenths, 1, p)) / 10;
  return each / (all / p.cus() + kColdTiles);
}

/// A q block of the ragged kernel against one of the aligned: the loop is the same, each of the 16
/// stores of its end has a compare and a branch.
double raggedCost() {
  double tiles = kKeyTiles * timeRocke({}).loop.clk;
  return (tiles + loopTime("16(4vvkX)")) / (tiles + loopTime("16(4vX)"));
}

double smallHeadRate(int resident) {
  Loop l{.pattern = "Zb8G8Kw8M32vBw4v8(2Tw)8(M4f4e)k16c", .threads = 256, .pingPong = false};
  l.options = {.workgroups = uint64_t(resident) * 256, .sharers = 14};
  l.lds = 33792;
  l.workgroups = uint32_t(resident - 1) * 256 + 1;
  l.vgprs = resident <= 3 ? 168 : 128;
  return resident * speed(timeOnce(l));
}

/// 32 rows a wave, 32 KiB of K and V a tile for the workgroup. K and V rows are not padded. The
/// vector work is that of the interleave's four groups, 100 each, in the open with two waves.
const TimingReport &unifiedPrefill(bool fourWaves) {
  std::string loads = fourWaves ? "8G" : "16G", softmax = "32e2Bw16c";
  Loop l{.pattern =
             "Zwb16Kw16M" + loads +
             (fourWaves ? "32v" + softmax + "Vb32Tw4(4M90v)" : "400v" + softmax + "Vb64v32Tw16M"),
         .threads = fourWaves ? 256u : 128u,
         .pingPong = false,
         .turns = 10,
         .vmKeep = fourWaves ? 4 : 8};
  l.setUp = operandAddresses(256, 256);
  l.options = {.workgroups = 512, .sharers = 14};
  l.workgroups = 257;
  l.vgprs = fourWaves ? 256 : 296;
  return timeOnce(l);
}
double unifiedPrefillGain() {
  return 2 * speed(unifiedPrefill(true)) / speed(unifiedPrefill(false));
}

/// A tile: indices, then what they point to, to LDS, 7 barriers. A wave has 16 rows of the tile.
Loop decode(uint32_t threads, const std::string &read, const std::string &math) {
  Loop l{.pattern = "LZ8LZ96v16dwb32" + read + "w" + math + "2(16vBwbb)b2b",
         .threads = threads,
         .pingPong = false};
  l.options = {.workgroups = 256, .sharers = 1};
  return l;
}

double decodeConflicts(int ways) {
  Loop l = decode(256, "K");
  l.setUp = conflictAddress(ways);
  return timeOnce(l).loop.clk;
}

double decodeResident(int workgroups) {
  Loop l = decode(256);
  l.workgroups = uint32_t(workgroups - 1) * 256 + 1;
  l.vgprs = workgroups == 1 ? 512 : 256;
  l.options.workgroups = 256 * uint64_t(workgroups);
  return timeOnce(l).loop.clk / workgroups;
}

/// q of the splits of a query from another XCD's read of it, in the MALL, instead of their own L2.
double decodeGridOrder(int tiles) {
  double kernel = decodeKernel(tiles, kDequant, "");
  return (kernel + decodePrologue(1, 8) - decodePrologue(8, 1)) / kernel;
}

double decodeSpills() {
  constexpr int kInstructions = 5604, kFused = 4808, kTileBodies = 4;
  int before = kDequant + (kInstructions - kFused) / kTileBodies;
  return decodeKernel(1, kDequant, "11X12YZ") / decodeKernel(1, before, "29X29YZ");
}

double transposeClk() {
  constexpr int kMfmas = 16, kWaves = 8;
  auto clk = [](const std::string &each) {
    return loopTime(std::to_string(kMfmas) + "(" + each + ")");
  };
  return (clk("ow6Bw4vh") - clk("Twh")) / (kMfmas * kWaves);
}

} // namespace timingtest
