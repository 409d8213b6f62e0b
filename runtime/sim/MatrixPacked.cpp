#include "runtime/sim/MatrixPacked.h"
#include "runtime/sim/MatrixTile.h"
#include "runtime/sim/Numerics.h"
#include <array>

namespace attune::sim {
namespace {

// Vectorise this loop and not the one around it.
#if defined(__clang__)
#define ACROSS_LANES _Pragma("clang loop vectorize(enable) interleave(disable) unroll(disable)")
#else
#define ACROSS_LANES _Pragma("GCC ivdep")
#endif

constexpr unsigned kGroup = 8;  // rows of A packed together
constexpr unsigned kPanel = 16; // columns of B packed together

//===--------------------------------------------------------------------------------------------------------------===//
// Packing
//===--------------------------------------------------------------------------------------------------------------===//

/// Rows or columns [first, first + G) of an operand as [k][G].
using Pack = void (*)(float *out, const PackSource &, unsigned first);

/// Calls fn(element) for every element of each lane group in ascending k, with the lanes' offset.
template <unsigned Step, class Fn>
ATTUNE_SIM_INLINE void forEachK(const PackSource &s, unsigned first, Fn fn) {
  unsigned groups = s.k / s.perLane, lane0 = s.firstLane + first;
  for (unsigned run = 0; run < s.perLane; run += s.run)
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned element = run; element < run + s.run; element += Step)
        fn(element, lane0 + group * s.groupStride);
}

/// fromMini in fewer steps: shifted into f32's fields, a code is its value but for the exponent
/// bias, and one product corrects that, for denormal codes too. Host denormals must be kept, as
/// they are in matrix instructions.
template <Mini F> ATTUNE_SIM_INLINE float widenMini(uint32_t code) {
  constexpr float unbias = std::bit_cast<float>(uint32_t(127 + 127 - F.bias) << 23);
  uint32_t abs = code & (F.signBit() - 1);
  uint32_t bits = asBits(asFloat(abs << (23 - F.man)) * unbias);
  if constexpr (F.specials == Mini::Ieee)
    bits = abs < F.infCode() ? bits : 0x7f800000u | (abs << (23 - F.man));
  else if constexpr (F.specials == Mini::NanOnly)
    bits = abs < F.nanCode() ? bits : 0x7fc00000u;
  return asFloat((code & F.signBit()) << (31 - F.exp - F.man) | bits);
}

template <unsigned G, Mini F>
ATTUNE_SIM_INLINE void packMini(float *out, const PackSource &s, unsigned first) {
  constexpr unsigned bits = F.bits();
  constexpr uint32_t mask = (1u << bits) - 1;
  forEachK<1>(s, first, [&](unsigned element, unsigned lane) ATTUNE_SIM_INLINE_LAMBDA {
    unsigned word = element * bits / 32, shift = element * bits % 32;
    const uint32_t *lo = s.regs[word] + lane;
    if (shift + bits <= 32) {
      ACROSS_LANES for (unsigned c = 0; c < G; ++c) out[c] = widenMini<F>((lo[c] >> shift) & mask);
    } else { // a 6-bit element across two registers
      const uint32_t *hi = s.regs[word + 1] + lane;
      ACROSS_LANES for (unsigned c = 0; c < G; ++c) out[c] =
          widenMini<F>(((lo[c] >> shift) | (hi[c] << (32 - shift))) & mask);
    }
    out += G;
  });
}

template <unsigned G>
ATTUNE_SIM_INLINE void packBf16(float *out, const PackSource &s, unsigned first) {
  forEachK<2>(s, first, [&](unsigned element, unsigned lane) ATTUNE_SIM_INLINE_LAMBDA {
    const uint32_t *in = s.regs[element / 2] + lane;
    for (unsigned c = 0; c < G; ++c) {
      out[c] = asFloat(in[c] << 16);
      out[G + c] = asFloat(in[c] & 0xffff0000u);
    }
    out += 2 * G;
  });
}

template <unsigned G>
ATTUNE_SIM_INLINE void packF32(float *out, const PackSource &s, unsigned first) {
  forEachK<1>(s, first, [&](unsigned element, unsigned lane) ATTUNE_SIM_INLINE_LAMBDA {
    std::memcpy(out, s.regs[element] + lane, G * sizeof(float));
    out += G;
  });
}

template <unsigned G>
ATTUNE_SIM_INLINE void packDense(float *out, const PackSource &s, unsigned first) {
  for (unsigned k = 0; k < s.k; ++k, out += G)
    std::memcpy(out, s.dense + 32 * k + first, G * sizeof(float));
}

#define PACKER(name, body)                                                                         \
  ATTUNE_SIM_CLONES void name##A(float *out, const PackSource &s, unsigned first) {                \
    constexpr unsigned G = kGroup;                                                                 \
    body(out, s, first);                                                                           \
  }                                                                                                \
  ATTUNE_SIM_CLONES void name##B(float *out, const PackSource &s, unsigned first) {                \
    constexpr unsigned G = kPanel;                                                                 \
    body(out, s, first);                                                                           \
  }
#define MINI(format) packMini<G, format>
PACKER(packF16, MINI(kF16))
PACKER(packFp8, MINI(kFp8))
PACKER(packBf8, MINI(kBf8))
PACKER(packFp6, MINI(kFp6))
PACKER(packBf6, MINI(kBf6))
PACKER(packFp4, MINI(kFp4))
PACKER(packBf16, packBf16<G>)
PACKER(packF32, packF32<G>)
PACKER(packDense, packDense<G>)
#undef MINI
#undef PACKER

struct Packers {
  Pack a, b;
};
Packers packersOf(const PackSource &s) {
  if (s.dense)
    return {packDenseA, packDenseB};
  switch (s.type) {
  case MatType::F16:
    return {packF16A, packF16B};
  case MatType::Bf16:
    return {packBf16A, packBf16B};
  case MatType::Fp8:
    return {packFp8A, packFp8B};
  case MatType::Bf8:
    return {packBf8A, packBf8B};
  case MatType::Fp6:
    return {packFp6A, packFp6B};
  case MatType::Bf6:
    return {packBf6A, packBf6B};
  case MatType::Fp4:
    return {packFp4A, packFp4B};
  default:
    return {packF32A, packF32B};
  }
}

//===--------------------------------------------------------------------------------------------------------------===//
// Tiles
//===--------------------------------------------------------------------------------------------------------------===//

using Row = Vector<float, kPanel>;

/// acc[r] += sum over `count` k of A[r][k] * B[k]. Unrolled no further: longer code is fetched more
/// slowly than the host multiplies.
ATTUNE_SIM_INLINE void accumulate(Row (&acc)[4], const float *a, const float *b, unsigned count) {
#pragma GCC unroll 4
  for (unsigned k = 0; k < count; ++k) {
    Row column;
    load<float, kPanel>(column, b + k * kPanel);
    for (unsigned r = 0; r < 4; ++r)
      fuse<float, kPanel>(acc[r], a[k * kGroup + r], column);
  }
}

/// Whether a sum of everything stored says that some of it is not a number.
ATTUNE_SIM_INLINE bool anyNan(const Row &sum) {
  auto nan = sum != sum; // all ones where it is
  uint64_t words[sizeof(nan) / sizeof(uint64_t)], any = 0;
  std::memcpy(words, &nan, sizeof(nan));
  for (uint64_t word : words)
    any |= word;
  return any != 0;
}

/// Tile of an instruction without scales.
struct PlainTile {
  ATTUNE_SIM_INLINE void operator()(unsigned k, const float *a, const float *b, float *d, unsigned,
                                    unsigned, Row &watch) const {
    Row acc[4];
    for (unsigned r = 0; r < 4; ++r)
      load<float, kPanel>(acc[r], d + 64 * r);
    accumulate(acc, a, b, k);
    for (unsigned r = 0; r < 4; ++r)
      store<float, kPanel>(d + 64 * r, acc[r]);
    watch += (acc[0] + acc[1]) + (acc[2] + acc[3]);
  }
};

/// Scales as numbers: float where products of two scales stay in range, double otherwise.
template <class S> struct ScaledTile {
  alignas(64) S a[kMaxK / kScaleBlock][32], b[kMaxK / kScaleBlock][32];

  /// A row of dot products times their scales plus the sums so far, rounded once: in double the
  /// product is exact, and rounding a sum of two 24-bit numbers to double and then to f32 is the
  /// same as rounding it to f32.
  ATTUNE_SIM_INLINE static void add(float *sums, const Row &dot, S scaleA, const S *scaleB) {
    if constexpr (std::is_same_v<S, float>) {
      Row sum, scale;
      load<float, kPanel>(sum, sums);
      load<float, kPanel>(scale, scaleB);
      fuse<float, kPanel>(sum, dot, scale * scaleA);
      store<float, kPanel>(sums, sum);
    } else {
      for (unsigned c = 0; c < kPanel; ++c)
        sums[c] = static_cast<float>(static_cast<double>(dot[c]) * (scaleA * scaleB[c]) +
                                     static_cast<double>(sums[c]));
    }
  }

  ATTUNE_SIM_INLINE void operator()(unsigned k, const float *pa, const float *pb, float *d,
                                    unsigned row, unsigned col, Row &watch) const {
    for (unsigned block = 0; block < k / kScaleBlock; ++block) {
      Row dot[4] = {};
      accumulate(dot, pa, pb, kScaleBlock);
      pa += kScaleBlock * kGroup;
      pb += kScaleBlock * kPanel;
      for (unsigned r = 0; r < 4; ++r)
        add(d + 64 * r, dot[r], a[block][row + r], b[block] + col);
    }
    for (unsigned r = 0; r < 4; ++r) {
      Row sum;
      load<float, kPanel>(sum, d + 64 * r);
      watch += sum;
    }
  }
};

/// Packs operands of any type and shape.
struct AnyPacker {
  const PackedProduct &p;
  Pack packA, packB;
  ATTUNE_SIM_INLINE unsigned k() const { return p.a.k; }
  ATTUNE_SIM_INLINE void a(float *out, unsigned row) const { packA(out, p.a, row); }
  ATTUNE_SIM_INLINE void b(float *out, unsigned col) const { packB(out, p.b, col); }
};
ATTUNE_SIM_INLINE AnyPacker anyPacker(const PackedProduct &p) {
  return {p, packersOf(p.a).a, packersOf(p.b).b};
}

/// One bf16 block, sizes known when compiling.
template <unsigned M, unsigned K> struct Bf16Packer {
  ConstLanes aRegs, bRegs;
  ATTUNE_SIM_INLINE static constexpr unsigned k() { return K; }
  ATTUNE_SIM_INLINE static PackSource source(ConstLanes regs) {
    constexpr unsigned perLane = M * K / 64;
    return {.regs = regs, .k = K, .perLane = perLane, .run = perLane, .groupStride = M};
  }
  ATTUNE_SIM_INLINE void a(float *out, unsigned row) const {
    packBf16<kGroup>(out, source(aRegs), row);
  }
  ATTUNE_SIM_INLINE void b(float *out, unsigned col) const {
    packBf16<kPanel>(out, source(bRegs), col);
  }
};

/// All tiles of a block, each group and panel packed one tile ahead. Whether D may hold a NaN.
template <unsigned M, class Packer, class Tile>
ATTUNE_SIM_INLINE bool multiplyTiles(float (*d)[64], unsigned block, const Packer &packer,
                                     const Tile &tile) {
  constexpr unsigned size = kMaxK * 16; // M is 16, or k is at most 64
  alignas(64) float a[size], b[size];
  const unsigned k = packer.k();
  Row watch = {};
  auto run = [&](unsigned row, unsigned col) ATTUNE_SIM_INLINE_LAMBDA {
    RowPlace place = placeOfRow(M, 4, block, row);
    tile(k, a + row / kGroup * kGroup * k + row % kGroup, b + col * k,
         d[place.reg] + place.lane + col, row, col, watch);
  };
  packer.b(b, 0);
  packer.a(a, 0);
  for (unsigned col = 0; col < M; col += kPanel)
    for (unsigned row = 0; row < M; row += kGroup) {
      run(row, col);
      if (unsigned next = row + kGroup; next < M) {
        if (col == 0)
          packer.a(a + next * k, next);
      } else if (unsigned panel = col + kPanel; panel < M) {
        packer.b(b + panel * k, panel);
      }
      run(row + 4, col);
    }
  return anyNan(watch);
}

template <class Tile> ATTUNE_SIM_INLINE bool multiplyAny(const PackedProduct &p, const Tile &tile) {
  return p.m == 32 ? multiplyTiles<32>(p.d, p.block, anyPacker(p), tile)
                   : multiplyTiles<16>(p.d, p.block, anyPacker(p), tile);
}
ATTUNE_SIM_CLONES bool multiplyPlain(const PackedProduct &p) { return multiplyAny(p, PlainTile()); }

#define BF16(m, k)                                                                                 \
  ATTUNE_SIM_CLONES bool multiplyBf16_##m##x##k(float (*d)[64], ConstLanes a, ConstLanes b) {      \
    return multiplyTiles<m>(d, 0, Bf16Packer<m, k>{a, b}, PlainTile());                            \
  }
BF16(16, 16)
BF16(16, 32)
BF16(32, 8)
BF16(32, 16)
#undef BF16

ATTUNE_SIM_CLONES bool multiplyScaled(const PackedProduct &p, const ScaledTile<float> &tile) {
  return multiplyAny(p, tile);
}
ATTUNE_SIM_CLONES bool multiplyScaled(const PackedProduct &p, const ScaledTile<double> &tile) {
  return multiplyAny(p, tile);
}

double scaleValue(uint8_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : asDouble(uint64_t(1023 - 127 + code) << 52);
}

template <class S> bool runScaled(const PackedProduct &p, const PackedScales &scales) {
  ScaledTile<S> tile;
  for (unsigned block = 0; block < p.a.k / kScaleBlock; ++block)
    for (unsigned i = 0; i < p.m; ++i) {
      tile.a[block][i] = static_cast<S>(scaleValue(scales.a[block][i]));
      tile.b[block][i] = static_cast<S>(scaleValue(scales.b[block][i]));
    }
  return multiplyScaled(p, tile);
}

/// Codes within this range of 127 have products that f32 holds as normal numbers.
bool withinFloat(const ScaleCodes &codes, unsigned m, unsigned k) {
  for (unsigned block = 0; block < k / kScaleBlock; ++block)
    for (unsigned i = 0; i < m; ++i)
      if (codes[block][i] < 127 - 62 || codes[block][i] > 127 + 62)
        return false;
  return true;
}

/// Which of several NaNs survives a host's multiply-add depends on the order its compiler chose for
/// the factors: here all NaNs of a result are the one that arithmetic makes.
void canonicalNans(unsigned m, unsigned block, float (*d)[64]) {
  for (unsigned row = 0; row < m; ++row) {
    RowPlace place = placeOfRow(m, 4, block, row);
    for (unsigned col = 0; col < m; ++col)
      if (float &x = d[place.reg][place.lane + col]; isNan(x))
        x = asFloat(0x7fc00000u);
  }
}

} // namespace

void multiplyPacked(const PackedProduct &p) {
  if (multiplyPlain(p))
    canonicalNans(p.m, p.block, p.d);
}

void multiplyPackedBf16(unsigned m, unsigned k, float (*d)[64], ConstLanes a, ConstLanes b) {
  auto *multiply = m == 32 ? (k == 16 ? multiplyBf16_32x16 : multiplyBf16_32x8)
                           : (k == 32 ? multiplyBf16_16x32 : multiplyBf16_16x16);
  if (multiply(d, a, b))
    canonicalNans(m, 0, d);
}

void multiplyPackedScaled(const PackedProduct &p, const PackedScales &scales) {
  bool narrow = withinFloat(scales.a, p.m, p.a.k) && withinFloat(scales.b, p.m, p.a.k);
  if (narrow ? runScaled<float>(p, scales) : runScaled<double>(p, scales))
    canonicalNans(p.m, p.block, p.d);
}

} // namespace attune::sim
