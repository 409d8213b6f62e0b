#include "runtime/sim/timing/MemoryUnit.h"
#include <algorithm>
#include <cmath>

namespace attune::sim {

uint64_t MemoryUnit::roomAt(uint64_t clk) const {
  auto waiting = std::upper_bound(starts_.begin(), starts_.end(), clk);
  auto count = starts_.end() - waiting;
  if (count < params_.vmemFifo)
    return clk;
  return *(starts_.end() - params_.vmemFifo); // when that one starts, fewer are left
}

/// Whether L1 has the sector; afterwards it has.
bool MemoryUnit::touchL1(uint64_t sector) {
  uint64_t perLine = uint64_t(params_.sectorsPerLine());
  uint64_t line = sector / perLine, bit = uint64_t(1) << sector % perLine;
  auto [at, fresh] = l1_.try_emplace(line);
  if (!fresh)
    recent_.erase(at->second.recent);
  recent_.push_front(line);
  at->second.recent = recent_.begin();
  bool hit = at->second.sectors & bit;
  at->second.sectors |= bit;
  if (l1_.size() > size_t(params_.tcpBytes / params_.lineBytes)) {
    l1_.erase(recent_.back());
    recent_.pop_back();
  }
  return hit;
}

/// Of a line that L1 lacks sectors of. Workgroups that share lines take turns at being the first.
double MemoryUnit::lineLatency(uint64_t line, int sectors, Missed &missed) {
  auto shared = load_.sharers.find(line);
  double sharers = shared == load_.sharers.end() ? 1 : std::max(1u, shared->second);
  bool again = !seen_.insert(line).second && load_.fitsL2;
  double fromL2 = again ? 1 : 1 - 1 / sharers, fromHbm = (1 - fromL2) / load_.xcds;
  l2Hits_ += fromL2 * sectors;
  missed.sectors += sectors;
  missed.fromHbm += fromHbm;
  return params_.l2HitClk * fromL2 + params_.hbmClk * fromHbm +
         params_.mallHitClk * (1 - fromL2 - fromHbm);
}

/// What a wave is expected to wait for the slowest of an instruction's lines: they miss together.
double MemoryUnit::latency(const uint64_t *sectors, size_t count, Missed &missed) {
  double clk = params_.l1HitClk;
  uint64_t perLine = uint64_t(params_.sectorsPerLine());
  sectors_ += count;
  for (size_t n = 0; n < count;) {
    uint64_t line = sectors[n] / perLine;
    int lacking = 0;
    for (; n < count && sectors[n] / perLine == line; ++n)
      if (touchL1(sectors[n]))
        ++l1Hits_;
      else
        ++lacking;
    if (lacking)
      clk = std::max(clk, lineLatency(line, lacking, missed));
  }
  return clk;
}

/// Clk that the CU's share of L2 and of HBM need for what L1 lacks.
double MemoryUnit::transferClk(const Missed &missed) const {
  double active = std::max(1.0, load_.activeCus);
  double fromL2 = std::min<double>(params_.l2BytesPerClkCu,
                                   params_.loadedBytesPerClkCu * params_.cus() / active);
  double fromMemory = params_.hbmTerabytes * 1e6 / params_.clockA / active;
  return std::max(params_.sectorBytes * missed.sectors / fromL2,
                  params_.lineBytes * missed.fromHbm / fromMemory);
}

uint64_t MemoryUnit::access(uint64_t clk, const TraceAccess &a, const uint64_t *sectors,
                            bool store) {
  int ideal = (a.bytes + params_.lineBytes - 1) / params_.lineBytes;
  double process = a.laneBytes <= 4 ? params_.tcpDwordClk : params_.tcpWideClk;
  process += std::max(0, a.lines - ideal) * params_.tcpExtraLineClk;
  uint64_t start = std::max(clk, tcpFree_);
  auto land = [&] {
    inFlight_ -= flights_.front().bytes;
    flights_.pop_front();
  };
  while (!flights_.empty() &&
         (flights_.front().back <= start || (!store && inFlight_ + a.bytes > params_.tcpBytes))) {
    start = std::max(start, flights_.front().back);
    land();
  }
  while (!starts_.empty() && starts_.front() <= clk)
    starts_.pop_front();
  starts_.push_back(start);
  tcpFree_ = start + uint64_t(std::lround(process));
  if (store) {
    double data = double(params_.storeClkPerDword) * std::max(1, a.laneBytes / 4);
    return tcpFree_ + uint64_t(data) + uint64_t(params_.l2HitClk);
  }
  Missed missed;
  double away = latency(sectors, a.sectors, missed);
  double back = double(start) + away;
  if (missed.sectors) {
    back = std::max(back, fabricFree_);
    fabricFree_ = back + transferClk(missed);
  }
  uint64_t done = uint64_t(std::ceil(back));
  if (!flights_.empty())
    done = std::max(done, flights_.back().back);
  if (missed.sectors) {
    flights_.push_back({done, a.bytes});
    inFlight_ += a.bytes;
  }
  return done;
}

/// A line is on its way once, for whichever wave asks first; those that ask meanwhile wait for it
/// too.
uint64_t MemoryUnit::scalar(uint64_t clk, const TraceAccess &a, const uint64_t *sectors) {
  uint64_t done = clk + uint64_t(params_.smemHitClk);
  for (size_t n = 0; n < a.sectors; ++n) {
    auto [line, cold] = scalarThereAt_.try_emplace(sectors[n], clk + uint64_t(params_.smemColdClk));
    done = std::max(done, line->second);
  }
  return done;
}

} // namespace attune::sim
