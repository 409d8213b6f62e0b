// Matrix products against a second implementation: logical matrices are placed into lanes by the
// published layouts (written here once more, from their description), multiplied by the
// instruction, and read back.
#include "runtime/sim/Matrix.h"
#include "runtime/sim/Numerics.h"
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace attune::sim;

namespace {

using Regs = std::vector<std::array<uint32_t, 64>>;
Lanes lanes(Regs &r) { return reinterpret_cast<Lanes>(r.data()); }

/// A number as bits of a type, and back. Small integers are exact in every type used here.
uint64_t encode(MatType t, double x) {
  float f = float(x);
  switch (t) {
  case MatType::F64:
    return asBits(x);
  case MatType::F32:
    return asBits(f);
  case MatType::I32:
    return uint32_t(int32_t(x));
  case MatType::I8:
    return uint8_t(int8_t(x));
  case MatType::F16:
    return f32ToF16(f);
  case MatType::Bf16:
    return f32ToBf16(f);
  case MatType::Fp8:
    return f32ToFp8(f);
  case MatType::Bf8:
    return f32ToBf8(f);
  case MatType::Fp6:
    return f32ToFp6(f);
  case MatType::Bf6:
    return f32ToBf6(f);
  case MatType::Fp4:
    return f32ToFp4(f);
  }
  return 0;
}
double decode(MatType t, uint64_t bits) {
  switch (t) {
  case MatType::F64:
    return asDouble(bits);
  case MatType::I32:
    return int32_t(uint32_t(bits));
  default:
    return asFloat(uint32_t(bits));
  }
}

void setBits(Regs &r, unsigned lane, unsigned bit, unsigned width, uint64_t value) {
  for (unsigned i = 0; i < width; ++i) {
    uint32_t &word = r[(bit + i) / 32][lane], mask = 1u << ((bit + i) % 32);
    word = value >> i & 1 ? word | mask : word & ~mask;
  }
}
uint64_t getBits(const Regs &r, unsigned lane, unsigned bit, unsigned width) {
  uint64_t value = 0;
  for (unsigned i = 0; i < width; ++i)
    value |= uint64_t(r[(bit + i) / 32][lane] >> ((bit + i) % 32) & 1) << i;
  return value;
}

/// Operand element (block, row or column i, k) -> lane and element, as the ISA describes it.
struct Place {
  unsigned lane, element;
};
Place operandPlace(const MfmaShape &s, MatType type, unsigned block, unsigned i, unsigned k) {
  unsigned groups = 64 / (s.m * s.blocks), per = s.k / groups;
  if (s.twoRuns && bitsOf(type) == 8) { // j < 16: 16 g + j; j >= 16: K/2 + 16 g + (j - 16)
    unsigned half = k / (s.k / 2), within = k % (s.k / 2);
    return {i + s.m * (within / 16), within % 16 + 16 * half};
  }
  return {i + s.m * (block + s.blocks * (k / per)), k % per};
}

/// Accumulator element -> lane and element (register, or register pair for f64).
Place accumulatorPlace(const MfmaShape &s, unsigned block, unsigned row, unsigned col) {
  if (s.acc == MatType::F64)
    return s.m == 16 ? Place{col + 16 * (row % 4), row / 4} : Place{col + 4 * row + 16 * block, 0};
  switch (s.m) {
  case 32:
    return {col + 32 * (row / 4 % 2), row % 4 + 4 * (row / 8) + 16 * block};
  case 16:
    return {col + 16 * (row / 4), row % 4 + 4 * block};
  default:
    return {col + 4 * block, row};
  }
}

template <class T> struct Cube { ///< [block][row][column]
  unsigned rows, cols;
  std::vector<T> data;
  Cube(unsigned blocks, unsigned r, unsigned c) : rows(r), cols(c), data(size_t(blocks) * r * c) {}
  T &at(unsigned b, unsigned r, unsigned c) { return data[(size_t(b) * rows + r) * cols + c]; }
};

struct Problem {
  MfmaShape s;
  Cube<double> a, b, c; // a: [row][k], b: [k][col]
  explicit Problem(const MfmaShape &shape)
      : s(shape), a(s.blocks, s.m, s.k), b(s.blocks, s.k, s.n), c(s.blocks, s.m, s.n) {}

  Regs aRegs() {
    Regs r(s.aRegs());
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned k = 0; k < s.k; ++k) {
          Place p = operandPlace(s, s.a, block, i, k);
          setBits(r, p.lane, p.element * bitsOf(s.a), bitsOf(s.a), encode(s.a, a.at(block, i, k)));
        }
    return r;
  }
  Regs bRegs() {
    Regs r(s.bRegs());
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned k = 0; k < s.k; ++k)
        for (unsigned j = 0; j < s.n; ++j) {
          Place p = operandPlace(s, s.b, block, j, k);
          setBits(r, p.lane, p.element * bitsOf(s.b), bitsOf(s.b), encode(s.b, b.at(block, k, j)));
        }
    return r;
  }
  Regs cRegs() {
    Regs r(s.accRegs());
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned j = 0; j < s.n; ++j) {
          Place p = accumulatorPlace(s, block, i, j);
          setBits(r, p.lane, p.element * bitsOf(s.acc), bitsOf(s.acc),
                  encode(s.acc, c.at(block, i, j)));
        }
    return r;
  }
  Cube<double> readBack(const Regs &d) {
    Cube<double> out(s.blocks, s.m, s.n);
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned j = 0; j < s.n; ++j) {
          Place p = accumulatorPlace(s, block, i, j);
          out.at(block, i, j) =
              decode(s.acc, getBits(d, p.lane, p.element * bitsOf(s.acc), bitsOf(s.acc)));
        }
    return out;
  }
  /// Exact for the integers used.
  Cube<double> expected() {
    Cube<double> out = c;
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned j = 0; j < s.n; ++j)
          for (unsigned k = 0; k < s.k; ++k)
            out.at(block, i, j) += a.at(block, i, k) * b.at(block, k, j);
    return out;
  }
  void fillWithIntegers(uint32_t seed) {
    std::mt19937 random(seed);
    // fp4 e2m1 holds 0, 1, 2, 3, 4, 6.
    auto small = [&] { return double(int(random() % 7) - 3); };
    for (double &x : a.data)
      x = small();
    for (double &x : b.data)
      x = small();
    for (double &x : c.data)
      x = double(int(random() % 100) - 50);
  }
};

std::vector<MfmaShape> denseShapes() {
  std::vector<MfmaShape> shapes;
  auto add = [&](unsigned m, unsigned k, unsigned blocks, MatType a, MatType b, MatType acc) {
    shapes.push_back({uint8_t(m), uint8_t(m), uint8_t(k), uint8_t(blocks), a, b, acc});
  };
  const auto f32 = MatType::F32;
  add(32, 1, 2, f32, f32, f32);
  add(16, 1, 4, f32, f32, f32);
  add(4, 1, 16, f32, f32, f32);
  add(32, 2, 1, f32, f32, f32);
  add(16, 4, 1, f32, f32, f32);
  for (MatType t : {MatType::F16, MatType::Bf16}) {
    add(32, 4, 2, t, t, f32);
    add(16, 4, 4, t, t, f32);
    add(4, 4, 16, t, t, f32);
    add(32, 8, 1, t, t, f32);
    add(16, 16, 1, t, t, f32);
    add(32, 16, 1, t, t, f32);
    add(16, 32, 1, t, t, f32);
  }
  const auto i8 = MatType::I8, i32 = MatType::I32;
  add(32, 4, 2, i8, i8, i32);
  add(16, 4, 4, i8, i8, i32);
  add(4, 4, 16, i8, i8, i32);
  add(32, 16, 1, i8, i8, i32);
  add(16, 32, 1, i8, i8, i32);
  add(32, 32, 1, i8, i8, i32);
  add(16, 64, 1, i8, i8, i32);
  for (MatType a : {MatType::Fp8, MatType::Bf8})
    for (MatType b : {MatType::Fp8, MatType::Bf8}) {
      add(32, 16, 1, a, b, f32);
      add(16, 32, 1, a, b, f32);
    }
  add(16, 4, 1, MatType::F64, MatType::F64, MatType::F64);
  add(4, 4, 4, MatType::F64, MatType::F64, MatType::F64);
  for (unsigned a = 0; a < 5; ++a)
    for (unsigned b = 0; b < 5; ++b) {
      shapes.push_back(f8f6f4Shape(32, a, b));
      shapes.push_back(f8f6f4Shape(16, a, b));
    }
  return shapes;
}

std::string describe(const MfmaShape &s) {
  return std::to_string(s.m) + "x" + std::to_string(s.n) + "x" + std::to_string(s.k) + " blocks " +
         std::to_string(s.blocks) + " types " + std::to_string(int(s.a)) + "," +
         std::to_string(int(s.b));
}

} // namespace

TEST_CASE("register counts are those of the ISA", "[matrix]") {
  MfmaShape bf16{32, 32, 16, 1, MatType::Bf16, MatType::Bf16, MatType::F32};
  CHECK(bf16.aRegs() == 4);
  CHECK(bf16.accRegs() == 16);
  CHECK(f8f6f4Shape(32, 0, 4).aRegs() == 8);
  CHECK(f8f6f4Shape(32, 0, 4).bRegs() == 4);
  CHECK(f8f6f4Shape(16, 2, 3).aRegs() == 6);
  MfmaShape f64{16, 16, 4, 1, MatType::F64, MatType::F64, MatType::F64};
  CHECK(f64.aRegs() == 2);
  CHECK(f64.accRegs() == 8);
}

TEST_CASE("every dense shape multiplies matrices", "[matrix]") {
  for (const MfmaShape &s : denseShapes()) {
    INFO(describe(s));
    Problem p(s);
    p.fillWithIntegers(s.m + s.k);
    Regs a = p.aRegs(), b = p.bRegs(), c = p.cRegs(), d(s.accRegs());
    mfma(s, lanes(d), lanes(a), lanes(b), {lanes(c)});
    CHECK(p.readBack(d).data == p.expected().data);
    // In place, C and D being the same registers.
    mfma(s, lanes(c), lanes(a), lanes(b), {lanes(c)});
    CHECK(c == d);
  }
}

TEST_CASE("the accumulator layouts are those of layouts.md", "[matrix]") {
  // 32x32: row = (r0, r1, l5, r2, r3), col = (l0..l4). 16x16: row = (r0, r1, l4, l5), col =
  // (l0..l3).
  for (unsigned m : {32u, 16u}) {
    MfmaShape s{uint8_t(m),    uint8_t(m),  uint8_t(m == 32 ? 16 : 32), 1, MatType::Bf16,
                MatType::Bf16, MatType::F32};
    Problem p(s); // D[row][col] = 32 row + col, as a sum of two products
    for (unsigned i = 0; i < m; ++i) {
      p.a.at(0, i, 3) = i;
      p.b.at(0, 3, i) = 32;
      p.a.at(0, i, 8) = 1;
      p.b.at(0, 8, i) = i;
    }
    Regs a = p.aRegs(), b = p.bRegs(), d(s.accRegs());
    mfma(s, lanes(d), lanes(a), lanes(b), {});
    for (unsigned r = 0; r < s.accRegs(); ++r)
      for (unsigned l = 0; l < 64; ++l) {
        unsigned row =
            m == 32 ? (r & 3) | (l >> 5 & 1) << 2 | (r >> 2) << 3 : (r & 3) | (l >> 4) << 2;
        unsigned col = l % m;
        REQUIRE(asFloat(d[r][l]) == float(32 * row + col));
      }
  }
}

TEST_CASE("one element of A meets the k that its place names", "[matrix]") {
  // B[k][n] holds one bit of k in turn, so the result spells out the k of A's single non-zero
  // element.
  for (MfmaShape s :
       {f8f6f4Shape(32, 0, 4), f8f6f4Shape(16, 0, 4), f8f6f4Shape(32, 4, 0), f8f6f4Shape(16, 2, 1),
        MfmaShape{32, 32, 16, 1, MatType::Bf16, MatType::Bf16, MatType::F32}}) {
    INFO(describe(s));
    unsigned per = s.aElements();
    for (unsigned lane : {0u, 5u, 17u, 38u, 63u})
      for (unsigned j = 0; j < per; ++j) {
        Regs a(s.aRegs());
        setBits(a, lane, j * bitsOf(s.a), bitsOf(s.a), encode(s.a, 1));
        unsigned k = 0;
        for (unsigned bit = 0; bit < 7; ++bit) {
          Problem p(s);
          for (unsigned i = 0; i < s.k; ++i)
            for (unsigned n = 0; n < s.n; ++n)
              p.b.at(0, i, n) = i >> bit & 1;
          Regs b = p.bRegs(), d(s.accRegs());
          mfma(s, lanes(d), lanes(a), lanes(b), {});
          Cube<double> out = p.readBack(d);
          k |= unsigned(out.at(0, lane % s.m, 3)) << bit;
          REQUIRE(out.at(0, (lane + 1) % s.m, 3) == 0);
        }
        unsigned g = lane / s.m;
        bool two = s.twoRuns && bitsOf(s.a) == 8;
        unsigned expected = !two ? per * g + j : j < 16 ? 16 * g + j : s.k / 2 + 16 * g + (j - 16);
        REQUIRE(k == expected);
      }
  }
}

TEST_CASE("C may be a constant, and may overlap D", "[matrix]") {
  MfmaShape s{32, 32, 8, 1, MatType::F16, MatType::F16, MatType::F32};
  Problem p(s);
  p.fillWithIntegers(1);
  Regs a = p.aRegs(), b = p.bRegs(), d(s.accRegs());
  for (double &x : p.c.data)
    x = 0.5;
  mfma(s, lanes(d), lanes(a), lanes(b), {nullptr, asBits(0.5f)});
  CHECK(p.readBack(d).data == p.expected().data);

  p.fillWithIntegers(2);
  a = p.aRegs();
  b = p.bRegs();
  Regs file(24), c = p.cRegs(); // C in registers 4.., D in 0..
  std::copy(c.begin(), c.end(), file.begin() + 4);
  mfma(s, lanes(file), lanes(a), lanes(b), {lanes(file) + 4});
  file.resize(16);
  CHECK(p.readBack(file).data == p.expected().data);

  Regs both(16); // A and B inside D
  std::copy(a.begin(), a.end(), both.begin() + 2);
  std::copy(b.begin(), b.end(), both.begin() + 9);
  mfma(s, lanes(both), lanes(both) + 2, lanes(both) + 9, {lanes(c)});
  CHECK(p.readBack(both).data == p.expected().data);
}

TEST_CASE("f32 sums take k in order with one rounding each", "[matrix]") {
  std::mt19937 random(9);
  std::normal_distribution<float> normal;
  for (MfmaShape s : {MfmaShape{32, 32, 16, 1, MatType::Bf16, MatType::Bf16, MatType::F32},
                      MfmaShape{16, 16, 32, 1, MatType::F16, MatType::F16, MatType::F32},
                      MfmaShape{16, 16, 4, 1, MatType::F32, MatType::F32, MatType::F32},
                      MfmaShape{4, 4, 4, 16, MatType::F16, MatType::F16, MatType::F32}}) {
    Problem p(s);
    auto rounded = [&](MatType t) {
      float x = normal(random);
      return t == MatType::F16    ? f16ToF32(f32ToF16(x))
             : t == MatType::Bf16 ? bf16ToF32(f32ToBf16(x))
                                  : x;
    };
    for (double &x : p.a.data)
      x = rounded(s.a);
    for (double &x : p.b.data)
      x = rounded(s.b);
    for (double &x : p.c.data)
      x = normal(random);
    Regs a = p.aRegs(), b = p.bRegs(), c = p.cRegs();
    mfma(s, lanes(c), lanes(a), lanes(b), {lanes(c)});
    Cube<double> got = p.readBack(c);
    for (unsigned block = 0; block < s.blocks; ++block)
      for (unsigned i = 0; i < s.m; ++i)
        for (unsigned j = 0; j < s.n; ++j) {
          float sum = float(p.c.at(block, i, j));
          for (unsigned k = 0; k < s.k; ++k)
            sum = std::fma(float(p.a.at(block, i, k)), float(p.b.at(block, k, j)), sum);
          REQUIRE(asBits(float(got.at(block, i, j))) == asBits(sum));
        }
  }
}

TEST_CASE("integer products wrap", "[matrix]") {
  MfmaShape s{16, 16, 64, 1, MatType::I8, MatType::I8, MatType::I32};
  Problem p(s);
  for (double &x : p.a.data)
    x = -128;
  for (double &x : p.b.data)
    x = -128;
  Regs a = p.aRegs(), b = p.bRegs(), d(s.accRegs());
  mfma(s, lanes(d), lanes(a), lanes(b), {nullptr, 0x7fffffffu});
  CHECK(d[0][0] == 0x7fffffffu + 64u * 16384u);
}

TEST_CASE("NaN and infinity pass through products", "[matrix]") {
  MfmaShape s{32, 32, 16, 1, MatType::Bf16, MatType::Bf16, MatType::F32};
  Problem p(s);
  p.a.at(0, 3, 5) = HUGE_VAL;
  p.a.at(0, 4, 5) = std::nan("");
  for (unsigned n = 0; n < 32; ++n)
    p.b.at(0, 5, n) = n == 7 ? 0 : 1;
  Regs a = p.aRegs(), b = p.bRegs(), d(s.accRegs());
  mfma(s, lanes(d), lanes(a), lanes(b), {});
  Cube<double> out = p.readBack(d);
  CHECK(out.at(0, 3, 0) == HUGE_VAL);
  CHECK(std::isnan(out.at(0, 3, 7))); // infinity times 0
  CHECK(std::isnan(out.at(0, 4, 0)));
  CHECK(out.at(0, 5, 0) == 0);
}

TEST_CASE("block scales: lane row + M * block, chosen byte, 2^(e-127)", "[matrix]") {
  std::mt19937 random(21);
  for (unsigned m : {16u, 32u})
    for (unsigned aCode : {0u, 2u, 4u})
      for (unsigned bCode : {0u, 3u, 4u}) {
        MfmaShape s = f8f6f4Shape(m, aCode, bCode);
        INFO(describe(s));
        Problem p(s);
        p.fillWithIntegers(m + aCode);
        uint32_t aScale[64], bScale[64];
        for (unsigned l = 0; l < 64; ++l) {
          aScale[l] = bScale[l] = 0;
          for (unsigned byte = 0; byte < 4; ++byte) {
            aScale[l] |= uint32_t(124 + random() % 7) << (8 * byte);
            bScale[l] |= uint32_t(124 + random() % 7) << (8 * byte);
          }
        }
        unsigned aByte = random() % 4, bByte = random() % 4;
        Cube<double> expected = p.c; // all exact: few bits apart
        for (unsigned i = 0; i < m; ++i)
          for (unsigned j = 0; j < m; ++j)
            for (unsigned k = 0; k < s.k; ++k) {
              int ea = int(aScale[i + m * (k / 32)] >> (8 * aByte) & 0xff) - 127;
              int eb = int(bScale[j + m * (k / 32)] >> (8 * bByte) & 0xff) - 127;
              expected.at(0, i, j) += std::ldexp(p.a.at(0, i, k) * p.b.at(0, k, j), ea + eb);
            }
        Regs a = p.aRegs(), b = p.bRegs(), c = p.cRegs();
        mfmaScaled(s, lanes(c), lanes(a), lanes(b), {lanes(c)},
                   {aScale, bScale, uint8_t(aByte), uint8_t(bByte)});
        CHECK(p.readBack(c).data == expected.data);
      }
}

TEST_CASE("a scale changes its own block only (F88), and extremes do not overflow on the way",
          "[matrix]") {
  MfmaShape s = f8f6f4Shape(16, 0, 0);
  Problem p(s);
  for (double &x : p.a.data)
    x = 1;
  for (double &x : p.b.data)
    x = 1;
  Regs a = p.aRegs(), b = p.bRegs();
  uint32_t aScale[64], bScale[64];
  std::fill(aScale, aScale + 64, 127u);
  std::fill(bScale, bScale + 64, 127u);
  aScale[5 + 16 * 2] = 130; // row 5, block 2: times 8
  Regs d(s.accRegs());
  mfmaScaled(s, lanes(d), lanes(a), lanes(b), {}, {aScale, bScale, 0, 0});
  Cube<double> out = p.readBack(d);
  CHECK(out.at(0, 5, 9) == 96 + 32 * 8);
  CHECK(out.at(0, 4, 9) == 128);

  std::fill(aScale, aScale + 64, 254u); // 2^127 * 2^-127
  std::fill(bScale, bScale + 64, 0u);
  mfmaScaled(s, lanes(d), lanes(a), lanes(b), {}, {aScale, bScale, 0, 0});
  CHECK(p.readBack(d).at(0, 0, 0) == 128);
  aScale[0] = 255;
  mfmaScaled(s, lanes(d), lanes(a), lanes(b), {}, {aScale, bScale, 0, 0});
  CHECK(std::isnan(p.readBack(d).at(0, 0, 0)));
  CHECK(p.readBack(d).at(0, 1, 0) == 128);
}

TEST_CASE("both ways of scaling round alike", "[matrix]") {
  // Byte 1 of one lane is out of the fast range, but another byte is used: same inputs, two code
  // paths.
  MfmaShape s = f8f6f4Shape(32, 0, 1);
  std::mt19937 random(4);
  Regs a(s.aRegs()), b(s.bRegs()), c(s.accRegs());
  for (Regs *r : {&a, &b})
    for (auto &reg : *r)
      for (uint32_t &x : reg)
        x = uint32_t(random()) & 0x6f6f6f6fu;
  for (auto &reg : c)
    for (uint32_t &x : reg)
      x = asBits(float(int(random() % 2000) - 1000) * 0.37f);
  uint32_t aScale[64], bScale[64];
  for (unsigned l = 0; l < 64; ++l) {
    aScale[l] = 120 + random() % 8;
    bScale[l] = 120 + random() % 8;
  }
  Regs fast = c, slow = c;
  mfmaScaled(s, lanes(fast), lanes(a), lanes(b), {lanes(fast)}, {aScale, bScale, 0, 0});
  // Moving 2^40 from B to A leaves every product of scales as it was and needs the wide path.
  for (unsigned l = 0; l < 64; ++l) {
    aScale[l] += 90;
    bScale[l] -= 90;
  }
  mfmaScaled(s, lanes(slow), lanes(a), lanes(b), {lanes(slow)}, {aScale, bScale, 0, 0});
  CHECK(fast == slow);
}

TEST_CASE("broadcast controls of the multi-block shapes", "[matrix]") {
  MfmaShape s{4, 4, 4, 16, MatType::F16, MatType::F16, MatType::F32};
  Problem p(s);
  p.fillWithIntegers(8);
  Regs a = p.aRegs(), b = p.bRegs(), d(s.accRegs());
  auto expect = [&](MfmaControls controls, auto aBlock, auto bLane) {
    std::fill(d.begin(), d.end(), std::array<uint32_t, 64>{});
    mfma(s, lanes(d), lanes(a), lanes(b), {}, controls);
    Cube<double> got = p.readBack(d);
    for (unsigned block = 0; block < 16; ++block)
      for (unsigned i = 0; i < 4; ++i)
        for (unsigned j = 0; j < 4; ++j) {
          unsigned source = bLane(4 * block + j); // lane of B: its block and column
          double sum = 0;
          for (unsigned k = 0; k < 4; ++k)
            sum += p.a.at(aBlock(block), i, k) * p.b.at(source / 4, k, source % 4);
          REQUIRE(got.at(block, i, j) == sum);
        }
  };
  auto same = [](unsigned x) { return x; };
  expect({2, 3, 0}, [](unsigned block) { return block / 4 * 4 + 3; }, same);
  expect({4, 9, 0}, [](unsigned) { return 9u; }, same);
  expect({0, 0, 1}, same, [](unsigned l) { return l % 32; });
  expect({0, 0, 2}, same, [](unsigned l) { return 32 + l % 32; });
  expect({0, 0, 3}, same, [](unsigned l) { return (l + 16) % 64; });
  expect({0, 0, 6}, same, [](unsigned l) { return 32 + l % 16; });
}

TEST_CASE("f64 shapes negate by blgp", "[matrix]") {
  MfmaShape s{16, 16, 4, 1, MatType::F64, MatType::F64, MatType::F64};
  Problem p(s);
  p.fillWithIntegers(3);
  Regs a = p.aRegs(), b = p.bRegs(), c = p.cRegs(), d(s.accRegs());
  mfma(s, lanes(d), lanes(a), lanes(b), {lanes(c)}, {0, 0, 5}); // -A, -C
  Cube<double> expected = p.expected(), got = p.readBack(d);
  for (size_t i = 0; i < got.data.size(); ++i)
    CHECK(got.data[i] == -expected.data[i]);
}

namespace {

/// Sparse product with random index bits, checked against A written out densely.
template <class Encode>
void checkSparse(const SmfmacShape &s, unsigned cbsz, unsigned abid, Encode index) {
  INFO(unsigned(s.m) << "x" << unsigned(s.m) << "x" << unsigned(s.k) << " type " << int(s.a));
  std::mt19937 random(s.k + abid);
  MfmaShape dense{s.m, s.m, s.k, 1, s.a, s.b, s.acc, bitsOf(s.b) == 8 && s.bElements() == 32};
  Problem p(dense);
  p.fillWithIntegers(s.k);
  std::fill(p.a.data.begin(), p.a.data.end(), 0.0);
  unsigned per = s.aElements();
  Regs a(s.aRegs());
  uint32_t indexReg[64];
  for (unsigned l = 0; l < 64; ++l) {
    indexReg[l] = uint32_t(random());
    uint64_t bits = 0;
    for (unsigned j = 0; j < per; ++j) {
      // Of each four, two different positions in ascending order.
      static const unsigned pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
      if (j % 2)
        continue;
      unsigned which = random() % 6;
      for (unsigned h = 0; h < 2; ++h) {
        double v = double(int(random() % 7) - 3);
        unsigned k = 2 * per * (l / s.m) + 4 * (j / 2) + pairs[which][h];
        p.a.at(0, l % s.m, k) = v;
        setBits(a, l, (j + h) * bitsOf(s.a), bitsOf(s.a), encode(s.a, v));
        bits |= uint64_t(pairs[which][h]) << (2 * (j + h));
      }
    }
    indexReg[l] = index(indexReg[l], bits, 2 * per);
  }
  Regs b = p.bRegs(), d = p.cRegs();
  smfmac(s, lanes(d), lanes(a), lanes(b), indexReg, uint8_t(cbsz), uint8_t(abid));
  CHECK(p.readBack(d).data == p.expected().data);
}

uint32_t putField(uint32_t reg, uint64_t bits, unsigned width, unsigned part) {
  uint64_t mask = ((uint64_t(1) << width) - 1) << (width * part);
  return uint32_t((reg & ~mask) | (bits << (width * part)));
}

} // namespace

TEST_CASE("sparse products place A by its index bits", "[matrix]") {
  auto at = [](unsigned part) {
    return [part](uint32_t reg, uint64_t bits, unsigned width) {
      return putField(reg, bits, width, part);
    };
  };
  const auto f32 = MatType::F32;
  for (MatType t : {MatType::F16, MatType::Bf16}) {
    for (unsigned abid = 0; abid < 4; ++abid) {
      checkSparse({16, 32, t, t, f32}, 0, abid, at(abid));
      checkSparse({32, 16, t, t, f32}, 0, abid, at(abid));
    }
    checkSparse({16, 32, t, t, f32}, 1, 3, at(0)); // cbsz set: lowest part
    checkSparse({16, 64, t, t, f32}, 0, 1, at(1));
    checkSparse({32, 32, t, t, f32}, 0, 1, at(1));
  }
  checkSparse({16, 64, MatType::I8, MatType::I8, MatType::I32}, 0, 1, at(1));
  checkSparse({32, 32, MatType::I8, MatType::I8, MatType::I32}, 0, 0, at(0));
  checkSparse({16, 64, MatType::Fp8, MatType::Bf8, f32}, 0, 1, at(1));
  checkSparse({16, 128, MatType::Fp8, MatType::Fp8, f32}, 0, 0, at(0));
  checkSparse({32, 64, MatType::Bf8, MatType::Fp8, f32}, 0, 0, at(0));
  checkSparse({16, 128, MatType::I8, MatType::I8, MatType::I32}, 0, 0, at(0));
}
