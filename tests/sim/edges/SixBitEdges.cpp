// v_cvt_scalef32_* of 32 numbers of 6 bits, and of fp4 pairs with random bits: edge values in every
// element, scales from end to end, lanes off.
#include "tests/sim/edges/EdgeRun.h"
#include "tests/sim/edges/MiniFloat.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;

namespace {

struct WideFormat {
  const char *name;
  Format format;
  char letter;
};
const WideFormat kWide[] = {
    {"f32", kF32Format, 'f'}, {"f16", kF16Format, 'h'}, {"bf16", kBf16Format, 'b'}};
struct Narrow {
  const char *name;
  MiniFormat format;
};
const Narrow kNarrow[] = {{"fp6", kOcpFp6}, {"bf6", kOcpBf6}};
constexpr uint64_t kExecs[] = {~uint64_t(0), 0x00ff3c5a81000001, 0};

/// Edge values that are numbers: what a NaN becomes in formats without one is not documented.
std::vector<uint64_t> numbers(const WideFormat &w) {
  std::vector<uint64_t> all;
  for (uint64_t x : edgeValues(w.letter))
    if (!w.format.isNan(x))
      all.push_back(x);
  return all;
}
uint32_t scaleOf(unsigned lane) { // exponents all over f32's, more of them near one
  const uint32_t exponents[] = {127, 126, 128, 120, 130, 1, 254, 0, 100, 150, 125, 124};
  return exponents[lane % 12] << 23 | (lane % 5) * 0x111;
}
uint32_t seedOf(unsigned lane) {
  return lane % 3 ? lane * 0x9e3779b9u : lane % 2 ? 0xffffffffu : 0;
}
uint32_t stirred(uint32_t x) { return x << 1 ^ (x >> 31 ? 0xc5u : 0u); }

std::string reg(unsigned first, unsigned count) {
  return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
}

/// A run of numbers of one width in registers, lane by lane; bits that are open.
struct Run {
  std::vector<std::vector<uint64_t>> words, open;
  explicit Run(unsigned registers) : words(registers, std::vector<uint64_t>(64)), open(words) {}
  void set(unsigned lane, unsigned k, unsigned bits, uint64_t code, bool isOpen = false) {
    for (unsigned b = 0; b < bits; ++b) {
      unsigned at = k * bits + b;
      words[at / 32][lane] |= (code >> b & 1) << at % 32;
      open[at / 32][lane] |= isOpen;
    }
  }
  void addTo(OpTestBuilder &t, unsigned first, bool input, uint64_t exec) const {
    for (unsigned n = 0; n < words.size(); ++n) {
      std::vector<uint64_t> values = words[n];
      for (unsigned l = 0; l < 64 && !input; ++l)
        values[l] = exec >> l & 1 ? values[l] : 0x5a5a0000u + n;
      input ? t.in(reg(first + n, 1), values) : t.out(reg(first + n, 1), values);
      for (unsigned l = 0; l < 64 && !input; ++l)
        if (open[n][l] && (exec >> l & 1))
          t.test.after.back().values[l].kind = OpValue::Anything;
    }
  }
};
void addOld(OpTestBuilder &t, unsigned first, unsigned count) {
  for (unsigned n = 0; n < count; ++n)
    t.in(reg(first + n, 1), std::vector<uint64_t>(64, 0x5a5a0000u + n));
}

/// The code that a number divided by the scale becomes; by chance `seed` if there is one.
MiniResult narrowed(const MiniFormat &f, const Num &x, unsigned lane, const uint32_t *seed) {
  int e = 0;
  scaleExponent(scaleOf(lane), e);
  Num y = x.finite() ? scaled(x, -e) : x;
  if (!seed || !y.finite() || compare(magnitude(y), decodeMini(f, f.largest())) >= 0)
    return encodeMini(f, y, true);
  Neighbours n = neighbours(f, y);
  double reached = n.fraction + *seed * 0x1p-32;
  bool close = n.fraction != 0 && reached > 1 - 0x1p-9 && reached < 1 + 0x1p-9;
  return {(y.neg ? f.sign() : 0) | (n.fraction != 0 && reached >= 1 ? n.high : n.low), false,
          close};
}

/// v_cvt_scalef32_pk32_fp6_f16 and others, also with random bits; f32 without them comes as two
/// runs of 16 that take turns.
OpTest narrowing(const Narrow &n, const WideFormat &w, bool random, uint64_t exec) {
  unsigned registers = unsigned(w.format.bits());
  bool turns = w.letter == 'f' && !random;
  std::string line =
      turns    ? fmt::format("v_cvt_scalef32_2xpk16_{}_f32 v[0:5], v[16:31], v[32:47], v6", n.name)
      : random ? fmt::format("v_cvt_scalef32_sr_pk32_{}_{} v[0:5], {}, v7, v6", n.name, w.name,
                             reg(16, registers))
               : fmt::format("v_cvt_scalef32_pk32_{}_{} v[0:5], {}, v6", n.name, w.name,
                             reg(16, registers));
  OpTestBuilder t(line + fmt::format(" exec {:x}", exec));
  std::vector<uint64_t> values = numbers(w), scales, seeds;
  Run in(registers), out(6);
  for (unsigned l = 0; l < 64; ++l) {
    scales.push_back(scaleOf(l));
    seeds.push_back(seedOf(l));
    uint32_t seed = seedOf(l);
    for (unsigned k = 0; k < 32; ++k) {
      uint64_t bits = values[(k * 3 + l) % values.size()];
      in.set(l, turns ? k / 2 + 16 * (k % 2) : k, unsigned(w.format.bits()), bits);
      MiniResult r = narrowed(n.format, decode(w.format, bits), l, random ? &seed : nullptr);
      out.set(l, k, 6, r.code, r.undocumented);
      seed = stirred(seed);
    }
  }
  t.in("v6", scales).in("v7", seeds).in("exec", {exec});
  addOld(t, 0, 6);
  in.addTo(t, 16, true, exec);
  t.line(line);
  out.addTo(t, 0, false, exec);
  return t.test;
}

OpTest widening(const Narrow &n, const WideFormat &w, uint64_t exec) {
  unsigned registers = unsigned(w.format.bits());
  std::string line =
      fmt::format("v_cvt_scalef32_pk32_{}_{} {}, v[0:5], v6", w.name, n.name, reg(16, registers));
  OpTestBuilder t(line + fmt::format(" exec {:x}", exec));
  Run in(6), out(registers);
  std::vector<uint64_t> scales;
  for (unsigned l = 0; l < 64; ++l) {
    scales.push_back(scaleOf(l));
    int e = 0;
    scaleExponent(scaleOf(l), e);
    for (unsigned k = 0; k < 32; ++k) {
      uint32_t code = (k + 32 * (l % 2)) % 64;
      in.set(l, k, 6, code);
      out.set(l, k, unsigned(w.format.bits()),
              encode(w.format, scaled(decodeMini(n.format, code), e)));
    }
  }
  t.in("v6", scales).in("exec", {exec});
  in.addTo(t, 0, true, exec);
  addOld(t, 16, registers);
  t.line(line);
  out.addTo(t, 16, false, exec);
  return t.test;
}

/// Two numbers to a byte; the second one's random bits are the first one's, stirred.
OpTest fp4Pairs(const WideFormat &w, uint64_t exec) {
  std::string line = fmt::format("v_cvt_scalef32_sr_pk_fp4_{} v4, {}, v2, v3 op_sel:[0,0,1,0]",
                                 w.name, w.letter == 'f' ? "v[0:1]" : "v0");
  OpTestBuilder t(line + fmt::format(" exec {:x}", exec));
  std::vector<uint64_t> values = numbers(w), scales, seeds, after;
  Run in(w.letter == 'f' ? 2 : 1);
  std::vector<bool> open(64);
  for (unsigned l = 0; l < 64; ++l) {
    scales.push_back(scaleOf(l * 5));
    seeds.push_back(seedOf(l));
    uint32_t seed = seedOf(l), byte = 0;
    for (unsigned k = 0; k < 2; ++k) {
      uint64_t bits = values[(l + 11 * k) % values.size()];
      in.set(l, k, unsigned(w.format.bits()), bits);
      MiniResult r = narrowed(kOcpFp4, decode(w.format, bits), l * 5, &seed);
      byte |= r.code << (4 * k);
      open[l] = open[l] || r.undocumented;
      seed = stirred(seed);
    }
    after.push_back(exec >> l & 1 ? 0x5a5a0000u | byte << 8 : 0x5a5a0000u);
  }
  t.in("v3", scales).in("v2", seeds).in("exec", {exec});
  addOld(t, 4, 1);
  in.addTo(t, 0, true, exec);
  t.line(line).out("v4", after);
  for (unsigned l = 0; l < 64; ++l)
    if (open[l] && (exec >> l & 1))
      t.test.after.back().values[l].kind = OpValue::Anything;
  return t.test;
}

} // namespace

TEST_CASE("conversions of 32 six-bit numbers and of random fp4 pairs on edge values", "[edges]") {
  std::vector<OpTest> tests;
  for (uint64_t exec : kExecs)
    for (const WideFormat &w : kWide) {
      for (const Narrow &n : kNarrow) {
        tests.push_back(narrowing(n, w, false, exec));
        tests.push_back(narrowing(n, w, true, exec));
        tests.push_back(widening(n, w, exec));
      }
      tests.push_back(fp4Pairs(w, exec));
    }
  runOpTests(tests, executedMnemonics());
}
