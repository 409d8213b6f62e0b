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

bool MemoryUnit::touchL1(uint64_t line) {
  auto at = l1_.find(line);
  bool hit = at != l1_.end();
  if (hit)
    recent_.erase(at->second);
  recent_.push_front(line);
  l1_[line] = recent_.begin();
  if (l1_.size() > size_t(params_.tcpBytes / params_.lineBytes)) {
    l1_.erase(recent_.back());
    recent_.pop_back();
  }
  return hit;
}

/// The chip's idle latency, drawn towards the measured one under load.
double MemoryUnit::loaded(double unloaded) const {
  double busy = std::min(1.0, load_.activeCus / params_.cus());
  return std::max(unloaded, unloaded + (params_.loadedClk - unloaded) * busy);
}

double MemoryUnit::latency(const uint64_t *lines, size_t count, Missed &missed) {
  double clk = params_.l1HitClk;
  for (size_t n = 0; n < count; ++n) {
    ++lines_;
    if (touchL1(lines[n])) {
      ++l1Hits_;
      continue;
    }
    ++missed.lines;
    auto shared = load_.sharers.find(lines[n]);
    double sharers = shared == load_.sharers.end() ? 1 : std::max(1u, shared->second);
    bool again = !seen_.insert(lines[n]).second && load_.fitsL2;
    double hit = again ? 1 : 1 - 1 / sharers;
    l2Hits_ += hit;
    missed.beyondL2 += 1 - hit;
    double far = loaded(params_.l2HitClk) * hit + loaded(params_.hbmClk) * (1 - hit);
    clk = std::max(clk, far);
  }
  return clk;
}

uint64_t MemoryUnit::access(uint64_t clk, const TraceAccess &a, const uint64_t *lines, bool store) {
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
    return tcpFree_ + uint64_t(data) + uint64_t(loaded(params_.l2HitClk));
  }
  Missed missed;
  double away = latency(lines, a.lines, missed);
  double share = params_.hbmTerabytes * 1e6 / params_.clockA / std::max(1.0, load_.activeCus);
  double transfer = params_.lineBytes * std::max(missed.lines / double(params_.l2BytesPerClkCu),
                                                 missed.beyondL2 / share);
  fabricFree_ = std::max(fabricFree_, double(start)) + transfer;
  uint64_t back = std::max(uint64_t(std::ceil(fabricFree_)), start + uint64_t(std::lround(away)));
  if (!flights_.empty())
    back = std::max(back, flights_.back().back);
  if (missed.lines) {
    flights_.push_back({back, a.bytes});
    inFlight_ += a.bytes;
  }
  return back;
}

uint64_t MemoryUnit::scalar(uint64_t clk, const TraceAccess &a, const uint64_t *lines) {
  bool cold = false;
  for (size_t n = 0; n < a.lines; ++n)
    cold |= scalarSeen_.insert(lines[n]).second;
  return clk + uint64_t(cold ? params_.smemColdClk : params_.smemHitClk);
}

} // namespace attune::sim
