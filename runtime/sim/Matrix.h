// Matrix fused multiply-add: D = A * B + C, one wave, operands spread over its 64 lanes.
//
// Layouts (M rows, N columns, K contraction; H = 4 rows in a run, 1 for f64; lane l):
//   A   row l % M, lane group g = l / M of 64 / (M * blocks); element j has k = per * g + j, per =
//   elements a lane B   the mirror: column l % N, the same k D   column l % N; rows come in runs of
//   H, dealt first to the lane groups, then to registers f8f6f4 with an 8-bit operand: its 32
//   elements are two runs of 16: k = 16 g + j, then K/2 + 16 g + (j - 16) blocks > 1: independent
//   products; lanes (operands) or registers (accumulators) are divided among them
//
// Arithmetic model: each element of D starts as C and takes the products in ascending k, each with
// one fused multiply-add in f32 (f64 for f64); denormals are kept and MODE is ignored. Integer
// shapes wrap modulo 2^32. The order in which hardware sums is not published: results are
// approximate: accumulation order, in the last bits only. f8f6f4 shapes take 32 k at a time: their
// dot product from 0, times both block scales (1 in the plain form), added to the sum with one
// rounding.
#pragma once
#include <cstdint>

namespace attune::sim {

enum class MatType : uint8_t { F64, F32, I32, F16, Bf16, I8, Fp8, Bf8, Fp6, Bf6, Fp4 };

/// Bits of one element.
constexpr unsigned bitsOf(MatType t) {
  switch (t) {
  case MatType::F64:
    return 64;
  case MatType::F32:
  case MatType::I32:
    return 32;
  case MatType::F16:
  case MatType::Bf16:
    return 16;
  case MatType::I8:
  case MatType::Fp8:
  case MatType::Bf8:
    return 8;
  case MatType::Fp6:
  case MatType::Bf6:
    return 6;
  case MatType::Fp4:
    return 4;
  }
  return 0;
}

/// The operand type that cbsz (A) or blgp (B) names in an f8f6f4 instruction; codes above 4 are not
/// legal.
constexpr bool legalF8f6f4(unsigned code) { return code <= 4; }
constexpr MatType f8f6f4Type(unsigned code) {
  constexpr MatType types[] = {MatType::Fp8, MatType::Bf8, MatType::Fp6, MatType::Bf6,
                               MatType::Fp4};
  return types[code <= 4 ? code : 0];
}

/// One dense instruction. `k` counts the elements of one block's contraction.
struct MfmaShape {
  uint8_t m = 0, n = 0, k = 0, blocks = 1;
  MatType a = MatType::F16, b = MatType::F16, acc = MatType::F32;
  bool twoRuns = false; ///< an f8f6f4 instruction: 8-bit operands come in two runs of k

  constexpr unsigned aElements() const { return unsigned(m) * k * blocks / 64; } ///< per lane
  constexpr unsigned bElements() const { return unsigned(n) * k * blocks / 64; }
  constexpr unsigned aRegs() const { return aElements() * bitsOf(a) / 32; }
  constexpr unsigned bRegs() const { return bElements() * bitsOf(b) / 32; }
  constexpr unsigned accRegs() const { return unsigned(m) * n * blocks / 64 * (bitsOf(acc) / 32); }
};

/// The f8f6f4 shape with its operand types filled in: m 16 (k 128) or m 32 (k 64).
constexpr MfmaShape f8f6f4Shape(unsigned m, unsigned cbsz, unsigned blgp) {
  return {
      uint8_t(m),   uint8_t(m), uint8_t(m == 16 ? 128 : 64), 1, f8f6f4Type(cbsz), f8f6f4Type(blgp),
      MatType::F32, true};
}

/// Registers as the wave holds them: reg[r][lane].
using ConstLanes = const uint32_t (*)[64];
using Lanes = uint32_t (*)[64];

/// The C operand: registers, or one constant for every element (an inline constant; f64: the two
/// words of it).
struct MfmaC {
  ConstLanes regs = nullptr;
  uint32_t constant = 0, constantHigh = 0;
};

/// Broadcast controls of the multi-block shapes: A of block `abid` within each group of 2^cbsz
/// blocks serves the whole group; blgp permutes the lane groups of B (1: lanes 0-31 for both
/// halves, 2: lanes 32-63, 3: rotate down by 16 lanes, 4..7: lanes 16 (blgp-4).. for all). For f64
/// shapes blgp bits 0, 1, 2 negate A, B, C.
struct MfmaControls {
  uint8_t cbsz = 0, abid = 0, blgp = 0;
};

/// D = A * B + C. D may be the same registers as C, and may overlap A and B: operands are read
/// before D is written.
void mfma(const MfmaShape &, Lanes d, ConstLanes a, ConstLanes b, const MfmaC &c,
          MfmaControls controls = {});

/// Block scales: e8m0 byte `aByte` of lane `row + M * (k / 32)` of register `a`; the same for B
/// with columns.
struct MfmaScales {
  const uint32_t *a, *b;
  uint8_t aByte, bByte;
};
/// v_mfma_scale_f32_*: an f8f6f4 shape with scales.
void mfmaScaled(const MfmaShape &, Lanes d, ConstLanes a, ConstLanes b, const MfmaC &c,
                const MfmaScales &);

/// One sparse instruction: A holds 2 of each 4 elements of k. `k` is the dense contraction length.
struct SmfmacShape {
  uint8_t m = 0, k = 0; ///< n = m
  MatType a = MatType::F16, b = MatType::F16, acc = MatType::F32;

  constexpr unsigned aElements() const { return unsigned(m) * k / 128; } ///< per lane
  constexpr unsigned bElements() const { return unsigned(m) * k / 64; }
  constexpr unsigned aRegs() const { return aElements() * bitsOf(a) / 32; }
  constexpr unsigned bRegs() const { return bElements() * bitsOf(b) / 32; }
  constexpr unsigned accRegs() const { return unsigned(m) * m / 64; }
};
/// D += sparse A * B. Element j of A in lane group g sits at k = 2 per g + 4 (j/2) + index bits
/// [2j+1:2j], per = elements of A a lane. Its index bits are `index[lane]`; where the instruction
/// uses fewer than 32 of them, cbsz = 0 lets abid choose which part, any other cbsz takes the
/// lowest. B of 16x16x128 and 32x32x64 8-bit shapes comes in two runs.
void smfmac(const SmfmacShape &, Lanes d, ConstLanes a, ConstLanes b, const uint32_t *index,
            uint8_t cbsz, uint8_t abid);

} // namespace attune::sim
