// Loads and stores of every width and kind in every address space that has them: flat, global,
// buffer, scratch; and LDS-DMA of the narrow kinds.
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;

namespace {

constexpr uint64_t kMemory[] = {0x81f27f84, 0x22222222, 0x33333333, 0x44444444};
constexpr uint64_t kOld = 0x11115555;

struct Kind {
  const char *name;
  unsigned registers;
  std::vector<uint64_t> result; ///< registers after a load from kMemory over kOld; words of memory
                                ///< after a store of kMemory
};
const std::vector<Kind> kLoads = {{"ubyte", 1, {0x84}},
                                  {"sbyte", 1, {0xffffff84}},
                                  {"ushort", 1, {0x7f84}},
                                  {"sshort", 1, {0x7f84}},
                                  {"ubyte_d16", 1, {0x11110084}},
                                  {"ubyte_d16_hi", 1, {0x00845555}},
                                  {"sbyte_d16", 1, {0x1111ff84}},
                                  {"sbyte_d16_hi", 1, {0xff845555}},
                                  {"short_d16", 1, {0x11117f84}},
                                  {"short_d16_hi", 1, {0x7f845555}},
                                  {"dword", 1, {0x81f27f84}},
                                  {"dwordx2", 2, {0x81f27f84, 0x22222222}},
                                  {"dwordx3", 3, {0x81f27f84, 0x22222222, 0x33333333}},
                                  {"dwordx4", 4, {0x81f27f84, 0x22222222, 0x33333333, 0x44444444}}};
const std::vector<Kind> kStores = {
    {"byte", 1, {0x11115584}},
    {"byte_d16_hi", 1, {0x111155f2}},
    {"short", 1, {0x11117f84}},
    {"short_d16_hi", 1, {0x111181f2}},
    {"dword", 1, {0x81f27f84, 0x11115555}},
    {"dwordx2", 2, {0x81f27f84, 0x22222222, 0x11115555}},
    {"dwordx3", 3, {0x81f27f84, 0x22222222, 0x33333333, 0x11115555}},
    {"dwordx4", 4, {0x81f27f84, 0x22222222, 0x33333333, 0x44444444}}};
const char *const kSpaces[] = {"flat", "global", "buffer", "scratch"};

std::string reg(unsigned first, unsigned count) {
  return count == 1 ? fmt::format("v{}", first) : fmt::format("v[{}:{}]", first, first + count - 1);
}

/// The access to offset 8 of the test's memory.
std::string access(const std::string &space, const char *verb, const Kind &k, unsigned data) {
  std::string name = fmt::format("{}_{}_{}", space, verb, k.name), value = reg(data, k.registers);
  bool load = verb[0] == 'l';
  if (space == "buffer")
    return fmt::format("{} {}, v8, s[64:67], 0 offen offset:4", name, value);
  std::string address = space == "flat" ? "v[10:11]" : space == "global" ? "v8" : "v8";
  std::string tail = space == "flat"     ? " offset:8"
                     : space == "global" ? ", s[70:71] offset:4"
                                         : ", off offset:4";
  return load ? fmt::format("{} {}, {}{}", name, value, address, tail)
              : fmt::format("{} {}, {}{}", name, address, value, tail);
}

/// v8 = 4, v[10:11] = address of the memory, v12.. = kMemory's words.
void setUp(OpTestBuilder &t) {
  t.in("v8", {4}).in("exec", {1});
  for (unsigned n = 0; n < 4; ++n)
    t.in(reg(12 + n, 1), {kMemory[n]}).in(reg(20 + n, 1), {kOld});
  t.line("v_mov_b32 v10, s70").line("v_mov_b32 v11, s71");
}

OpTest loadTest(const std::string &space, const Kind &k) {
  OpTestBuilder t(access(space, "load", k, 20));
  setUp(t);
  t.in("mem", {0, 0, kMemory[0], kMemory[1], kMemory[2], kMemory[3]});
  if (space == "scratch")
    t.line("scratch_store_dwordx4 off, v[12:15], off offset:8").line("s_waitcnt vmcnt(0)");
  t.line(access(space, "load", k, 20)).line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  for (unsigned n = 0; n < k.registers; ++n)
    t.out(reg(20 + n, 1), {k.result[n]});
  return t.test;
}

OpTest storeTest(const std::string &space, const Kind &k) {
  OpTestBuilder t(access(space, "store", k, 12));
  setUp(t);
  std::vector<uint64_t> after = {0, 0};
  after.insert(after.end(), k.result.begin(), k.result.end());
  if (space == "scratch") {
    t.line("scratch_store_dwordx4 off, v[20:23], off offset:8").line(access(space, "store", k, 12));
    t.line("s_waitcnt vmcnt(0)")
        .line("scratch_load_dwordx4 v[24:27], off, off offset:8")
        .line("s_waitcnt vmcnt(0)");
    for (unsigned n = 0; n < k.result.size(); ++n)
      t.out(reg(24 + n, 1), {k.result[n]});
    return t.test;
  }
  t.in("mem", {0, 0, kOld, kOld, kOld, kOld, kOld})
      .line(access(space, "store", k, 12))
      .out("mem", after);
  return t.test;
}

} // namespace

TEST_CASE("loads and stores of every kind and address space", "[opcodes]") {
  std::vector<OpTest> tests;
  for (const char *space : kSpaces) {
    for (const Kind &k : kLoads)
      tests.push_back(loadTest(space, k));
    for (const Kind &k : kStores)
      tests.push_back(storeTest(space, k));
  }
  runOpTests(tests, executedMnemonics());
}

TEST_CASE("LDS-DMA of narrow and 12-byte elements", "[opcodes]") {
  std::vector<OpTest> tests;
  auto dma = [&](const std::string &line, const std::vector<uint64_t> &lds) {
    OpTestBuilder t(line);
    t.in("mem", {kMemory[0], kMemory[1], kMemory[2], kMemory[3]})
        .in("v8", {0, 1})
        .in("m0", {0})
        .in("exec", {1});
    t.in("lds", {kOld, kOld, kOld, kOld}).line(line).line("s_waitcnt vmcnt(0)").out("lds", lds);
    tests.push_back(t.test);
  };
  dma("global_load_lds_dwordx3 v8, s[70:71]", {kMemory[0], kMemory[1], kMemory[2], kOld});
  dma("buffer_load_dwordx3 v8, s[64:67], 0 offen lds", {kMemory[0], kMemory[1], kMemory[2], kOld});
  // A narrow element fills a dword of LDS.
  dma("global_load_lds_ubyte v8, s[70:71]", {0x84, kOld});
  dma("global_load_lds_sbyte v8, s[70:71]", {0xffffff84, kOld});
  dma("global_load_lds_ushort v8, s[70:71]", {0x7f84, kOld});
  dma("global_load_lds_sshort v8, s[70:71]", {0x7f84, kOld});
  runOpTests(tests, executedMnemonics());
}
