#include "tests/sim/timing/AblationLoops.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>

using namespace attune::sim;

namespace timingtest {

double speed(const TimingReport &r) {
  TimingParams p;
  return std::clamp(p.clockA + p.clockB * r.loop.matrixBusy, p.clockLo, p.clockHi) / r.loop.clk;
}

const TimingReport &timeOnce(const Loop &l) {
  static std::map<std::string, TimingReport> timed;
  std::string key =
      fmt::format("{} | {} | {} | {} | {} | {} {} {} {} {} {} {} {} {}", l.before, l.pattern,
                  l.after, l.producers, l.setUp, l.threads, l.workgroups, l.options.workgroups,
                  l.options.sharers, l.options.xcds, l.vgprs, l.pingPong, l.vmKeep, l.turns);
  auto at = timed.find(key);
  return at == timed.end() ? timed.emplace(key, timeLoop(l)).first->second : at->second;
}

std::string conflictAddress(int ways) {
  if (ways == 1)
    return "";
  if (ways == 8)
    return sumOf("v15", {{0, 6, 256}, {0, 1, 16}});
  int bits = ways == 2 ? 1 : 2;
  return sumOf("v15", {{0, 6, 16}, {0, bits, 240}});
}

} // namespace timingtest
