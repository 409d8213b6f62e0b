#include "runtime/sim/timing/LdsUnit.h"
#include <algorithm>

namespace attune::sim {

bool LdsUnit::hasRoom(int pair, int slots) const {
  size_t queued = queues_[size_t(pair)].size();
  int used = slots_[size_t(pair)];
  return queued < size_t(params_.ldsCommandQueue) &&
         (used == 0 || used + slots <= params_.ldsDataQueue);
}

uint32_t LdsUnit::issue(uint64_t clk, int pair, int slots, int bankClk, int pathClk, int dataClk) {
  uint32_t operation = uint32_t(done_.size());
  done_.push_back(0);
  slots_[size_t(pair)] += slots;
  queues_[size_t(pair)].push_back(
      {clk, operation, uint16_t(slots), uint16_t(bankClk), uint16_t(pathClk), uint16_t(dataClk)});
  return operation;
}

void LdsUnit::arrive(uint64_t clk, int bytes) {
  int bankClk = std::max(1, bytes / params_.ldsDmaBytesPerClk);
  Pending p{clk, ~0u, 0, uint16_t(bankClk), 0, 0};
  auto &queue = queues_[kDma];
  auto later = std::upper_bound(queue.begin(), queue.end(), clk,
                                [](uint64_t at, const Pending &q) { return at < q.clk; });
  queue.insert(later, p);
}

void LdsUnit::start(int queue, uint64_t at) {
  Pending p = queues_[size_t(queue)].front();
  queues_[size_t(queue)].pop_front();
  bankFree_ = at + p.bankClk;
  pathFree_[size_t(queue)] = at + p.pathClk;
  if (queue == kDma)
    return;
  slots_[size_t(queue)] -= p.slots;
  done_[p.operation] =
      at + uint64_t(params_.ldsLatencyClk) + std::max<uint64_t>(p.bankClk, p.dataClk);
}

void LdsUnit::advance(uint64_t clk) {
  while (true) {
    int best = -1;
    uint64_t bestAt = clk, bestAge = 0;
    for (int q = 0; q <= kDma; ++q) {
      if (queues_[size_t(q)].empty())
        continue;
      uint64_t age = queues_[size_t(q)].front().clk;
      uint64_t at = std::max({age, bankFree_, pathFree_[size_t(q)]});
      if (at < bestAt || (best >= 0 && at == bestAt && age < bestAge)) {
        best = q;
        bestAt = at;
        bestAge = age;
      }
    }
    if (best < 0)
      return;
    start(best, bestAt);
  }
}

} // namespace attune::sim
