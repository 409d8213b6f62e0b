// SHA-256 as FIPS 180-4 defines it. The steps are forced inline: they are most of a cache hit's
// time, in builds that optimise little as well.
#include "runtime/abi/Sha256.h"
#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace attune {

namespace {

/// First 32 bits of the fractional parts of the cube roots of the first 64 primes.
alignas(16) constexpr std::array<uint32_t, 64> roundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

#define ATTUNE_INLINE [[gnu::always_inline]] inline
#define ATTUNE_INLINE_LAMBDA __attribute__((always_inline))

using Words = std::array<uint32_t, 16>;

ATTUNE_INLINE uint32_t loadBigEndian(const uint8_t *p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3]);
}

ATTUNE_INLINE uint32_t rotate(uint32_t x, int by) { return x >> by | x << (32 - by); }

/// One round. What FIPS calls renaming a to h is done by its callers, who rotate the arguments.
ATTUNE_INLINE void round(uint32_t a, uint32_t b, uint32_t c, uint32_t &d, uint32_t e, uint32_t f,
                         uint32_t g, uint32_t &h, uint32_t constantAndWord) {
  h += (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + (g ^ (e & (f ^ g))) + constantAndWord;
  d += h;
  h += (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) | (c & (a | b)));
}

/// Word i of the next 16 of the schedule, from a ring of the last 16.
ATTUNE_INLINE uint32_t nextWord(Words &ring, size_t i) {
  const uint32_t early = ring[(i + 1) % 16], late = ring[(i + 14) % 16];
  return ring[i] += (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + ring[(i + 9) % 16] +
                    (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
}

template <size_t first, class Word>
ATTUNE_INLINE void eightRounds(Sha256State &s, const uint32_t *constants, Word word) {
  auto &[a, b, c, d, e, f, g, h] = s;
  round(a, b, c, d, e, f, g, h, constants[first] + word(first));
  round(h, a, b, c, d, e, f, g, constants[first + 1] + word(first + 1));
  round(g, h, a, b, c, d, e, f, constants[first + 2] + word(first + 2));
  round(f, g, h, a, b, c, d, e, constants[first + 3] + word(first + 3));
  round(e, f, g, h, a, b, c, d, constants[first + 4] + word(first + 4));
  round(d, e, f, g, h, a, b, c, constants[first + 5] + word(first + 5));
  round(c, d, e, f, g, h, a, b, constants[first + 6] + word(first + 6));
  round(b, c, d, e, f, g, h, a, constants[first + 7] + word(first + 7));
}

/// 16 rounds at a time, so that all places in the ring are known to the compiler.
void portableBlock(Sha256State &state, const uint8_t *data) {
  Words ring;
  Sha256State now = state;
  const uint32_t *constants = roundConstants.data();
  auto read = [&](size_t i) ATTUNE_INLINE_LAMBDA { return ring[i] = loadBigEndian(data + 4 * i); };
  auto next = [&](size_t i) ATTUNE_INLINE_LAMBDA { return nextWord(ring, i); };
  eightRounds<0>(now, constants, read);
  eightRounds<8>(now, constants, read);
  for (int turn = 1; turn < 4; ++turn) {
    constants += 16;
    eightRounds<0>(now, constants, next);
    eightRounds<8>(now, constants, next);
  }
  for (size_t i = 0; i < 8; ++i)
    state[i] += now[i];
}

#if defined(__x86_64__)

#define ATTUNE_SHA gnu::target("sha,ssse3,sse4.1")

/// The instructions keep the state as {f, e, b, a} and {h, g, d, c}.
struct Halves {
  __m128i abef, cdgh;
};

/// Four rounds, with the four words of the schedule that are their turn.
[[ATTUNE_SHA, gnu::always_inline]] inline void fourRounds(Halves &state, __m128i words, int t) {
  const __m128i constants =
      _mm_load_si128(reinterpret_cast<const __m128i *>(roundConstants.data() + t));
  const __m128i sum = _mm_add_epi32(words, constants);
  state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, sum);
  state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32(sum, 0x0e));
}

/// Words t to t+3 of the schedule from the 16 before, four to a register; `a` are the oldest.
[[ATTUNE_SHA, gnu::always_inline]] inline __m128i nextWords(__m128i a, __m128i b, __m128i c,
                                                            __m128i d) {
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(a, b), _mm_alignr_epi8(d, c, 4));
  return _mm_sha256msg2_epu32(sum, d);
}

[[ATTUNE_SHA]] void nativeBlocks(Sha256State &state, const uint8_t *data, size_t blocks) {
  auto *memory = reinterpret_cast<__m128i *>(state.data());
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(memory), 0xb1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(memory + 1), 0x1b);
  Halves now = {_mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xf0)};
  const __m128i bigEndian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (; blocks > 0; --blocks, data += sha256BlockBytes) {
    const Halves before = now;
    const auto *in = reinterpret_cast<const __m128i *>(data);
    __m128i a = _mm_shuffle_epi8(_mm_loadu_si128(in), bigEndian);
    __m128i b = _mm_shuffle_epi8(_mm_loadu_si128(in + 1), bigEndian);
    __m128i c = _mm_shuffle_epi8(_mm_loadu_si128(in + 2), bigEndian);
    __m128i d = _mm_shuffle_epi8(_mm_loadu_si128(in + 3), bigEndian);
    for (int t = 0;; t += 16) {
      fourRounds(now, a, t);
      fourRounds(now, b, t + 4);
      fourRounds(now, c, t + 8);
      fourRounds(now, d, t + 12);
      if (t == 48)
        break;
      a = nextWords(a, b, c, d);
      b = nextWords(b, c, d, a);
      c = nextWords(c, d, a, b);
      d = nextWords(d, a, b, c);
    }
    now.abef = _mm_add_epi32(now.abef, before.abef);
    now.cdgh = _mm_add_epi32(now.cdgh, before.cdgh);
  }
  const __m128i feba = _mm_shuffle_epi32(now.abef, 0x1b);
  const __m128i dchg = _mm_shuffle_epi32(now.cdgh, 0xb1);
  _mm_storeu_si128(memory, _mm_blend_epi16(feba, dchg, 0xf0));
  _mm_storeu_si128(memory + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool hasShaInstructions() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned ssse3 = 1u << 9, sse41 = 1u << 19, sha = 1u << 29;
  if (!__get_cpuid(1, &a, &b, &c, &d) || (c & ssse3) == 0 || (c & sse41) == 0)
    return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & sha) != 0;
}

#endif

} // namespace

void sha256Portable(Sha256State &state, const uint8_t *data, size_t blocks) {
  for (; blocks > 0; --blocks, data += sha256BlockBytes)
    portableBlock(state, data);
}

Sha256Blocks sha256Native() {
#if defined(__x86_64__)
  static const bool has = hasShaInstructions();
  return has ? nativeBlocks : nullptr;
#else
  return nullptr;
#endif
}

} // namespace attune
