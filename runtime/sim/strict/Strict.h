// Strict mode: finds what silicon hides. A kernel that misses a wait, races in LDS or reads a
// register nobody wrote often gets the right answer on the machine it was tried on; here each such
// step is a finding that names the instruction, the wave and lane, the register or address, and the
// instruction it conflicts with.
//
//   strict::StrictChecker checker;
//   RunOptions options = checker.watch({});     // sets observers
//   auto stats = simulator.launch(module, {.kernel = "attention", ..., .options = options});
//   for (const strict::Finding &f : checker.findings()) ...
//   std::string report = checker.text();                // "" when clean
//
// Findings do not stop a launch. What is an error without strict mode (an access outside every
// buffer, LDS or scratch, the budget) is one here too, from the launch. They do not depend on the
// number of host threads. Under RunOptions::schedule they may: a race that only one interleaving
// exposes is reported with that interleaving's pair of instructions.
//
// A checker may watch several launches one after another; findings add up. docs/strict.md has the
// rules.
#pragma once
#include "runtime/sim/Observer.h"
#include "runtime/sim/Simulator.h"
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace attune::sim::strict {

enum class FindingKind : uint8_t {
  MissingWait, ///< register read or overwritten before the s_waitcnt that covers its load
  DmaOrder,    ///< bytes of an LDS-DMA touched before its vmcnt wait, or by others before wait and
               ///< barrier
  LdsRace,     ///< two waves touch an LDS byte with no barrier in between, one of them writes
  WaitStates,  ///< too few instructions between producer and consumer
  Misaligned,  ///< address not a multiple of what the instruction needs
  Uninitialised, ///< a value that nothing wrote reaches memory, an address, a branch or EXEC
  GlobalRace,    ///< two workgroups, or waves, touch a byte of memory unordered, one of them writes
  SameValue,     ///< the same where both write, and the same
  DivergentBarrier, ///< a wave has ended and others wait at a barrier
};
/// "missing-wait", "dma-order", ...
std::string_view name(FindingKind);

struct Finding {
  FindingKind kind = FindingKind::MissingWait;
  std::string kernel;
  std::array<uint32_t, 3> workgroup{};
  uint32_t wave = 0;
  int lane = -1; ///< -1: the whole wave
  uint32_t pc = 0;
  std::string instruction; ///< mnemonic
  std::string subject;     ///< "v12", "s[4:5]", "LDS 0x40", "0x7f..."
  int otherWave = -1;      ///< -1: there is no second instruction
  std::array<uint32_t, 3> otherWorkgroup{};
  uint32_t otherPc = 0;
  std::string other;                ///< its mnemonic
  uint32_t required = 0, found = 0; ///< wait states
  uint64_t count = 1;               ///< how often this pair of instructions was found
  std::string message;
};

/// "missing-wait: kernel k, workgroup (0,0,0), wave 1, lane 3, pc 0x14 v_add_f32: ... [n times]"
std::string text(const Finding &);

/// One such line a finding, at most `limit`, each behind `indent`; then how many more there are,
/// and `where` the rest is.
std::string text(const std::vector<Finding> &, size_t limit, std::string_view indent = "",
                 std::string_view where = "");

class StrictChecker : public ObserverFactory {
public:
  /// `examples`: findings kept for each kind and pair of instructions.
  explicit StrictChecker(unsigned examples = 1);
  ~StrictChecker() override;

  /// The options with this checker watching.
  RunOptions watch(RunOptions options);

  std::unique_ptr<Observer> make(const Dispatch &) override;
  bool followsMemory() const override { return true; }
  void finished(const Dispatch &, uint64_t faulted) override;

  /// By kernel, pc, kind. Call between launches.
  std::vector<Finding> findings() const;
  std::string text(size_t limit = 20) const { return strict::text(findings(), limit); }
  void clear();

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace attune::sim::strict
