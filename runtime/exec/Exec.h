// Runs what a launch file describes on the simulator: buffers are allocated and filled, the kernel
// arguments packed, the kernel run, the outputs written.
//
//   auto file = exec::readLaunch("vadd.json");
//   auto report = exec::run(codeObjectBytes, *file, {});      // all of it
//
// Whoever needs the steps (other checks, several launches on one simulator) takes them singly:
// prepare, launchOf, Simulator::launch, writeOutputs.
#pragma once
#include "runtime/exec/LaunchFile.h"
#include "runtime/sim/Simulator.h"
#include <span>

namespace attune::exec {

/// Where an argument points to.
struct Pointer {
  uint64_t address = 0;
  uint64_t bytes = 0;         ///< from there to the end of the buffer
  std::optional<DType> dtype; ///< of the .npy that the buffer was filled from
  Shape shape;
};

struct Prepared {
  std::vector<uint8_t> kernarg;
  std::vector<Pointer> pointers; ///< one for each argument; 0 for those that are no buffers
};

/// Buffers stay in `memory` until it goes. Every output is checked against its buffer here, before
/// anything runs.
Result<Prepared> prepare(sim::Memory &memory, const LaunchFile &);

/// The kernel that a launch file names, or the only one of the module.
Result<sim::KernelInfo> chooseKernel(const sim::Simulator &, sim::ModuleId, const LaunchFile &);

/// `prepared` must outlive it.
sim::Launch launchOf(const LaunchFile &, const std::string &kernel, const Prepared &prepared,
                     const sim::RunOptions &);

struct Written {
  std::string path;
  std::string contents; ///< "f32[1024]", "4096 bytes"
};
Result<std::vector<Written>> writeOutputs(const sim::Memory &, const LaunchFile &,
                                          const Prepared &);

struct Report {
  sim::KernelInfo kernel;
  sim::RunStats stats;
  std::vector<Written> outputs;
  uint32_t kernargGiven = 0; ///< bytes that the file's arguments take
  double runMs = 0;          ///< of the simulation alone
};
Result<Report> run(std::span<const uint8_t> codeObject, const LaunchFile &,
                   const sim::RunOptions &);

} // namespace attune::exec
