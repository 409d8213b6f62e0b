#include "runtime/sim/timing/Occupancy.h"
#include <algorithm>
#include <functional>
#include <queue>

namespace attune::sim {

Occupancy occupancy(const LaunchFacts &l, const TimingParams &p) {
  constexpr int kSimds = 4, kWaveSize = 64;
  auto roundUp = [](int n, int unit) { return (n + unit - 1) / unit * unit; };
  Occupancy o;
  o.wavesPerWorkgroup = roundUp(int(l.block[0] * l.block[1] * l.block[2]), kWaveSize) / kWaveSize;
  int registers = std::max(roundUp(int(l.vgprs), p.vgprGranule), p.vgprGranule);
  int waves = std::min(p.wavesPerSimd, p.vgprFile / registers);
  struct Bound {
    int workgroups;
    const char *name;
  };
  Bound bounds[] = {
      {waves * kSimds / o.wavesPerWorkgroup, "VGPRs"},
      {l.ldsBytes ? p.ldsBytes / roundUp(int(l.ldsBytes), p.ldsGranule) : 1 << 20, "LDS"},
      {p.wavesPerSimd * kSimds / o.wavesPerWorkgroup, "waves"},
      {o.wavesPerWorkgroup > 1 ? p.barriersPerCu : 1 << 20, "barriers"},
  };
  if (bounds[0].workgroups == bounds[2].workgroups)
    bounds[0].workgroups = 1 << 20; // registers bound nothing that the wave limit does not
  const Bound *least =
      std::min_element(std::begin(bounds), std::end(bounds),
                       [](const Bound &a, const Bound &b) { return a.workgroups < b.workgroups; });
  o.workgroupsPerCu = least->workgroups;
  o.limit = least->name;
  o.wavesPerSimd = (o.workgroupsPerCu * o.wavesPerWorkgroup + kSimds - 1) / kSimds;
  return o;
}

Placement firstPlacement(uint64_t workgroup, const TimingParams &p) {
  return {int(workgroup % uint64_t(p.xcds)),
          int(workgroup / uint64_t(p.xcds) % uint64_t(p.cusPerXcd))};
}

uint64_t dispatchClk(const std::vector<uint64_t> &durations, int workgroupsPerCu,
                     const TimingParams &p) {
  uint64_t last = 0;
  for (size_t xcd = 0; xcd < size_t(p.xcds); ++xcd) {
    std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> freeAt;
    for (int slot = 0; slot < p.cusPerXcd * workgroupsPerCu; ++slot)
      freeAt.push(0);
    for (size_t wg = xcd; wg < durations.size(); wg += size_t(p.xcds)) {
      uint64_t end = freeAt.top() + durations[wg];
      freeAt.pop();
      freeAt.push(end);
      last = std::max(last, end);
    }
  }
  return last;
}

} // namespace attune::sim
