// Runs AITER's gfx950 code objects, which are proven on hardware, in the simulator.
//
// The code objects are not part of this repository. They are found in a checkout of ROCm/aiter that
// the environment variable ATTUNE_AITER_DIR names; without it every test here passes with a line
// that ctest reads as "skipped".
//
//   AITER_CHECKOUT_OR_SKIP();
//   CodeObject co("fmha_v3_fwd", "fwd_hd128_bf16.co");
//   uint64_t q = co.upload(values), o = co.output(bytes);
//   Kernarg args(656);
//   args.set(0x000, o).set(0x010, q)...
//   co.launch({2, 4, 1}, 512, args, kPolicy);
//   co.report("b1 h4 q300 k333", relL2(co.download<uint16_t>(o, n), want));
//
// Buffers are exactly as long as they claim: an access one byte past the end is a fault.
#pragma once
#include "runtime/sim/Simulator.h"
#include "runtime/sim/strict/Strict.h"
#include "tests/aiter/Formats.h"
#include <array>
#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

namespace aitertest {

/// The checkout, or "" with a line for ctest's SKIP_REGULAR_EXPRESSION.
const std::string &checkout();
#define AITER_CHECKOUT_OR_SKIP()                                                                   \
  if (aitertest::checkout().empty())                                                               \
  return

/// The bytes of a launch struct, set by offset as the code object reads them.
class Kernarg {
public:
  explicit Kernarg(size_t bytes) : bytes_(bytes) {}
  template <class T> Kernarg &set(size_t offset, T value) {
    REQUIRE(offset + sizeof value <= bytes_.size());
    std::memcpy(bytes_.data() + offset, &value, sizeof value);
    return *this;
  }
  std::span<const uint8_t> bytes() const { return bytes_; }

private:
  std::vector<uint8_t> bytes_;
};

/// How waves interleave and when memory answers. Hardware permits all of it; not every production
/// kernel is right under all of it (its tests say why).
struct Policy {
  const char *name;
  attune::sim::Arrival arrival;
  attune::sim::Schedule schedule;
  uint32_t quantum = 20;
  uint32_t ldsDelay = attune::sim::RunOptions{}.ldsDelay;
  uint32_t memoryDelay = attune::sim::RunOptions::kAtWait;
};
inline constexpr Policy kToBarrier{"instant, to barrier", attune::sim::Arrival::Instant,
                                   attune::sim::Schedule::ToBarrier};
inline constexpr Policy kReverse{"instant, reverse", attune::sim::Arrival::Instant,
                                 attune::sim::Schedule::Reverse};
/// The nearest to hardware, where the waves of a workgroup issue in turns of a few instructions.
inline constexpr Policy kFine{"instant, short turns", attune::sim::Arrival::Instant,
                              attune::sim::Schedule::Random};
/// The same, with memory as late and LDS as early as hardware mostly has them.
inline constexpr Policy kTypical{"typical, short turns", attune::sim::Arrival::Typical,
                                 attune::sim::Schedule::Random};
inline constexpr Policy kTypicalToBarrier{"typical, to barrier", attune::sim::Arrival::Typical,
                                          attune::sim::Schedule::ToBarrier};
inline constexpr Policy kTypicalReverse{"typical, reverse", attune::sim::Arrival::Typical,
                                        attune::sim::Schedule::Reverse};
inline constexpr Policy kLatest{"latest, to barrier", attune::sim::Arrival::Latest,
                                attune::sim::Schedule::ToBarrier};
inline constexpr Policy kLatestReverse{"latest, reverse", attune::sim::Arrival::Latest,
                                       attune::sim::Schedule::Reverse};
inline constexpr Policy kLatestFine{"latest, short turns", attune::sim::Arrival::Latest,
                                    attune::sim::Schedule::Random};
inline constexpr Policy kPolicies[] = {kToBarrier,        kReverse,        kFine,
                                       kTypicalToBarrier, kTypicalReverse, kTypical,
                                       kLatest,           kLatestReverse,  kLatestFine};

/// One code object in a simulator of its own, and the buffers of its launches.
class CodeObject {
public:
  /// `folder` is below hsa/gfx950. Fails the test if the file does not load or has not one kernel.
  CodeObject(const std::string &folder, const std::string &file);

  template <class T> uint64_t upload(const std::vector<T> &data, const std::string &name = "") {
    uint64_t address = allocate(data.size() * sizeof(T), name);
    REQUIRE(simulator_.memory().copyIn(address, data.data(), data.size() * sizeof(T)));
    return address;
  }
  /// Filled with 0xff: NaN in every float format, so that what a kernel leaves unwritten shows. To
  /// strict mode it is undefined.
  uint64_t output(size_t bytes, const std::string &name = "");
  template <class T> std::vector<T> download(uint64_t address, size_t count) {
    std::vector<T> data(count);
    REQUIRE(simulator_.memory().copyOut(data.data(), address, count * sizeof(T)));
    return data;
  }
  void fill(uint64_t address, uint8_t byte, size_t bytes);

  /// Runs the kernel on one host thread and adds to the counts of report(). "" or the fault.
  std::string tryLaunch(std::array<uint32_t, 3> grid, uint32_t threads, const Kernarg &,
                        const Policy &);
  /// The same; a fault fails the test.
  void launch(std::array<uint32_t, 3> grid, uint32_t threads, const Kernarg &, const Policy &);

  /// Later launches are watched by strict mode; null: no longer.
  void watch(attune::sim::strict::StrictChecker *checker) { checker_ = checker; }

  /// One line on stdout: code object, shape, error, wave instructions and processor seconds of the
  /// launches since the last report. Leaving it to the test which error is too much.
  void report(const std::string &shape, double error, const std::string &note = "");

  const attune::sim::KernelInfo &info() const { return info_; }
  const attune::sim::RunStats &stats() const { return stats_; }
  double seconds() const { return seconds_; } ///< of the processor, since the last report

private:
  uint64_t allocate(size_t bytes, const std::string &name);
  void judged(const attune::sim::strict::Finding &);

  std::string file_;
  attune::sim::Simulator simulator_;
  attune::sim::ModuleId module_ = 0;
  attune::sim::KernelInfo info_;
  attune::sim::strict::StrictChecker *checker_ = nullptr;
  attune::sim::RunStats stats_; ///< of the last launch
  uint64_t instructions_ = 0;
  double seconds_ = 0;
};

/// The kinds of strict mode's findings but for wait states, "dma-order lds-race"; "" if none. Wait
/// states are left out: hand-written kernels set M0 right before an LDS-DMA, all of them, where
/// LLVM's table, which strict mode uses, wants an instruction in between.
std::string kindsFound(const attune::sim::strict::StrictChecker &);

/// N(0, 1), the same numbers on every machine.
class Normal {
public:
  explicit Normal(uint64_t seed) : state_(seed) {}
  double operator()();
  /// Uniform in [0, n).
  uint32_t below(uint32_t n);

private:
  uint64_t next();
  uint64_t state_;
};
std::vector<float> normals(size_t count, uint64_t seed, double scale = 1);

std::vector<uint16_t> toBf16(const std::vector<float> &);
std::vector<uint8_t> toE4m3(const std::vector<float> &);
std::vector<double> fromBf16(const std::vector<uint16_t> &);
std::vector<double> fromE4m3(const std::vector<uint8_t> &);

/// |got - want| / |want| in the 2-norm; infinity if a value is not finite in one and not the same
/// in the other. Equal infinities (the LSE of an empty row) count as right.
double relL2(const std::vector<double> &got, const std::vector<double> &want);

} // namespace aitertest
