// The search behind findConversion.
//
// A place is a vector of register bits and lane bits. The state of the search is, for each bit of
// the current place, the functional (a sum of bits) of the original place that it holds; the goal
// is the same list for the target. Renaming registers changes nothing but the basis of the register
// functionals, so only their span counts. A permlane swap trades one functional of that span for
// the one on lane bit 5 or 4. After up to three swaps the rest is done by one step: a renaming,
// DPP, selects or ds_bpermute.
#include "compiler/layout/Conversion.h"
#include "compiler/layout/ConversionCost.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>
#include <optional>

namespace attune::layout {

namespace {

constexpr int maxSwaps = 3;

class MoveSearch {
public:
  /// `move`: packed (register, lane) of each value to the packed place where it has to be.
  MoveSearch(LinearLayout move)
      : move_(std::move(move)), registerBits_(move_.inBits("register")),
        laneBits_(move_.inBits("lane")), goal_(gf2::transpose(move_.columns(), move_.outBits())) {}

  Conversion run() {
    State start;
    for (int i = 0; i < registerBits_ + laneBits_; ++i)
      start.held.push_back(uint64_t(1) << i);
    explore(start, maxSwaps);
    return *best_;
  }

private:
  struct State {
    gf2::Columns held; ///< functional held by each bit of the place, register bits first
    Conversion done;
  };

  gf2::Span registerSpan(const gf2::Columns &held) const {
    gf2::Span span;
    for (int i = 0; i < registerBits_; ++i)
      span.insert(held[i]);
    return span;
  }

  void explore(const State &state, int swapsLeft) {
    finish(state);
    if (!swapsLeft || !registerBits_)
      return;
    const gf2::Span span = registerSpan(state.held);
    for (int lane : {5, 4}) {
      if (lane >= laneBits_)
        continue;
      for (uint64_t wanted : swapCandidates(span)) {
        State next = swapped(state, span, lane, wanted);
        if (!best_ || next.done.clocks() < best_->clocks())
          explore(next, swapsLeft - 1);
      }
    }
  }

  /// Functionals worth bringing to a lane bit: those that the target has on lanes 5 and 4, and one
  /// to make room.
  std::vector<uint64_t> swapCandidates(const gf2::Span &span) const {
    std::vector<uint64_t> candidates;
    for (int lane : {5, 4})
      if (lane < laneBits_ && span.contains(goal_[registerBits_ + lane]))
        candidates.push_back(goal_[registerBits_ + lane]);
    candidates.push_back(span.members().front());
    return candidates;
  }

  /// The state after renaming registers so that `wanted` is the top register bit, and swapping it
  /// with `lane`.
  State swapped(const State &state, const gf2::Span &span, int lane, uint64_t wanted) const {
    // What else must stay in registers: the functionals the target has there or on other lanes,
    // then any. In the target's order, so that renaming is often not needed.
    gf2::Span basis;
    basis.insert(wanted);
    for (uint64_t functional : goal_)
      if (span.contains(functional))
        basis.insert(functional);
    for (uint64_t shared : sharedWithGoal(span))
      basis.insert(shared);
    for (uint64_t member : span.members())
      basis.insert(member);
    gf2::Columns registers(basis.members().begin() + 1, basis.members().end());
    registers.push_back(wanted);

    State next = state;
    rename(next, registers);
    const int top = registerBits_ - 1, pairs = 1 << top;
    std::swap(next.held[top], next.held[registerBits_ + lane]);
    ConversionStep step;
    step.kind = lane == 5 ? ConversionStep::Permlane32Swap : ConversionStep::Permlane16Swap;
    step.registerBit = top, step.instructions = pairs, step.clocks = pairs * cost::permlaneSwap;
    next.done.steps.push_back(std::move(step));
    return next;
  }

  /// Sums of the target's register functionals that are in registers now.
  std::vector<uint64_t> sharedWithGoal(const gf2::Span &span) const {
    std::vector<uint64_t> shared;
    const gf2::Columns goalRegisters(goal_.begin(), goal_.begin() + registerBits_);
    for (uint64_t sum = 1; sum < uint64_t(1) << registerBits_; ++sum)
      if (uint64_t functional = gf2::apply(goalRegisters, sum); span.contains(functional))
        shared.push_back(functional);
    return shared;
  }

  /// Renumbers registers so that bit i of the number holds registers[i], a basis of what they hold
  /// now.
  void rename(State &state, const gf2::Columns &registers) const {
    gf2::Span old;
    for (int i = 0; i < registerBits_; ++i)
      old.insert(state.held[i]);
    ConversionStep step;
    step.fromRegister.resize(size_t(1) << registerBits_);
    for (int r = 0; r < 1 << registerBits_; ++r) {
      int renamed = 0;
      for (int i = 0; i < registerBits_; ++i)
        renamed |= (std::popcount(*old.combination(registers[i]) & uint64_t(r)) & 1) << i;
      step.fromRegister[renamed] = r;
    }
    std::copy(registers.begin(), registers.end(), state.held.begin());
    append(state.done, std::move(step));
  }

  /// Adds a renaming, merged with one before it; leaves out what changes nothing.
  static void append(Conversion &done, ConversionStep step) {
    if (!done.steps.empty() && done.steps.back().kind == ConversionStep::Rename) {
      for (int &r : step.fromRegister)
        r = done.steps.back().fromRegister[r];
      done.steps.pop_back();
    }
    for (size_t r = 0; r < step.fromRegister.size(); ++r)
      if (step.fromRegister[r] != int(r))
        return done.steps.push_back(std::move(step));
  }

  /// Completes the state with a renaming and at most one step of another kind, and keeps it if it
  /// is the cheapest.
  void finish(State state) {
    // Where each target place takes its value from, in current places.
    const gf2::Columns current = gf2::transpose(state.held, int(state.held.size()));
    const LinearLayout source({{"register", registerBits_}, {"lane", laneBits_}},
                              {{"register", registerBits_}, {"lane", laneBits_}},
                              gf2::multiply(current, *gf2::inverse(move_.columns())));
    if (gf2::rank(source.sublayout({"lane"}, {"register"}).columns()) == 0) {
      // Every register comes whole from one register: rename first, and what is left is a lane move
      // of each.
      const gf2::Columns toGoal =
          *gf2::inverse(source.sublayout({"register"}, {"register"}).columns());
      const gf2::Columns rows = gf2::transpose(toGoal, registerBits_);
      gf2::Columns registers;
      for (uint64_t row : rows)
        registers.push_back(gf2::apply(state.held, row));
      rename(state, registers);
      LinearLayout stay = LinearLayout::identity("register", "register", registerBits_);
      LinearLayout lanes = source.sublayout({"register", "lane"}, {"lane"});
      finishWith(std::move(state),
                 stay.product(LinearLayout::broadcast("lane", "register", laneBits_)), lanes);
      return;
    }
    finishWith(std::move(state), source.sublayout({"register", "lane"}, {"register"}),
               source.sublayout({"register", "lane"}, {"lane"}));
  }

  void finishWith(State state, const LinearLayout &registers, const LinearLayout &lanes) {
    gf2::Columns columns;
    for (int i = 0; i < registerBits_ + laneBits_; ++i)
      columns.push_back(registers.columns()[i] | lanes.columns()[i] << registerBits_);
    const LinearLayout source({{"register", registerBits_}, {"lane", laneBits_}},
                              {{"register", registerBits_}, {"lane", laneBits_}},
                              std::move(columns));
    if (auto step = finalStep(source))
      state.done.steps.push_back(std::move(*step));
    if (!best_ || state.done.clocks() < best_->clocks())
      best_ = std::move(state.done);
  }

  LinearLayout move_;
  int registerBits_, laneBits_;
  gf2::Columns goal_; ///< functional that each bit of the target place must hold
  std::optional<Conversion> best_;
};

Error refuse(std::string_view what, const LinearLayout &from, const LinearLayout &to) {
  return {ErrorCode::InvalidArgument,
          fmt::format("no conversion from {} to {}: {}", from.str(), to.str(), what)};
}

Result<void> checkPair(const LinearLayout &from, const LinearLayout &to) {
  for (const LinearLayout *l : {&from, &to}) {
    for (const Dim &d : l->ins())
      if (d.name != "register" && d.name != "lane" && d.name != "wave")
        return refuse(fmt::format("input {} is none of register, lane, wave", d.name), from, to);
    if (!l->isBijective())
      return refuse(fmt::format("{} does not hold each element once", l->str()), from, to);
  }
  for (const char *in : {"register", "lane", "wave"})
    if (from.inBits(in) != to.inBits(in))
      return refuse(fmt::format("{} against {} bits of {}", from.inBits(in), to.inBits(in), in),
                    from, to);
  for (const Dim &d : from.outs())
    if (to.outBits(d.name) != d.bits)
      return refuse(fmt::format("the tiles differ in {}", d.name), from, to);
  return {};
}

/// True if no value changes its wave and all waves move alike.
bool wavesStay(const LinearLayout &move) {
  return move.sublayout({"wave"}, {"wave"}) ==
             LinearLayout::identity("wave", "wave", move.inBits("wave")) &&
         gf2::rank(move.sublayout({"wave"}, {"register", "lane"}).columns()) == 0 &&
         gf2::rank(move.sublayout({"register", "lane"}, {"wave"}).columns()) == 0;
}

} // namespace

int Conversion::clocks() const {
  int sum = 0;
  for (const ConversionStep &s : steps)
    sum += s.clocks;
  return sum;
}

std::string Conversion::str() const {
  static constexpr const char *names[] = {
      "rename", "permlane32_swap", "permlane16_swap", "dpp", "select", "bpermute", "lds"};
  if (steps.empty())
    return "nothing";
  std::vector<std::string> items;
  for (const ConversionStep &s : steps)
    items.push_back(s.instructions ? fmt::format("{} x {}", s.instructions, names[s.kind])
                                   : names[s.kind]);
  return fmt::format("{} ({} clk)", fmt::join(items, ", "), clocks());
}

Result<Conversion> findWaveConversion(const LinearLayout &from, const LinearLayout &to) {
  if (Result<void> check = checkPair(from, to); !check)
    return check.error();
  const LinearLayout move =
      from.then(*to.inverse())
          .sublayout({"register", "lane", "wave"}, {"register", "lane", "wave"});
  if (!wavesStay(move))
    return refuse("values change their wave, which takes LDS", from, to);
  return MoveSearch(move.sublayout({"register", "lane"}, {"register", "lane"})).run();
}

Result<Conversion> findConversion(const LinearLayout &from, const LinearLayout &to) {
  if (Result<void> check = checkPair(from, to); !check)
    return check.error();
  const ConversionStep lds = ldsStep(from.inSize("register"), from.inSize("wave"));
  if (auto inWave = findWaveConversion(from, to); inWave && inWave->clocks() <= lds.clocks)
    return inWave;
  return Conversion{{lds}};
}

} // namespace attune::layout
