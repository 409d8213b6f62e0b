// v_cvt_scalef32_* without randomness: all pairs of wide and narrow formats, every half or byte
// that op_sel names, and the 32-element forms.
#include "runtime/sim/Numerics.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <random>

using namespace simtest;
using namespace attune::sim;

namespace {

/// A format by its name in the mnemonics.
struct Narrow {
  const char *name;
  unsigned bits;
  float (*widen)(uint32_t);
  uint32_t (*narrow)(float);
};
const Narrow kNarrow[] = {{"fp8", 8, [](uint32_t c) { return fp8ToF32(uint8_t(c)); },
                           [](float x) { return uint32_t(f32ToFp8(x)); }},
                          {"bf8", 8, [](uint32_t c) { return bf8ToF32(uint8_t(c)); },
                           [](float x) { return uint32_t(f32ToBf8(x)); }},
                          {"fp4", 4, [](uint32_t c) { return fp4ToF32(uint8_t(c)); },
                           [](float x) { return uint32_t(f32ToFp4(x)); }},
                          {"fp6", 6, [](uint32_t c) { return fp6ToF32(uint8_t(c)); },
                           [](float x) { return uint32_t(f32ToFp6(x)); }},
                          {"bf6", 6, [](uint32_t c) { return bf6ToF32(uint8_t(c)); },
                           [](float x) { return uint32_t(f32ToBf6(x)); }}};
struct Wide {
  const char *name;
  unsigned bits;
  uint32_t (*encode)(float);
};
const Wide kWide[] = {{"f32", 32, [](float x) { return asBits(x); }},
                      {"f16", 16, [](float x) { return uint32_t(f32ToF16(x)); }},
                      {"bf16", 16, [](float x) { return uint32_t(f32ToBf16(x)); }}};

constexpr float kScale = 8.0f; // both ways exact in every format for the values used
constexpr uint64_t kOld = 0xa5a5a5a5;

std::string reg(unsigned first, unsigned count) {
  return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
}
std::string opSel(std::initializer_list<unsigned> bits) {
  std::string text;
  for (unsigned b : bits)
    text += (text.empty() ? "" : ",") + std::to_string(b);
  return " op_sel:[" + text + "]";
}

/// Two numbers out of a register of codes: which half (8-bit) or byte (fp4) op_sel chooses.
void addUnpack(std::vector<OpTest> &tests, const Narrow &n, const Wide &w) {
  const uint32_t codes = n.bits == 8 ? 0x38b43c30 : 0x2a51c634;
  unsigned pairBits = 2 * n.bits, positions = 32 / (n.bits == 8 ? 16 : 8);
  for (unsigned p = 0; p < positions; ++p) {
    uint32_t pair = codes >> (p * (n.bits == 8 ? 16 : 8)) & ((1u << pairBits) - 1);
    float lo = n.widen(pair & ((1u << n.bits) - 1)) * kScale, hi = n.widen(pair >> n.bits) * kScale;
    std::string dst = w.bits == 32 ? "v[4:5]" : "v4";
    std::string line = fmt::format("v_cvt_scalef32_pk_{}_{} {}, v0, v1{}", w.name, n.name, dst,
                                   n.bits == 8 ? opSel({p, 0, 0}) : opSel({p & 1, p >> 1, 0}));
    OpTestBuilder t(line);
    t.in("v0", {codes}).in("v1", {asBits(kScale)}).line(line);
    if (w.bits == 32)
      t.out("v4", {w.encode(lo)}).out("v5", {w.encode(hi)});
    else
      t.out("v4", {w.encode(lo) | w.encode(hi) << 16});
    tests.push_back(t.test);
  }
}

/// One 8-bit number: the byte is op_sel[1:0], for f16 the destination half op_sel[3].
void addUnpackOne(std::vector<OpTest> &tests, const Narrow &n, const Wide &w) {
  const uint32_t codes = 0x38b43c30;
  for (unsigned byte = 0; byte < 4; ++byte) {
    uint32_t result = w.encode(n.widen(codes >> (8 * byte) & 255) * kScale);
    for (unsigned half = 0; half < (w.bits == 16 ? 2u : 1u); ++half) {
      std::string line = fmt::format("v_cvt_scalef32_{}_{} v4, v0, v1{}", w.name, n.name,
                                     opSel({byte & 1, byte >> 1, half}));
      OpTestBuilder t(line);
      t.in("v0", {codes}).in("v1", {asBits(kScale)}).in("v4", {kOld}).line(line);
      t.out("v4", {w.bits == 32 ? result
                   : half       ? (kOld & 0xffff) | result << 16
                                : (kOld & 0xffff0000) | result});
      tests.push_back(t.test);
    }
  }
}

/// Two numbers into a half or byte of the destination, the rest kept.
void addPack(std::vector<OpTest> &tests, const Narrow &n, const Wide &w) {
  const float lo = -12.0f, hi = 24.0f;
  uint32_t pair = n.narrow(lo / kScale) | n.narrow(hi / kScale) << n.bits;
  unsigned unit = n.bits == 8 ? 16 : 8;
  for (unsigned p = 0; p < 32 / unit; ++p) {
    bool packed = w.bits == 16;
    std::string sources = packed ? "v0, v2" : "v0, v1, v2", select;
    if (n.bits == 8)
      select = packed ? opSel({0, 0, p}) : opSel({0, 0, 0, p});
    else
      select = opSel({0, 0, p & 1, p >> 1});
    std::string line =
        fmt::format("v_cvt_scalef32_pk_{}_{} v4, {}{}", n.name, w.name, sources, select);
    OpTestBuilder t(line);
    t.in("v0", {packed ? w.encode(lo) | w.encode(hi) << 16 : w.encode(lo)})
        .in("v1", {w.encode(hi)});
    t.in("v2", {asBits(kScale)}).in("v4", {kOld}).line(line);
    uint32_t mask = ((1u << (2 * n.bits)) - 1) << (p * unit);
    t.out("v4", {(kOld & ~mask) | uint64_t(pair) << (p * unit)});
    tests.push_back(t.test);
  }
}

/// 32 elements of 6 bits in six registers, and 32 wide ones.
struct Run {
  std::vector<uint64_t> narrow = std::vector<uint64_t>(6), wide;
};
Run randomRun(const Narrow &n, const Wide &w, std::mt19937 &random) {
  Run r;
  r.wide.resize(w.bits);
  for (unsigned k = 0; k < 32; ++k) {
    uint64_t code = random() % 64;
    for (unsigned bit = 0; bit < 6; ++bit)
      r.narrow[(6 * k + bit) / 32] |= (code >> bit & 1) << ((6 * k + bit) % 32);
    uint64_t wide = w.encode(n.widen(uint32_t(code)) * kScale);
    r.wide[k * w.bits / 32] |= wide << (k * w.bits % 32);
  }
  return r;
}

void addRuns(std::vector<OpTest> &tests, const Narrow &n, const Wide &w, std::mt19937 &random) {
  Run r = randomRun(n, w, random);
  unsigned registers = w.bits; // 32 numbers
  auto place = [](OpTestBuilder &t, unsigned first, const std::vector<uint64_t> &words,
                  bool input) {
    for (unsigned k = 0; k < words.size(); ++k)
      input ? t.in(reg(first + k, 1), {words[k]}) : t.out(reg(first + k, 1), {words[k]});
  };
  std::string widen =
      fmt::format("v_cvt_scalef32_pk32_{}_{} {}, v[0:5], v6", w.name, n.name, reg(16, registers));
  OpTestBuilder up(widen);
  place(up, 0, r.narrow, true);
  up.in("v6", {asBits(kScale)}).line(widen);
  place(up, 16, r.wide, false);
  tests.push_back(up.test);

  std::string narrow =
      fmt::format("v_cvt_scalef32_pk32_{}_{} v[0:5], {}, v6", n.name, w.name, reg(16, registers));
  if (w.bits == 32) { // two runs of 16 take turns
    narrow = fmt::format("v_cvt_scalef32_2xpk16_{}_f32 v[0:5], v[16:31], v[32:47], v6", n.name);
    std::vector<uint64_t> turns(32);
    for (unsigned k = 0; k < 32; ++k)
      turns[k / 2 + 16 * (k % 2)] = r.wide[k];
    r.wide = turns;
  }
  OpTestBuilder down(narrow);
  place(down, 16, r.wide, true);
  down.in("v6", {asBits(kScale)}).line(narrow);
  place(down, 0, r.narrow, false);
  tests.push_back(down.test);
}

} // namespace

TEST_CASE("scaled conversions of all formats", "[opcodes]") {
  std::mt19937 random(6);
  std::vector<OpTest> tests;
  for (const Narrow &n : kNarrow)
    for (const Wide &w : kWide) {
      if (n.bits == 6) {
        addRuns(tests, n, w, random);
        continue;
      }
      addUnpack(tests, n, w);
      addPack(tests, n, w);
      if (n.bits == 8 && std::string(w.name) != "bf16")
        addUnpackOne(tests, n, w);
    }
  runOpTests(tests, executedMnemonics());
}

namespace {

/// Stochastic rounding of 1 + 1/4 steps with seeds at both ends: the lower neighbour for 0, the
/// upper for all ones.
OpTest stochastic(const std::string &line, uint64_t input, uint64_t seed, uint64_t expected) {
  OpTestBuilder t(line);
  t.in("v0", {input})
      .in("v1", {seed})
      .in("v2", {asBits(1.0f)})
      .in("v4", {0})
      .line(line)
      .out("v4", {expected});
  return t.test;
}

} // namespace

TEST_CASE("stochastic rounding takes the lower neighbour for seed 0 and the upper for the largest",
          "[opcodes]") {
  const uint64_t all = 0xffffffff;
  std::vector<OpTest> tests;
  // 1.0625 lies halfway between 1 and 1.125 in fp8, a quarter of the way from 1 to 1.25 in bf8.
  const uint64_t x = asBits(1.0625f);
  for (auto [seed, fp8, bf8] : {std::tuple{uint64_t(0), 0x38u, 0x3cu}, {all, 0x39u, 0x3du}}) {
    tests.push_back(stochastic("v_cvt_sr_fp8_f32 v4, v0, v1", x, seed, fp8));
    tests.push_back(stochastic("v_cvt_sr_bf8_f32 v4, v0, v1", x, seed, bf8));
    tests.push_back(stochastic("v_cvt_scalef32_sr_fp8_f32 v4, v0, v1, v2", x, seed, fp8));
    tests.push_back(stochastic("v_cvt_scalef32_sr_bf8_f32 v4, v0, v1, v2", x, seed, bf8));
    tests.push_back(
        stochastic("v_cvt_scalef32_sr_fp8_f16 v4, v0, v1, v2", f32ToF16(1.0625f), seed, fp8));
    tests.push_back(
        stochastic("v_cvt_scalef32_sr_bf8_f16 v4, v0, v1, v2", f32ToF16(1.0625f), seed, bf8));
    tests.push_back(
        stochastic("v_cvt_scalef32_sr_fp8_bf16 v4, v0, v1, v2", f32ToBf16(1.0625f), seed, fp8));
    tests.push_back(
        stochastic("v_cvt_scalef32_sr_bf8_bf16 v4, v0, v1, v2", f32ToBf16(1.0625f), seed, bf8));
  }
  // Runs of 32: every number rounds down for seed 0.
  for (const Narrow &n : kNarrow)
    for (const Wide &w : kWide)
      if (n.bits == 6) {
        std::string line = fmt::format("v_cvt_scalef32_sr_pk32_{}_{} v[0:5], {}, v6, v7", n.name,
                                       w.name, reg(16, w.bits));
        OpTestBuilder t(line);
        t.in("v6", {0}).in("v7", {asBits(kScale)}).line(line);
        std::vector<uint64_t> narrow(6);
        for (unsigned k = 0; k < 32; ++k)
          for (unsigned bit = 0; bit < 6; ++bit)
            narrow[(6 * k + bit) / 32] |= uint64_t(n.narrow(1.0f) >> bit & 1)
                                          << ((6 * k + bit) % 32);
        uint64_t one = w.encode(1.0625f * kScale); // between 1 and the next number in either format
        for (unsigned k = 0; k < w.bits; ++k)
          t.in(reg(16 + k, 1), {w.bits == 32 ? one : one | one << 16});
        for (unsigned k = 0; k < 6; ++k)
          t.out(reg(k, 1), {narrow[k]});
        tests.push_back(t.test);
      }
  tests.push_back(stochastic("v_cvt_sr_f16_f32 v4, v0, v1", asBits(1.0f + 0x1p-11f), 0, 0x3c00));
  tests.push_back(stochastic("v_cvt_sr_f16_f32 v4, v0, v1", asBits(1.0f + 0x1p-11f), all, 0x3c01));
  tests.push_back(stochastic("v_cvt_sr_bf16_f32 v4, v0, v1", asBits(1.0f + 0x1p-8f), 0, 0x3f80));
  tests.push_back(stochastic("v_cvt_sr_bf16_f32 v4, v0, v1", asBits(1.0f + 0x1p-8f), all, 0x3f81));
  runOpTests(tests, executedMnemonics());
}
