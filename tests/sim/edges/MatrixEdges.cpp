// Matrix instructions: NaN, infinities, denormals, the largest numbers and zeros of both signs in
// A, B and C, in every shape and type; sparse index patterns; scales from 0 to NaN. The reference
// places elements by the CDNA3 ISA's formula (section 7.1.4.2) and adds exactly, rounding once; the
// order of additions being open, a sum may be an ulp or two off.
#include "runtime/sim/Instruction.h"
#include "tests/sim/edges/EdgeAudit.h"
#include "tests/sim/edges/MiniFloat.h"
#include "tests/sim/opcodes/OpRunner.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;
using attune::sim::kOpcodeCount;
using attune::sim::kOpcodes;

namespace {

/// An element type: an IEEE format, a narrow one, or integers.
struct Type {
  int bits;
  const Format *format = nullptr;
  const MiniFormat *mini = nullptr;
  bool integer() const { return !format && !mini; }
  Num decode(uint64_t code) const {
    if (format)
      return simtest::decode(*format, code);
    if (mini)
      return decodeMini(*mini, uint32_t(code));
    return fromInt(bits == 8 ? int8_t(code) : int32_t(code));
  }
  uint64_t one() const {
    return format ? encode(*format, fromInt(1))
           : mini ? encodeMini(*mini, fromInt(1), true).code
                  : 1;
  }
  /// Codes with an edge: zeros, denormals, the largest, infinities, NaNs; for integers the
  /// extremes.
  std::vector<uint64_t> edges() const;
};

std::vector<uint64_t> Type::edges() const {
  if (integer())
    return {0, 1, (uint64_t(1) << bits) - 1, uint64_t(1) << (bits - 1),
            (uint64_t(1) << (bits - 1)) - 1};
  if (format)
    return {0,
            format->sign(),
            1,
            format->sign() | (format->smallestNormal() - 1),
            format->largest(),
            format->infinity(),
            format->sign() | format->infinity(),
            format->infinity() | format->quiet(),
            format->infinity() | 1};
  std::vector<uint64_t> all = {
      0, mini->sign(), 1, mini->sign() | 1, mini->largest(), mini->sign() | mini->largest()};
  for (uint32_t code = mini->largest() + 1; code < mini->sign(); ++code)
    all.insert(all.end(), {code, mini->sign() | code});
  return all;
}

const Type kF64{64, &kF64Format}, kF32{32, &kF32Format}, kF16{16, &kF16Format},
    kBf16{16, &kBf16Format}, kFp8{8, nullptr, &kOcpFp8}, kBf8{8, nullptr, &kOcpBf8},
    kFp6{6, nullptr, &kOcpFp6}, kBf6{6, nullptr, &kOcpBf6}, kFp4{4, nullptr, &kOcpFp4}, kI8{8},
    kI32{32};

const Type &typeNamed(const std::string &name) {
  const std::pair<const char *, const Type *> names[] = {
      {"f64", &kF64}, {"f32", &kF32}, {"f16", &kF16}, {"bf16", &kBf16},
      {"fp8", &kFp8}, {"bf8", &kBf8}, {"i8", &kI8},   {"i32", &kI32}};
  for (auto [text, type] : names)
    if (name == text)
      return *type;
  FAIL("unknown type " << name);
  return kF32;
}

struct Shape {
  int m = 0, k = 0, blocks = 1;
  const Type *a = nullptr, *b = nullptr, *acc = nullptr;
  bool sparse = false, twoRuns = false;
  int perA() const { return m * k * blocks / 64 / (sparse ? 2 : 1); } // elements a lane
  int perB() const { return m * k * blocks / 64; }
  int perC() const { return m * m * blocks / 64; }
};

/// "v_mfma_f32_32x32x4_2b_f16", "v_smfmac_f32_16x16x64_fp8_bf8".
Shape parse(const std::string &mnemonic) {
  Shape s;
  char kind[16], acc[8], rest[32];
  int columns;
  REQUIRE(std::sscanf(mnemonic.c_str(), "v_%15[a-z]_%7[a-z0-9]_%dx%dx%d_%31s", kind, acc, &s.m,
                      &columns, &s.k, rest) == 6);
  std::string types = rest;
  if (size_t cut = types.find("b_"); std::isdigit(types[0])) {
    s.blocks = std::stoi(types);
    types = types.substr(cut + 2);
  }
  s.sparse = std::string(kind) == "smfmac";
  s.acc = &typeNamed(acc);
  size_t cut = types.find('_');
  s.a = &typeNamed(types.substr(0, cut));
  s.b = cut == types.npos ? s.a : &typeNamed(types.substr(cut + 1));
  s.twoRuns = s.sparse && s.b->bits == 8 && s.m * s.k == 2048;
  return s;
}

/// Elements in registers: `per` a lane, from the low end.
struct Registers {
  std::vector<std::vector<uint64_t>> rows;
  int bits;
  Registers(int per, int width)
      : rows(size_t(per * width + 31) / 32, std::vector<uint64_t>(64)), bits(width) {}
  void set(int lane, int element, uint64_t code) {
    for (int n = 0; n < bits; ++n) {
      size_t at = size_t(element * bits + n);
      rows[at / 32][size_t(lane)] |= (code >> n & 1) << at % 32;
    }
  }
  std::string name(unsigned first) const {
    return rows.size() == 1 ? fmt::format("v{}", first)
                            : fmt::format("v[{}:{}]", first, first + rows.size() - 1);
  }
  void addTo(OpTestBuilder &t, unsigned first) const {
    for (unsigned n = 0; n < rows.size(); ++n)
      t.in(fmt::format("v{}", first + n), rows[n]);
  }
};

/// Where the ISA puts element (i, k) of A, and (k, j) of B likewise.
struct Place {
  int lane, element;
};
Place operandPlace(const Shape &s, int row, int k, int block, bool twoRuns) {
  int per = s.k / (64 / (s.m * s.blocks)), half = s.k / 2;
  if (twoRuns && per == 32) { // two runs of 16
    int inHalf = k % half;
    return {row + s.m * (inHalf / 16), inHalf % 16 + 16 * (k / half)};
  }
  return {row + s.m * (block + s.blocks * (k / per)), k % per};
}
Place resultPlace(const Shape &s, int i, int j, int block) {
  int h = s.acc->bits == 64 ? 1 : 4, inLanes = (64 * h + s.m * s.m - 1) / (s.m * s.m);
  int rowGroups = 64 / inLanes / s.m, runs = s.m / (h * rowGroups);
  return {j + s.m * (i / h % rowGroups + rowGroups * (block % inLanes)),
          i % h + h * (i / (h * rowGroups) + runs * (block / inLanes))};
}

/// What a sparse A keeps of each four along k: two positions by row, in nibbles of low and high
/// one: 01 02 03 12 13 23 01 13.
constexpr uint32_t kPairs = 0xd4edc984;
int keptPosition(int row, int four, int which) {
  return int(kPairs >> (4 * ((row + four) % 8) + 2 * which) & 3);
}
bool kept(const Shape &s, int i, int k) {
  return !s.sparse || keptPosition(i, k / 4, 0) == k % 4 || keptPosition(i, k / 4, 1) == k % 4;
}

/// The matrices: ones, with an edge in every fourth row of A and in two of four columns of B, rows
/// of zeros with one edge, and edges on diagonals of C. `turn` says which edges come first.
class Matrices {
public:
  Matrices(const Shape &s, int turn) : s_(s) {
    const std::vector<uint64_t> ea = s.a->edges(), eb = s.b->edges(), ec = s.acc->edges();
    auto pick = [](const std::vector<uint64_t> &edges, int n, bool upper) {
      return edges[(size_t(n) + (upper ? edges.size() / 2 : 0)) % edges.size()];
    };
    int stride = s.m == 4 ? 1 : 4;
    for (int i = 0; i < s.m; ++i) {
      int n = i / 4 + turn * stride;
      bool edgeRow = i % 4 == 1, zeroRow = i % 4 == 2;
      for (int k = 0; k < s.k; ++k) {
        int at = (edgeRow ? i * 5 : i * 7) % s.k;
        at = s.sparse ? at / 4 * 4 + keptPosition(i, at / 4, at % 2) : at;
        bool here = (edgeRow || zeroRow) && k == at;
        put(a_, here ? pick(ea, n, zeroRow) : zeroRow ? 0 : s.a->one(), *s.a);
        bool inColumn = (i % 4 == 3 || i % 4 == 0) && k == (i * 11 + 2) % s.k;
        put(b_, inColumn ? pick(eb, n, i % 4 == 0) : s.b->one(), *s.b);
      }
      for (int j = 0; j < s.m; ++j) {
        bool here = (i + j) % 5 == 4;
        put(c_, here ? pick(ec, i + turn, false) : (i + j) % 3 ? 0 : s.acc->one(), *s.acc);
      }
    }
  }
  struct Element {
    uint64_t code;
    Num value;
  };
  const Element &a(int i, int k) const { return a_[size_t(i * s_.k + k)]; }
  const Element &b(int k, int j) const { return b_[size_t(j * s_.k + k)]; }
  const Element &c(int i, int j) const { return c_[size_t(i * s_.m + j)]; }

private:
  static void put(std::vector<Element> &to, uint64_t code, const Type &type) {
    to.push_back({code, type.decode(code)});
  }
  const Shape &s_;
  std::vector<Element> a_, b_, c_;
};

/// Scales of f8f6f4 by row and column: 2^(e - 127), 255 is NaN.
int scaleOf(int line) {
  const int all[] = {127, 127, 126, 127, 254, 127, 129, 0, 127, 255, 127, 120, 127, 127, 131, 127};
  return all[line % 16];
}

struct Options {
  bool scaled = false;
  unsigned cbsz = 0, blgp = 0;
  int turn = 0;
};

/// D's element, exactly.
Num element(const Shape &s, const Matrices &in, const Options &o, int i, int j) {
  Num sum = in.c(i, j).value;
  for (int k = 0; k < s.k; ++k) {
    if (!kept(s, i, k))
      continue;
    Num p = mul(in.a(i, k).value, in.b(k, j).value);
    if (o.scaled) {
      bool nan = scaleOf(i) == 255 || scaleOf(j) == 255;
      p = nan ? aNan() : p.finite() ? scaled(p, scaleOf(i) - 127 + scaleOf(j) - 127) : p;
    }
    sum = add(sum, p);
  }
  return sum;
}

void expectElement(OpPlace &low, OpPlace *high, size_t lane, const Shape &s, const Num &exact,
                   bool overflows) {
  OpValue &v = low.values[lane];
  if (s.acc->integer()) {
    v.bits = uint32_t(toInt(exact, -(__int128(1) << 90), __int128(1) << 90));
    return;
  }
  const Format &f = *s.acc->format;
  v.bits = encode(f, exact);
  // The order decides the sign of a zero, and what becomes of terms that overflow.
  bool open = (v.bits & (f.sign() - 1)) == 0 || (exact.finite() && decode(f, v.bits).inf) ||
              (exact.inf && overflows);
  v.kind = open              ? OpValue::Anything
           : f.isNan(v.bits) ? OpValue::AnyNan
           : exact.inf       ? OpValue::Exact
                             : OpValue::Near;
  if (!high)
    return;
  high->values[lane] = {v.kind == OpValue::AnyNan ? OpValue::Anything : v.kind, v.bits >> 32};
  v = {v.kind == OpValue::AnyNan ? OpValue::Anything : v.kind, v.bits & 0xffffffff};
}

void addResults(OpTestBuilder &t, const Shape &s, const Matrices &in, const Options &o,
                unsigned first) {
  int words = s.acc->bits / 32;
  for (int n = 0; n < s.perC() * words; ++n)
    t.out(fmt::format("v{}", first + unsigned(n)), std::vector<uint64_t>(64));
  for (int block = 0; block < s.blocks; ++block)
    for (int i = 0; i < s.m; ++i)
      for (int j = 0; j < s.m; ++j) {
        Place p = resultPlace(s, i, j, block);
        OpPlace *low = &t.test.after[size_t(p.element * words)];
        bool overflows = o.scaled && (scaleOf(i) == 254 || scaleOf(j) == 254);
        expectElement(*low, words == 2 ? low + 1 : nullptr, size_t(p.lane), s,
                      element(s, in, o, i, j), overflows);
      }
}

/// Registers of the operands; the index register of a sparse one.
void fillOperands(const Shape &s, const Matrices &in, Registers &a, Registers &b, Registers &c,
                  std::vector<uint64_t> &index) {
  for (int block = 0; block < s.blocks; ++block)
    for (int i = 0; i < s.m; ++i) {
      for (int k = 0; k < s.k; ++k) {
        Place p = operandPlace(s, i, k, block, s.twoRuns && s.b->bits == 8);
        b.set(p.lane, p.element, in.b(k, i).code);
        if (!s.sparse) {
          p = operandPlace(s, i, k, block, s.twoRuns && s.a->bits == 8);
          a.set(p.lane, p.element, in.a(i, k).code);
        }
      }
      // Sparse: two of each four, their positions in the lane's index bits.
      for (int four = 0; s.sparse && four < s.k / 4; ++four)
        for (int which = 0; which < 2; ++which) {
          int per = s.perA(), e = 2 * four + which, lane = i + s.m * (e / per);
          int position = keptPosition(i, four, which);
          index[size_t(lane)] |= uint64_t(position) << (2 * (e % per));
          a.set(lane, e % per, in.a(i, 4 * four + position).code);
        }
      for (int j = 0; j < s.m; ++j) {
        Place p = resultPlace(s, i, j, block);
        c.set(p.lane, p.element, in.c(i, j).code);
      }
    }
}

OpTest matrixTest(const std::string &mnemonic, const Shape &s, const Options &o) {
  OpTestBuilder t(mnemonic);
  Matrices in(s, o.turn);
  Registers a(s.perA(), s.a->bits), b(s.perB(), s.b->bits), c(s.perC(), s.acc->bits);
  std::vector<uint64_t> index(64), scalesA(64), scalesB(64);
  fillOperands(s, in, a, b, c, index);
  unsigned accumulator = s.sparse ? 128 : 32, result = 128;
  a.addTo(t, 2);
  b.addTo(t, 12);
  c.addTo(t, accumulator);
  std::string line = fmt::format("{} {}, {}, {}, {}", mnemonic, c.name(result), a.name(2),
                                 b.name(12), s.sparse ? "v22" : c.name(accumulator));
  if (s.sparse)
    t.in("v22", index);
  for (int l = 0; l < 64; ++l) // every block of k has its row's scale
    scalesA[size_t(l)] = uint64_t(scaleOf(l % s.m)) << 8;
  if (o.scaled)
    t.in("v28", scalesA).in("v29", scalesA);
  if (s.twoRuns && !s.sparse)
    line +=
        fmt::format("{} cbsz:{} blgp:{}",
                    o.scaled ? ", v28, v29 op_sel:[1,1,0] op_sel_hi:[0,0,0]" : "", o.cbsz, o.blgp);
  t.line(line);
  addResults(t, s, in, o, result);
  return t.test;
}

/// Until every edge has had its turn.
int turnsOf(const Shape &s) { return s.m == 4 ? 10 : s.m == 16 ? 2 : 1; }

} // namespace

TEST_CASE("matrix products of edge values in every shape", "[edges]") {
  std::vector<OpTest> tests;
  for (uint32_t row = 0; row < kOpcodeCount; ++row) {
    std::string mnemonic(kOpcodes[row].mnemonic);
    if (mnemonic.find("mfma") == mnemonic.npos || mnemonic.ends_with("f8f6f4"))
      continue;
    Shape shape = parse(mnemonic);
    for (int turn = 0; turn < turnsOf(shape); ++turn)
      tests.push_back(matrixTest(mnemonic, shape, {.turn = turn}));
  }
  runOpTests(tests, executedMnemonics());
}

TEST_CASE("matrix products of mixed narrow formats and scales on edge values", "[edges]") {
  const Type *const types[] = {&kFp8, &kBf8, &kFp6, &kBf6, &kFp4};
  std::vector<OpTest> tests;
  for (int m : {16, 32})
    for (unsigned cbsz = 0; cbsz < 5; ++cbsz)
      for (unsigned blgp : {cbsz, (cbsz + 2) % 5})
        for (bool scaled : {false, true}) {
          Shape s{m, 2048 / m, 1, types[cbsz], types[blgp], &kF32, false, true};
          std::string name =
              fmt::format("v_mfma_{}f32_{}x{}x{}_f8f6f4", scaled ? "scale_" : "", m, m, 2048 / m);
          for (int turn = 0; turn < turnsOf(s); ++turn)
            tests.push_back(matrixTest(name, s, {scaled, cbsz, blgp, turn}));
        }
  runOpTests(tests, executedMnemonics());
}
