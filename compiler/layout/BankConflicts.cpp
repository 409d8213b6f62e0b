// Counting bank conflicts; see BankConflicts.h.
#include "compiler/layout/BankConflicts.h"
#include <algorithm>
#include <array>

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
  std::array<uint32_t, maxPhaseDwords> dwords;
  int count = 0;
  for (int lane = 0; lane < 64; ++lane)
    if (lanes >> lane & 1)
      for (int i = 0; i < info.bytes / 4; ++i)
        dwords[count++] = address[lane] / 4 + i;
  std::sort(dwords.begin(), dwords.begin() + count);
  count = int(std::unique(dwords.begin(), dwords.begin() + count) - dwords.begin());
  std::array<uint8_t, maxBanks> load{};
  int worst = 0;
  for (int i = 0; i < count; ++i)
    worst = std::max<int>(worst, ++load[dwords[i] % info.banks]);
  return worst;
}

Conflicts count(const LdsAccessInfo &info, const std::array<uint32_t, 64> &address) {
  Conflicts result;
  for (int half = 0; half < 2; ++half)
    for (uint32_t lanes : info.phases) {
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
  return count(infoOf(access), address);
}

int worstConflict(const LdsLayout &layout, const LdsReader &reader) {
  // Packed with the lane lowest, each run of 64 inputs is one instruction.
  std::vector<std::string> order = {"lane"};
  for (const Dim &d : reader.coords.ins())
    if (d.name != "lane")
      order.push_back(d.name);
  const LinearLayout coords = reader.coords.sublayout(order, {"row", "byte"});
  int worst = 1;
  for (uint64_t instruction = 0; instruction < uint64_t(1) << coords.inBits(); instruction += 64) {
    std::array<uint32_t, 64> address;
    for (int lane = 0; lane < 64; ++lane) {
      const uint64_t place = coords(instruction + lane);
      address[lane] = layout.address(coords.outField(place, "row"), coords.outField(place, "byte"));
    }
    worst = std::max(worst, count(infoOf(reader.access), address).worst);
  }
  return worst;
}

} // namespace attune::layout
