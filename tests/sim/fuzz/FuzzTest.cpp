// Random kernels (Generator.h), compiled by clang-22 for gfx950 and for the host: both must give
// the same bits, at each optimisation level, and strict mode must have nothing to say.
//
//   ATTUNE_FUZZ_SEED=1000 ATTUNE_FUZZ_COUNT=500 attune_sim_fuzz_tests     # others than those of
//   ctest
//
// A failure names the seed, the level and the first word that differs. LLVM itself may be what is
// wrong (docs/simulator-edges.md has what it was so far).
#include "tests/sim/coreHarness.h"
#include "tests/sim/fuzz/Generator.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <random>

using namespace simtest;
using simtest::fuzz::Kernel;

namespace {

constexpr uint64_t kA = 0x123456789abcdef5;
constexpr uint32_t kB = 0xfffffff3;
constexpr size_t kBatch = 8; ///< kernels in a file

using Words = std::vector<uint64_t>;
using HostKernel = void (*)(const uint64_t *in, uint64_t *out, uint64_t *cells, uint64_t a,
                            uint32_t b);

struct Results {
  Words out, cells;
};

uint64_t fromEnvironment(const char *name, uint64_t otherwise) {
  const char *text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 0) : otherwise;
}

std::string textFromEnvironment(const char *name, std::string otherwise) {
  const char *text = std::getenv(name);
  return text ? text : std::move(otherwise);
}

/// Words in which every type finds its edges: halves, singles and doubles around 0, 1, the ends and
/// NaN, small numbers of either sign, and noise.
Words inputs(const Kernel &k) {
  static constexpr uint64_t kHalves[] = {0,      0x8000, 1,      0x3ff,  0x400, 0x3c00,
                                         0xbc00, 0x7bff, 0x7c00, 0xfc00, 0x7e00},
                            kSingles[] = {0,          0x80000000, 1,          0x7fffff,
                                          0x800000,   0x3f800000, 0x4f000000, 0x7f7fffff,
                                          0x7f800000, 0xff800000, 0x7fc00000},
                            kDoubles[] = {0,
                                          1ull << 63,
                                          1,
                                          0x10000000000000,
                                          0x3ff0000000000000,
                                          0x41dfffffffc00000,
                                          0x43e0000000000000,
                                          0x7fefffffffffffff,
                                          0x7ff0000000000000,
                                          0x7ff8000000000000};
  std::mt19937_64 random(k.seed + 1);
  auto oneOf = [&](auto &list) { return list[random() % std::size(list)]; };
  Words words(size_t(k.items()) * fuzz::kWords);
  for (uint64_t &w : words)
    switch (random() % 8) {
    case 0:
      w = oneOf(kHalves) | oneOf(kHalves) << 16 | oneOf(kHalves) << 32 | oneOf(kHalves) << 48;
      break;
    case 1:
      w = oneOf(kSingles) | oneOf(kSingles) << 32;
      break;
    case 2:
      w = oneOf(kDoubles);
      break;
    case 3: {
      double d = std::ldexp(double(int64_t(random())), int(random() % 100) - 100);
      std::memcpy(&w, &d, 8);
      break;
    }
    case 4:
      w = random() % 300;
      break;
    case 5:
      w = -(random() % 300);
      break;
    default:
      w = random() >> random() % 64;
    }
  return words;
}

std::string prelude() {
  return (std::filesystem::path(__FILE__).parent_path() / "prelude.h").string();
}

/// The kernels of a file, compiled; "" if clang fails.
std::string compile(const std::vector<Kernel> &kernels, const std::string &name,
                    const std::string &flags) {
  std::string base = textFromEnvironment("ATTUNE_FUZZ_KEEP", scratchDir()) + "/" + name;
  std::ofstream source(base + ".c");
  for (const Kernel &k : kernels)
    source << k.source;
  source.close();
  bool good = runCommand(
      fmt::format("clang-22 -x c -w -fwrapv -fno-math-errno -ffp-contract=off -Xclang "
                  "-ffloat16-excess-precision=none -Xclang -fbfloat16-excess-precision=none "
                  "-include {} {} {}.c -o {}.so",
                  prelude(), flags, base, base));
  return good ? base + ".so" : "";
}

Results onHost(void *library, const Kernel &k, const Words &in) {
  auto run = reinterpret_cast<HostKernel>(dlsym(library, k.name.c_str()));
  REQUIRE(run);
  Results r{Words(in.size()), Words(fuzz::kCells)};
  run(in.data(), r.out.data(), r.cells.data(), kA, kB);
  return r;
}

/// Unequal arrivals and turns must not matter.
attune::sim::RunOptions policyOf(uint64_t seed) {
  using namespace attune::sim;
  RunOptions options{.threads = 1};
  options.arrival = seed % 2 ? Arrival::Latest : Arrival::Instant;
  options.schedule = Schedule(seed / 2 % 4);
  return options;
}

std::string difference(const char *what, const Words &got, const Words &expected) {
  auto [g, e] = std::ranges::mismatch(got, expected);
  if (g == got.end())
    return "";
  size_t n = size_t(g - got.begin());
  return fmt::format("{}[{}] (item {}, word {}) is {:#x}, on the host {:#x}\n", what, n,
                     n / fuzz::kWords, n % fuzz::kWords, *g, *e);
}

/// What is wrong with a kernel on the simulator; "" if nothing.
std::string onDevice(Fixture &f, const Kernel &k, const Words &in, const Results &expected) {
  f.strict = true;
  uint64_t pin = f.upload(in), pout = f.upload(Words(in.size())),
           pcells = f.upload(Words(fuzz::kCells));
  Args args = Args().add(pin).add(pout).add(pcells).add(kA).add(kB);
  std::string said = f.launch({.kernel = k.name,
                               .grid = k.grid,
                               .block = k.block,
                               .kernarg = args,
                               .options = policyOf(k.seed)});
  std::string found;
  for (std::string line; !said.empty();) {
    size_t end = std::min(said.find('\n'), said.size());
    line = said.substr(0, end);
    said.erase(0, end + 1);
    if (!line.empty() && !line.starts_with("misaligned")) // clang narrows loads (docs/strict.md)
      found += line + "\n";
  }
  return found + difference("out", f.download<uint64_t>(pout, in.size()), expected.out) +
         difference("cells", f.download<uint64_t>(pcells, fuzz::kCells), expected.cells);
}

} // namespace

TEST_CASE("random kernels give the same bits as on the host") {
  uint64_t seed = fromEnvironment("ATTUNE_FUZZ_SEED", 1),
           end = seed + fromEnvironment("ATTUNE_FUZZ_COUNT", 24);
  std::string more = textFromEnvironment("ATTUNE_FUZZ_FLAGS", "");
  while (seed < end) {
    std::vector<Kernel> kernels;
    for (; seed < end && kernels.size() < kBatch; ++seed)
      kernels.push_back(fuzz::generate(seed));
    std::string host = compile(kernels, "host", "-O1 -mf16c -mfma -shared -fPIC -lm");
    REQUIRE(host != "");
    void *library = dlopen(host.c_str(), RTLD_NOW | RTLD_LOCAL);
    REQUIRE(library);
    std::vector<Words> in;
    std::vector<Results> expected;
    for (const Kernel &k : kernels) {
      in.push_back(inputs(k));
      expected.push_back(onHost(library, k, in.back()));
    }
    dlclose(library);
    for (const char *level : {"-O0", "-O1", "-O3"}) {
      std::string object =
          compile(kernels, "device",
                  fmt::format("{} -DDEVICE -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib {}",
                              level, more));
      REQUIRE(object != "");
      Fixture f(readBytes(object));
      for (size_t n = 0; n < kernels.size(); ++n)
        if (std::string wrong = onDevice(f, kernels[n], in[n], expected[n]); wrong != "")
          FAIL_CHECK(kernels[n].name << " at " << level << ": " << wrong
                                     << "reproduce: ATTUNE_FUZZ_SEED=" << kernels[n].seed
                                     << " ATTUNE_FUZZ_COUNT=1 attune_sim_fuzz_tests");
    }
  }
}
