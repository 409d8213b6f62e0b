// How the products are computed: operands are widened to f32 (i32, f64) element by element for all
// 64 lanes at once, which leaves a k row of A or B as M neighbouring numbers; then 4 x 16 tiles of
// D stay in host registers while k runs. Both loops vectorise: a row of D is a run of neighbouring
// lanes of one register as well.
#include "runtime/sim/Matrix.h"
#include "runtime/sim/MatrixWiden.h"
#include "runtime/sim/Numerics.h"
#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

namespace attune::sim {
namespace {

constexpr unsigned kMaxK = 128;
constexpr unsigned kMaxRegs = 32; // of an accumulator
constexpr unsigned kScaleBlock = 32;

/// Where each k lies in a widened operand of block 0: element * 64 + lane of row 0.
using KOffsets = uint16_t[kMaxK];

//===--------------------------------------------------------------------------------------------------------------===//
// Layout
//===--------------------------------------------------------------------------------------------------------------===//

void fillOffsets(KOffsets &out, unsigned m, unsigned blocks, unsigned k, unsigned perLane,
                 bool twoRuns) {
  unsigned run = twoRuns ? perLane / 2 : perLane; // consecutive k in one lane
  unsigned groups = k / perLane;
  uint16_t *next = out;
  for (unsigned first = 0; first < perLane; first += run)
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned element = first; element < first + run; ++element)
        *next++ = static_cast<uint16_t>(element * 64 + m * blocks * group);
}

/// Where row i of a block lies in an accumulator: register and first lane. H rows make a run.
struct RowPlace {
  unsigned reg, lane;
};
constexpr RowPlace placeOfRow(unsigned m, unsigned h, unsigned block, unsigned row) {
  unsigned lanesOfBlock = m * m / h;
  unsigned blocksInRegs =
      lanesOfBlock < 64 ? 64 / lanesOfBlock : 1; // blocks side by side in the lanes
  unsigned laneRuns = 64 / blocksInRegs / m;
  unsigned regRuns = m / (h * laneRuns);
  return {row % h + h * (row / (h * laneRuns) + regRuns * (block / blocksInRegs)),
          m * (row / h % laneRuns + laneRuns * (block % blocksInRegs))};
}

//===--------------------------------------------------------------------------------------------------------------===//
// Tiles
//===--------------------------------------------------------------------------------------------------------------===//

/// Numbers side by side in host registers (a compiler extension, so that tiles stay there at any
/// optimisation level).
template <class T, unsigned C> struct VectorOf {
  typedef T Type __attribute__((vector_size(C * sizeof(T))));
};
template <class T, unsigned C> using Vector = typename VectorOf<T, C>::Type;

template <class T, unsigned C> ATTUNE_SIM_INLINE void load(Vector<T, C> &v, const T *from) {
  std::memcpy(&v, from, sizeof(v));
}
template <class T, unsigned C> ATTUNE_SIM_INLINE void store(T *to, const Vector<T, C> &v) {
  std::memcpy(to, &v, sizeof(v));
}

/// acc += a * b, rounded once (integers: modulo 2^32).
template <class T, unsigned C>
ATTUNE_SIM_INLINE void fuse(Vector<T, C> &acc, T a, const Vector<T, C> &b) {
  if constexpr (std::is_integral_v<T>) {
    acc += a * b;
  } else {
#if defined(__clang__)
    acc = __builtin_elementwise_fma(a - Vector<T, C>{}, b, acc); // x - 0 is x, -0 included
#else
    for (unsigned c = 0; c < C; ++c)
      acc[c] = std::fma(a, b[c], acc[c]);
#endif
  }
}

/// One block: what to multiply, and where its rows lie in D.
template <class T> struct Product {
  const T *a, *b;                    ///< widened, at lane 0 of the block
  const uint16_t *aOffset, *bOffset; ///< per k
  unsigned k;
  unsigned block;
  T (*d)[64];
};

/// acc[r][c] += sum over k in [k0, k1) of A[row0 + r][k] * B[k][col0 + c].
template <class T, unsigned C>
ATTUNE_SIM_INLINE void accumulate(Vector<T, C> (&acc)[4], const Product<T> &p, unsigned k0,
                                  unsigned k1, unsigned row0, unsigned col0) {
  for (unsigned k = k0; k < k1; ++k) {
    const T *a = p.a + p.aOffset[k] + row0;
    Vector<T, C> b;
    load<T, C>(b, p.b + p.bOffset[k] + col0);
    fuse<T, C>(acc[0], a[0], b);
    fuse<T, C>(acc[1], a[1], b);
    fuse<T, C>(acc[2], a[2], b);
    fuse<T, C>(acc[3], a[3], b);
  }
}

/// One k of a tile, at offset `Offset` in both operands.
template <class T, unsigned C, unsigned Offset>
ATTUNE_SIM_INLINE void accumulateAt(Vector<T, C> (&acc)[4], const T *a, const T *b) {
  Vector<T, C> column;
  load<T, C>(column, b + Offset);
  fuse<T, C>(acc[0], a[Offset + 0], column);
  fuse<T, C>(acc[1], a[Offset + 1], column);
  fuse<T, C>(acc[2], a[Offset + 2], column);
  fuse<T, C>(acc[3], a[Offset + 3], column);
}

/// The shapes that attention kernels spend their time in: k unrolled, `Run` consecutive k in a
/// lane.
template <unsigned M, unsigned Run, size_t... K>
ATTUNE_SIM_INLINE void multiplyUnrolled(const Product<float> &p, std::index_sequence<K...>) {
  for (unsigned row = 0; row < M; row += 4) {
    RowPlace place = placeOfRow(M, 4, 0, row);
    for (unsigned col = 0; col < M; col += 16) {
      float *d = p.d[place.reg] + place.lane + col;
      Vector<float, 16> acc[4];
      for (unsigned r = 0; r < 4; ++r)
        load<float, 16>(acc[r], d + 64 * r);
      (accumulateAt<float, 16, (K % Run) * 64 + M *(K / Run)>(acc, p.a + row, p.b + col), ...);
      for (unsigned r = 0; r < 4; ++r)
        store<float, 16>(d + 64 * r, acc[r]);
    }
  }
}

ATTUNE_SIM_CLONES void multiply32x16(const Product<float> &p) {
  multiplyUnrolled<32, 8>(p, std::make_index_sequence<16>());
}
ATTUNE_SIM_CLONES void multiply32x8(const Product<float> &p) {
  multiplyUnrolled<32, 4>(p, std::make_index_sequence<8>());
}
ATTUNE_SIM_CLONES void multiply16x32(const Product<float> &p) {
  multiplyUnrolled<16, 8>(p, std::make_index_sequence<32>());
}
ATTUNE_SIM_CLONES void multiply16x16(const Product<float> &p) {
  multiplyUnrolled<16, 4>(p, std::make_index_sequence<16>());
}

/// The unrolled function for a shape, if there is one.
using Unrolled = void (*)(const Product<float> &);
Unrolled unrolledFor(const MfmaShape &s) {
  if (s.blocks != 1 || s.twoRuns)
    return nullptr;
  if (s.m == 32)
    return s.k == 16 ? multiply32x16 : s.k == 8 ? multiply32x8 : nullptr;
  return s.k == 32 ? multiply16x32 : s.k == 16 ? multiply16x16 : nullptr;
}

template <class T, unsigned M, unsigned H>
ATTUNE_SIM_INLINE void multiplyTiles(const Product<T> &p) {
  constexpr unsigned C = M < 16 ? M : 16;
  for (unsigned row = 0; row < M; row += 4)
    for (unsigned col = 0; col < M; col += C) {
      T *rows[4];
      Vector<T, C> acc[4];
      for (unsigned r = 0; r < 4; ++r) {
        RowPlace place = placeOfRow(M, H, p.block, row + r);
        rows[r] = p.d[place.reg] + place.lane + col;
        load<T, C>(acc[r], rows[r]);
      }
      accumulate<T, C>(acc, p, 0, p.k, row, col);
      for (unsigned r = 0; r < 4; ++r)
        store<T, C>(rows[r], acc[r]);
    }
}

ATTUNE_SIM_CLONES void multiply32(const Product<float> &p) { multiplyTiles<float, 32, 4>(p); }
ATTUNE_SIM_CLONES void multiply16(const Product<float> &p) { multiplyTiles<float, 16, 4>(p); }
ATTUNE_SIM_CLONES void multiply4(const Product<float> &p) { multiplyTiles<float, 4, 4>(p); }
ATTUNE_SIM_CLONES void multiply32(const Product<uint32_t> &p) { multiplyTiles<uint32_t, 32, 4>(p); }
ATTUNE_SIM_CLONES void multiply16(const Product<uint32_t> &p) { multiplyTiles<uint32_t, 16, 4>(p); }
ATTUNE_SIM_CLONES void multiply4(const Product<uint32_t> &p) { multiplyTiles<uint32_t, 4, 4>(p); }
ATTUNE_SIM_CLONES void multiply16(const Product<double> &p) { multiplyTiles<double, 16, 1>(p); }
ATTUNE_SIM_CLONES void multiply4(const Product<double> &p) { multiplyTiles<double, 4, 1>(p); }
/// There is no 32 x 32 f64 shape.
void multiply32(const Product<double> &) {}

//===--------------------------------------------------------------------------------------------------------------===//
// f8f6f4: dot products over 32 k, scaled, added
//===--------------------------------------------------------------------------------------------------------------===//

/// Scales per (block of k, row or column): float where products of two scales stay in range, double
/// otherwise.
template <class S> struct BlockScales {
  alignas(64) S a[kMaxK / kScaleBlock][32], b[kMaxK / kScaleBlock][32];
};

/// A dot product times its scale plus the sum so far, rounded once: in double the product is exact,
/// and rounding a sum of two 24-bit numbers to double and then to f32 is the same as rounding it to
/// f32.
ATTUNE_SIM_INLINE float addScaled(float dot, float scale, float sum) {
  return std::fma(dot, scale, sum);
}
ATTUNE_SIM_INLINE float addScaled(float dot, double scale, float sum) {
  return static_cast<float>(static_cast<double>(dot) * scale + static_cast<double>(sum));
}

template <class S, unsigned M>
ATTUNE_SIM_INLINE void multiplyScaledTiles(const Product<float> &p, const BlockScales<S> &scales) {
  for (unsigned row = 0; row < M; row += 4)
    for (unsigned col = 0; col < M; col += 16) {
      RowPlace place = placeOfRow(M, 4, 0, row);
      for (unsigned block = 0; block < p.k / kScaleBlock; ++block) {
        Vector<float, 16> dot[4] = {};
        accumulate<float, 16>(dot, p, block * kScaleBlock, (block + 1) * kScaleBlock, row, col);
        for (unsigned r = 0; r < 4; ++r) {
          float *sum = p.d[place.reg + r] + place.lane + col;
          float part[16];
          store<float, 16>(part, dot[r]);
          for (unsigned c = 0; c < 16; ++c)
            sum[c] =
                addScaled(part[c], scales.a[block][row + r] * scales.b[block][col + c], sum[c]);
        }
      }
    }
}

ATTUNE_SIM_CLONES void multiplyScaled32(const Product<float> &p, const BlockScales<float> &s) {
  multiplyScaledTiles<float, 32>(p, s);
}
ATTUNE_SIM_CLONES void multiplyScaled16(const Product<float> &p, const BlockScales<float> &s) {
  multiplyScaledTiles<float, 16>(p, s);
}
ATTUNE_SIM_CLONES void multiplyScaled32(const Product<float> &p, const BlockScales<double> &s) {
  multiplyScaledTiles<double, 32>(p, s);
}
ATTUNE_SIM_CLONES void multiplyScaled16(const Product<float> &p, const BlockScales<double> &s) {
  multiplyScaledTiles<double, 16>(p, s);
}

/// The e8m0 codes of an operand, per (block of k, row): block b of row i is in lane i + M b.
using ScaleCodes = uint8_t[kMaxK / kScaleBlock][32];
void readScaleCodes(ScaleCodes &out, const uint32_t *reg, unsigned byte, unsigned m, unsigned k) {
  for (unsigned block = 0; block < k / kScaleBlock; ++block)
    for (unsigned i = 0; i < m; ++i)
      out[block][i] = static_cast<uint8_t>(reg[i + m * block] >> (8 * byte));
}

double scaleValue(uint8_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : asDouble(uint64_t(1023 - 127 + code) << 52);
}

template <class S>
void runScaled(const Product<float> &p, unsigned m, const ScaleCodes &a, const ScaleCodes &b) {
  BlockScales<S> scales;
  for (unsigned block = 0; block < p.k / kScaleBlock; ++block)
    for (unsigned i = 0; i < m; ++i) {
      scales.a[block][i] = static_cast<S>(scaleValue(a[block][i]));
      scales.b[block][i] = static_cast<S>(scaleValue(b[block][i]));
    }
  m == 32 ? multiplyScaled32(p, scales) : multiplyScaled16(p, scales);
}

/// Codes within this range of 127 have products that f32 holds as normal numbers.
bool withinFloat(const ScaleCodes &codes, unsigned m, unsigned k) {
  for (unsigned block = 0; block < k / kScaleBlock; ++block)
    for (unsigned i = 0; i < m; ++i)
      if (codes[block][i] < 127 - 62 || codes[block][i] > 127 + 62)
        return false;
  return true;
}

void multiplyF8f6f4(const Product<float> &p, unsigned m, const MfmaScales *scales) {
  ScaleCodes a, b;
  if (scales) {
    readScaleCodes(a, scales->a, scales->aByte, m, p.k);
    readScaleCodes(b, scales->b, scales->bByte, m, p.k);
  } else {
    std::memset(a, 127, sizeof(a));
    std::memset(b, 127, sizeof(b));
  }
  if (withinFloat(a, m, p.k) && withinFloat(b, m, p.k))
    runScaled<float>(p, m, a, b);
  else
    runScaled<double>(p, m, a, b);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Broadcast controls
//===--------------------------------------------------------------------------------------------------------------===//

/// Lane of B that lane l gets.
unsigned blgpSource(unsigned blgp, unsigned l) {
  switch (blgp) {
  case 1:
    return l % 32;
  case 2:
    return l % 32 + 32;
  case 3:
    return (l + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7:
    return l % 16 + 16 * (blgp - 4);
  default:
    return l;
  }
}

/// Lane of A that lane l gets: its block, within a group of 2^cbsz blocks, is replaced by block
/// abid of the group.
unsigned cbszSource(const MfmaShape &s, MfmaControls controls, unsigned l) {
  unsigned group = std::min(1u << controls.cbsz, unsigned(s.blocks));
  unsigned block = l / s.m % s.blocks;
  unsigned source = block / group * group + controls.abid % group;
  return l - block * s.m + source * s.m;
}

template <class T, class Source>
void permuteLanes(Widened<T> &x, unsigned elements, Source source) {
  for (unsigned j = 0; j < elements; ++j) {
    T old[64];
    std::memcpy(old, x[j], sizeof(old));
    for (unsigned l = 0; l < 64; ++l)
      x[j][l] = old[source(l)];
  }
}

template <class T>
void applyControls(const MfmaShape &s, MfmaControls controls, Widened<T> &a, Widened<T> &b) {
  if (controls.cbsz && s.blocks > 1)
    permuteLanes(a, s.aElements(), [&](unsigned l) { return cbszSource(s, controls, l); });
  if (controls.blgp)
    permuteLanes(b, s.bElements(), [&](unsigned l) { return blgpSource(controls.blgp, l); });
}

template <class T> void negate(Widened<T> &x, unsigned elements) {
  for (unsigned j = 0; j < elements; ++j)
    for (unsigned l = 0; l < 64; ++l)
      x[j][l] = -x[j][l];
}

//===--------------------------------------------------------------------------------------------------------------===//
// Whole instructions
//===--------------------------------------------------------------------------------------------------------------===//

/// Puts C where D is, after which D accumulates in place. The operands have been read by now.
void startFromC(Lanes d, const MfmaC &c, unsigned regs) {
  if (c.regs == d)
    return;
  if (c.regs) {
    std::memmove(d, c.regs, regs * sizeof(d[0]));
    return;
  }
  for (unsigned r = 0; r < regs; ++r)
    std::fill(d[r], d[r] + 64, c.constant);
}

template <class T>
void multiplyBlocks(const MfmaShape &s, T (*d)[64], const Widened<T> &a, const Widened<T> &b) {
  if constexpr (std::is_same_v<T, float>)
    if (Unrolled unrolled = unrolledFor(s))
      return unrolled({a[0], b[0], nullptr, nullptr, s.k, 0, d});
  KOffsets aOffset, bOffset;
  fillOffsets(aOffset, s.m, s.blocks, s.k, s.aElements(), s.twoRuns && bitsOf(s.a) == 8);
  fillOffsets(bOffset, s.n, s.blocks, s.k, s.bElements(), s.twoRuns && bitsOf(s.b) == 8);
  for (unsigned block = 0; block < s.blocks; ++block) {
    Product<T> p{a[0] + s.m * block, b[0] + s.n * block, aOffset, bOffset, s.k, block, d};
    if constexpr (std::is_same_v<T, float>) {
      if (s.twoRuns) {
        multiplyF8f6f4(p, s.m, nullptr);
        continue;
      }
    }
    s.m == 32 ? multiply32(p) : s.m == 16 ? multiply16(p) : multiply4(p);
  }
}

/// f32 and i32 accumulators: D's registers hold the numbers as they are.
template <class T>
void run32(const MfmaShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs, const MfmaC &c,
           MfmaControls controls) {
  alignas(64) Widened<T> a, b;
  widen(a, aRegs, s.a, s.aElements());
  widen(b, bRegs, s.b, s.bElements());
  applyControls(s, controls, a, b);
  startFromC(d, c, s.accRegs());
  multiplyBlocks(s, reinterpret_cast<T(*)[64]>(d), a, b);
}

void run64(const MfmaShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs, const MfmaC &c,
           MfmaControls controls) {
  alignas(64) Widened<double> a, b;
  alignas(64) double acc[kMaxRegs / 2][64];
  widen(a, aRegs, s.a, s.aElements());
  widen(b, bRegs, s.b, s.bElements());
  if (controls.blgp & 1)
    negate(a, s.aElements());
  if (controls.blgp & 2)
    negate(b, s.bElements());
  double constant = asDouble(c.constant | uint64_t(c.constantHigh) << 32);
  unsigned pairs = s.accRegs() / 2;
  for (unsigned r = 0; r < pairs; ++r)
    for (unsigned l = 0; l < 64; ++l) {
      double x =
          c.regs ? asDouble(c.regs[2 * r][l] | uint64_t(c.regs[2 * r + 1][l]) << 32) : constant;
      acc[r][l] = controls.blgp & 4 ? -x : x;
    }
  multiplyBlocks(s, acc, a, b);
  for (unsigned r = 0; r < pairs; ++r)
    for (unsigned l = 0; l < 64; ++l) {
      d[2 * r][l] = static_cast<uint32_t>(asBits(acc[r][l]));
      d[2 * r + 1][l] = static_cast<uint32_t>(asBits(acc[r][l]) >> 32);
    }
}

} // namespace

void mfma(const MfmaShape &s, Lanes d, ConstLanes a, ConstLanes b, const MfmaC &c,
          MfmaControls controls) {
  switch (s.acc) {
  case MatType::F64:
    return run64(s, d, a, b, c, controls);
  case MatType::I32:
    return run32<uint32_t>(s, d, a, b, c, controls);
  default:
    return run32<float>(s, d, a, b, c, controls);
  }
}

void mfmaScaled(const MfmaShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs, const MfmaC &c,
                const MfmaScales &scales) {
  alignas(64) Widened<float> a, b;
  widen(a, aRegs, s.a, s.aElements());
  widen(b, bRegs, s.b, s.bElements());
  uint32_t aScales[64], bScales[64]; // D may overlap them
  std::memcpy(aScales, scales.a, sizeof(aScales));
  std::memcpy(bScales, scales.b, sizeof(bScales));
  startFromC(d, c, s.accRegs());
  KOffsets aOffset, bOffset;
  fillOffsets(aOffset, s.m, 1, s.k, s.aElements(), bitsOf(s.a) == 8);
  fillOffsets(bOffset, s.n, 1, s.k, s.bElements(), bitsOf(s.b) == 8);
  Product<float> p{a[0], b[0], aOffset, bOffset, s.k, 0, reinterpret_cast<float (*)[64]>(d)};
  MfmaScales copied{aScales, bScales, scales.aByte, scales.bByte};
  multiplyF8f6f4(p, s.m, &copied);
}

//===--------------------------------------------------------------------------------------------------------------===//
// Sparse
//===--------------------------------------------------------------------------------------------------------------===//

namespace {

/// The index bits of one lane, lowest first: abid picks a part of the register when they do not
/// fill it.
uint32_t sparseIndex(uint32_t reg, unsigned bitsUsed, uint8_t cbsz, uint8_t abid) {
  unsigned parts = 32 / bitsUsed;
  unsigned part = cbsz == 0 ? abid % parts : 0;
  return reg >> (part * bitsUsed);
}

template <class T>
void runSparse(const SmfmacShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs,
               const uint32_t *index, uint8_t cbsz, uint8_t abid) {
  alignas(64) Widened<T> a, b;
  widen(a, aRegs, s.a, s.aElements());
  widen(b, bRegs, s.b, s.bElements());
  // A made dense: [k][row], zeros where nothing is stored.
  alignas(64) T dense[kMaxK][32] = {};
  unsigned per = s.aElements();
  for (unsigned l = 0; l < 64; ++l) {
    uint32_t bits = sparseIndex(index[l], 2 * per, cbsz, abid);
    for (unsigned j = 0; j < per; ++j) {
      unsigned k = 2 * per * (l / s.m) + 4 * (j / 2) + (bits >> (2 * j) & 3);
      dense[k][l % s.m] += a[j][l];
    }
  }
  KOffsets aOffset, bOffset;
  for (unsigned k = 0; k < s.k; ++k)
    aOffset[k] = static_cast<uint16_t>(k * 32);
  bool twoRuns = bitsOf(s.b) == 8 && s.bElements() == 32;
  fillOffsets(bOffset, s.m, 1, s.k, s.bElements(), twoRuns);
  Product<T> p{dense[0], b[0], aOffset, bOffset, s.k, 0, reinterpret_cast<T(*)[64]>(d)};
  s.m == 32 ? multiply32(p) : multiply16(p);
}

} // namespace

void smfmac(const SmfmacShape &s, Lanes d, ConstLanes a, ConstLanes b, const uint32_t *index,
            uint8_t cbsz, uint8_t abid) {
  if (s.acc == MatType::I32)
    runSparse<uint32_t>(s, d, a, b, index, cbsz, abid);
  else
    runSparse<float>(s, d, a, b, index, cbsz, abid);
}

} // namespace attune::sim
