// The simulated GPUs: one, or as many as ATTUNE_HIP_DEVICES says, each with its own memory, code
// and errors. A kernel sees the memory of its own GPU only; the host and copies see all of it.
//
// Which GPU is current is a matter of each thread, as in HIP.
#pragma once
#include "runtime/hip/Outcome.h"
#include "runtime/sim/Simulator.h"
#include <memory>
#include <vector>

namespace attune::hip {

struct Gpu {
  explicit Gpu(int number) : ordinal(number) {}
  const int ordinal;
  sim::Simulator simulator;
  hipError_t error = hipSuccess; ///< of a kernel that faulted; it stays until a reset
};

class Gpus {
public:
  Gpus();
  int count() const { return int(gpus_.size()); }
  Gpu &at(int ordinal) { return *gpus_[size_t(ordinal)]; }
  Gpu &current();
  Outcome check(int ordinal) const; ///< invalid device, with what there is
  Outcome setCurrent(int ordinal);
  /// The GPU whose memory an address lies in; null if it lies in none.
  Gpu *holding(uint64_t address);

private:
  std::vector<std::unique_ptr<Gpu>> gpus_;
};

} // namespace attune::hip
