// Kernels for tables of edge tests, their inputs, and the comparison.
#include "tests/sim/edges/EdgeRun.h"
#include "tests/sim/coreHarness.h"
#include "tests/sim/edges/EdgeAudit.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>

namespace simtest {
namespace {

constexpr size_t kLaneCount = 64;
constexpr uint32_t kDefaultMode = kKeep16;

/// "um=ffm+" taken apart.
struct Types {
  std::string results, sources;
  bool old = false, maskIn = false;
  bool execOut = false; ///< the second result is EXEC
  explicit Types(std::string text) {
    size_t equals = text.find('=');
    results = text.substr(0, equals);
    sources = text.substr(equals + 1);
    execOut = results.ends_with('E');
    if (sources.ends_with('+')) {
      old = true;
      sources.pop_back();
    }
    if (sources.ends_with('m')) {
      maskIn = true;
      sources.pop_back();
    }
  }
};

bool wide(char letter) { return letter == 'd' || letter == 'q' || letter == 'F'; }
std::string reg(int first, char letter) {
  return wide(letter) ? fmt::format("v[{}:{}]", first, first + 1) : fmt::format("v{}", first);
}
int sourceRegister(size_t n) { return int(2 * n); }
constexpr int kResult = 8, kMaskOut = 22;

/// Dwords of a lane: two a source, two of the destination's old value.
size_t inputRows(const Types &t) { return 2 * t.sources.size() + 2; }

std::string operands(const Types &t, const Modifiers &m) {
  std::string text;
  if (t.results[0] == 'm')
    text = fmt::format("s[{}:{}]", kMaskOut, kMaskOut + 1);
  else
    text = reg(kResult, t.results[0]);
  if (t.results.size() > 1 && !t.execOut)
    text += fmt::format(", s[{}:{}]", kMaskOut, kMaskOut + 1);
  for (size_t n = 0; n < t.sources.size(); ++n) {
    std::string source = reg(sourceRegister(n), t.sources[n]);
    if (m.abs >> n & 1)
      source = "|" + source + "|";
    text += (m.neg >> n & 1 ? ", -" : ", ") + source;
  }
  if (t.maskIn)
    text += ", s[20:21]";
  return text;
}

std::string instruction(const EdgeRow &row, const Types &t, const Modifiers &m) {
  if (row.text)
    return row.text;
  std::string text = std::string(row.op) + " " + operands(t, m) + " " + row.suffix;
  const char *const scales[] = {"", " mul:2", " mul:4", " div:2"};
  return text + (m.clamp ? " clamp" : "") + scales[m.omod];
}

std::string kernel(const EdgeRow &row, const Types &t, const Modifiers &m, size_t number) {
  std::string text = fmt::format(
      ".text\n.globl e{0}\n.p2align 8\n.type e{0},@function\ne{0}:\n"
      "  s_load_dwordx4 s[80:83], s[0:1], 0\n  s_load_dword s84, s[0:1], 16\n"
      "  v_and_b32 v250, 63, v0\n  v_lshlrev_b32 v250, 2, v250\n  s_waitcnt lgkmcnt(0)\n"
      ".Loop{0}:\n  s_load_dwordx8 s[16:23], s[80:81], 0\n  s_waitcnt lgkmcnt(0)\n",
      number);
  size_t rows = inputRows(t);
  for (size_t k = 0; k < rows; ++k) {
    int target = k + 2 < rows ? int(k) : kResult + int(k + 2 - rows);
    text +=
        fmt::format("  global_load_dword v{}, v250, s[80:81] offset:{}\n", target, 256 * (k + 1));
  }
  text +=
      "  s_waitcnt vmcnt(0)\n  s_mov_b64 s[24:25], s[20:21]\n"
      "  s_mov_b64 s[20:21], s[18:19]\n  s_mov_b64 vcc, s[18:19]\n"
      "  s_setreg_b32 hwreg(HW_REG_MODE, 0, 24), s16\n  s_mov_b64 exec, s[24:25]\n  s_nop 7\n  " +
      instruction(row, t, m) + "\n";
  text += fmt::format("  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 24), {}\n", kDefaultMode);
  if (t.execOut)
    text += "  s_mov_b64 s[26:27], exec\n  s_mov_b64 exec, -1\n"
            "  v_mov_b32 v8, s26\n  v_mov_b32 v9, s27\n";
  text += "  s_mov_b64 exec, -1\n  s_nop 7\n  global_store_dword v250, v8, s[82:83]\n"
          "  global_store_dword v250, v9, s[82:83] offset:256\n";
  for (int k = 0; k < 2; ++k)
    text +=
        fmt::format("  v_mov_b32 v10, s{}\n  global_store_dword v250, v10, s[82:83] offset:{}\n",
                    kMaskOut + k, 512 + 256 * k);
  text += fmt::format("  s_add_u32 s80, s80, {}\n  s_addc_u32 s81, s81, 0\n"
                      "  s_add_u32 s82, s82, 1024\n  s_addc_u32 s83, s83, 0\n"
                      "  s_sub_u32 s84, s84, 1\n  s_cmp_lg_u32 s84, 0\n  s_cbranch_scc1 .Loop{}\n"
                      "  s_endpgm\n",
                      256 * (rows + 1), number);
  return text +
         fmt::format(".rodata\n.p2align 6\n.amdhsa_kernel e{}\n"
                     "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_next_free_vgpr 252\n"
                     "  .amdhsa_next_free_sgpr 96\n  .amdhsa_accum_offset 252\n"
                     "  .amdhsa_kernarg_size 24\n.end_amdhsa_kernel\n",
                     number);
}

/// All combinations of the sources' edge values, one a lane.
std::vector<EdgeCase> combinations(const Types &t) {
  std::vector<std::vector<uint64_t>> lists;
  size_t sources = t.sources.size();
  for (char letter : t.sources)
    lists.push_back(edgeValues(letter, sources + t.old > 2));
  if (t.old)
    lists.push_back(edgeValues(t.results[0], true));
  size_t count = 1;
  for (auto &list : lists)
    count *= list.size();
  std::vector<EdgeCase> cases(count);
  for (size_t n = 0; n < count; ++n) {
    size_t rest = n;
    for (size_t k = 0; k < lists.size(); ++k) {
      cases[n].source[k] = lists[k][rest % lists[k].size()];
      rest /= lists[k].size();
    }
    uint64_t noise = (n + 1) * 0x9e3779b97f4a7c15;
    cases[n].old = t.old ? cases[n].source[sources] : noise;
    cases[n].mask = noise >> 40 & 1;
    cases[n].lane = int(n % kLaneCount);
  }
  return cases;
}

/// A launch's loop takes a batch a turn: up to 64 cases under a MODE and an EXEC.
struct Batch {
  size_t first;
  uint32_t mode;
  uint64_t exec;
};

/// One batch: a row of header (mode, unused, mask, EXEC), then the rows of each source and the old
/// destination. 16-bit sources have garbage above them, which instructions must not see.
void fillBatch(uint32_t *batch, const Types &t, std::span<const EdgeCase> cases, const Batch &b) {
  uint64_t mask = 0;
  for (size_t l = 0; l < cases.size(); ++l) {
    const EdgeCase &c = cases[l];
    mask |= uint64_t(c.mask) << l;
    uint32_t *row = batch + kLaneCount + l;
    auto put = [&](uint64_t bits) {
      row[0] = uint32_t(bits);
      row[kLaneCount] = uint32_t(bits >> 32);
      row += 2 * kLaneCount;
    };
    for (size_t k = 0; k < t.sources.size(); ++k) {
      bool half = t.sources[k] == 'h' || t.sources[k] == 's' || t.sources[k] == 'b';
      put(c.source[k] | (half ? 0xa5c30000u : 0));
    }
    put(c.old);
  }
  batch[0] = b.mode;
  batch[4] = uint32_t(b.exec);
  batch[5] = uint32_t(b.exec >> 32);
  batch[2] = uint32_t(mask);
  batch[3] = uint32_t(mask >> 32);
}

uint64_t withSign(uint64_t bits, char letter, bool abs, bool neg) {
  if (!abs && !neg)
    return bits;
  Format f = formatOf(letter);
  bits = abs ? bits & ~f.sign() : bits;
  return neg ? bits ^ f.sign() : bits;
}

/// omod and clamp. The ISA: output scaling is ignored where denormal results are kept and under
/// IEEE mode, and makes a zero positive; clamp takes a NaN to 0 under DX10_CLAMP only.
Expected modified(Expected e, char letter, const Modifiers &m, const EdgeCase &c) {
  if (!isFloatLetter(letter) || e.skip)
    return e;
  Format f = formatOf(letter);
  bool scales = m.omod && c.flushesOut(f) && !c.ieee();
  e.any = e.any || (scales && f.isNan(e.bits)); // it is arithmetic and quiets
  if (scales && !f.isNan(e.bits)) {
    const int powers[] = {0, 1, 2, -1};
    Num x = scaled(decode(f, e.bits), powers[m.omod]);
    x.neg = x.neg && !x.zero();
    e.bits = encode(f, x, c.round(f), true);
    if (e.bits == f.sign()) // flushed just now
      e.bits = 0;
  }
  if (m.clamp) {
    Num x = decode(f, e.bits);
    uint64_t one = uint64_t(f.bias()) << f.man;
    if (x.nan && c.mode & kDx10Clamp)
      e = exactly(0);
    else if (!x.nan)
      e.bits = x.neg || x.zero() ? 0 : compare(x, decode(f, one)) > 0 ? one : e.bits;
  }
  return e;
}

/// A float result of one format.
bool agreesAs(Format f, const Expected &e, uint64_t expected, uint64_t got) {
  if (got == expected)
    return true;
  if (e.any && f.isNan(expected))
    return f.isNan(got) && !f.isSignalling(got);
  if (e.ulps == 0 || f.isNan(got) || f.isNan(expected))
    return false;
  auto ordered = [&](uint64_t bits) {
    int64_t magnitude = int64_t(bits & (f.sign() - 1));
    return bits & f.sign() ? -magnitude : magnitude;
  };
  return std::abs(double(ordered(got) - ordered(expected))) <= e.ulps;
}

bool agrees(const Expected &e, uint64_t got, char letter) {
  if (e.skip || got == e.bits)
    return true;
  Format f = formatOf(letter);
  if (isFloatLetter(letter))
    return agreesAs(f, e, e.bits, got);
  if (letter != 'p' && letter != 'o' && letter != 'F')
    return false;
  uint64_t part = 2 * f.sign() - 1; // pairs
  return agreesAs(f, e, e.bits & part, got & part) &&
         agreesAs(f, e, e.bits >> f.bits() & part, got >> f.bits() & part);
}

/// A lane's result as a number of its letter's width, with the rest of the register checked.
struct LaneResult {
  uint64_t value;
  bool restRight;
};
LaneResult resultOf(const uint32_t *batch, int lane, char letter, const EdgeRow &row,
                    const EdgeCase &c) {
  uint64_t low = batch[lane], high = batch[kLaneCount + lane];
  if (letter == 'm' || letter == 'E')
    return {batch[(letter == 'm' ? 128 : 0) + kLaneCount * (lane / 32)] >> (lane % 32) & 1, true};
  if (wide(letter))
    return {low | high << 32, true};
  if (letter == 'h' || letter == 's' || letter == 'b')
    return {low & 0xffff, low >> 16 == (row.keepsHalf ? c.old >> 16 & 0xffff : 0)};
  return {low, true};
}

std::string describe(const EdgeRow &row, const Types &t, const EdgeCase &c, const Expected &e,
                     uint64_t got, bool carry) {
  std::string text = fmt::format("{} mode {:06x}:", row.op, c.mode);
  for (size_t k = 0; k < t.sources.size() + t.old; ++k)
    text += fmt::format(" {:x}", c.source[k]);
  return text + fmt::format(" mask {} old {:x} -> {:x} carry {}, not {:x} carry {}\n", int(c.mask),
                            c.old, got, int(carry), e.bits, int(e.carry));
}

int nanSources(const Types &t, const EdgeCase &c) {
  std::string letters = t.old ? t.sources + t.results[0] : t.sources;
  int count = 0;
  for (size_t k = 0; k < letters.size(); ++k) {
    Format f = formatOf(letters[k]);
    count += isFloatLetter(letters[k]) && f.isNan(c.source[k] & (2 * f.sign() - 1));
    count += 2 * (letters[k] == 'p' || letters[k] == 'o' || letters[k] == 'F'); // not counted
  }
  return count;
}

/// What a lane must hold: the reference's word for it, or nothing new where EXEC is off.
Expected expectation(const EdgeRow &row, const Types &t, const Modifiers &m, EdgeCase &c,
                     bool active) {
  char letter = t.results[0];
  for (size_t k = 0; k < t.sources.size(); ++k)
    c.source[k] = withSign(c.source[k], t.sources[k], m.abs >> k & 1, m.neg >> k & 1);
  if (!active)
    return exactly(letter == 'm' ? 0 : wide(letter) ? c.old : c.old & 0xffffffff);
  Expected e = row.reference(c);
  e.any = e.any && nanSources(t, c) != 1; // the only NaN is passed on
  return modified(e, letter, m, c);
}

/// What is wrong with one batch, at most a few lines.
void judgeBatch(const EdgeRow &row, const Types &t, const Modifiers &m,
                std::span<const EdgeCase> cases, const Batch &b, const uint32_t *out,
                std::string &report, unsigned &faults) {
  char letter = t.results[0];
  for (size_t l = 0; l < cases.size(); ++l) {
    EdgeCase c = cases[l];
    c.mode = b.mode;
    bool active = b.exec >> l & 1, two = t.results.size() > 1;
    Expected e = expectation(row, t, m, c, active);
    LaneResult got = resultOf(out, int(l), letter, row, c);
    if (!active && letter != 'm' && !wide(letter))
      got = {out[l], true}; // all of the register
    bool second = two && resultOf(out, int(l), t.results[1], row, c).value;
    bool right =
        active ? agrees(e, got.value, letter) && (got.restRight || e.skip) : got.value == e.bits;
    if (right && (!two || second == e.carry))
      continue;
    if (++faults <= 6)
      report += describe(row, t, c, e, got.value, second);
  }
}

/// All cases under each mode; the first 64 also with some and with no lanes active.
std::vector<Batch> batchesOf(size_t cases, std::span<const uint32_t> modes) {
  std::vector<Batch> batches;
  for (uint32_t mode : modes)
    for (size_t first = 0; first < cases; first += kLaneCount)
      batches.push_back({first, mode, ~uint64_t(0)});
  batches.push_back({0, modes[0], 0x8f0000ff5a3c0180});
  batches.push_back({0, modes[0], 0});
  return batches;
}

std::string runRow(Fixture &fixture, const EdgeRow &row, std::span<const uint32_t> modes,
                   const Modifiers &m, size_t number) {
  Types t(row.types);
  std::vector<EdgeCase> cases = combinations(t);
  std::vector<Batch> batches = batchesOf(cases.size(), modes);
  size_t batchDwords = kLaneCount * (inputRows(t) + 1);
  std::vector<uint32_t> in(batches.size() * batchDwords), out(batches.size() * 256, 0xdeadbeefu);
  auto slice = [&](const Batch &b) {
    return std::span(cases).subspan(b.first, std::min(kLaneCount, cases.size() - b.first));
  };
  for (size_t n = 0; n < batches.size(); ++n)
    fillBatch(&in[n * batchDwords], t, slice(batches[n]), batches[n]);
  uint64_t inputs = fixture.upload(in), outputs = fixture.upload(out);
  attune::sim::RunOptions options;
  options.threads = 1;
  options.observers = &edgeAudit();
  std::string error =
      fixture.launch("e" + std::to_string(number), 1, kLaneCount,
                     Args().add(inputs).add(outputs).add(uint64_t(batches.size())), options);
  if (!error.empty())
    return error;
  out = fixture.download<uint32_t>(outputs, out.size());
  fixture.simulator.memory().free(inputs);
  fixture.simulator.memory().free(outputs);
  std::string report;
  unsigned faults = 0;
  for (size_t n = 0; n < batches.size(); ++n)
    judgeBatch(row, t, m, slice(batches[n]), batches[n], &out[n * 256], report, faults);
  return faults
             ? fmt::format("{} of {} batches' lanes are wrong\n{}", faults, batches.size(), report)
             : "";
}

} // namespace

Num EdgeCase::input(Format f, uint64_t bits) const {
  return decode(f, flushesIn(f) && f.isDenormal(bits) ? bits & f.sign() : bits);
}
Expected EdgeCase::output(Format f, const Num &x, Rounding rounding) const {
  Expected e{.bits = encode(f, x, rounding, flushesOut(f)), .any = x.nan};
  if (f.man == 10 && (mode & kFp16Overflow) && x.finite() && (e.bits & ~f.sign()) == f.infinity())
    e.bits -= 1; // the largest number
  // Whether a number that becomes the smallest normal one by rounding was tiny is not documented.
  bool edge = (encode(f, x, rounding) & (f.sign() - 1)) == f.smallestNormal();
  e.skip = edge && flushesOut(f) && compare(magnitude(x), decode(f, f.smallestNormal())) < 0;
  return e;
}
Expected EdgeCase::toF32(const Num &x) const { return output(kF32Format, x, round32()); }
Expected EdgeCase::toF64(const Num &x) const { return output(kF64Format, x, round16()); }
Expected EdgeCase::toF16(const Num &x) const { return output(kF16Format, x, round16()); }

void runEdges(std::span<const EdgeRow> rows, std::span<const uint32_t> modes, const Modifiers &m) {
  std::string text;
  for (size_t n = 0; n < rows.size(); ++n)
    text += kernel(rows[n], Types(rows[n].types), m, n);
  Fixture fixture(assemble(text));
  for (size_t n = 0; n < rows.size(); ++n) {
    std::string report = runRow(fixture, rows[n], modes, m, n);
    INFO(instruction(rows[n], Types(rows[n].types), m) << "\n" << report);
    CHECK(report.empty());
  }
}

} // namespace simtest
