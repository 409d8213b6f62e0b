// Counting bank conflicts; see BankConflicts.h.
#include "compiler/layout/BankConflicts.h"
#include <algorithm>
#include <array>
#include <bit>

namespace attune::layout {

namespace {

#define LDS_ACCESS(name, mnemonic, bytes, banks, ...)                                              \
  constexpr uint32_t phasesOf##name[] = {__VA_ARGS__};
#include "compiler/layout/LdsAccess.def"

constexpr LdsAccessInfo table[] = {
#define LDS_ACCESS(name, mnemonic, bytes, banks, ...) {mnemonic, bytes, banks, phasesOf##name},
#include "compiler/layout/LdsAccess.def"
};

constexpr int maxBanks = 64;
constexpr int maxPhaseDwords = 64;

/// Dwords that the busiest bank delivers in one phase.
int degree(const LdsAccessInfo &info, uint64_t lanes, const std::array<uint32_t, 64> &address) {
  std::array<uint8_t, maxBanks> load{};
  std::array<std::array<uint32_t, maxPhaseDwords>, maxBanks> asked; // the first load[b] of bank b
  int worst = 0;
  for (; lanes; lanes &= lanes - 1) {
    const uint32_t first = address[std::countr_zero(lanes)] / 4;
    for (uint32_t dword = first; dword < first + info.bytes / 4; ++dword) {
      const int bank = dword % info.banks;
      const auto begin = asked[bank].begin(), end = begin + load[bank];
      if (std::find(begin, end, dword) != end)
        continue;
      *end = dword;
      worst = std::max<int>(worst, ++load[bank]);
    }
  }
  return worst;
}

/// Counts phase by phase until one is as bad as `enough`.
Conflicts count(const LdsAccessInfo &info, const std::array<uint32_t, 64> &address, int enough) {
  Conflicts result;
  for (int half = 0; half < 2; ++half)
    for (uint32_t lanes : info.phases) {
      if (result.worst >= enough)
        return result;
      const int d = degree(info, uint64_t(lanes) << 32 * half, address);
      result.worst = std::max(result.worst, d);
      result.clocks += d;
    }
  return result;
}

} // namespace

const LdsAccessInfo &infoOf(LdsAccess access) { return table[size_t(access)]; }

Conflicts bankConflicts(LdsAccess access, const std::function<uint32_t(int)> &addressOf) {
  std::array<uint32_t, 64> address;
  for (int lane = 0; lane < 64; ++lane)
    address[lane] = addressOf(lane);
  return count(infoOf(access), address, maxPhaseDwords + 1);
}

LdsInstructions expand(const LdsReader &reader) {
  // Packed with the lane lowest, each run of 64 inputs is one instruction.
  std::vector<std::string> order = {"lane"};
  for (const Dim &d : reader.coords.ins())
    if (d.name != "lane")
      order.push_back(d.name);
  const LinearLayout coords = reader.coords.sublayout(order, {"row", "byte"});
  LdsInstructions all{reader.access, {}};
  for (uint64_t in = 0; in < uint64_t(1) << coords.inBits(); ++in) {
    const uint64_t place = coords(in);
    all.places.push_back({coords.outField(place, "row"), coords.outField(place, "byte")});
  }
  return all;
}

int worstConflict(const LdsLayout &layout, const LdsInstructions &all, int enough) {
  int worst = 1;
  for (size_t first = 0; first < all.places.size() && worst < enough; first += 64) {
    std::array<uint32_t, 64> address;
    for (int lane = 0; lane < 64; ++lane)
      address[lane] = layout.address(all.places[first + lane].row, all.places[first + lane].byte);
    worst = std::max(worst, count(infoOf(all.access), address, enough).worst);
  }
  return worst;
}

} // namespace attune::layout
