// Atomics: every operation in every address space that has it (LDS, flat, global, buffer), with and
// without the old value, on 64 pairs of edge values at once, with lanes off and out of range.
#include "tests/sim/edges/AtomicSlots.h"
#include "tests/sim/edges/SoftFloat.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;

namespace {

/// What memory holds afterwards; `any`: a NaN, or a zero of either sign, may be another one.
struct Outcome {
  uint64_t bits;
  bool any = false;
};
using Apply = Outcome (*)(uint64_t memory, uint64_t data);

/// One operation: its name in memory instructions ("" if there is none) and in LDS instructions.
struct Atomic {
  const char *memoryName, *ldsName;
  unsigned bytes;
  const std::vector<uint64_t> *values;
  Apply apply;
};

const std::vector<uint64_t> kWords = {0,          1, 0xffffffff, 0x80000000,
                                      0x7fffffff, 5, 0xfffffffe, 0x12345678};
const std::vector<uint64_t> kLongs = {
    0,           1,          ~uint64_t(0),      uint64_t(1) << 63, ~(uint64_t(1) << 63),
    0x100000000, 0xffffffff, 0x123456789abcdef0};
// Without denormals: whether adders keep them depends on where the memory is.
const std::vector<uint64_t> kFloats = {0,          0x80000000, 0x3f800000, 0xbf800001,
                                       0x7f7fffff, 0x7f800000, 0x7fc00001, 0xff800000};
const std::vector<uint64_t> kDoubles = {0,
                                        uint64_t(1) << 63,
                                        1,
                                        0x3ff0000000000000,
                                        0xbff0000000000001,
                                        0x7fefffffffffffff,
                                        0x7ff0000000000000,
                                        0x7ff8000000000001};
const std::vector<uint64_t> kHalves = {0x80000000, 0x00013c00, 0x3c008001, 0x7bff7bff,
                                       0xfc007c00, 0x7e01fc00, 0xbc013555, 0x040003ff};
const std::vector<uint64_t> kBrains = {0x80000000, 0x3f803f80, 0x40490000, 0x7f7f7f7f,
                                       0xff807f80, 0x7fc1ff80, 0xbf813f00, 0x00800080};

Outcome sumOf(Format f, uint64_t a, uint64_t b) {
  Num r = add(decode(f, a), decode(f, b));
  return {encode(f, r), r.nan};
}
Outcome sumOfPairs(Format f, uint64_t a, uint64_t b) {
  Outcome low = sumOf(f, a & 0xffff, b & 0xffff), high = sumOf(f, a >> 16, b >> 16);
  return {low.bits | high.bits << 16, low.any || high.any};
}
/// IEEE minNum and maxNum; the sign of a zero is open.
Outcome extreme(Format f, uint64_t a, uint64_t b, bool largest) {
  if (f.isNan(a) || f.isNan(b))
    return {f.isNan(a) ? b : a, f.isNan(a) && f.isNan(b)};
  int order = compare(decode(f, a), decode(f, b));
  return {(order > 0) == largest ? a : b, order == 0};
}

template <class T> using Signed = std::make_signed_t<T>;
#define INTEGERS(T, values, x2, u, i, b)                                                           \
  {"add" x2, "add_" u, sizeof(T), &values,                                                         \
   [](uint64_t m, uint64_t d) { return Outcome{T(m + d)}; }},                                      \
      {"sub" x2, "sub_" u, sizeof(T), &values,                                                     \
       [](uint64_t m, uint64_t d) { return Outcome{T(m - d)}; }},                                  \
      {"smin" x2, "min_" i, sizeof(T), &values,                                                    \
       [](uint64_t m, uint64_t d) { return Outcome{Signed<T>(m) < Signed<T>(d) ? m : d}; }},       \
      {"smax" x2, "max_" i, sizeof(T), &values,                                                    \
       [](uint64_t m, uint64_t d) { return Outcome{Signed<T>(m) > Signed<T>(d) ? m : d}; }},       \
      {"umin" x2, "min_" u, sizeof(T), &values,                                                    \
       [](uint64_t m, uint64_t d) { return Outcome{m < d ? m : d}; }},                             \
      {"umax" x2, "max_" u, sizeof(T), &values,                                                    \
       [](uint64_t m, uint64_t d) { return Outcome{m > d ? m : d}; }},                             \
      {"and" x2, "and_" b, sizeof(T), &values,                                                     \
       [](uint64_t m, uint64_t d) { return Outcome{m & d}; }},                                     \
      {"or" x2, "or_" b, sizeof(T), &values,                                                       \
       [](uint64_t m, uint64_t d) { return Outcome{m | d}; }},                                     \
      {"xor" x2, "xor_" b, sizeof(T), &values,                                                     \
       [](uint64_t m, uint64_t d) { return Outcome{m ^ d}; }},                                     \
  {                                                                                                \
    "swap" x2, "wrxchg_" b, sizeof(T), &values, [](uint64_t, uint64_t d) { return Outcome{d}; }    \
  }
/// inc counts up to the data and starts again at 0; dec counts down from the data.
Outcome counted(uint64_t m, uint64_t d, bool up) {
  return {up ? (m >= d ? 0 : m + 1) : (m == 0 || m > d ? d : m - 1)};
}
Outcome countUp(uint64_t m, uint64_t d) { return counted(m, d, true); }
Outcome countDown(uint64_t m, uint64_t d) { return counted(m, d, false); }

const Atomic kAtomics[] = {
    INTEGERS(uint32_t, kWords, "", "u32", "i32", "b32"),
    INTEGERS(uint64_t, kLongs, "_x2", "u64", "i64", "b64"),
    {"inc", "inc_u32", 4, &kWords, countUp},
    {"dec", "dec_u32", 4, &kWords, countDown},
    {"inc_x2", "", 8, &kLongs, countUp},
    {"dec_x2", "", 8, &kLongs, countDown},
    {"", "rsub_u32", 4, &kWords, [](uint64_t m, uint64_t d) { return Outcome{uint32_t(d - m)}; }},
    {"add_f32", "add_f32", 4, &kFloats,
     [](uint64_t m, uint64_t d) { return sumOf(kF32Format, m, d); }},
    {"", "min_f32", 4, &kFloats,
     [](uint64_t m, uint64_t d) { return extreme(kF32Format, m, d, false); }},
    {"", "max_f32", 4, &kFloats,
     [](uint64_t m, uint64_t d) { return extreme(kF32Format, m, d, true); }},
    {"add_f64", "add_f64", 8, &kDoubles,
     [](uint64_t m, uint64_t d) { return sumOf(kF64Format, m, d); }},
    {"min_f64", "min_f64", 8, &kDoubles,
     [](uint64_t m, uint64_t d) { return extreme(kF64Format, m, d, false); }},
    {"max_f64", "max_f64", 8, &kDoubles,
     [](uint64_t m, uint64_t d) { return extreme(kF64Format, m, d, true); }},
    {"pk_add_f16", "pk_add_f16", 4, &kHalves,
     [](uint64_t m, uint64_t d) { return sumOfPairs(kF16Format, m, d); }},
    {"pk_add_bf16", "pk_add_bf16", 4, &kBrains,
     [](uint64_t m, uint64_t d) { return sumOfPairs(kBf16Format, m, d); }},
};
#undef INTEGERS

constexpr uint64_t kExecs[] = {~uint64_t(0), 0x0f5a000081c3fff0, 0};

std::string reg(unsigned first, unsigned words) {
  return words == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + words - 1);
}

/// The instruction of an address space, or "" if it has none. Data in v2.., old value to v20..; a
/// buffer's replaces the data.
std::string instruction(const Atomic &a, const std::string &space, bool returns) {
  unsigned words = a.bytes / 4;
  std::string data = reg(2, words), old = reg(20, words),
              name = space == "ds" ? a.ldsName : a.memoryName;
  if (name.empty() || (space == "ds" && !returns && name.starts_with("wrxchg")))
    return "";
  if (space == "ds") {
    size_t type = name.rfind('_');
    return returns ? fmt::format("ds_{}_rtn{} {}, v8, {} offset:{}", name.substr(0, type),
                                 name.substr(type), old, data, kOffset)
                   : fmt::format("ds_{} v8, {} offset:{}", name, data, kOffset);
  }
  name = space + "_atomic_" + name;
  const char *sc0 = returns ? " sc0" : "";
  if (space == "buffer")
    return fmt::format("{} {}, v8, s[64:67], 0 offen offset:{}{}", name, data, kOffset, sc0);
  return fmt::format("{} {}{}, {}{} offset:{}{}", name, returns ? old + ", " : "",
                     space == "global" ? "v8" : "v[10:11]", data,
                     space == "global" ? ", s[70:71]" : "", kOffset, sc0);
}

void addRows(OpTestBuilder &t, unsigned first, unsigned words, const std::vector<uint64_t> &values,
             bool input) {
  std::string name =
      words == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + 1);
  input ? t.in(name, values) : t.out(name, values);
}

void setUp(OpTestBuilder &t, const std::string &space, uint64_t exec, const Slots &before) {
  std::vector<uint64_t> addresses;
  for (unsigned l = 0; l < 64; ++l)
    addresses.push_back(8 * l);
  t.test.records = kOffset + 8 * kInRange;
  t.in(space == "ds" ? "lds" : "mem", before.words).in("v8", addresses).in("exec", {exec});
  t.line("v_mov_b32 v11, s71").line("v_add_co_u32 v10, vcc, s70, v8");
  t.line("v_addc_co_u32 v11, vcc, 0, v11, vcc");
}

/// Which dwords of memory may hold another NaN or zero.
void relax(OpTest &test, const std::vector<unsigned> &lanes, unsigned bytes) {
  for (OpPlace &place : test.after)
    if (place.kind == OpPlace::Memory || place.kind == OpPlace::Lds)
      for (unsigned lane : lanes)
        for (unsigned k = 0; k < bytes / 4; ++k)
          place.values[kOffset / 4 + 2 * lane + k].kind = OpValue::Anything;
}

OpTest atomicTest(const Atomic &a, const std::string &space, bool returns, uint64_t exec) {
  std::string line = instruction(a, space, returns);
  OpTestBuilder t(line + fmt::format(" exec {:x}", exec));
  Slots before, after;
  std::vector<uint64_t> data,
      old(64, 0x5555555577777777 & (a.bytes == 4 ? 0xffffffff : ~uint64_t(0)));
  std::vector<uint64_t> untouched = old;
  std::vector<unsigned> open;
  for (unsigned l = 0; l < 64; ++l) {
    uint64_t memory = (*a.values)[l % 8], operand = (*a.values)[l / 8];
    data.push_back(operand);
    before.set(l, a.bytes, memory);
    after.set(l, a.bytes, memory);
    bool active = exec >> l & 1, inside = space != "buffer" || l < kInRange;
    if (active && inside) {
      Outcome o = a.apply(memory, operand);
      after.set(l, a.bytes, o.bits);
      if (o.any)
        open.push_back(l);
    }
    if (space == "buffer")
      old[l] = operand;
    if (active)
      old[l] = inside ? memory : 0;
  }
  setUp(t, space, exec, before);
  addRows(t, 2, a.bytes / 4, data, true);
  addRows(t, 20, a.bytes / 4, untouched, true);
  t.line(line).line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  t.out(space == "ds" ? "lds" : "mem", after.words);
  if (returns)
    addRows(t, space == "buffer" ? 2 : 20, a.bytes / 4, old, false);
  relax(t.test, open, a.bytes);
  return t.test;
}

/// Compare and swap: data to write, then data to compare with; in LDS instructions the other way.
OpTest swapTest(const std::string &space, unsigned bytes, bool returns, uint64_t exec) {
  unsigned words = bytes / 4;
  std::string pair = reg(2, 2 * words), old = reg(20, words),
              name = space + "_atomic_cmpswap" + (bytes == 8 ? "_x2" : ""), line;
  const char *sc0 = returns ? " sc0" : "";
  if (space == "ds")
    line = fmt::format("ds_cmpst{}_b{} {}v8, {}, {} offset:{}", returns ? "_rtn" : "", 8 * bytes,
                       returns ? old + ", " : "", reg(2 + words, words), reg(2, words), kOffset);
  else if (space == "buffer")
    line = fmt::format("{} {}, v8, s[64:67], 0 offen offset:{}{}", name, pair, kOffset, sc0);
  else
    line = fmt::format("{} {}{}, {}{} offset:{}{}", name, returns ? old + ", " : "",
                       space == "global" ? "v8" : "v[10:11]", pair,
                       space == "global" ? ", s[70:71]" : "", kOffset, sc0);
  OpTestBuilder t(line + fmt::format(" exec {:x}", exec));
  const std::vector<uint64_t> &values = bytes == 8 ? kLongs : kWords;
  Slots before, after;
  std::vector<uint64_t> write, compare, result(64, 0x77777777);
  for (unsigned l = 0; l < 64; ++l) {
    uint64_t memory = values[l % 8], expected = values[l / 8];
    // Every other lane differs in its last bit, and a wide one in its first.
    memory ^= l % 8 == l / 8 && l % 2 ? uint64_t(1) << (8 * bytes - 1) : 0;
    write.push_back(values[(l + 3) % 8]);
    compare.push_back(expected);
    before.set(l, bytes, memory);
    bool active = exec >> l & 1, inside = space != "buffer" || l < kInRange;
    after.set(l, bytes, active && inside && memory == expected ? write[l] : memory);
    if (space == "buffer")
      result[l] = write[l];
    if (active)
      result[l] = inside ? memory : 0;
  }
  setUp(t, space, exec, before);
  addRows(t, 2, words, write, true);
  addRows(t, 2 + words, words, compare, true);
  addRows(t, 20, words, std::vector<uint64_t>(64, 0x77777777), true);
  t.line(line).line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  t.out(space == "ds" ? "lds" : "mem", after.words);
  if (returns)
    addRows(t, space == "buffer" ? 2 : 20, words, result, false);
  return t.test;
}

} // namespace

TEST_CASE("atomics of every operation and address space on edge values", "[edges]") {
  for (const char *space : {"ds", "flat", "global", "buffer"}) {
    std::vector<OpTest> tests;
    for (uint64_t exec : kExecs)
      for (bool returns : {false, true}) {
        for (const Atomic &a : kAtomics)
          if (!instruction(a, space, returns).empty())
            tests.push_back(atomicTest(a, space, returns, exec));
        for (unsigned bytes : {4u, 8u})
          tests.push_back(swapTest(space, bytes, returns, exec));
      }
    runOpTests(tests, executedMnemonics());
  }
}
