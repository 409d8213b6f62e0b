// The gfx950 simulator: runs code objects for MI355X on any x86-64 machine, instruction by
// instruction.
//
//   sim::Simulator simulator;
//   auto q = simulator.memory().alloc(bytes);                 // device memory; a host address too
//   std::memcpy(simulator.memory().host(*q), data, bytes);    // or copyIn, which checks bounds
//   auto module = simulator.load(elfBytes);                   // gfx950 code object, version 4, 5
//   or 6 sim::Launch launch{.kernel = "attention", .grid = {64, 1, 1}, .block = {256, 1, 1},
//   .kernarg = args}; auto stats = simulator.launch(*module, launch);           // to the last
//   wave's s_endpgm if (!stats) report(stats.error().message);                // kernel, pc,
//   instruction, wave, lane, address
//
// What is exact: integer, logic, compare, convert, min/max, fma, cross-lane and memory
// instructions, IEEE edges included. What is approximate: v_exp/log/rcp/rsq/sqrt/sin/cos (correctly
// rounded here, 1 ulp class in hardware) and the order in which an MFMA adds. RunStats::approximate
// lists those that a launch used.
//
// Determinism. Workgroups run on `threads` host threads, each workgroup wholly on one of them;
// results depend neither on their number nor on the host's instruction set, as long as workgroups
// communicate through no atomics whose order matters (float adds, for one).
//
// Two policies choose among behaviours that hardware permits; a race-free kernel gives the same
// bits under all:
//   Arrival   when a load's data, a store or an LDS-DMA takes effect: at issue, as late as its
//   s_waitcnt allows, or in between Schedule  which wave of a workgroup runs next: each to its
//   barrier, in reverse, in short turns one after the other, or in random ones
//
// A fault (access outside every buffer, unknown opcode, barrier that not every wave reaches,
// budget) ends the launch with ErrorCode::SimFault. When several workgroups fault, the one with the
// lowest id is reported.
//
// Thread safety: a Simulator serves one caller at a time.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/sim/Memory.h"
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace attune::sim {

enum class Arrival : uint8_t {
  Instant, ///< effects at issue
  Latest,  ///< effects at the s_waitcnt that demands them (or the end of the wave)
  /// As hardware mostly does: vector memory `memoryDelay` and LDS and scalar loads `ldsDelay`
  /// instructions of the wave after issue (an MFMA counts as 8), unless an s_waitcnt demands them
  /// earlier. For code that was made right by trial on hardware and is right under neither extreme.
  Typical,
};

enum class Schedule : uint8_t {
  ToBarrier, ///< wave 0 to its barrier or end, then wave 1, ...
  Reverse,   ///< the same from the last wave down
  Random,    ///< a random wave for a random number of instructions up to `quantum`, from `seed`
  InTurn,    ///< each wave for `quantum` instructions, then the next: as if on SIMDs of their own
};

class ObserverFactory;

struct RunOptions {
  int threads = 0;                ///< host threads; 0: all cores
  uint64_t instructionBudget = 0; ///< per wave; 0: 2^31, which no real kernel meets
  Arrival arrival = Arrival::Instant;
  uint32_t ldsDelay = 12; ///< of Arrival::Typical; an LDS round trip takes 48 cycles or more
  /// Of Arrival::Typical, in order of issue; kAtWait: not before an s_waitcnt demands it.
  uint32_t memoryDelay = kAtWait;
  static constexpr uint32_t kAtWait = ~uint32_t(0);
  Schedule schedule = Schedule::ToBarrier;
  uint32_t quantum = 20; ///< the turn of Schedule::InTurn, the longest of Schedule::Random
  uint64_t seed = 1;
  ObserverFactory *observers = nullptr; ///< who watches (Observer.h); outlives the launch
};

struct Launch {
  std::string kernel;                         ///< symbol, with or without ".kd"
  std::array<uint32_t, 3> grid = {1, 1, 1};   ///< workgroups
  std::array<uint32_t, 3> block = {64, 1, 1}; ///< threads of a workgroup
  uint32_t dynamicLdsBytes = 0;
  std::span<const uint8_t> kernarg = {};
  RunOptions options = {};
};

/// An argument that the caller passes; hidden ones are filled in at launch.
struct KernelArgInfo {
  uint32_t offset = 0, size = 0; ///< in the kernarg segment
};

/// What the kernel descriptor and the metadata say of one kernel.
struct KernelInfo {
  std::string name;
  uint32_t vgprs = 0;       ///< registers a wave owns, AGPRs included, in the unified file
  uint32_t accumOffset = 0; ///< where AGPR 0 lies in that file
  uint32_t kernargBytes = 0;
  uint32_t ldsBytes = 0;                ///< static
  uint32_t scratchBytes = 0;            ///< per lane
  uint32_t maxThreads = 0;              ///< of a workgroup; 0: metadata does not say
  std::vector<KernelArgInfo> args = {}; ///< in their order; empty without metadata
};

struct RunStats {
  uint64_t workgroups = 0;
  uint64_t waveInstructions = 0;
  uint64_t mfmaInstructions = 0;
  std::map<std::string, uint64_t> opcodeCounts; ///< by mnemonic
  std::vector<std::string> approximate; ///< mnemonics used whose results may differ from hardware's
};

using ModuleId = uint64_t;

class Simulator {
public:
  Simulator();
  ~Simulator();
  Simulator(const Simulator &) = delete;
  Simulator &operator=(const Simulator &) = delete;

  Memory &memory();
  /// Refuses anything that is not an AMDGPU code object for gfx950, naming the arch or version
  /// found.
  Result<ModuleId> load(std::span<const uint8_t> codeObject);
  void unload(ModuleId);
  Result<std::vector<KernelInfo>> kernels(ModuleId) const;
  /// The device address of a symbol (a __device__ variable, for instance).
  Result<uint64_t> symbol(ModuleId, const std::string &name) const;
  Result<RunStats> launch(ModuleId, const Launch &);

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace attune::sim
