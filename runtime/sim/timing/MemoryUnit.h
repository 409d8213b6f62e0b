// Vector and scalar memory of one CU over time, with the rest of the chip behind it as a latency
// and a bandwidth.
//
// A vector request waits in a queue of the CU, is processed by the L1 (TCP) at its rate, and is
// then in flight until its data is back; what is in flight at once is bounded by the size of the
// L1. A line comes in sectors, those that were asked for. The latency is that of the slowest line:
// in L1, in L2 (another CU of the XCD has asked for
// it: the share of the XCD's workgroups that touch the line), in the memory-side cache (MALL:
// another XCD has), or in HBM. Data comes back at the
// CU's share of what the chip delivers; a CU that asks for more sees the round trip grow until its
// bytes in flight, divided by it, are that share. Everything here is first in, first out, so that
// all times are known at issue.
#pragma once
#include "runtime/sim/timing/Trace.h"
#include <deque>
#include <list>
#include <unordered_map>
#include <unordered_set>

namespace attune::sim {

/// How many workgroups of the XCD touch each line, and how busy the chip is.
struct ChipLoad {
  std::unordered_map<uint64_t, uint32_t> sharers;
  double activeCus = 1; ///< of the chip
  double xcds = 1;      ///< that touch the same lines: the first brings them into the MALL
  bool fitsL2 = true;   ///< what the XCD's workgroups touch
};

class MemoryUnit {
public:
  MemoryUnit(const TimingParams &p, const ChipLoad &load) : params_(p), load_(load) {}

  /// Earliest time from `clk` on at which the queue takes a request.
  uint64_t roomAt(uint64_t clk) const;
  /// A vector access; returns when its data is back, or when a store has left.
  uint64_t access(uint64_t clk, const TraceAccess &, const uint64_t *sectors, bool store);
  uint64_t scalar(uint64_t clk, const TraceAccess &, const uint64_t *sectors);

  uint64_t sectors() const { return sectors_; }
  uint64_t l1Hits() const { return l1Hits_; }
  double l2Hits() const { return l2Hits_; }

private:
  struct Missed {
    int sectors = 0;    ///< in L1
    double fromHbm = 0; ///< lines that are neither in L2 nor in the MALL
  };
  double latency(const uint64_t *sectors, size_t count, Missed &missed);
  double lineLatency(uint64_t line, int sectors, Missed &missed);
  bool touchL1(uint64_t sector);
  double transferClk(const Missed &) const;

  TimingParams params_;
  const ChipLoad &load_;
  struct Flight {
    uint64_t back;
    int bytes;
  };
  std::deque<uint64_t> starts_; ///< of the requests that the queue still holds
  std::deque<Flight> flights_;
  int inFlight_ = 0;
  uint64_t tcpFree_ = 0;
  double fabricFree_ = 0;
  struct Line {
    std::list<uint64_t>::iterator recent;
    uint64_t sectors = 0; ///< a bit each
  };
  std::list<uint64_t> recent_; ///< lines of L1, most recent first
  std::unordered_map<uint64_t, Line> l1_;
  std::unordered_set<uint64_t> seen_;
  std::unordered_map<uint64_t, uint64_t> scalarThereAt_; ///< clk, by line of the scalar cache
  uint64_t sectors_ = 0, l1Hits_ = 0;
  double l2Hits_ = 0;
};

} // namespace attune::sim
