// Instructions between lanes, with lanes off: every DPP control, the LDS crossbar, lane selects
// beyond the wave, swaps, accumulation registers, transposing reads at an offset.
#include "tests/sim/edges/EdgeRun.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <functional>

using namespace simtest;

namespace {

constexpr uint64_t kExecs[] = {~uint64_t(0), 0x8fd10000a5c3fff6, 0};
using Row = std::vector<uint64_t>;

/// 64 values with all the integer edges among them.
Row row(unsigned seed) {
  Row values = edgeValues('u');
  for (unsigned l = unsigned(values.size()); l < 64; ++l)
    values.push_back(uint32_t((l + seed) * 0x9e3779b9u));
  std::rotate(values.begin(), values.begin() + seed % 64, values.end());
  return values;
}
bool on(uint64_t exec, int lane) { return exec >> lane & 1; }

/// A DPP control and the lane that a lane reads, -1 for none.
struct Dpp {
  std::string name;
  std::function<int(int)> source;
};
std::vector<Dpp> dppControls() {
  std::vector<Dpp> all = {
      {"quad_perm:[3,1,0,2]", [](int l) { return l / 4 * 4 + std::array{3, 1, 0, 2}[l % 4]; }},
      {"row_mirror", [](int l) { return l ^ 15; }},
      {"row_half_mirror", [](int l) { return l ^ 7; }},
      {"wave_shl:1", [](int l) { return l < 63 ? l + 1 : -1; }},
      {"wave_rol:1", [](int l) { return (l + 1) % 64; }},
      {"wave_shr:1", [](int l) { return l - 1; }},
      {"wave_ror:1", [](int l) { return (l + 63) % 64; }},
      {"row_bcast:15", [](int l) { return l / 16 * 16 - 1; }},
      {"row_bcast:31", [](int l) { return l < 32 ? -1 : 31; }}};
  for (int n = 1; n < 16; ++n) {
    all.push_back(
        {fmt::format("row_shl:{}", n), [n](int l) { return l % 16 + n < 16 ? l + n : -1; }});
    all.push_back({fmt::format("row_shr:{}", n), [n](int l) { return l % 16 >= n ? l - n : -1; }});
    all.push_back(
        {fmt::format("row_ror:{}", n), [n](int l) { return l / 16 * 16 + (l + 16 - n) % 16; }});
  }
  for (int n = 0; n < 16; ++n)
    all.push_back({fmt::format("row_newbcast:{}", n), [n](int l) { return l / 16 * 16 + n; }});
  return all;
}

OpTest dppTest(const Dpp &d, bool bound, unsigned rows, unsigned banks, uint64_t exec) {
  std::string control = fmt::format("{} row_mask:0x{:x} bank_mask:0x{:x}{}", d.name, rows, banks,
                                    bound ? " bound_ctrl:0" : "");
  OpTestBuilder t(control + fmt::format(" exec {:x}", exec));
  Row a = row(3), b = row(11), moved = row(23), added = moved;
  for (int l = 0; l < 64; ++l) {
    int from = d.source(l);
    bool valid = from >= 0 && on(exec, from);
    if (!on(exec, l) || !(rows >> l / 16 & 1) || !(banks >> l % 16 / 4 & 1) || (!valid && !bound))
      continue;
    moved[size_t(l)] = valid ? a[size_t(from)] : 0;
    added[size_t(l)] = uint32_t(moved[size_t(l)] + b[size_t(l)]);
  }
  t.in("v0", a).in("v1", b).in("v2", row(23)).in("v3", row(23)).in("exec", {exec});
  t.line("v_mov_b32_dpp v2, v0 " + control).line("v_add_u32_dpp v3, v0, v1 " + control);
  t.out("v2", moved).out("v3", added);
  return t.test;
}

/// ds_bpermute reads from the lane that its address names, ds_permute writes there; both modulo 64.
std::vector<OpTest> permutes(uint64_t exec) {
  Row address, data = row(5);
  for (int l = 0; l < 64; ++l) // far addresses wrap, low bits do not count
    address.push_back(uint32_t((l * 37 + 11) * 4 + l % 4 + (l % 3 ? 0u : 0xfffffc00u)));
  std::vector<OpTest> tests;
  for (unsigned offset : {0u, 8u, 252u, 65532u}) {
    Row pulled = row(9), pushed = row(9);
    for (size_t l = 0; l < 64; ++l)
      if (on(exec, int(l)))
        pushed[l] = 0;
    for (size_t l = 0; l < 64; ++l) {
      size_t other = (address[l] + offset) / 4 % 64;
      if (on(exec, int(l)))
        pulled[l] = on(exec, int(other)) ? data[other] : 0;
      if (on(exec, int(l)) && on(exec, int(other)))
        pushed[other] = data[l];
    }
    OpTestBuilder t(
        fmt::format("ds_bpermute_b32, ds_permute_b32 offset {} exec {:x}", offset, exec));
    t.in("v0", address).in("v1", data).in("v2", row(9)).in("v3", row(9)).in("exec", {exec});
    t.line(fmt::format("ds_bpermute_b32 v2, v0, v1 offset:{}", offset));
    t.line(fmt::format("ds_permute_b32 v3, v0, v1 offset:{}", offset)).line("s_waitcnt lgkmcnt(0)");
    t.out("v2", pulled).out("v3", pushed);
    tests.push_back(t.test);
  }
  return tests;
}

/// ds_swizzle: lanes of 32, new lane = ((lane & and) | or) ^ xor; or a permutation of quads.
OpTest swizzle(uint64_t exec, unsigned offset) {
  Row data = row(7), expected = row(40);
  for (int l = 0; l < 64; ++l) {
    int other =
        offset >> 15
            ? l / 4 * 4 + int(offset >> (2 * (l % 4)) & 3)
            : l / 32 * 32 +
                  (((l & int(offset & 31)) | int(offset >> 5 & 31)) ^ int(offset >> 10 & 31)) % 32;
    if (on(exec, l))
      expected[size_t(l)] = on(exec, other) ? data[size_t(other)] : 0;
  }
  OpTestBuilder t(fmt::format("ds_swizzle_b32 offset {:x} exec {:x}", offset, exec));
  t.in("v0", data).in("v1", row(40)).in("exec", {exec});
  t.line(fmt::format("ds_swizzle_b32 v1, v0 offset:0x{:x}", offset)).line("s_waitcnt lgkmcnt(0)");
  t.out("v1", expected);
  return t.test;
}

/// Lane selects count modulo 64 and do not ask EXEC.
std::vector<OpTest> selects(uint64_t exec) {
  std::vector<OpTest> tests;
  Row data = row(0);
  for (size_t l = 0; l < edgeValues('u').size(); ++l)
    for (uint32_t beyond : {0u, 64u, 0xffffffc0u}) {
      OpTestBuilder t(fmt::format("lane {} + {:x} exec {:x}", l, beyond, exec));
      Row written = row(17);
      written[(l * 7 + 3) % 64] = data[l];
      t.in("v0", data).in("v1", row(17)).in("exec", {exec}).in("s4", {l + beyond});
      t.in("m0", {(l * 7 + 3) % 64 + beyond}).line("v_readlane_b32 s5, v0, s4");
      t.line("v_writelane_b32 v1, s5, m0").out("s5", {data[l]}).out("v1", written);
      tests.push_back(t.test);
    }
  return tests;
}

std::vector<OpTest> firstLanes() {
  std::vector<OpTest> tests;
  for (size_t l = 0; l <= edgeValues('u').size(); ++l) {
    uint64_t exec = l == edgeValues('u').size() ? 0 : (uint64_t(1) << 63 | uint64_t(1) << l);
    OpTestBuilder t(fmt::format("v_readfirstlane_b32 exec {:x}", exec));
    t.in("v0", row(0)).in("exec", {exec}).line("v_readfirstlane_b32 s4, v0");
    t.out("s4", {row(0)[exec ? l : 0]});
    tests.push_back(t.test);
  }
  return tests;
}

OpTest moves(uint64_t exec) {
  OpTestBuilder t(fmt::format("v_swap_b32, v_accvgpr exec {:x}", exec));
  Row a = row(0), b = row(13), x = a, y = b, read = row(29), mov = row(31), write = row(33);
  for (size_t l = 0; l < 64; ++l)
    if (on(exec, int(l))) {
      std::swap(x[l], y[l]);
      write[l] = b[l];
      read[l] = a[l];
      mov[l] = a[l];
    }
  t.in("v0", a).in("v1", b).in("v2", b).in("a0", a).in("a1", row(31)).in("a2", row(33));
  t.in("v3", row(29)).in("exec", {exec}).line("v_swap_b32 v0, v1");
  t.line("v_accvgpr_write_b32 a2, v2").line("s_nop 7").line("v_accvgpr_read_b32 v3, a0");
  t.line("v_accvgpr_mov_b32 a1, a0");
  t.out("v0", x).out("v1", y).out("a2", write).out("v3", read).out("a1", mov);
  return t.test;
}

/// All lanes on, as the ISA wants it for these two.
std::vector<OpTest> permlaneSwaps() {
  std::vector<OpTest> tests;
  for (unsigned half : {16u, 32u}) {
    Row a = row(0), b = row(21), x = a, y = b;
    for (size_t l = 0; l < 64; ++l)
      if (l / half % 2) // the upper lanes of the first with the lower ones of the second
        std::swap(x[l], y[l - half]);
    OpTestBuilder t(fmt::format("v_permlane{}_swap_b32", half));
    t.in("v0", a).in("v1", b).in("v2", b).in("v3", a);
    t.line(fmt::format("v_permlane{}_swap_b32 v0, v1", half)).out("v0", x).out("v1", y);
    for (size_t l = 0; l < 64; ++l) {
      x[l] = b[l];
      y[l] = a[l];
    }
    for (size_t l = 0; l < 64; ++l)
      if (l / half % 2)
        std::swap(x[l], y[l - half]);
    t.line(fmt::format("v_permlane{}_swap_b32 v2, v3", half)).out("v2", x).out("v3", y);
    tests.push_back(t.test);
  }
  return tests;
}

/// Lane i of 16 gets column i of the rows that its group's elements form in lane-then-element
/// order.
OpTest transposing(const char *name, unsigned bits, unsigned count) {
  constexpr unsigned offset = 48;
  unsigned bytes = bits * count / 8, words = bytes / 4;
  Row lds;
  for (unsigned n = 0; n < 320; ++n)
    lds.push_back(uint32_t((n + 1) * 0x85ebca6bu ^ n << 13));
  auto slot = [](unsigned lane) { return lane * 5 % 64; }; // lanes' data in mixed order
  auto element = [&](unsigned lane, unsigned e) {
    uint64_t code = 0;
    for (unsigned b = 0; b < bits; ++b) {
      unsigned bit = e * bits + b, word = (slot(lane) * bytes + offset) / 4 + bit / 32;
      code |= (lds[word] >> bit % 32 & 1) << b;
    }
    return code;
  };
  std::vector<Row> out(words, Row(64));
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned k = 0; k < count; ++k) {
      unsigned place = 16 * k + l % 16;
      uint64_t code = element(l / 16 * 16 + place / count, place % count);
      for (unsigned b = 0; b < bits; ++b)
        out[(k * bits + b) / 32][l] |= (code >> b & 1) << (k * bits + b) % 32;
    }
  OpTestBuilder t(name);
  Row address;
  for (unsigned l = 0; l < 64; ++l)
    address.push_back(slot(l) * bytes);
  t.in("lds", lds).in("v0", address);
  t.line(fmt::format("{} v[2:{}], v0 offset:{}", name, 1 + words, offset))
      .line("s_waitcnt lgkmcnt(0)");
  for (unsigned n = 0; n < words; ++n)
    t.out(fmt::format("v{}", 2 + n), out[n]);
  return t.test;
}

/// SDWA: a byte or word of each source, extended or not, and where the result goes.
struct Part {
  const char *name;
  unsigned shift, bits;
};
const Part kParts[] = {{"BYTE_0", 0, 8},  {"BYTE_1", 8, 8},   {"BYTE_2", 16, 8}, {"BYTE_3", 24, 8},
                       {"WORD_0", 0, 16}, {"WORD_1", 16, 16}, {"DWORD", 0, 32}};
const char *const kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};

uint32_t partOf(const Part &p, uint64_t word, bool extend) {
  int64_t value = int64_t(word >> p.shift & ((uint64_t(1) << p.bits) - 1));
  return uint32_t(extend && value >> (p.bits - 1) ? value - (int64_t(1) << p.bits) : value);
}
/// Bits above the part: 0, copies of its sign, or as they were; bits below: 0 or as they were.
uint32_t placedPart(const Part &p, uint32_t result, uint32_t old, int unused) {
  uint64_t mask = ((uint64_t(1) << p.bits) - 1) << p.shift,
           placed = uint64_t(result) << p.shift & mask;
  if (unused == 2)
    return uint32_t((old & ~mask) | placed);
  bool negative = result >> (p.bits - 1) & 1;
  return uint32_t(placed | (unused == 1 && negative ? ~uint64_t(0) << (p.shift + p.bits) : 0));
}
OpTest sdwaTest(const Part &a, const Part &b, const Part &to, int unused, bool extend,
                uint64_t exec) {
  std::string line =
      fmt::format("v_sub_u32_sdwa v2, {}, v1 dst_sel:{} dst_unused:{} src0_sel:{} src1_sel:{}",
                  extend ? "sext(v0)" : "v0", to.name, kUnused[unused], a.name, b.name);
  OpTestBuilder t(line + fmt::format(" exec {:x}", exec));
  Row x = row(2), y = row(19), after = row(35);
  for (size_t l = 0; l < 64; ++l)
    if (on(exec, int(l)))
      after[l] = placedPart(to, partOf(a, x[l], extend) - partOf(b, y[l], false),
                            uint32_t(after[l]), unused);
  t.in("v0", x).in("v1", y).in("v2", row(35)).in("exec", {exec}).line(line).out("v2", after);
  return t.test;
}

} // namespace

TEST_CASE("SDWA of every part of sources and destination", "[edges]") {
  std::vector<OpTest> tests;
  size_t turn = 0;
  for (const Part &to : kParts)
    for (int unused = 0; unused < 3; ++unused)
      for (const Part &a : kParts) {
        ++turn;
        tests.push_back(sdwaTest(a, kParts[turn % 7], to, unused, turn / 7 % 2, kExecs[turn % 3]));
        tests.push_back(
            sdwaTest(a, kParts[turn / 3 % 7], to, unused, turn / 7 % 2 == 0, kExecs[0]));
      }
  runOpTests(tests, executedMnemonics());
}

TEST_CASE("DPP of every control, with rows, banks and lanes off", "[edges]") {
  std::vector<OpTest> tests;
  for (const Dpp &d : dppControls())
    for (uint64_t exec : kExecs)
      for (bool bound : {false, true}) {
        tests.push_back(dppTest(d, bound, 15, 15, exec));
        tests.push_back(dppTest(d, bound, 6, 11, exec));
      }
  runOpTests(tests, executedMnemonics());
}

TEST_CASE("exchanges between lanes, with lanes off and selects beyond the wave", "[edges]") {
  std::vector<OpTest> tests = firstLanes();
  auto append = [&](std::vector<OpTest> more) {
    tests.insert(tests.end(), more.begin(), more.end());
  };
  for (uint64_t exec : kExecs) {
    append(permutes(exec));
    append(selects(exec));
    tests.push_back(moves(exec));
    for (unsigned offset : {0x801bu, 0x80ffu, 0x001fu, 0x7c1fu, 0x03e0u, 0x4210u, 0x0018u})
      tests.push_back(swizzle(exec, offset));
  }
  append(permlaneSwaps());
  tests.push_back(transposing("ds_read_b64_tr_b16", 16, 4));
  tests.push_back(transposing("ds_read_b64_tr_b8", 8, 8));
  tests.push_back(transposing("ds_read_b64_tr_b4", 4, 16));
  tests.push_back(transposing("ds_read_b96_tr_b6", 6, 16));
  runOpTests(tests, executedMnemonics());
}
