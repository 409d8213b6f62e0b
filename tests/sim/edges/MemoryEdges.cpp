// Loads and stores of every width, in every address space, by whole waves: all lanes, some, none;
// addresses out of order and not aligned, beyond a buffer's range, with offsets; bytes and shorts
// signed and unsigned, in either half of a register. Expected results come from a copy of memory as
// an array of bytes.
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;

namespace {

enum class Half { Whole, Low, High }; // which half of the register a d16 form uses
struct Kind {
  const char *name, *ldsName;
  unsigned bytes;
  bool isSigned = false;
  Half half = Half::Whole;
  unsigned registers() const { return bytes < 4 ? 1 : bytes / 4; }
};
const Kind kLoads[] = {{"ubyte", "u8", 1},
                       {"sbyte", "i8", 1, true},
                       {"ushort", "u16", 2},
                       {"sshort", "i16", 2, true},
                       {"ubyte_d16", "u8_d16", 1, false, Half::Low},
                       {"ubyte_d16_hi", "u8_d16_hi", 1, false, Half::High},
                       {"sbyte_d16", "i8_d16", 1, true, Half::Low},
                       {"sbyte_d16_hi", "i8_d16_hi", 1, true, Half::High},
                       {"short_d16", "u16_d16", 2, false, Half::Low},
                       {"short_d16_hi", "u16_d16_hi", 2, false, Half::High},
                       {"dword", "b32", 4},
                       {"dwordx2", "b64", 8},
                       {"dwordx3", "b96", 12},
                       {"dwordx4", "b128", 16}};
const Kind kStores[] = {
    {"byte", "b8", 1},      {"byte_d16_hi", "b8_d16_hi", 1, false, Half::High},
    {"short", "b16", 2},    {"short_d16_hi", "b16_d16_hi", 2, false, Half::High},
    {"dword", "b32", 4},    {"dwordx2", "b64", 8},
    {"dwordx3", "b96", 12}, {"dwordx4", "b128", 16}};

constexpr unsigned kBytes = 1152, kOffset = 20, kRecords = 700, kScratch = 64;
constexpr uint64_t kExecs[] = {~uint64_t(0), 0x84210000ffff5a5a, 0};

uint32_t noise(unsigned n) { return (n + 1) * 0x9e3779b9u ^ n << 7; }

/// One access: where it goes, and what the lanes hold.
struct Access {
  std::string space;
  Kind kind;
  uint64_t exec;
  bool lds() const { return space == "ds"; }
  bool scratch() const { return space == "scratch"; }
  /// A slot of 16 bytes a lane, in mixed order, and a place in it.
  unsigned address(unsigned lane) const {
    unsigned within = kind.bytes == 16 ? 2 : lane % (17 - kind.bytes);
    if (lds() || scratch()) // aligned
      within = within / std::min(kind.bytes, 4u) * std::min(kind.bytes, 4u);
    if (lds() && kind.bytes >= 8)
      within = 0;
    return (scratch() ? 0 : lane * 29 % 64 * 16) + within;
  }
  /// Leading bytes in range: whole dwords of a wide access, the others altogether.
  unsigned inRange(unsigned lane) const {
    unsigned start = address(lane) + kOffset;
    if (space != "buffer")
      return kind.bytes;
    if (kind.bytes <= 4)
      return start < kRecords ? kind.bytes : 0;
    unsigned good = 0;
    while (good < kind.bytes && start + good < kRecords)
      good += 4;
    return good;
  }
  bool active(unsigned lane) const { return exec >> lane & 1; }
};

using Image = std::vector<uint8_t>;
/// Memory before: one image, or for scratch one a lane.
Image imageOf(unsigned lane) {
  Image image(kBytes);
  for (unsigned n = 0; n < kBytes; ++n)
    image[n] = uint8_t(noise(n + 7 * lane) >> 11);
  return image;
}
std::vector<uint64_t> wordsOf(const Image &image, unsigned bytes) {
  std::vector<uint64_t> words;
  for (unsigned n = 0; n < bytes; n += 4)
    words.push_back(image[n] | image[n + 1] << 8 | image[n + 2] << 16 |
                    uint64_t(image[n + 3]) << 24);
  return words;
}

std::string reg(unsigned first, unsigned count) {
  return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
}
std::string text(const Access &a, bool load) {
  std::string value = reg(20, a.kind.registers());
  if (a.lds())
    return load ? fmt::format("ds_read_{} {}, v8 offset:{}", a.kind.ldsName, value, kOffset)
                : fmt::format("ds_write_{} v8, {} offset:{}", a.kind.ldsName, value, kOffset);
  std::string name = fmt::format("{}_{}_{}", a.space, load ? "load" : "store", a.kind.name);
  if (a.space == "buffer") // half of the offset in an SGPR, which the range knows too
    return fmt::format("{} {}, v8, s[64:67], s60 offen offset:{}", name, value, kOffset - 8);
  std::string address = a.space == "flat" ? "v[10:11]" : "v8", tail = a.space == "global"
                                                                          ? ", s[70:71]"
                                                                      : a.scratch() ? ", off"
                                                                                    : "";
  std::string operands = load ? value + ", " + address : address + ", " + value;
  return fmt::format("{} {}{} offset:{}", name, operands, tail, kOffset);
}

/// All lanes' scratch: to or from v[32:47].
void moveScratch(OpTestBuilder &t, const char *verb) {
  t.line("s_mov_b64 s[20:21], exec").line("s_mov_b64 exec, -1");
  for (unsigned n = 0; n < kScratch; n += 16) {
    std::string value = reg(32 + n / 4, 4);
    t.line(verb[0] == 's' ? fmt::format("scratch_store_dwordx4 off, {}, off offset:{}", value, n)
                          : fmt::format("scratch_load_dwordx4 {}, off, off offset:{}", value, n));
  }
  t.line("s_waitcnt vmcnt(0)").line("s_mov_b64 exec, s[20:21]");
}

void setUp(OpTestBuilder &t, const Access &a) {
  std::vector<uint64_t> addresses;
  for (unsigned l = 0; l < 64; ++l)
    addresses.push_back(a.address(l));
  t.test.records = kRecords;
  t.in("v8", addresses).in("exec", {a.exec}).in("s60", {8});
  for (unsigned n = 0; n < 4; ++n) {
    std::vector<uint64_t> values;
    for (unsigned l = 0; l < 64; ++l)
      values.push_back(noise(1000 + 64 * n + l));
    t.in(reg(20 + n, 1), values);
  }
  if (!a.scratch()) {
    t.in(a.lds() ? "lds" : "mem", wordsOf(imageOf(0), kBytes));
  } else {
    std::vector<std::vector<uint64_t>> rows(kScratch / 4);
    for (unsigned l = 0; l < 64; ++l)
      for (unsigned n = 0; n < kScratch / 4; ++n)
        rows[n].push_back(wordsOf(imageOf(l), kScratch)[n]);
    for (unsigned n = 0; n < rows.size(); ++n)
      t.in(reg(32 + n, 1), rows[n]);
    moveScratch(t, "store");
  }
  t.line("v_mov_b32 v11, s71").line("v_add_co_u32 v10, vcc, s70, v8");
  t.line("v_addc_co_u32 v11, vcc, 0, v11, vcc");
}

/// What a load leaves in word n of its registers.
uint32_t loaded(const Access &a, const Image &image, unsigned lane, unsigned n, uint32_t old) {
  uint8_t bytes[16] = {};
  for (unsigned k = 0; k < a.inRange(lane); ++k)
    bytes[k] = image[a.address(lane) + kOffset + k];
  if (a.kind.bytes >= 4)
    return bytes[4 * n] | bytes[4 * n + 1] << 8 | bytes[4 * n + 2] << 16 |
           uint32_t(bytes[4 * n + 3]) << 24;
  int32_t value = a.kind.bytes == 1 ? bytes[0] : bytes[0] | bytes[1] << 8;
  if (a.kind.isSigned)
    value = a.kind.bytes == 1 ? int8_t(value) : int16_t(value);
  switch (a.kind.half) {
  case Half::Low:
    return (old & 0xffff0000) | uint16_t(value);
  case Half::High:
    return (old & 0xffff) | uint32_t(value) << 16;
  case Half::Whole:
    break;
  }
  return uint32_t(value);
}

OpTest loadTest(const Access &a) {
  OpTestBuilder t(text(a, true) + fmt::format(" exec {:x}", a.exec));
  setUp(t, a);
  t.line(text(a, true)).line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  for (unsigned n = 0; n < a.kind.registers(); ++n) {
    std::vector<uint64_t> after;
    for (unsigned l = 0; l < 64; ++l) {
      uint32_t old = noise(1000 + 64 * n + l);
      after.push_back(a.active(l) ? loaded(a, imageOf(a.scratch() ? l : 0), l, n, old) : old);
    }
    t.out(reg(20 + n, 1), after);
  }
  return t.test;
}

void storeLane(const Access &a, Image &image, unsigned lane) {
  for (unsigned k = 0; a.active(lane) && k < a.inRange(lane); ++k) {
    uint32_t word = noise(1000 + 64 * (k / 4) + lane) >> (a.kind.half == Half::High ? 16 : 0);
    image[a.address(lane) + kOffset + k] = uint8_t(word >> (8 * (k % 4)));
  }
}

OpTest storeTest(const Access &a) {
  OpTestBuilder t(text(a, false) + fmt::format(" exec {:x}", a.exec));
  setUp(t, a);
  t.line(text(a, false)).line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  if (!a.scratch()) {
    Image image = imageOf(0);
    for (unsigned l = 0; l < 64; ++l)
      storeLane(a, image, l);
    t.out(a.lds() ? "lds" : "mem", wordsOf(image, kBytes));
    return t.test;
  }
  moveScratch(t, "load");
  std::vector<std::vector<uint64_t>> rows(kScratch / 4);
  for (unsigned l = 0; l < 64; ++l) {
    Image image = imageOf(l);
    storeLane(a, image, l);
    for (unsigned n = 0; n < rows.size(); ++n)
      rows[n].push_back(wordsOf(image, kScratch)[n]);
  }
  for (unsigned n = 0; n < rows.size(); ++n)
    t.out(reg(32 + n, 1), rows[n]);
  return t.test;
}

/// ds_read2, ds_write2 and their st64 forms: two elements at offsets that count elements.
struct Pair {
  const char *width;
  unsigned bytes, first, second, scale;
  std::string name(const char *verb) const {
    return fmt::format("ds_{}2{}_{}", verb, scale == 64 ? "st64" : "", width);
  }
  unsigned at(unsigned lane, unsigned which) const {
    return lane * bytes + (which ? second : first) * bytes * scale;
  }
};
const Pair kPairs[] = {
    {"b32", 4, 1, 200, 1}, {"b64", 8, 64, 3, 1}, {"b32", 4, 0, 3, 64}, {"b64", 8, 1, 0, 64}};

OpTest pairTest(const Pair &p, bool load, uint64_t exec) {
  const unsigned words = p.bytes / 4;
  std::string operands = load ? fmt::format("{}, v8", reg(20, 2 * words))
                              : fmt::format("v8, {}, {}", reg(20, words), reg(20 + words, words));
  std::string line = fmt::format("{} {} offset0:{} offset1:{}", p.name(load ? "read" : "write"),
                                 operands, p.first, p.second);
  OpTestBuilder t(line);
  Image image = imageOf(0);
  std::vector<uint64_t> addresses;
  for (unsigned l = 0; l < 64; ++l)
    addresses.push_back(l * p.bytes);
  t.in("v8", addresses).in("exec", {exec}).in("lds", wordsOf(image, kBytes));
  std::vector<std::vector<uint64_t>> rows(2 * words, std::vector<uint64_t>(64));
  for (unsigned n = 0; n < 2 * words; ++n)
    for (unsigned l = 0; l < 64; ++l)
      rows[n][l] = noise(1000 + 64 * n + l);
  for (unsigned n = 0; n < 2 * words; ++n)
    t.in(reg(20 + n, 1), rows[n]);
  std::vector<uint64_t> memory = wordsOf(image, kBytes);
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned n = 0; n < 2 * words && exec >> l & 1; ++n) {
      uint64_t &word = memory[p.at(l, n / words) / 4 + n % words];
      (load ? rows[n][l] : word) = load ? word : rows[n][l];
    }
  t.line(line).line("s_waitcnt lgkmcnt(0)").out("lds", memory);
  for (unsigned n = 0; n < 2 * words; ++n)
    t.out(reg(20 + n, 1), rows[n]);
  return t.test;
}

/// LDS-DMA: lane l's element goes to M0 + offset + l times its size; out of range lanes write 0.
OpTest dmaTest(const Access &a, const std::string &name) {
  bool buffer = a.space == "buffer";
  std::string line =
      buffer ? fmt::format("{} v8, s[64:67], s60 offen offset:{} lds", name, kOffset - 8)
             : fmt::format("{} v8, s[70:71] offset:{}", name, kOffset);
  OpTestBuilder t(line + fmt::format(" exec {:x}", a.exec));
  setUp(t, a);
  Image image = imageOf(0);
  std::vector<uint64_t> lds(272, 0x77777777);
  unsigned words = a.kind.registers(), base = (16 + (buffer ? kOffset - 8 : kOffset)) / 4;
  for (unsigned l = 0; l < 64; ++l)
    for (unsigned n = 0; n < words && a.active(l); ++n)
      lds[base + l * words + n] = loaded(a, image, l, n, 0);
  t.in("lds", std::vector<uint64_t>(272, 0x77777777)).in("m0", {16});
  t.line(line).line("s_waitcnt vmcnt(0)").out("lds", lds);
  return t.test;
}

} // namespace

TEST_CASE("loads and stores by whole waves, lanes off, out of range, not aligned", "[edges]") {
  for (const char *space : {"flat", "global", "buffer", "scratch", "ds"}) {
    std::vector<OpTest> tests;
    for (uint64_t exec : kExecs) {
      for (const Kind &k : kLoads)
        tests.push_back(loadTest({space, k, exec}));
      for (const Kind &k : kStores)
        tests.push_back(storeTest({space, k, exec}));
    }
    runOpTests(tests, executedMnemonics());
  }
}

TEST_CASE("two-address LDS instructions by whole waves", "[edges]") {
  std::vector<OpTest> tests;
  for (uint64_t exec : kExecs)
    for (const Pair &p : kPairs)
      for (bool load : {true, false})
        tests.push_back(pairTest(p, load, exec));
  runOpTests(tests, executedMnemonics());
}

TEST_CASE("LDS-DMA by whole waves, lanes off and out of range", "[edges]") {
  const std::pair<const char *, Kind> kinds[] = {
      {"ubyte", kLoads[0]},  {"sbyte", kLoads[1]},    {"ushort", kLoads[2]},  {"sshort", kLoads[3]},
      {"dword", kLoads[10]}, {"dwordx3", kLoads[12]}, {"dwordx4", kLoads[13]}};
  std::vector<OpTest> tests;
  for (uint64_t exec : kExecs)
    for (const auto &[name, kind] : kinds) {
      tests.push_back(dmaTest({"global", kind, exec}, fmt::format("global_load_lds_{}", name)));
      tests.push_back(dmaTest({"buffer", kind, exec}, fmt::format("buffer_load_{}", name)));
    }
  runOpTests(tests, executedMnemonics());
}
