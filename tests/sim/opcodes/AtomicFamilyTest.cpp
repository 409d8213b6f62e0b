// Atomics: every operation in every address space that has it (LDS, flat, global, buffer), with and
// without the old value.
#include "runtime/sim/Numerics.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <functional>

using namespace simtest;
using namespace attune::sim;

namespace {

using Operation = std::function<uint64_t(uint64_t memory, uint64_t data)>;

/// One operation: its name in memory instructions ("" if there is none) and in LDS instructions.
struct AtomicForm {
  std::string memoryName, ldsName;
  unsigned bytes;
  Operation apply;
};

template <class T> uint64_t incremented(uint64_t m, uint64_t d) {
  return T(m) >= T(d) ? 0 : T(m) + 1;
}
template <class T> uint64_t decremented(uint64_t m, uint64_t d) {
  return T(m) == 0 || T(m) > T(d) ? T(d) : T(m) - 1;
}

/// Integer operations, for 4 and 8 bytes.
template <class T>
void addIntegers(std::vector<AtomicForm> &out, const std::string &x2, const std::string &u,
                 const std::string &i, const std::string &b) {
  using S = std::make_signed_t<T>;
  auto add = [&](const std::string &memoryName, const std::string &ldsName, Operation apply) {
    out.push_back({memoryName.empty() ? "" : memoryName + x2, ldsName, sizeof(T), apply});
  };
  auto larger = [](auto p, auto q) { return uint64_t(T(p > q ? p : q)); };
  auto smaller = [](auto p, auto q) { return uint64_t(T(p < q ? p : q)); };
  add("add", "add_" + u, [](uint64_t m, uint64_t d) { return T(m + d); });
  add("sub", "sub_" + u, [](uint64_t m, uint64_t d) { return T(m - d); });
  add("smin", "min_" + i, [=](uint64_t m, uint64_t d) { return smaller(S(m), S(d)); });
  add("smax", "max_" + i, [=](uint64_t m, uint64_t d) { return larger(S(m), S(d)); });
  add("umin", "min_" + u, [=](uint64_t m, uint64_t d) { return smaller(T(m), T(d)); });
  add("umax", "max_" + u, [=](uint64_t m, uint64_t d) { return larger(T(m), T(d)); });
  add("and", "and_" + b, [](uint64_t m, uint64_t d) { return m & d; });
  add("or", "or_" + b, [](uint64_t m, uint64_t d) { return m | d; });
  add("xor", "xor_" + b, [](uint64_t m, uint64_t d) { return m ^ d; });
  add("inc", sizeof(T) == 4 ? "inc_u32" : "", incremented<T>);
  add("dec", sizeof(T) == 4 ? "dec_u32" : "", decremented<T>);
  add("swap", "", [](uint64_t, uint64_t d) { return d; });
}

uint64_t packed(uint64_t m, uint64_t d, float (*widen)(uint16_t), uint16_t (*narrow)(float)) {
  auto half = [&](unsigned shift) {
    return uint64_t(narrow(widen(uint16_t(m >> shift)) + widen(uint16_t(d >> shift)))) << shift;
  };
  return half(0) | half(16);
}

std::vector<AtomicForm> atomics() {
  std::vector<AtomicForm> all;
  addIntegers<uint32_t>(all, "", "u32", "i32", "b32");
  addIntegers<uint64_t>(all, "_x2", "u64", "i64", "b64");
  auto f32 = [](auto f) {
    return [f](uint64_t m, uint64_t d) {
      return asBits(float(f(asFloat(uint32_t(m)), asFloat(uint32_t(d)))));
    };
  };
  auto f64 = [](auto f) {
    return [f](uint64_t m, uint64_t d) { return asBits(double(f(asDouble(m), asDouble(d)))); };
  };
  auto sum = [](auto a, auto b) { return a + b; };
  auto smaller = [](auto a, auto b) { return minNum(a, b); };
  auto larger = [](auto a, auto b) { return maxNum(a, b); };
  all.push_back({"add_f32", "add_f32", 4, f32(sum)});
  all.push_back({"", "min_f32", 4, f32(smaller)});
  all.push_back({"", "max_f32", 4, f32(larger)});
  all.push_back({"add_f64", "add_f64", 8, f64(sum)});
  all.push_back({"min_f64", "min_f64", 8, f64(smaller)});
  all.push_back({"max_f64", "max_f64", 8, f64(larger)});
  all.push_back({"pk_add_f16", "pk_add_f16", 4, [](uint64_t m, uint64_t d) {
                   return packed(
                       m, d, [](uint16_t h) { return f16ToF32(h); },
                       [](float x) { return f32ToF16(x); });
                 }});
  all.push_back({"pk_add_bf16", "pk_add_bf16", 4, [](uint64_t m, uint64_t d) {
                   return packed(
                       m, d, [](uint16_t h) { return bf16ToF32(h); },
                       [](float x) { return f32ToBf16(x); });
                 }});
  all.push_back({"", "rsub_u32", 4, [](uint64_t m, uint64_t d) { return uint32_t(d - m); }});
  return all;
}

/// Bits that are telling for integers and normal numbers as f32, f64, f16 pairs and bf16 pairs
/// alike.
const std::pair<uint64_t, uint64_t> kPairs[] = {{0x4000400040004000, 0x3c003f803fc03f80},
                                                {0x3c003f803fc03f80, 0xc000400040004000},
                                                {0x4010000040100000, 0x4010000040100000}};

std::vector<uint64_t> words(uint64_t value, unsigned bytes) {
  return bytes == 4 ? std::vector<uint64_t>{value & 0xffffffff}
                    : std::vector<uint64_t>{value & 0xffffffff, value >> 32};
}

/// The instruction of an address space, or "" if it has none.
std::string instruction(const AtomicForm &a, const std::string &space, bool returns) {
  std::string data = a.bytes == 4 ? "v2" : "v[2:3]", old = a.bytes == 4 ? "v4" : "v[4:5]";
  if (space == "ds") {
    if (a.ldsName.empty())
      return "";
    size_t type = a.ldsName.rfind('_');
    return returns ? "ds_" + a.ldsName.substr(0, type) + "_rtn" + a.ldsName.substr(type) + " " +
                         old + ", v8, " + data
                   : "ds_" + a.ldsName + " v8, " + data;
  }
  if (a.memoryName.empty())
    return "";
  std::string name = space + "_atomic_" + a.memoryName;
  if (space == "buffer") // the old value replaces the data
    return name + " " + data + ", v8, s[64:67], 0 offen" + (returns ? " sc0" : "");
  std::string tail = space == "global" ? ", s[70:71]" : "",
              address = space == "global" ? "v8" : "v[10:11]";
  return name + " " + (returns ? old + ", " : "") + address + ", " + data + tail +
         (returns ? " sc0" : "");
}

OpTest atomicTest(const AtomicForm &a, const std::string &space, bool returns, uint64_t memory,
                  uint64_t data) {
  uint64_t mask = a.bytes == 4 ? 0xffffffff : ~uint64_t(0);
  memory &= mask;
  data &= mask;
  OpTestBuilder t(instruction(a, space, returns));
  std::string place = space == "ds" ? "lds" : "mem";
  auto reg = [&](unsigned n) {
    return a.bytes == 4 ? "v" + std::to_string(n)
                        : "v[" + std::to_string(n) + ":" + std::to_string(n + 1) + "]";
  };
  t.in(place, words(memory, a.bytes))
      .in(reg(2), {data})
      .in(reg(4), {0})
      .in("v8", {0})
      .in("exec", {1});
  t.line("v_mov_b32 v10, s70").line("v_mov_b32 v11, s71").line(instruction(a, space, returns));
  t.line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  t.out(place, words(a.apply(memory, data) & mask, a.bytes));
  if (returns)
    t.out(reg(space == "buffer" ? 2 : 4), {memory});
  return t.test;
}

} // namespace

TEST_CASE("atomics of every operation and address space", "[opcodes]") {
  std::vector<OpTest> tests;
  for (const AtomicForm &a : atomics())
    for (const char *space : {"ds", "flat", "global", "buffer"})
      for (bool returns : {false, true})
        for (auto [memory, data] : kPairs)
          if (!instruction(a, space, returns).empty() &&
              !(std::string(space) == "ds" && !returns && a.ldsName.empty()))
            tests.push_back(atomicTest(a, space, returns, memory, data));
  // Exchange and compare forms have operands of their own.
  for (bool equal : {false, true}) {
    uint64_t compare = equal ? 7 : 8;
    auto swapped = [&](const std::string &place, const std::string &line,
                       const std::string &result) {
      OpTestBuilder t(line);
      t.in(place, {7, 0})
          .in("v8", {0})
          .in("v2", {9})
          .in("v3", {compare})
          .in("v4", {0})
          .in("exec", {1});
      t.line("v_mov_b32 v10, s70")
          .line("v_mov_b32 v11, s71")
          .line(line)
          .line("s_waitcnt vmcnt(0) lgkmcnt(0)");
      t.out(place, {equal ? 9u : 7u, 0});
      if (!result.empty())
        t.out(result, {7});
      tests.push_back(t.test);
    };
    swapped("mem", "flat_atomic_cmpswap v4, v[10:11], v[2:3] sc0", "v4");
    swapped("mem", "buffer_atomic_cmpswap v[2:3], v8, s[64:67], 0 offen sc0", "v2");
    swapped("lds", "ds_cmpst_b32 v8, v3, v2", "");
  }
  for (const char *line : {"flat_atomic_cmpswap_x2 v[4:5], v[10:11], v[12:15] sc0",
                           "global_atomic_cmpswap_x2 v[4:5], v8, v[12:15], s[70:71] sc0",
                           "buffer_atomic_cmpswap_x2 v[12:15], v8, s[64:67], 0 offen"}) {
    OpTestBuilder t(line);
    t.in("mem", {7, 1})
        .in("v8", {0})
        .in("v[12:13]", {0x900000009})
        .in("v[14:15]", {0x100000007})
        .in("exec", {1});
    t.line("v_mov_b32 v10, s70").line("v_mov_b32 v11, s71").line(line).line("s_waitcnt vmcnt(0)");
    t.out("mem", {9, 9});
    tests.push_back(t.test);
  }
  runOpTests(tests, executedMnemonics());
}
