// One build's half of the comparison; ISA_LAUNCH and ISA_MULTIPLY are its function names.
#include "tests/sim/isa/IsaRun.h"
#include "runtime/sim/Matrix.h"
#include "runtime/sim/Simulator.h"
#include <cstring>

using namespace attune::sim;

namespace simtest {

IsaResult ISA_LAUNCH(const IsaLaunch &launch, size_t outputDwords, size_t memoryDwords) {
  Simulator simulator;
  IsaResult result;
  auto module = simulator.load(launch.codeObject);
  if (!module)
    return {module.error().message, {}, {}};
  auto upload = [&](const std::vector<uint32_t> &data) {
    uint64_t address = *simulator.memory().alloc(data.size() * 4);
    std::memcpy(Memory::host(address), data.data(), data.size() * 4);
    return address;
  };
  result.outputs.assign(outputDwords, 0xdeadbeefu);
  result.memory.assign(memoryDwords, 0);
  uint64_t arguments[3] = {upload(launch.inputs), upload(result.outputs), upload(result.memory)};
  uint8_t bytes[sizeof(arguments)];
  std::memcpy(bytes, arguments, sizeof(bytes));
  Launch one{.kernel = launch.kernel, .grid = {1, 1, 1}, .block = {64, 1, 1}, .kernarg = bytes};
  one.options.threads = 1;
  auto stats = simulator.launch(*module, one);
  if (!stats)
    result.error = stats.error().message;
  std::memcpy(result.outputs.data(), Memory::host(arguments[1]), outputDwords * 4);
  std::memcpy(result.memory.data(), Memory::host(arguments[2]), memoryDwords * 4);
  return result;
}

void ISA_MULTIPLY(const IsaProduct &p, IsaOperands &o) {
  auto raw = [](IsaRegs &r) { return reinterpret_cast<Lanes>(r.data()); };
  MatType a = MatType(p.a), b = MatType(p.b), acc = MatType(p.acc);
  MfmaShape shape{uint8_t(p.m), uint8_t(p.m), uint8_t(p.k), uint8_t(p.blocks), a, b,
                  acc,          p.twoRuns};
  MfmaC c{raw(o.d)};
  switch (p.kind) {
  case IsaMatrix::Dense:
    return mfma(shape, raw(o.d), raw(o.a), raw(o.b), c);
  case IsaMatrix::Scaled:
    return mfmaScaled(shape, raw(o.d), raw(o.a), raw(o.b), c,
                      {o.scaleA.data(), o.scaleB.data(), 1, 2});
  case IsaMatrix::Sparse:
    return smfmac({uint8_t(p.m), uint8_t(p.k), a, b, acc}, raw(o.d), raw(o.a), raw(o.b),
                  o.scaleA.data(), 0, 0);
  }
}

} // namespace simtest
