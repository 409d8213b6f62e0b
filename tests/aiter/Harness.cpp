#include "tests/aiter/Harness.h"
#include "tests/ThreadClock.h"
#include "tests/aiter/Verdicts.h"
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <iterator>
#include <numbers>
#include <set>

namespace aitertest {
namespace {

std::string findCheckout() {
  const char *named = std::getenv("ATTUNE_AITER_DIR");
  if (named && std::filesystem::is_directory(std::filesystem::path(named) / "hsa" / "gfx950"))
    return named;
  std::printf("SKIPPED: ATTUNE_AITER_DIR %s. Set it to a checkout of ROCm/aiter to run its code "
              "objects.\n",
              named ? "names no folder with hsa/gfx950" : "is not set");
  return "";
}

std::vector<uint8_t> readFile(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

} // namespace

const std::string &checkout() {
  static const std::string path = findCheckout();
  return path;
}

CodeObject::CodeObject(const std::string &folder, const std::string &file)
    : file_(folder + "/" + file) {
  std::string path = checkout() + "/hsa/gfx950/" + file_;
  INFO(path);
  std::vector<uint8_t> elf = readFile(path);
  REQUIRE_FALSE(elf.empty());
  auto module = simulator_.load(elf);
  if (!module)
    FAIL(module.error().message);
  module_ = *module;
  auto kernels = simulator_.kernels(module_);
  REQUIRE(kernels);
  REQUIRE(kernels->size() == 1);
  info_ = kernels->front();
}

uint64_t CodeObject::allocate(size_t bytes, const std::string &name) {
  auto address = simulator_.memory().alloc(bytes, name);
  if (!address)
    FAIL(address.error().message);
  return *address;
}

uint64_t CodeObject::output(size_t bytes, const std::string &name) {
  uint64_t address = allocate(bytes, name);
  fill(address, 0xff, bytes);
  return address;
}

void CodeObject::fill(uint64_t address, uint8_t byte, size_t bytes) {
  REQUIRE(simulator_.memory().find(address, bytes));
  std::memset(attune::sim::Memory::host(address), byte, bytes);
}

std::string CodeObject::tryLaunch(std::array<uint32_t, 3> grid, uint32_t threads,
                                  const Kernarg &args, const Policy &policy) {
  attune::sim::RunOptions options;
  options.threads = 1;
  options.arrival = policy.arrival;
  options.schedule = policy.schedule;
  options.quantum = policy.quantum;
  options.ldsDelay = policy.ldsDelay;
  options.memoryDelay = policy.memoryDelay;
  attune::sim::strict::StrictChecker own;
  bool judge = !checker_ && (Verdicts::current() || std::getenv("ATTUNE_AITER_STRICT"));
  if (checker_ || judge)
    options = (judge ? own : *checker_).watch(options);
  double start = simtest::threadSeconds();
  auto stats = simulator_.launch(module_, {.kernel = info_.name,
                                           .grid = grid,
                                           .block = {threads, 1, 1},
                                           .kernarg = args.bytes(),
                                           .options = options});
  seconds_ += simtest::threadSeconds() - start;
  for (const attune::sim::strict::Finding &f : own.findings())
    judged(f);
  if (!stats)
    return stats.error().message;
  stats_ = *stats;
  instructions_ += stats_.waveInstructions;
  return "";
}

/// To the living Verdicts; without one, under ATTUNE_AITER_STRICT, a line and a check.
void CodeObject::judged(const attune::sim::strict::Finding &f) {
  if (Verdicts::current())
    return Verdicts::current()->judge(file_, f);
  std::string verdict = verdictOn(file_, f);
  std::printf("strict %s %s %s\n", file_.c_str(), verdict.c_str(), text(f).c_str());
  CHECK_FALSE(verdict.empty());
}

void CodeObject::launch(std::array<uint32_t, 3> grid, uint32_t threads, const Kernarg &args,
                        const Policy &policy) {
  INFO(file_ << ", " << policy.name);
  std::string fault = tryLaunch(grid, threads, args, policy);
  if (!fault.empty())
    FAIL(fault);
}

void CodeObject::report(const std::string &shape, double error, const std::string &note) {
  std::printf("%-48s %-44s relL2 %8.2e %11llu wave instructions %6.2f s  %s\n", file_.c_str(),
              shape.c_str(), error, static_cast<unsigned long long>(instructions_), seconds_,
              note.c_str());
  std::fflush(stdout);
  instructions_ = 0;
  seconds_ = 0;
}

std::string kindsFound(const attune::sim::strict::StrictChecker &checker) {
  using attune::sim::strict::FindingKind;
  std::set<std::string_view> kinds;
  for (const attune::sim::strict::Finding &f : checker.findings())
    if (f.kind != FindingKind::WaitStates)
      kinds.insert(attune::sim::strict::name(f.kind));
  return fmt::format("{}", fmt::join(kinds, " "));
}

uint64_t Normal::next() { // splitmix64
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}
double Normal::operator()() { // Box-Muller
  double u = double((next() >> 11) + 1) * 0x1p-53, v = double(next() >> 11) * 0x1p-53;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}
uint32_t Normal::below(uint32_t n) { return uint32_t((next() >> 32) * n >> 32); }

std::vector<float> normals(size_t count, uint64_t seed, double scale) {
  Normal draw(seed);
  std::vector<float> values(count);
  for (float &x : values)
    x = float(draw() * scale);
  return values;
}

template <class To, class From, class Fn>
static std::vector<To> mapped(const std::vector<From> &in, Fn fn) {
  std::vector<To> out;
  out.reserve(in.size());
  for (From x : in)
    out.push_back(To(fn(x)));
  return out;
}
std::vector<uint16_t> toBf16(const std::vector<float> &x) {
  return mapped<uint16_t>(x, [](float v) { return toBf16(v); });
}
std::vector<uint8_t> toE4m3(const std::vector<float> &x) {
  return mapped<uint8_t>(x, [](float v) { return kE4m3.encode(v); });
}
std::vector<double> fromBf16(const std::vector<uint16_t> &x) {
  return mapped<double>(x, [](uint16_t v) { return fromBf16(v); });
}
std::vector<double> fromE4m3(const std::vector<uint8_t> &x) {
  return mapped<double>(x, [](uint8_t v) { return kE4m3.decode(v); });
}

double relL2(const std::vector<double> &got, const std::vector<double> &want) {
  REQUIRE(got.size() == want.size());
  double difference = 0, norm = 0;
  for (size_t n = 0; n < got.size(); ++n) {
    if (got[n] == want[n] && std::isinf(want[n]))
      continue;
    if (!std::isfinite(got[n]) || !std::isfinite(want[n]))
      return std::numeric_limits<double>::infinity();
    difference += (got[n] - want[n]) * (got[n] - want[n]);
    norm += want[n] * want[n];
  }
  return difference == 0 ? 0 : std::sqrt(difference / norm);
}

} // namespace aitertest
