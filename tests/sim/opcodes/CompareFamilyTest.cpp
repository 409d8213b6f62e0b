// All vector compares: every condition, every type, in its three forms (VCC, SGPR pair, v_cmpx), on
// all pairs of a list of edge values.
#include "runtime/sim/Numerics.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <functional>

using namespace simtest;
using namespace attune::sim;

namespace {

/// Which of less, equal, greater, unordered satisfy a condition.
struct Condition {
  const char *name;
  bool less, equal, greater, unordered;
};
const Condition kFloat[] = {
    {"f", 0, 0, 0, 0},   {"lt", 1, 0, 0, 0},  {"eq", 0, 1, 0, 0},  {"le", 1, 1, 0, 0},
    {"gt", 0, 0, 1, 0},  {"lg", 1, 0, 1, 0},  {"ge", 0, 1, 1, 0},  {"o", 1, 1, 1, 0},
    {"u", 0, 0, 0, 1},   {"nge", 1, 0, 0, 1}, {"nlg", 0, 1, 0, 1}, {"ngt", 1, 1, 0, 1},
    {"nle", 0, 0, 1, 1}, {"neq", 1, 0, 1, 1}, {"nlt", 0, 1, 1, 1}, {"tru", 1, 1, 1, 1}};
const Condition kInteger[] = {{"f", 0, 0, 0, 0},  {"lt", 1, 0, 0, 0}, {"eq", 0, 1, 0, 0},
                              {"le", 1, 1, 0, 0}, {"gt", 0, 0, 1, 0}, {"ne", 1, 0, 1, 0},
                              {"ge", 0, 1, 1, 0}, {"t", 1, 1, 1, 0}};

bool holds(const Condition &c, double a, double b) {
  return a < b ? c.less : a == b ? c.equal : a > b ? c.greater : c.unordered;
}
template <class T> bool holdsFor(const Condition &c, uint64_t a, uint64_t b) {
  T x = static_cast<T>(a), y = static_cast<T>(b);
  return x < y ? c.less : x == y ? c.equal : c.greater;
}

struct Type {
  const char *name;
  bool isFloat, wide;
  std::vector<uint64_t> values;
  std::function<bool(const Condition &, uint64_t, uint64_t)> reference;
};

const std::vector<Type> &types() {
  const std::vector<uint64_t> small = {0, 1, 0x7fff, 0x8000, 0xffff, 2};
  const std::vector<uint64_t> words = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 2};
  const std::vector<uint64_t> longs = {
      0, 1, 0x7fffffffffffffff, 0x8000000000000000, ~uint64_t(0), 0x100000000};
  static const std::vector<Type> all = {
      {"f16",
       true,
       false,
       {0x3c00, 0xbc00, 0x0000, 0x8000, 0x7e00, 0x7c00},
       [](const Condition &c, uint64_t a, uint64_t b) {
         return holds(c, f16ToF32(uint16_t(a)), f16ToF32(uint16_t(b)));
       }},
      {"f32",
       true,
       false,
       {0x3f800000, 0xbf800000, 0, 0x80000000, 0x7fc00000, 0xff800000},
       [](const Condition &c, uint64_t a, uint64_t b) {
         return holds(c, asFloat(uint32_t(a)), asFloat(uint32_t(b)));
       }},
      {"f64",
       true,
       true,
       {asBits(1.0), asBits(-1.0), 0, asBits(-0.0), 0x7ff8000000000000, asBits(1e300)},
       [](const Condition &c, uint64_t a, uint64_t b) {
         return holds(c, asDouble(a), asDouble(b));
       }},
      {"i16", false, false, small, holdsFor<int16_t>},
      {"u16", false, false, small, holdsFor<uint16_t>},
      {"i32", false, false, words, holdsFor<int32_t>},
      {"u32", false, false, words, holdsFor<uint32_t>},
      {"i64", false, true, longs, holdsFor<int64_t>},
      {"u64", false, true, longs, holdsFor<uint64_t>}};
  return all;
}

OpTest compareTest(const Type &type, const Condition &condition, const std::string &form) {
  std::vector<uint64_t> a, b;
  uint64_t expected = 0;
  for (uint64_t x : type.values)
    for (uint64_t y : type.values) {
      expected |= uint64_t(type.reference(condition, x, y)) << a.size();
      a.push_back(x);
      b.push_back(y);
    }
  uint64_t active = (uint64_t(1) << a.size()) - 1;
  std::string suffix = std::string(condition.name) + "_" + type.name;
  std::string operands = type.wide ? "v[0:1], v[2:3]" : "v0, v2";
  OpTestBuilder t("v_cmp_" + suffix + " " + form);
  t.in(type.wide ? "v[0:1]" : "v0", a)
      .in(type.wide ? "v[2:3]" : "v2", b)
      .in("exec", {active})
      .in("vcc", {~uint64_t(0)});
  if (form == "short")
    t.line("v_cmp_" + suffix + "_e32 vcc, " + operands).out("vcc", {expected});
  else if (form == "long")
    t.line("v_cmp_" + suffix + "_e64 s[10:11], " + operands)
        .out("s[10:11]", {expected})
        .out("exec", {active});
  else
    t.line("v_cmpx_" + suffix + "_e64 s[10:11], " + operands)
        .out("s[10:11]", {expected})
        .out("exec", {expected});
  return t.test;
}

} // namespace

TEST_CASE("vector compares of every condition and type", "[opcodes]") {
  std::vector<OpTest> tests;
  for (const Type &type : types())
    for (const char *form : {"short", "long", "cmpx"}) {
      if (type.isFloat)
        for (const Condition &c : kFloat)
          tests.push_back(compareTest(type, c, form));
      else
        for (const Condition &c : kInteger)
          tests.push_back(compareTest(type, c, form));
    }
  runOpTests(tests, executedMnemonics());
}
