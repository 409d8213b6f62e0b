// Two host instruction sets, the same bits: every instruction test of tests/sim/opcodes and every
// matrix shape, on the simulator as it ships and on its plain build, with NaNs of all payloads,
// infinities, denormals and extreme integers among the inputs.
#include "runtime/sim/Matrix.h"
#include "tests/sim/coreHarness.h"
#include "tests/sim/isa/IsaRun.h"
#include "tests/sim/opcodes/OpTest.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <random>

using namespace simtest;
using attune::sim::MatType;

namespace {

constexpr size_t kMemoryDwords = 1024;

/// Words that are edges in some format: f32, pairs of f16 and bf16, bytes of fp8, integers.
const uint32_t kEdges[] = {
    0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x3f800000, 0xbf800001, 0x7f7fffff,
    0x7f800000, 0xff800000, 0x7fc00001, 0xffc12345, 0x7f800001, 0xff923456, 0x7c00fc00, 0x7e01fd02,
    0x03ff8001, 0x7bff0400, 0x7fc0ffa1, 0x7f80ff80, 0x7f7ef8fc, 0xffffffff, 0x7fffffff, 0x00000020,
    0x0000003f, 0xffffffe0, 0x4f000000, 0xcf800000, 0x33d6bf95, 0x5f3759df, 0x42b17218, 0xc2d00000};

class Words {
public:
  explicit Words(uint32_t seed) : random_(seed) {}
  /// An edge, any bits, or numbers of moderate size, in equal shares.
  uint32_t next() {
    uint32_t any = random_();
    switch (random_() % 3) {
    case 0:
      return kEdges[any % std::size(kEdges)];
    case 1:
      return any;
    default: // as f32 and as two bf16
      return (any & 0x80ff80ff) | 0x3f003f00;
    }
  }
  uint32_t moderate() { return (uint32_t(random_()) & 0x80ff80ff) | 0x3f003f00; }
  uint32_t below(uint32_t n) { return uint32_t(random_()) % n; }

private:
  std::mt19937 random_;
};

/// Replaces the vector inputs: a row of them is an input row whose bits no address is made of.
void scramble(OpTest &test, Words &words) {
  for (OpPlace &place : test.before)
    if (place.kind == OpPlace::Vector || place.kind == OpPlace::Accumulator) {
      place.values.assign(64, {});
      for (OpValue &value : place.values)
        value.bits = words.next() | (place.words == 2 ? uint64_t(words.next()) << 32 : 0);
    }
}

/// Whether an instruction takes an address from a vector register, by the first letters of its
/// name: from scrambled ones it would go anywhere, and end as the host's memory happens to lie.
bool takesAddresses(const OpTest &test) {
  for (const std::string &line : test.assembly)
    for (const char *memory : {"buffer_", "ds_", "flat_", "global_", "scratch_"})
      if (line.compare(std::min(line.find_first_not_of(" \t"), line.size()), std::strlen(memory),
                       memory) == 0)
        return true;
  return false;
}

std::string difference(const IsaResult &a, const IsaResult &b) {
  if (a.error != b.error)
    return a.error + " | " + b.error;
  for (size_t n = 0; n < a.outputs.size(); ++n)
    if (a.outputs[n] != b.outputs[n])
      return fmt::format("output row {} lane {}: {:08x} {:08x}", n / 64, n % 64, a.outputs[n],
                         b.outputs[n]);
  return a.memory == b.memory ? "" : "memory";
}

void compareFile(const std::string &path, unsigned rounds) {
  std::vector<OpTest> tests = readOpTests(path);
  Bytes code = assemble(opTestKernels(tests));
  REQUIRE(!code.empty());
  for (size_t n = 0; n < tests.size(); ++n)
    for (unsigned round = 0; round <= (takesAddresses(tests[n]) ? 0 : rounds); ++round) {
      OpTest test = tests[n];
      Words words(uint32_t(n * 16 + round));
      if (round)
        scramble(test, words);
      std::vector<uint32_t> inputs = opTestInputs(test);
      inputs.resize(std::max<size_t>(inputs.size(), 64));
      IsaLaunch launch{code, fmt::format("t{}", n), inputs};
      size_t outputs = std::max<size_t>(64, opTestOutputRows(test) * 64);
      INFO(path << ":" << test.line << " " << test.name << ", round " << round);
      CHECK(difference(launchShipped(launch, outputs, kMemoryDwords),
                       launchPlain(launch, outputs, kMemoryDwords)) == "");
    }
}

std::vector<IsaProduct> products() {
  std::vector<IsaProduct> all;
  auto add = [&](IsaMatrix kind, unsigned m, unsigned k, unsigned blocks, MatType a, MatType b,
                 MatType acc, bool twoRuns = false) {
    all.push_back({kind, m, k, blocks, unsigned(a), unsigned(b), unsigned(acc), twoRuns});
  };
  const MatType f32 = MatType::F32, i8 = MatType::I8, i32 = MatType::I32, f64 = MatType::F64;
  for (auto [m, k, blocks] :
       {std::array{32u, 1u, 2u}, {16, 1, 4}, {4, 1, 16}, {32, 2, 1}, {16, 4, 1}})
    add(IsaMatrix::Dense, m, k, blocks, f32, f32, f32);
  for (MatType t : {MatType::F16, MatType::Bf16}) {
    for (auto [m, k, blocks] : {std::array{32u, 4u, 2u},
                                {16, 4, 4},
                                {4, 4, 16},
                                {32, 8, 1},
                                {16, 16, 1},
                                {32, 16, 1},
                                {16, 32, 1}})
      add(IsaMatrix::Dense, m, k, blocks, t, t, f32);
    for (auto [m, k] : {std::array{16u, 32u}, {32, 16}, {16, 64}, {32, 32}})
      add(IsaMatrix::Sparse, m, k, 1, t, t, f32);
  }
  for (MatType a : {MatType::Fp8, MatType::Bf8})
    for (MatType b : {MatType::Fp8, MatType::Bf8}) {
      add(IsaMatrix::Dense, 32, 16, 1, a, b, f32);
      add(IsaMatrix::Dense, 16, 32, 1, a, b, f32);
      for (auto [m, k] : {std::array{16u, 64u}, {32, 32}, {16, 128}, {32, 64}})
        add(IsaMatrix::Sparse, m, k, 1, a, b, f32);
    }
  for (auto [m, k, blocks] : {std::array{32u, 4u, 2u},
                              {16, 4, 4},
                              {4, 4, 16},
                              {32, 16, 1},
                              {16, 32, 1},
                              {32, 32, 1},
                              {16, 64, 1}})
    add(IsaMatrix::Dense, m, k, blocks, i8, i8, i32);
  for (auto [m, k] : {std::array{16u, 64u}, {32, 32}, {16, 128}, {32, 64}})
    add(IsaMatrix::Sparse, m, k, 1, i8, i8, i32);
  add(IsaMatrix::Dense, 16, 4, 1, f64, f64, f64);
  add(IsaMatrix::Dense, 4, 4, 4, f64, f64, f64);
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = 0; b < 5; ++b)
      for (unsigned m : {16u, 32u})
        for (IsaMatrix kind : {IsaMatrix::Dense, IsaMatrix::Scaled})
          add(kind, m, m == 16 ? 128 : 64, 1, attune::sim::f8f6f4Type(a),
              attune::sim::f8f6f4Type(b), f32, true);
  return all;
}

/// Round 0: numbers of moderate size only; then edges too, in ever more lanes.
void fill(IsaOperands &o, Words &words, unsigned round) {
  auto word = [&] { return words.below(8) < 2 * round ? words.next() : words.moderate(); };
  for (IsaRegs *regs : {&o.a, &o.b, &o.d})
    for (auto &row : *regs)
      for (uint32_t &x : row)
        x = word();
  for (uint32_t &x : o.scaleA)
    x = round == 3 ? words.next() : 0x01010101u * (120 + words.below(16));
  for (uint32_t &x : o.scaleB)
    x = round == 3 ? words.next() : 0x01010101u * (120 + words.below(16));
}

} // namespace

TEST_CASE("instructions give the same bits on both builds", "[isa]") {
  const std::string folder = std::string(ATTUNE_SOURCE_DIR) + "/tests/sim/opcodes/";
  for (const char *file : {"valu_float", "valu_int", "convert", "packed", "compare", "matrix"})
    compareFile(folder + file + ".ops", 4);
  for (const char *file : {"lane", "lds", "memory", "salu", "branch"})
    compareFile(folder + file + ".ops", 0); // registers choose lanes, addresses and ways
}

TEST_CASE("matrix products give the same bits on both builds", "[isa]") {
  for (const IsaProduct &p : products())
    for (unsigned round = 0; round < 4; ++round) {
      IsaOperands shipped;
      Words words(p.m * p.k + round);
      fill(shipped, words, round);
      IsaOperands plain = shipped;
      multiplyShipped(p, shipped);
      multiplyPlain(p, plain);
      INFO("kind " << int(p.kind) << " m " << p.m << " k " << p.k << " types " << p.a << " " << p.b
                   << " round " << round);
      CHECK(shipped.d == plain.d);
    }
}
