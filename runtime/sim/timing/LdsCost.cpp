#include "runtime/sim/timing/LdsCost.h"
#include "runtime/sim/Wave.h"
#include <algorithm>
#include <bit>

namespace attune::sim {
namespace {

constexpr uint64_t range(int first, int last) {
  return (~uint64_t(0) >> (63 - last + first)) << first;
}

constexpr uint64_t kLanes32[] = {range(0, 31), range(32, 63)};
constexpr uint64_t kLanes16[] = {range(0, 15), range(16, 31), range(32, 47), range(48, 63)};
constexpr uint64_t kLanes8[] = {range(0, 7),   range(8, 15),  range(16, 23), range(24, 31),
                                range(32, 39), range(40, 47), range(48, 55), range(56, 63)};
constexpr uint64_t k128a = range(0, 3) | range(12, 15) | range(20, 27);
constexpr uint64_t k128b = range(4, 11) | range(16, 19) | range(28, 31);
constexpr uint64_t kRead128[] = {k128a, k128b, k128a << 32, k128b << 32};
constexpr uint64_t k96a = range(0, 3) | range(20, 23), k96b = range(4, 7) | range(16, 19);
constexpr uint64_t k96c = range(8, 11) | range(28, 31), k96d = range(12, 15) | range(24, 27);
constexpr uint64_t kRead96[] = {k96a,       k96b,       k96c,       k96d,
                                k96a << 32, k96b << 32, k96c << 32, k96d << 32};

std::span<const uint64_t> lanesOf(LdsPhases phases) {
  switch (phases) {
  case LdsPhases::None:
    return {};
  case LdsPhases::Lanes16:
    return kLanes16;
  case LdsPhases::Lanes8:
    return kLanes8;
  case LdsPhases::Read96:
    return kRead96;
  case LdsPhases::Read128:
    return kRead128;
  default:
    return kLanes32;
  }
}

/// Different dwords in the fullest bank.
int phaseClk(const Access &a, uint64_t lanes, int dwords, int banks, uint32_t offset,
             BankUse *use) {
  std::array<uint32_t, 64 * 4> wanted;
  size_t count = 0;
  for (uint64_t left = lanes & a.exec; left; left &= left - 1) {
    uint32_t first = (uint32_t(a.address[std::countr_zero(left)]) + offset) / 4;
    for (int k = 0; k < dwords; ++k)
      wanted[count++] = first + uint32_t(k);
  }
  std::sort(wanted.begin(), wanted.begin() + long(count));
  auto end = std::unique(wanted.begin(), wanted.begin() + long(count));
  std::array<uint8_t, 64> load{};
  int most = 0;
  for (auto at = wanted.begin(); at != end; ++at) {
    most = std::max<int>(most, ++load[*at % uint32_t(banks)]);
    if (use)
      ++use->dwords[*at % uint32_t(banks)];
  }
  return most;
}

bool unaligned(const Access &a, uint32_t bytes) {
  for (uint64_t left = a.exec; left; left &= left - 1)
    if (a.address[std::countr_zero(left)] % bytes)
      return true;
  return false;
}

} // namespace

LdsCost ldsCost(const InstTiming &t, const Access &a, const TimingParams &p, BankUse *use) {
  LdsCost cost;
  if (t.phases == LdsPhases::None)
    return cost;
  const Inst &i = *a.inst;
  int dwords = std::max(1, i.memBytes / 4);
  std::span<const uint64_t> phases = lanesOf(t.phases);
  int accesses = t.phases == LdsPhases::Pair ? 2 : 1;
  bool st64 = kOpcodes[i.opcode].flags & St64;
  for (int which = 0; which < accesses; ++which) {
    uint32_t offset = 0;
    if (accesses == 2)
      offset = (uint32_t(i.offset) >> (8 * which) & 0xff) * i.memBytes * (st64 ? 64u : 1u);
    for (uint64_t lanes : phases)
      if (int clk = phaseClk(a, lanes, dwords, t.banks, offset, use)) {
        cost.clk = uint16_t(cost.clk + clk);
        ++cost.free;
      }
  }
  if (t.phases == LdsPhases::Read128 && unaligned(a, 16))
    cost.clk = uint16_t(std::popcount(a.exec) * p.ldsUnalignedClkPerLane);
  return cost;
}

} // namespace attune::sim
