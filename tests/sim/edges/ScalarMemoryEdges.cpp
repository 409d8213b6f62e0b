// Scalar stores and atomics: every operation on 64 pairs of edge values, by pointer and by
// descriptor, with and without the old value, with offsets, past the end of the buffer, and
// whatever EXEC is.
#include "tests/sim/edges/AtomicSlots.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;

namespace {

constexpr unsigned kValues = 8;

std::vector<uint64_t> edgeWords(unsigned bytes) {
  if (bytes == 4)
    return {0, 1, 0xffffffff, 0x80000000, 0x7fffffff, 5, 0xfffffffe, 0x12345678};
  return {0,           1,          ~uint64_t(0),      uint64_t(1) << 63, ~(uint64_t(1) << 63),
          0x100000000, 0xffffffff, 0x123456789abcdef0};
}

/// What memory holds after an operation on it.
uint64_t updated(const std::string &op, unsigned bytes, uint64_t memory, uint64_t data,
                 uint64_t compare) {
  unsigned shift = 64 - 8 * bytes;
  int64_t m = int64_t(memory << shift), d = int64_t(data << shift);
  uint64_t mask = ~uint64_t(0) >> shift;
  if (op == "swap")
    return data;
  if (op == "cmpswap")
    return memory == compare ? data : memory;
  if (op == "add")
    return (memory + data) & mask;
  if (op == "sub")
    return (memory - data) & mask;
  if (op == "smin")
    return m < d ? memory : data;
  if (op == "smax")
    return m > d ? memory : data;
  if (op == "umin")
    return std::min(memory, data);
  if (op == "umax")
    return std::max(memory, data);
  if (op == "and")
    return memory & data;
  if (op == "or")
    return memory | data;
  if (op == "xor")
    return memory ^ data;
  if (op == "inc")
    return memory >= data ? 0 : memory + 1;
  return memory == 0 || memory > data ? data : memory - 1; // dec
}

std::string scalars(unsigned first, unsigned words) {
  return words == 1 ? fmt::format("s{}", first) : fmt::format("s[{}:{}]", first, first + words - 1);
}

/// mov of a value into scalar registers from `first` on.
void set(OpTestBuilder &t, unsigned first, unsigned bytes, uint64_t value) {
  t.line(fmt::format("s_mov_b32 s{}, 0x{:x}", first, uint32_t(value)));
  if (bytes == 8)
    t.line(fmt::format("s_mov_b32 s{}, 0x{:x}", first + 1, uint32_t(value >> 32)));
}

OpTest atomicTest(const std::string &op, unsigned bytes, bool buffer, bool returns) {
  std::string name =
      fmt::format("s_{}atomic_{}{}", buffer ? "buffer_" : "", op, bytes == 8 ? "_x2" : "");
  OpTestBuilder t(name + (returns ? " glc" : ""));
  t.test.records = kOffset + 8 * kInRange;
  const std::vector<uint64_t> values = edgeWords(bytes);
  const unsigned words = bytes / 4;
  const bool swaps = op == "cmpswap";
  Slots before, after;
  std::vector<uint64_t> old;
  t.line("s_mov_b64 exec, 0"); // scalar memory does not look at it
  for (unsigned n = 0; n < kValues * kValues; ++n) {
    uint64_t memory = values[n % kValues], data = values[n / kValues];
    uint64_t compare = values[n / kValues];
    if (swaps)
      data = values[(n + 3) % kValues];
    bool inside = !buffer || n < kInRange;
    before.set(n, bytes, memory);
    after.set(n, bytes, inside ? updated(op, bytes, memory, data, compare) : memory);
    old.push_back(!returns ? data : inside ? memory : 0);
    set(t, 20, bytes, data);
    if (swaps)
      set(t, 20 + words, bytes, compare);
    t.line(fmt::format("s_movk_i32 s5, 0x{:x}", 8 * n));
    t.line(fmt::format("{} {}, {}, s5 offset:0x{:x}{}", name,
                       scalars(20, swaps ? 2 * words : words), buffer ? "s[64:67]" : "s[70:71]",
                       kOffset, returns ? " glc" : ""));
    t.line("s_waitcnt lgkmcnt(0)");
    for (unsigned k = 0; k < words; ++k)
      t.line(fmt::format("v_writelane_b32 v{}, s{}, {}", 2 + k, 20 + k, n));
  }
  t.in("mem", before.words).out("mem", after.words);
  t.line("s_mov_b64 exec, -1");
  return t.out(words == 1 ? "v2" : "v[2:3]", old).test;
}

/// Data of 4, 8 and 16 bytes; a buffer takes the dwords before its end.
OpTest storeTest(unsigned words, bool buffer) {
  std::string name = fmt::format("s_{}store_dword{}", buffer ? "buffer_" : "",
                                 words == 1 ? "" : fmt::format("x{}", words));
  OpTestBuilder t(name);
  t.test.records = 40;
  std::vector<uint64_t> before(16, 0x66666666), after = before;
  const uint64_t data[] = {0x80000001, 0, 0xffffffff, 0x12345678};
  for (unsigned k = 0; k < 4; ++k)
    set(t, 20 + k, 4, data[k]);
  const std::string base = buffer ? "s[64:67]" : "s[70:71]";
  t.line("s_mov_b64 exec, 0").line("s_mov_b32 s5, 0x20");
  t.line(fmt::format("{} {}, {}, 0x4", name, scalars(20, words), base));
  t.line(fmt::format("{} {}, {}, s5", name, scalars(20, words), base));
  for (unsigned start : {1u, 8u})
    for (unsigned k = 0; k < words; ++k)
      if (!buffer || 4 * (start + k) < t.test.records)
        after[start + k] = data[k];
  t.line("s_waitcnt lgkmcnt(0)").line("s_mov_b64 exec, -1");
  return t.in("mem", before).out("mem", after).test;
}

} // namespace

TEST_CASE("scalar stores and atomics on edge values", "[edges]") {
  std::vector<OpTest> tests;
  for (bool buffer : {false, true}) {
    for (const char *op : {"swap", "cmpswap", "add", "sub", "smin", "umin", "smax", "umax", "and",
                           "or", "xor", "inc", "dec"})
      for (unsigned bytes : {4u, 8u})
        for (bool returns : {false, true})
          tests.push_back(atomicTest(op, bytes, buffer, returns));
    for (unsigned words : {1u, 2u, 4u})
      tests.push_back(storeTest(words, buffer));
  }
  runOpTests(tests, executedMnemonics());
}
