// Every matrix instruction reaches its registers: random operands, compared with the pure functions
// of Matrix.h (which MatrixTest.cpp checks). Shapes are read from the mnemonics a second time here.
#include "runtime/sim/Instruction.h"
#include "runtime/sim/Matrix.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <random>

using namespace simtest;
using namespace attune::sim;

namespace {

using Rows = std::vector<std::array<uint32_t, 64>>;
ConstLanes constLanes(const Rows &r) { return reinterpret_cast<ConstLanes>(r.data()); }
Lanes lanes(Rows &r) { return reinterpret_cast<Lanes>(r.data()); }

Rows randomRows(unsigned count, uint32_t andMask, std::mt19937 &random) {
  Rows rows(count);
  for (auto &row : rows)
    for (uint32_t &x : row)
      x = uint32_t(random()) & andMask;
  return rows;
}

void addInputs(OpTestBuilder &t, char bank, unsigned first, const Rows &rows) {
  for (unsigned r = 0; r < rows.size(); ++r)
    t.in(bank + std::to_string(first + r), std::vector<uint64_t>(rows[r].begin(), rows[r].end()));
}
void addOutputs(OpTestBuilder &t, char bank, unsigned first, const Rows &rows) {
  for (unsigned r = 0; r < rows.size(); ++r)
    t.out(bank + std::to_string(first + r), std::vector<uint64_t>(rows[r].begin(), rows[r].end()));
}
std::string tuple(char bank, unsigned first, unsigned count) {
  return count == 1 ? fmt::format("{}{}", bank, first)
                    : fmt::format("{}[{}:{}]", bank, first, first + count - 1);
}

MatType typeOf(const std::string &name) {
  const std::pair<const char *, MatType> names[] = {
      {"f64", MatType::F64},   {"f32", MatType::F32}, {"i32", MatType::I32}, {"f16", MatType::F16},
      {"bf16", MatType::Bf16}, {"i8", MatType::I8},   {"fp8", MatType::Fp8}, {"bf8", MatType::Bf8}};
  for (auto [n, t] : names)
    if (name == n)
      return t;
  FAIL("unknown type " << name);
  return MatType::F32;
}

/// Bits that no type reads as NaN or infinity, so that results stay telling.
uint32_t tame(MatType t) {
  switch (t) {
  case MatType::F16:
    return 0xbbffbbff;
  case MatType::Bf16:
    return 0xbfffbfff;
  case MatType::Fp8:
  case MatType::Bf8:
    return 0xbbbbbbbb;
  case MatType::F64:
  case MatType::F32:
    return 0xbfffffff;
  default:
    return 0xffffffff;
  }
}

struct Name {
  MfmaShape shape;
  bool sparse = false;
};

/// "v_mfma_f32_32x32x4_2b_f16", "v_smfmac_f32_16x16x64_fp8_bf8".
Name parseName(const std::string &mnemonic) {
  Name n;
  char kind[16], acc[8], rest[32];
  unsigned m, cols, k, blocks = 1;
  REQUIRE(std::sscanf(mnemonic.c_str(), "v_%15[a-z]_%7[a-z0-9]_%ux%ux%u_%31s", kind, acc, &m, &cols,
                      &k, rest) == 6);
  std::string types = rest;
  if (types.find("b_") != types.npos && std::isdigit(types[0])) {
    blocks = unsigned(std::stoul(types));
    types = types.substr(types.find('_') + 1);
  }
  n.sparse = std::string(kind) == "smfmac";
  n.shape = {uint8_t(m), uint8_t(cols), uint8_t(k), uint8_t(blocks)};
  n.shape.acc = typeOf(acc);
  size_t cut = types.find('_');
  n.shape.a = typeOf(types.substr(0, cut));
  n.shape.b = cut == types.npos ? n.shape.a : typeOf(types.substr(cut + 1));
  return n;
}

OpTest denseTest(const std::string &mnemonic, const MfmaShape &s, bool agprs,
                 std::mt19937 &random) {
  Rows a = randomRows(s.aRegs(), tame(s.a), random), b = randomRows(s.bRegs(), tame(s.b), random);
  Rows c = randomRows(s.accRegs(), tame(s.acc), random), d(s.accRegs());
  mfma(s, lanes(d), constLanes(a), constLanes(b), {constLanes(c)});
  char bank = agprs ? 'a' : 'v';
  OpTestBuilder t(mnemonic);
  addInputs(t, 'v', 2, a);
  addInputs(t, agprs ? 'a' : 'v', 10, b);
  addInputs(t, bank, 32, c);
  t.line(fmt::format("{} {}, {}, {}, {}", mnemonic, tuple(bank, 64, s.accRegs()),
                     tuple('v', 2, s.aRegs()), tuple(bank, 10, s.bRegs()),
                     tuple(bank, 32, s.accRegs())));
  addOutputs(t, bank, 64, d);
  return t.test;
}

OpTest sparseTest(const std::string &mnemonic, const MfmaShape &n, unsigned abid,
                  std::mt19937 &random) {
  SmfmacShape s{n.m, n.k, n.a, n.b, n.acc};
  Rows a = randomRows(s.aRegs(), tame(s.a), random), b = randomRows(s.bRegs(), tame(s.b), random);
  Rows d = randomRows(s.accRegs(), tame(s.acc), random), index(1);
  for (uint32_t &x : index[0]) { // pairs of positions 0 and 2, or 1 and 3
    x = 0;
    for (unsigned pair = 0; pair < 8; ++pair)
      x |= (random() % 2 ? 0x8u : 0xdu) << (4 * pair);
  }
  OpTestBuilder t(mnemonic);
  addInputs(t, 'v', 2, a);
  addInputs(t, 'v', 10, b);
  addInputs(t, 'v', 64, d);
  addInputs(t, 'v', 20, index);
  t.line(fmt::format("{} {}, {}, {}, v20{}", mnemonic, tuple('v', 64, s.accRegs()),
                     tuple('v', 2, s.aRegs()), tuple('v', 10, s.bRegs()),
                     abid ? fmt::format(" abid:{}", abid) : ""));
  smfmac(s, lanes(d), constLanes(a), constLanes(b), index[0].data(), 0, uint8_t(abid));
  addOutputs(t, 'v', 64, d);
  return t.test;
}

OpTest mixedTest(unsigned m, unsigned cbsz, unsigned blgp, bool scaled, std::mt19937 &random) {
  MfmaShape s = f8f6f4Shape(m, cbsz, blgp);
  Rows a = randomRows(s.aRegs(), tame(s.a), random), b = randomRows(s.bRegs(), tame(s.b), random);
  Rows c = randomRows(s.accRegs(), tame(s.acc), random), d(s.accRegs()),
       scales = randomRows(2, 0x07070707, random);
  for (auto &row : scales)
    for (uint32_t &x : row)
      x += 0x7c7c7c7c;
  unsigned aByte = random() % 4, bByte = random() % 4;
  std::string shape = m == 16 ? "f32_16x16x128_f8f6f4" : "f32_32x32x64_f8f6f4", extra, operands;
  if (scaled) {
    mfmaScaled(s, lanes(d), constLanes(a), constLanes(b), {constLanes(c)},
               {scales[0].data(), scales[1].data(), uint8_t(aByte), uint8_t(bByte)});
    operands = ", v28, v29";
    extra = fmt::format(" op_sel:[{},{},0] op_sel_hi:[{},{},0]", aByte & 1, bByte & 1, aByte >> 1,
                        bByte >> 1);
  } else {
    mfma(s, lanes(d), constLanes(a), constLanes(b), {constLanes(c)});
  }
  std::string line =
      fmt::format("v_mfma_{}{} {}, {}, {}, {}{}{} cbsz:{} blgp:{}", scaled ? "scale_" : "", shape,
                  tuple('v', 64, s.accRegs()), tuple('v', 2, s.aRegs()), tuple('v', 10, s.bRegs()),
                  tuple('v', 32, s.accRegs()), operands, extra, cbsz, blgp);
  OpTestBuilder t(line);
  addInputs(t, 'v', 2, a);
  addInputs(t, 'v', 10, b);
  addInputs(t, 'v', 28, scales);
  addInputs(t, 'v', 32, c);
  t.line(line);
  addOutputs(t, 'v', 64, d);
  return t.test;
}

} // namespace

TEST_CASE("every matrix instruction of the table reaches its registers", "[opcodes]") {
  std::mt19937 random(77);
  std::vector<OpTest> tests;
  for (uint32_t row = 0; row < kOpcodeCount; ++row) {
    std::string mnemonic(kOpcodes[row].mnemonic);
    if (kOpcodes[row].format != Format::MAI || mnemonic.starts_with("v_accvgpr") ||
        mnemonic.ends_with("f8f6f4"))
      continue;
    Name n = parseName(mnemonic);
    if (n.sparse) {
      tests.push_back(sparseTest(mnemonic, n.shape, 0, random));
      if (unsigned(n.shape.m) * n.shape.k / 128 < 16) // the indices leave room for a second set
        tests.push_back(sparseTest(mnemonic, n.shape, 1, random));
    } else {
      tests.push_back(denseTest(mnemonic, n.shape, false, random));
      tests.push_back(denseTest(mnemonic, n.shape, true, random));
    }
  }
  CHECK(tests.size() > 100);
  runOpTests(tests, executedMnemonics());
}

TEST_CASE("f8f6f4 with all pairs of operand types, plain and scaled", "[opcodes]") {
  std::mt19937 random(78);
  std::vector<OpTest> tests;
  for (unsigned m : {16u, 32u})
    for (unsigned cbsz = 0; cbsz < 5; ++cbsz)
      for (unsigned blgp = 0; blgp < 5; ++blgp)
        for (bool scaled : {false, true})
          tests.push_back(mixedTest(m, cbsz, blgp, scaled, random));
  runOpTests(tests, executedMnemonics());
}
