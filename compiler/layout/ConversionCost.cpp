// Choosing between DPP, selects and ds_bpermute for a given lane move; see ConversionCost.h.
#include "compiler/layout/ConversionCost.h"
#include <algorithm>

namespace attune::layout {

namespace {

/// True if lanes 0..3 of each four are permuted the same way and nothing else is, up to an XOR of
/// each register's own.
bool isQuadMap(const LinearLayout &lanes) {
  for (int i = 0; i < lanes.inBits("lane"); ++i) {
    const uint32_t image = lanes.basis("lane", i, "lane");
    if (i < 2 ? image > 3 : image != uint32_t(1) << i)
      return false;
  }
  return true;
}

/// DPP moves after which lane i holds what was in lane source(i) = quadMap(i) XOR flip.
std::vector<DppMove> dppMoves(const LinearLayout &lanes, uint32_t flip) {
  std::vector<DppMove> moves;
  // The three big moves are i XOR 7, 8 and 15; what they flip in the low two bits, the quad move
  // takes back.
  constexpr DppMove::Control big[] = {DppMove::QuadPerm, DppMove::HalfMirror, DppMove::RowRor8,
                                      DppMove::Mirror};
  constexpr uint32_t bigFlip[] = {0, 7, 8, 15};
  const uint32_t which = flip >> 2;
  if (which)
    moves.push_back({big[which], {}});
  DppMove quad;
  bool moved = false;
  for (uint32_t i = 0; i < 4; ++i) {
    quad.quad[i] = int(lanes.at("lane", {{"lane", i}}) ^ ((flip ^ bigFlip[which]) & 3));
    moved |= quad.quad[i] != int(i);
  }
  if (moved)
    moves.push_back(quad);
  return moves;
}

/// As DPP, if each register stays and its lanes move in a way that DPP has.
std::optional<ConversionStep> dppStep(const LinearLayout &source) {
  const LinearLayout registers = source.sublayout({"register"}, {"register"});
  const LinearLayout lanes = source.sublayout({"register", "lane"}, {"lane"});
  if (gf2::rank(source.sublayout({"lane"}, {"register"}).columns()) != 0 ||
      !(registers == LinearLayout::identity("register", "register", registers.inBits())) ||
      !isQuadMap(lanes))
    return std::nullopt;
  ConversionStep step;
  step.kind = ConversionStep::Dpp;
  for (uint32_t r = 0; r < uint32_t(source.inSize("register")); ++r) {
    const uint32_t flip = lanes.at("lane", {{"register", r}});
    if (flip > 15)
      return std::nullopt;
    step.moves.push_back(dppMoves(lanes, flip));
    step.instructions += int(step.moves.back().size());
  }
  step.clocks = step.instructions * cost::vector;
  return step;
}

/// As one gather: each register of the target from every register that some lane needs, chosen by
/// selects.
ConversionStep gatherStep(const LinearLayout &source) {
  const int sources = 1 << gf2::rank(source.sublayout({"lane"}, {"register"}).columns());
  const bool lanesStay =
      source.sublayout({"register", "lane"}, {"lane"}) ==
      LinearLayout::broadcast("register", "lane", source.inBits("register"))
          .product(LinearLayout::identity("lane", "lane", source.inBits("lane")));
  const int registers = source.inSize("register"), selects = registers * (sources - 1);
  const int permutes = lanesStay ? 0 : registers * sources;
  ConversionStep step;
  step.kind = lanesStay ? ConversionStep::Select : ConversionStep::Bpermute;
  step.source = source;
  step.instructions = selects + permutes;
  step.clocks =
      selects * cost::vector + (permutes ? permutes * cost::bpermute + cost::ldsLatency : 0);
  return step;
}

} // namespace

std::optional<ConversionStep> finalStep(const LinearLayout &source) {
  ConversionStep gather = gatherStep(source);
  if (gather.instructions == 0)
    return std::nullopt;
  if (auto dpp = dppStep(source); dpp && dpp->clocks <= gather.clocks)
    return dpp;
  return gather;
}

ConversionStep ldsStep(int registers, int waves) {
  const int transfers = std::max(1, registers / 4);
  ConversionStep step;
  step.kind = ConversionStep::Lds;
  step.instructions = 2 * transfers;
  step.clocks = transfers * (cost::ldsWriteB128 + cost::ldsReadB128) + 2 * cost::ldsLatency +
                (waves > 1 ? cost::barrier : 0);
  return step;
}

} // namespace attune::layout
