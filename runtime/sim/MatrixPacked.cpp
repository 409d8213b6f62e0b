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

/// Rows or columns [first, first + G) of an operand, those of k to out + stride k.
using Pack = void (*)(float *out, const PackSource &, unsigned first, unsigned stride);

/// Calls fn(element) for every element of each lane group in ascending k, with the lanes' offset.
template <unsigned Step, class Fn>
ATTUNE_SIM_INLINE void forEachK(const PackSource &s, unsigned first, Fn fn) {
  unsigned groups = s.k / s.perLane, lane0 = s.firstLane + first;
  for (unsigned run = 0; run < s.perLane; run += s.run)
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned element = run; element < run + s.run; element += Step)
        fn(element, lane0 + group * s.groupStride);
}

/// fromMini in fewer steps, of a code moved up until its sign is bit 31: moved on into f32's
/// fields, it is its value but for the exponent bias, and one product corrects that, for denormal
/// codes too. Host denormals must be kept, as they are in matrix instructions.
template <Mini F> ATTUNE_SIM_INLINE float widenMini(uint32_t code) {
  constexpr float unbias = std::bit_cast<float>(uint32_t(127 + 127 - F.bias) << 23);
  constexpr uint32_t fields = 0x80000000u | (F.signBit() - 1) << (23 - F.man);
  auto moved = static_cast<uint32_t>(static_cast<int32_t>(code) >> (8 - F.exp));
  uint32_t bits = asBits(asFloat(moved & fields) * unbias);
  if constexpr (F.specials != Mini::None) {
    constexpr uint32_t firstCode = F.specials == Mini::Ieee ? F.infCode() : F.nanCode();
    constexpr uint32_t first =
        std::bit_cast<uint32_t>(std::bit_cast<float>(firstCode << (23 - F.man)) * unbias);
    bits |= (bits & 0x7fffffffu) >= first ? 0x7f800000u : 0; // what is below makes it a NaN or not
  }
  return asFloat(bits);
}

template <unsigned G, Mini F>
ATTUNE_SIM_INLINE void packMini(float *out, const PackSource &s, unsigned first, unsigned stride) {
  constexpr unsigned bits = F.bits();
  forEachK<1>(s, first, [&](unsigned element, unsigned lane) ATTUNE_SIM_INLINE_LAMBDA {
    unsigned word = element * bits / 32, shift = element * bits % 32;
    const uint32_t *lo = s.regs[word] + lane;
    if (shift + bits <= 32) {
      unsigned up = 32 - bits - shift;
      ACROSS_LANES for (unsigned c = 0; c < G; ++c) out[c] = widenMini<F>(lo[c] << up);
    } else { // a 6-bit element across two registers
      const uint32_t *hi = s.regs[word + 1] + lane;
      ACROSS_LANES for (unsigned c = 0; c < G; ++c) out[c] =
          widenMini<F>(((lo[c] >> shift) | (hi[c] << (32 - shift))) << (32 - bits));
    }
    out += stride;
  });
}

template <unsigned G>
ATTUNE_SIM_INLINE void packBf16(float *out, const PackSource &s, unsigned first, unsigned stride) {
  forEachK<2>(s, first, [&](unsigned element, unsigned lane) ATTUNE_SIM_INLINE_LAMBDA {
    const uint32_t *in = s.regs[element / 2] + lane;
    for (unsigned c = 0; c < G; ++c) {
      out[c] = asFloat(in[c] << 16);
      out[stride + c] = asFloat(in[c] & 0xffff0000u);
    }
    out += 2 * stride;
  });
}

template <unsigned G>
ATTUNE_SIM_INLINE void packF32(float *out, const PackSource &s, unsigned first, unsigned stride) {
  forEachK<1>(s, first, [&](unsigned element, unsigned lane) ATTUNE_SIM_INLINE_LAMBDA {
    std::memcpy(out, s.regs[element] + lane, G * sizeof(float));
    out += stride;
  });
}

template <unsigned G>
ATTUNE_SIM_INLINE void packDense(float *out, const PackSource &s, unsigned first, unsigned stride) {
  for (unsigned k = 0; k < s.k; ++k)
    std::memcpy(out + stride * k, s.dense + 32 * k + first, G * sizeof(float));
}

#define PACKER(name, body)                                                                         \
  ATTUNE_SIM_CLONES void name##A(float *out, const PackSource &s, unsigned first,                  \
                                 unsigned stride) {                                                \
    constexpr unsigned G = kGroup;                                                                 \
    body(out, s, first, stride);                                                                   \
  }                                                                                                \
  ATTUNE_SIM_CLONES void name##B(float *out, const PackSource &s, unsigned first,                  \
                                 unsigned stride) {                                                \
    constexpr unsigned G = kPanel;                                                                 \
    body(out, s, first, stride);                                                                   \
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

/// R x C elements of D, and of how many rows and columns the block is.
template <unsigned BlockRows, unsigned R, unsigned C> struct Shape {
  static constexpr unsigned m = BlockRows, rows = R, columns = C;
  using Row = Vector<float, C>;
  /// Where the tile's rows are: four make a run.
  struct Rows {
    float *run[R / 4];
    ATTUNE_SIM_INLINE float *operator[](unsigned r) const { return run[r / 4] + 64 * (r % 4); }
  };
  ATTUNE_SIM_INLINE static Rows rowsAt(float (*d)[64], unsigned block, unsigned row, unsigned col) {
    Rows rows;
    for (unsigned n = 0; n < R / 4; ++n) {
      RowPlace place = placeOfRow(m, 4, block, row + 4 * n);
      rows.run[n] = d[place.reg] + place.lane + col;
    }
    return rows;
  }
};
/// What the host's registers hold: a row of B, a number of A in all lanes, and the sums. Eight
/// vectors of sums are as many as there are multiply-adds under way.
template <unsigned M> using NarrowTile = Shape<M, 4, 16>; // 16 registers of 8 numbers
template <unsigned M> using WideTile = Shape<M, 8, M>;    // 32 registers of 16 numbers

/// acc[r] += sum over `count` k of A[r][k] * B[k]. Unrolled no further: longer code is fetched more
/// slowly than the host multiplies.
template <class S>
ATTUNE_SIM_INLINE void accumulate(typename S::Row (&acc)[S::rows], const float *a, const float *b,
                                  unsigned count) {
#pragma GCC unroll 4
  for (unsigned k = 0; k < count; ++k) {
    typename S::Row column;
    load<float, S::columns>(column, b + k * S::columns);
    for (unsigned r = 0; r < S::rows; ++r)
      fuse<float, S::columns>(acc[r], a[k * kGroup + r], column);
  }
}

/// Adds up rows in pairs: one after another they would be a chain that the host waits for.
template <class S>
ATTUNE_SIM_INLINE void addAll(typename S::Row &watch, typename S::Row (&acc)[S::rows]) {
  for (unsigned step = 1; step < S::rows; step *= 2)
    for (unsigned r = 0; r + step < S::rows; r += 2 * step)
      acc[r] += acc[r + step];
  watch += acc[0];
}

/// Whether a sum of everything stored says that some of it is not a number.
template <class Row> ATTUNE_SIM_INLINE bool anyNan(const Row &sum) {
  auto nan = sum != sum; // all ones where it is
  uint64_t words[sizeof(nan) / sizeof(uint64_t)], any = 0;
  std::memcpy(words, &nan, sizeof(nan));
  for (uint64_t word : words)
    any |= word;
  return any != 0;
}

/// Tile of an instruction without blocks of k.
struct PlainTile {
  template <class S>
  ATTUNE_SIM_INLINE void run(unsigned k, const float *a, const float *b,
                             const typename S::Rows &rows, unsigned, unsigned,
                             typename S::Row &watch) const {
    typename S::Row acc[S::rows];
    for (unsigned r = 0; r < S::rows; ++r)
      load<float, S::columns>(acc[r], rows[r]);
    accumulate<S>(acc, a, b, k);
    for (unsigned r = 0; r < S::rows; ++r)
      store<float, S::columns>(rows[r], acc[r]);
    addAll<S>(watch, acc);
  }
};

/// Scales that are all 1.
struct NoScales {
  template <unsigned C>
  ATTUNE_SIM_INLINE void add(Vector<float, C> &sum, const Vector<float, C> &dot, unsigned, unsigned,
                             unsigned) const {
    sum += dot;
  }
};
/// Scales as numbers: float where products of two scales stay in range, double otherwise.
template <class T> struct Scales {
  alignas(64) T a[kMaxK / kScaleBlock][32], b[kMaxK / kScaleBlock][32];

  /// A row of dot products times their scales plus the sums so far, rounded once: in double the
  /// product is exact, and rounding a sum of two 24-bit numbers to double and then to f32 is the
  /// same as rounding it to f32.
  template <unsigned C>
  ATTUNE_SIM_INLINE void add(Vector<float, C> &sum, const Vector<float, C> &dot, unsigned block,
                             unsigned row, unsigned col) const {
    if constexpr (std::is_same_v<T, float>) {
      Vector<float, C> scale;
      load<float, C>(scale, b[block] + col);
      fuse<float, C>(sum, dot, scale * a[block][row]);
    } else {
      for (unsigned c = 0; c < C; ++c)
        sum[c] =
            static_cast<float>(static_cast<double>(dot[c]) * (a[block][row] * b[block][col + c]) +
                               static_cast<double>(sum[c]));
    }
  }
};

/// Tile of an instruction with scales for each 32 k.
template <class ScalesType> struct BlockTile {
  const ScalesType &scales;

  template <class S>
  ATTUNE_SIM_INLINE void run(unsigned k, const float *a, const float *b,
                             const typename S::Rows &rows, unsigned row, unsigned col,
                             typename S::Row &watch) const {
    for (unsigned block = 0; block < k / kScaleBlock; ++block) {
      typename S::Row dot[S::rows] = {};
      accumulate<S>(dot, a, b, kScaleBlock);
      a += kScaleBlock * kGroup;
      b += kScaleBlock * S::columns;
      for (unsigned r = 0; r < S::rows; ++r) {
        typename S::Row sum;
        load<float, S::columns>(sum, rows[r]);
        scales.template add<S::columns>(sum, dot[r], block, row + r, col);
        store<float, S::columns>(rows[r], sum);
        dot[r] = sum;
      }
      if (block + 1 == k / kScaleBlock)
        addAll<S>(watch, dot);
    }
  }
};

/// Packs operands of any type and shape.
struct AnyPacker {
  const PackedProduct &p;
  Pack packA, packB;
  ATTUNE_SIM_INLINE unsigned k() const { return p.a.k; }
  ATTUNE_SIM_INLINE void a(float *out, unsigned row, unsigned stride) const {
    packA(out, p.a, row, stride);
  }
  ATTUNE_SIM_INLINE void b(float *out, unsigned col, unsigned stride) const {
    packB(out, p.b, col, stride);
  }
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
  ATTUNE_SIM_INLINE void a(float *out, unsigned row, unsigned stride) const {
    packBf16<kGroup>(out, source(aRegs), row, stride);
  }
  ATTUNE_SIM_INLINE void b(float *out, unsigned col, unsigned stride) const {
    packBf16<kPanel>(out, source(bRegs), col, stride);
  }
};

/// All tiles of a block. The first group and the columns of the first tile are packed before it,
/// each other one while the group before it is multiplied. Whether D may hold a NaN.
template <class S, class Packer, class Tile>
ATTUNE_SIM_INLINE bool multiplyTiles(float (*d)[64], unsigned block, const Packer &packer,
                                     const Tile &tile) {
  constexpr unsigned m = S::m, size = kMaxK * 16; // m is 16, or k is at most 64
  alignas(64) float a[size], b[size];
  const unsigned k = packer.k();
  typename S::Row watch = {};
  auto run = [&](unsigned row, unsigned col) ATTUNE_SIM_INLINE_LAMBDA {
    tile.template run<S>(k, a + row / kGroup * kGroup * k + row % kGroup, b + col * k,
                         S::rowsAt(d, block, row, col), row, col, watch);
  };
  auto packB = [&](unsigned col) ATTUNE_SIM_INLINE_LAMBDA {
    for (unsigned c = 0; c < S::columns; c += kPanel)
      packer.b(b + col * k + c, col + c, S::columns);
  };
  packB(0);
  packer.a(a, 0, kGroup);
  for (unsigned col = 0; col < m; col += S::columns)
    for (unsigned row = 0; row < m; row += kGroup) {
      run(row, col);
      if (unsigned next = row + kGroup; next < m) {
        if (col == 0)
          packer.a(a + next * k, next, kGroup);
      } else if (unsigned right = col + S::columns; right < m) {
        packB(right);
      }
      if constexpr (S::rows < kGroup)
        run(row + S::rows, col);
    }
  return anyNan(watch);
}

template <class Tile> ATTUNE_SIM_INLINE bool multiplyAny(const PackedProduct &p, const Tile &tile) {
  return p.m == 32 ? multiplyTiles<NarrowTile<32>>(p.d, p.block, anyPacker(p), tile)
                   : multiplyTiles<NarrowTile<16>>(p.d, p.block, anyPacker(p), tile);
}
ATTUNE_SIM_CLONES bool multiplyPlain(const PackedProduct &p) { return multiplyAny(p, PlainTile()); }

#define BF16(tile, m, k)                                                                           \
  ATTUNE_SIM_CLONES bool tile##_##m##x##k(float (*d)[64], ConstLanes a, ConstLanes b) {            \
    return multiplyTiles<tile<m>>(d, 0, Bf16Packer<m, k>{a, b}, PlainTile());                      \
  }
BF16(NarrowTile, 16, 16)
BF16(NarrowTile, 16, 32)
BF16(NarrowTile, 32, 8)
BF16(NarrowTile, 32, 16)
BF16(WideTile, 16, 16)
BF16(WideTile, 16, 32)
BF16(WideTile, 32, 8)
BF16(WideTile, 32, 16)
#undef BF16

#define SCALED(type)                                                                               \
  ATTUNE_SIM_CLONES bool multiplyScaled(const PackedProduct &p, const type &scales) {              \
    return multiplyAny(p, BlockTile<type>{scales});                                                \
  }
SCALED(NoScales)
SCALED(Scales<float>)
SCALED(Scales<double>)
#undef SCALED

double scaleValue(uint8_t code) {
  return code == 0xff ? std::numeric_limits<double>::quiet_NaN()
                      : asDouble(uint64_t(1023 - 127 + code) << 52);
}

template <class T> bool runScaled(const PackedProduct &p, const PackedScales &codes) {
  Scales<T> scales;
  for (unsigned block = 0; block < p.a.k / kScaleBlock; ++block)
    for (unsigned i = 0; i < p.m; ++i) {
      scales.a[block][i] = static_cast<T>(scaleValue(codes.a[block][i]));
      scales.b[block][i] = static_cast<T>(scaleValue(codes.b[block][i]));
    }
  return multiplyScaled(p, scales);
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

HostTile hostTile() {
#if defined(__x86_64__)
  static const bool wide = __builtin_cpu_supports("avx512f");
  return wide ? HostTile::Wide : HostTile::Narrow;
#else
  return HostTile::Narrow;
#endif
}

void multiplyPackedBf16(unsigned m, unsigned k, float (*d)[64], ConstLanes a, ConstLanes b,
                        HostTile tile) {
  using Multiply = bool (*)(float (*)[64], ConstLanes, ConstLanes);
  constexpr Multiply kMultiply[2][2][2] = {
      {{NarrowTile_16x16, NarrowTile_16x32}, {NarrowTile_32x8, NarrowTile_32x16}},
      {{WideTile_16x16, WideTile_16x32}, {WideTile_32x8, WideTile_32x16}}};
  if (kMultiply[tile == HostTile::Wide][m == 32][m * k == 512](d, a, b))
    canonicalNans(m, 0, d);
}

void multiplyPackedScaled(const PackedProduct &p, const PackedScales *scales) {
  auto multiply = [&] {
    if (!scales)
      return multiplyScaled(p, NoScales());
    bool narrow = withinFloat(scales->a, p.m, p.a.k) && withinFloat(scales->b, p.m, p.a.k);
    return narrow ? runScaled<float>(p, *scales) : runScaled<double>(p, *scales);
  };
  if (multiply())
    canonicalNans(p.m, p.block, p.d);
}

} // namespace attune::sim
