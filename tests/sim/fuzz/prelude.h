/* What generated kernels are written in: C that clang compiles for gfx950 (DEVICE) and for the
   host. Where C leaves a case undefined or a NaN's bits open, these functions close it, so that
   both must agree bit for bit.

   Exchanges between lanes are builtins on the device and models on the host: there `lanes` holds
   what the N threads of the workgroup bring, t is the thread whose result is asked for. */
typedef unsigned char u8;
typedef signed char i8;
typedef unsigned short u16;
typedef short i16;
typedef unsigned int u32;
typedef int i32;
typedef unsigned long u64;
typedef long i64;
typedef _Float16 f16;
typedef float f32;
typedef double f64;
typedef __bf16 bf16;
// clang-format off: it takes a row of macros for one declaration, and is never done
#define VECTOR(T)                                                                                  \
  typedef T T##x2 __attribute__((ext_vector_type(2)));                                             \
  typedef T T##x4 __attribute__((ext_vector_type(4)));
VECTOR(u8) VECTOR(i8) VECTOR(u16) VECTOR(i16) VECTOR(u32) VECTOR(i32) VECTOR(u64) VECTOR(i64)
VECTOR(f16) VECTOR(f32) VECTOR(f64)
#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

/* Bits with one NaN, and numbers from bits. */
#define BITS(F, U, INF, NAN_BITS)                                                                  \
  INLINE U bits_##F(F x) {                                                                         \
    U b;                                                                                           \
    __builtin_memcpy(&b, &x, sizeof b);                                                            \
    return (U)(b << 1) > (U)((U)INF << 1) ? (U)NAN_BITS : b;                                       \
  }                                                                                                \
  INLINE F from_##F(u64 bits) {                                                                    \
    U b = (U)bits;                                                                                 \
    F x;                                                                                           \
    b = (U)(b << 1) > (U)((U)INF << 1) ? (U)NAN_BITS : b;                                          \
    __builtin_memcpy(&x, &b, sizeof x);                                                            \
    return x;                                                                                      \
  }
BITS(f16, u16, 0x7c00, 0x7e00)
BITS(bf16, u16, 0x7f80, 0x7fc0)
BITS(f32, u32, 0x7f800000, 0x7fc00000)
BITS(f64, u64, 0x7ff0000000000000, 0x7ff8000000000000)

/* To integers: what does not fit is 85. The limits are those of the type, one further out. */
#define TO_INTEGER(F, T, LOW, HIGH)                                                                \
  INLINE T F##_to_##T(F x) { return (f64)x > LOW && (f64)x < HIGH ? (T)x : (T)85; }
#define TO_INTEGERS(F)                                                                             \
  TO_INTEGER(F, u8, -1.0, 256.0)                                                                   \
  TO_INTEGER(F, i8, -129.0, 128.0)                                                                 \
  TO_INTEGER(F, u16, -1.0, 65536.0)                                                                \
  TO_INTEGER(F, i16, -32769.0, 32768.0)                                                            \
  TO_INTEGER(F, u32, -1.0, 4294967296.0)                                                           \
  TO_INTEGER(F, i32, -2147483649.0, 2147483648.0)                                                  \
  TO_INTEGER(F, u64, -1.0, 18446744073709551616.0)                                                 \
  TO_INTEGER(F, i64, -9223372036854777856.0, 9223372036854775808.0)
TO_INTEGERS(f16) TO_INTEGERS(bf16) TO_INTEGERS(f32) TO_INTEGERS(f64)

/* Division: by 0 and, of the smallest number, by -1 something else. */
#define DIVIDE(T)                                                                                  \
  INLINE T divide_##T(T a, T b) { return a / (b == 0 || b == (T) - 1 ? (T)7 : b); }                \
  INLINE T rest_##T(T a, T b) { return a % (b == 0 || b == (T) - 1 ? (T)7 : b); }
DIVIDE(u8) DIVIDE(i8) DIVIDE(u16) DIVIDE(i16) DIVIDE(u32) DIVIDE(i32) DIVIDE(u64) DIVIDE(i64)
    // clang-format on

    INLINE u32 leading32(u32 x) {
  return x ? (u32)__builtin_clz(x) : 32;
}
INLINE u32 trailing32(u32 x) { return x ? (u32)__builtin_ctz(x) : 32; }
INLINE u32 leading64(u64 x) { return x ? (u32)__builtin_clzl(x) : 64; }
INLINE u32 trailing64(u64 x) { return x ? (u32)__builtin_ctzl(x) : 64; }
INLINE u32 high_u32(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }
INLINE i32 high_i32(i32 a, i32 b) { return (i32)((i64)a * b >> 32); }
INLINE u64 high_u64(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }
INLINE i64 high_i64(i64 a, i64 b) { return (i64)((__int128)a * b >> 64); }

/* fmin and fmax leave the sign of a zero open; the sum has +0. */
INLINE f32 plain_f32(f32 x) { return x + 0.0f; }
INLINE f64 plain_f64(f64 x) { return x + 0.0; }
INLINE int finite_f32(f32 x) { return (bits_f32(x) >> 23 & 255) != 255; }
INLINE int finite_f64(f64 x) { return (bits_f64(x) >> 52 & 2047) != 2047; }
INLINE f32 fraction_f32(f32 x) {
  int e;
  return finite_f32(x) ? __builtin_frexpf(x, &e) : 1.0f;
}
INLINE f64 fraction_f64(f64 x) {
  int e;
  return finite_f64(x) ? __builtin_frexp(x, &e) : 1.0;
}
INLINE i32 exponent_f32(f32 x) {
  int e;
  __builtin_frexpf(x, &e);
  return finite_f32(x) ? e : 0;
}
INLINE i32 exponent_f64(f64 x) {
  int e;
  __builtin_frexp(x, &e);
  return finite_f64(x) ? e : 0;
}

#ifdef DEVICE
#define SPACE(n) __attribute__((address_space(n)))
#define LDS static SPACE(3) __attribute__((loader_uninitialized))
#define SYNC                                                                                       \
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");                                           \
  __builtin_amdgcn_s_barrier();                                                                    \
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
#define UPDATE(op, p, x) __scoped_atomic_fetch_##op(p, x, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE)

/* Opaque, so that LLVM 22 keeps both roundings and the sign of a zero where it would make one
 * v_fma_mixlo of it. */
INLINE f16 narrow(f32 x) {
  __asm__("" : "+v"(x));
  return (f16)x;
}

#define FIRST(x, y) __builtin_amdgcn_readfirstlane(x)
#define BALLOT(x, y) fold(__builtin_amdgcn_ballot_w64((i32)(x) > 0))
#define COUNT(x, y) count(__builtin_amdgcn_ballot_w64((i32)(x) > 0))
#define PERMUTE(x, y) __builtin_amdgcn_ds_bpermute(y, x)
#define SWIZZLE(x, y, pattern) __builtin_amdgcn_ds_swizzle(x, pattern)
#define DPP(x, y, control, rows, banks, zero)                                                      \
  __builtin_amdgcn_update_dpp(y, x, control, rows, banks, zero)
#define SWAP(x, y, size)                                                                           \
  sum(__builtin_bit_cast(u32x2, __builtin_amdgcn_permlane##size##_swap(x, y, 0, 0)))
INLINE u32 fold(u64 m) { return (u32)(m ^ m >> 31); }
INLINE u32 count(u64 m) {
  return __builtin_amdgcn_mbcnt_hi((u32)(m >> 32), __builtin_amdgcn_mbcnt_lo((u32)m, 7));
}
INLINE u32 sum(u32x2 p) { return p[0] * 3 + p[1]; }
#else
INLINE f16 narrow(f32 x) { return (f16)x; }
#define add(p, x) *(p) += (x)
#define or(p, x) *(p) |= (x)
#define xor(p, x) *(p) ^= (x)
#define max(p, x) *(p) = *(p) > (x) ? *(p) : (x)
#define min(p, x) *(p) = *(p) < (x) ? *(p) : (x)
#define UPDATE(op, p, x) op(p, x)

typedef struct {
  u32 x[1024], y[1024];
  u8 on[1024];
  u32 threads;
} Lanes;
INLINE int active(const Lanes *l, u32 t) { return t < l->threads && l->on[t]; }
static u32 first(const Lanes *l, u32 t) {
  for (u32 k = t & ~63u;; ++k)
    if (active(l, k))
      return k;
}
static u64 ballot(const Lanes *l, u32 t) {
  u64 m = 0;
  for (u32 k = 0; k < 64; ++k)
    if (active(l, (t & ~63u) + k) && (i32)l->x[(t & ~63u) + k] > 0)
      m |= 1ul << k;
  return m;
}
INLINE u32 fold(u64 m) { return (u32)(m ^ m >> 31); }
INLINE u32 count(u64 m, u32 t) { return 7 + (u32)__builtin_popcountl(m & ((1ul << t % 64) - 1)); }
INLINE u32 laneOr0(const Lanes *l, u32 k) { return active(l, k) ? l->x[k] : 0; }
static u32 swizzle(const Lanes *l, u32 t, u32 p) {
  u32 quad = (t & ~3u) + (p >> 2 * (t & 3) & 3),
      bits = (t & ~31u) + (((t & 31 & p) | (p >> 5 & 31)) ^ (p >> 10 & 31));
  return laneOr0(l, p & 0x8000 ? quad : bits);
}
/* The lane that DPP reads, -1: none. */
static int dppLane(int control, int lane) {
  int row = lane & ~15, n = control & 15, i = lane & 15;
  if (control < 0x100)
    return (lane & ~3) + (control >> 2 * (lane & 3) & 3);
  switch (control) {
  case 0x130:
    return lane < 63 ? lane + 1 : -1; /* wave_shl, rol, shr, ror */
  case 0x134:
    return (lane + 1) & 63;
  case 0x138:
    return lane - 1;
  case 0x13c:
    return (lane - 1) & 63;
  case 0x140:
    return row + 15 - i; /* row_mirror, half_mirror */
  case 0x141:
    return lane ^ 7;
  case 0x142:
    return row - 1; /* row_bcast */
  case 0x143:
    return lane >= 32 ? 31 : -1;
  }
  switch (control >> 4) {
  case 0x10:
    return i + n < 16 ? lane + n : -1; /* row_shl, shr, ror, newbcast */
  case 0x11:
    return i >= n ? lane - n : -1;
  case 0x12:
    return row + ((i - n) & 15);
  default:
    return row + n;
  }
}
static u32 dpp(const Lanes *l, u32 t, int control, u32 rows, u32 banks, int zero) {
  u32 lane = t % 64;
  int from = dppLane(control, (int)lane);
  if (!(rows >> lane / 16 & 1) || !(banks >> lane % 16 / 4 & 1))
    return l->y[t];
  return from >= 0 && active(l, (t & ~63u) + (u32)from) ? l->x[(t & ~63u) + (u32)from]
         : zero                                         ? 0
                                                        : l->y[t];
}
static u32 swap(const Lanes *l, u32 t, u32 size) {
  int upper = (t & size) != 0;
  return (upper ? l->y[t - size] : l->x[t]) * 3 + (upper ? l->y[t] : l->x[t + size]);
}
#define FIRST(a, b) lanes.x[first(&lanes, t)]
#define BALLOT(a, b) fold(ballot(&lanes, t))
#define COUNT(a, b) count(ballot(&lanes, t), t)
#define PERMUTE(a, b) laneOr0(&lanes, (t & ~63u) + (lanes.y[t] >> 2 & 63))
#define SWIZZLE(a, b, pattern) swizzle(&lanes, t, pattern)
#define DPP(a, b, ...) dpp(&lanes, t, __VA_ARGS__)
#define SWAP(a, b, size) swap(&lanes, t, size)

/* libgcc of Debian 12 has no conversions to bf16. */
__bf16 __truncsfbf2(float x) {
  u32 b = bits_f32(x);
  u16 h = (u16)((b + 0x7fff + (b >> 16 & 1)) >> 16);
  __bf16 r;
  __builtin_memcpy(&r, &h, 2);
  return r;
}
__bf16 __truncdfbf2(double x) { /* through f32, rounded to odd */
  float f = (float)x;
  u32 b = bits_f32(f);
  if (finite_f32(f) && (double)f != x && !(b & 1))
    b = __builtin_fabs(x) > (double)__builtin_fabsf(f) ? b + 1 : b - 1;
  return __truncsfbf2(from_f32(b));
}
#endif
