// Whole instructions: which operand elements meet, and in which core. f32 sums of 16- and 32-row
// blocks go to MatrixPacked.h. Here are the others (i8, f64, 4 x 4 blocks): operands are widened
// element by element for all 64 lanes at once, which leaves a k row of A or B as M neighbouring
// numbers; then 4 x 16 tiles of D stay in host registers while k runs.
#include "runtime/sim/Matrix.h"
#include "runtime/sim/MatrixPacked.h"
#include "runtime/sim/MatrixTile.h"
#include "runtime/sim/MatrixWiden.h"
#include "runtime/sim/Numerics.h"
#include <algorithm>
#include <cstring>
#include <type_traits>

namespace attune::sim {
namespace {

constexpr unsigned kMaxRegs = 32; // of an accumulator
constexpr unsigned kMaxOperandRegs = 8;

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

//===--------------------------------------------------------------------------------------------------------------===//
// Tiles
//===--------------------------------------------------------------------------------------------------------------===//

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

ATTUNE_SIM_CLONES void multiply4(const Product<float> &p) { multiplyTiles<float, 4, 4>(p); }
ATTUNE_SIM_CLONES void multiply32(const Product<uint32_t> &p) { multiplyTiles<uint32_t, 32, 4>(p); }
ATTUNE_SIM_CLONES void multiply16(const Product<uint32_t> &p) { multiplyTiles<uint32_t, 16, 4>(p); }
ATTUNE_SIM_CLONES void multiply4(const Product<uint32_t> &p) { multiplyTiles<uint32_t, 4, 4>(p); }
ATTUNE_SIM_CLONES void multiply16(const Product<double> &p) { multiplyTiles<double, 16, 1>(p); }
ATTUNE_SIM_CLONES void multiply4(const Product<double> &p) { multiplyTiles<double, 4, 1>(p); }

void multiply(const Product<float> &p, unsigned) { multiply4(p); }
void multiply(const Product<uint32_t> &p, unsigned m) {
  m == 32 ? multiply32(p) : m == 16 ? multiply16(p) : multiply4(p);
}
void multiply(const Product<double> &p, unsigned m) { m == 16 ? multiply16(p) : multiply4(p); }

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

bool apart(ConstLanes a, unsigned aCount, ConstLanes b, unsigned bCount) {
  return a + aCount <= b || b + bCount <= a;
}

/// Registers of one operand, copied where the instruction permutes its lanes or D overlaps it.
class OperandRegs {
public:
  OperandRegs(ConstLanes regs, unsigned count) : regs_(regs), count_(count) {}
  ConstLanes get() const { return regs_; }

  template <class Source> void permute(Source source) {
    for (unsigned r = 0; r < count_; ++r) {
      uint32_t old[64];
      std::memcpy(old, regs_[r], sizeof(old));
      for (unsigned l = 0; l < 64; ++l)
        copy_[r][l] = old[source(l)];
    }
    regs_ = copy_;
  }
  /// D is written while operands are still being read.
  void keepApartFrom(ConstLanes d, unsigned dCount) {
    if (regs_ == copy_ || apart(regs_, count_, d, dCount))
      return;
    std::memcpy(copy_, regs_, count_ * sizeof(copy_[0]));
    regs_ = copy_;
  }

private:
  ConstLanes regs_;
  unsigned count_;
  alignas(64) uint32_t copy_[kMaxOperandRegs][64];
};

void applyControls(const MfmaShape &s, MfmaControls controls, OperandRegs &a, OperandRegs &b) {
  if (controls.cbsz && s.blocks > 1)
    a.permute([&](unsigned l) { return cbszSource(s, controls, l); });
  if (controls.blgp)
    b.permute([&](unsigned l) { return blgpSource(controls.blgp, l); });
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
ATTUNE_SIM_CLONES void copyC(Lanes d, const MfmaC &c, unsigned regs) {
  if (c.regs) {
    std::memmove(d, c.regs, regs * sizeof(d[0]));
    return;
  }
  for (unsigned r = 0; r < regs; ++r)
    std::fill(d[r], d[r] + 64, c.constant);
}
void startFromC(Lanes d, const MfmaC &c, unsigned regs) {
  if (c.regs != d)
    copyC(d, c, regs);
}

/// Whether this is the short way's kind of product: one block of bf16 whose registers are read as
/// they are. Of the controls, cbsz and abid mean nothing to one block.
bool plainBf16(const MfmaShape &s, Lanes d, ConstLanes a, ConstLanes b, MfmaControls controls) {
  return s.a == MatType::Bf16 && s.b == MatType::Bf16 && s.blocks == 1 && !controls.blgp &&
         apart(a, s.aRegs(), d, s.accRegs()) && apart(b, s.bRegs(), d, s.accRegs());
}

template <class T>
void multiplyBlocks(const MfmaShape &s, T (*d)[64], const Widened<T> &a, const Widened<T> &b) {
  KOffsets aOffset, bOffset;
  fillOffsets(aOffset, s.m, s.blocks, s.k, s.aElements(), false);
  fillOffsets(bOffset, s.n, s.blocks, s.k, s.bElements(), false);
  for (unsigned block = 0; block < s.blocks; ++block)
    multiply(Product<T>{a[0] + s.m * block, b[0] + s.n * block, aOffset, bOffset, s.k, block, d},
             s.m);
}

/// Operand of one block for the packed core.
PackSource packSource(const MfmaShape &s, ConstLanes regs, MatType type, unsigned block) {
  unsigned perLane = unsigned(s.m) * s.k * s.blocks / 64;
  bool twoRuns = s.twoRuns && bitsOf(type) == 8;
  return {.regs = regs,
          .type = type,
          .k = s.k,
          .perLane = perLane,
          .run = twoRuns ? perLane / 2 : perLane,
          .groupStride = unsigned(s.m) * s.blocks,
          .firstLane = s.m * block};
}

/// Not a number: which of several NaNs a host's multiply-add passes on depends on the order its
/// compiler chose for the factors. All NaNs of a result are the one that arithmetic makes.
template <class T> void canonicalNans(T (*d)[64], unsigned regs) {
  for (unsigned r = 0; r < regs; ++r)
    for (unsigned l = 0; l < 64; ++l)
      d[r][l] = isNan(d[r][l]) ? std::numeric_limits<T>::quiet_NaN() : d[r][l];
}

void runPacked(const MfmaShape &s, Lanes d, ConstLanes a, ConstLanes b,
               const PackedScales *scales) {
  for (unsigned block = 0; block < s.blocks; ++block) {
    PackedProduct p{packSource(s, a, s.a, block), packSource(s, b, s.b, block), s.m, block,
                    reinterpret_cast<float (*)[64]>(d)};
    s.twoRuns ? multiplyPackedScaled(p, scales) : multiplyPacked(p);
  }
}

/// f32 and i32 accumulators: D's registers hold the numbers as they are.
template <class T>
void run32(const MfmaShape &s, Lanes d, ConstLanes a, ConstLanes b, const MfmaC &c) {
  alignas(64) Widened<T> wideA, wideB;
  widen(wideA, a, s.a, s.aElements());
  widen(wideB, b, s.b, s.bElements());
  startFromC(d, c, s.accRegs());
  T(*sums)[64] = reinterpret_cast<T(*)[64]>(d);
  multiplyBlocks(s, sums, wideA, wideB);
  if constexpr (std::is_same_v<T, float>)
    canonicalNans(sums, s.accRegs());
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
  canonicalNans(acc, pairs);
  for (unsigned r = 0; r < pairs; ++r)
    for (unsigned l = 0; l < 64; ++l) {
      d[2 * r][l] = static_cast<uint32_t>(asBits(acc[r][l]));
      d[2 * r + 1][l] = static_cast<uint32_t>(asBits(acc[r][l]) >> 32);
    }
}

/// The e8m0 codes of an operand: block b of row i is in lane i + M b.
void readScaleCodes(ScaleCodes &out, const uint32_t *reg, unsigned byte, unsigned m, unsigned k) {
  for (unsigned block = 0; block < k / kScaleBlock; ++block)
    for (unsigned i = 0; i < m; ++i)
      out[block][i] = static_cast<uint8_t>(reg[i + m * block] >> (8 * byte));
}

void runF8f6f4(const MfmaShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs, const MfmaC &c,
               const PackedScales *scales) {
  OperandRegs a(aRegs, s.aRegs()), b(bRegs, s.bRegs());
  a.keepApartFrom(d, s.accRegs());
  b.keepApartFrom(d, s.accRegs());
  startFromC(d, c, s.accRegs());
  runPacked(s, d, a.get(), b.get(), scales);
}

} // namespace

void mfma(const MfmaShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs, const MfmaC &c,
          MfmaControls controls) {
  if (plainBf16(s, d, aRegs, bRegs, controls)) {
    startFromC(d, c, s.accRegs());
    return multiplyPackedBf16(s.m, s.k, reinterpret_cast<float (*)[64]>(d), aRegs, bRegs);
  }
  if (s.acc == MatType::F64)
    return run64(s, d, aRegs, bRegs, c, controls);
  if (s.twoRuns)
    return runF8f6f4(s, d, aRegs, bRegs, c, nullptr);
  OperandRegs a(aRegs, s.aRegs()), b(bRegs, s.bRegs());
  applyControls(s, controls, a, b);
  if (s.acc == MatType::I32)
    return run32<uint32_t>(s, d, a.get(), b.get(), c);
  if (s.m == 4)
    return run32<float>(s, d, a.get(), b.get(), c);
  a.keepApartFrom(d, s.accRegs());
  b.keepApartFrom(d, s.accRegs());
  startFromC(d, c, s.accRegs());
  runPacked(s, d, a.get(), b.get(), nullptr);
}

void mfmaScaled(const MfmaShape &s, Lanes d, ConstLanes a, ConstLanes b, const MfmaC &c,
                const MfmaScales &scales) {
  PackedScales codes;
  readScaleCodes(codes.a, scales.a, scales.aByte, s.m, s.k);
  readScaleCodes(codes.b, scales.b, scales.bByte, s.m, s.k);
  runF8f6f4(s, d, a, b, c, &codes);
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

/// Where the stored elements of A go: [element in ascending k][row].
template <class T> struct SparseRows {
  unsigned count; ///< stored elements of a row
  alignas(64) T value[kMaxK / 2][32];
  uint16_t offset[kMaxK / 2][32]; ///< of the row of B that it meets
};

/// A row takes only the k that it stores: an infinity of B elsewhere does not reach it.
template <class T, unsigned M>
ATTUNE_SIM_INLINE void multiplySparseTiles(const SparseRows<T> &a, const T *b, T (*d)[64]) {
  for (unsigned row = 0; row < M; row += 4)
    for (unsigned col = 0; col < M; col += 16) {
      RowPlace place = placeOfRow(M, 4, 0, row);
      Vector<T, 16> acc[4];
      for (unsigned r = 0; r < 4; ++r)
        load<T, 16>(acc[r], d[place.reg + r] + place.lane + col);
      for (unsigned j = 0; j < a.count; ++j)
        for (unsigned r = 0; r < 4; ++r) {
          Vector<T, 16> column;
          load<T, 16>(column, b + a.offset[j][row + r] + col);
          fuse<T, 16>(acc[r], a.value[j][row + r], column);
        }
      for (unsigned r = 0; r < 4; ++r)
        store<T, 16>(d[place.reg + r] + place.lane + col, acc[r]);
    }
}

ATTUNE_SIM_CLONES void multiplySparse(const SparseRows<float> &a, unsigned m, const float *b,
                                      float (*d)[64]) {
  m == 32 ? multiplySparseTiles<float, 32>(a, b, d) : multiplySparseTiles<float, 16>(a, b, d);
}
ATTUNE_SIM_CLONES void multiplySparse(const SparseRows<uint32_t> &a, unsigned m, const uint32_t *b,
                                      uint32_t (*d)[64]) {
  m == 32 ? multiplySparseTiles<uint32_t, 32>(a, b, d) : multiplySparseTiles<uint32_t, 16>(a, b, d);
}

template <class T>
void runSparse(const SmfmacShape &s, Lanes d, ConstLanes aRegs, ConstLanes bRegs,
               const uint32_t *index, uint8_t cbsz, uint8_t abid) {
  alignas(64) Widened<T> a, b;
  widen(a, aRegs, s.a, s.aElements());
  widen(b, bRegs, s.b, s.bElements());
  KOffsets bOffset;
  bool twoRuns = bitsOf(s.b) == 8 && s.bElements() == 32;
  fillOffsets(bOffset, s.m, 1, s.k, s.bElements(), twoRuns);
  SparseRows<T> rows;
  unsigned per = s.aElements();
  rows.count = s.k / 2u;
  for (unsigned l = 0; l < 64; ++l) {
    uint32_t bits = sparseIndex(index[l], 2 * per, cbsz, abid);
    for (unsigned j = 0; j < per; ++j) {
      unsigned stored = per * (l / s.m) + j;
      unsigned k = 2 * per * (l / s.m) + 4 * (j / 2) + (bits >> (2 * j) & 3);
      rows.value[stored][l % s.m] = a[j][l];
      rows.offset[stored][l % s.m] = bOffset[k];
    }
  }
  T(*sums)[64] = reinterpret_cast<T(*)[64]>(d);
  multiplySparse(rows, s.m, b[0], sums);
  if constexpr (std::is_same_v<T, float>)
    canonicalNans(sums, s.accRegs());
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
