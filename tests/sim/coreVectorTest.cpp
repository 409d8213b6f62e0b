// Vector instructions on edge values, lane by lane, against plain C++; modifiers, SDWA, DPP, masks
// and indexed registers.
#include "tests/sim/coreHarness.h"
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

using namespace simtest;

namespace {

using U = uint32_t;
using I = int32_t;
using Q = uint64_t;
using F = float;

F f(U x) { return std::bit_cast<F>(x); }
U u(F x) { return std::bit_cast<U>(x); }

/// An instruction on v[2:3] (a), v[4:5] (b), v[6:7] (c), which are registers 32 bits wide or pairs,
/// that writes v[10:11] (before: d). What it must write in a lane, `wide` or in v10 only. NaN
/// results match any NaN.
struct Case {
  std::string text;
  bool wide;
  bool nanEqual;
  std::function<Q(Q a, Q b, Q c, Q d)> expected;
};

const U kValues[] = {
    0,          1,          2,          31,         33,         0x7fffffff, 0x80000000, 0xffffffff,
    0x3f800000, 0xbf800000, 0x3f000000, 0x40490fdb, 0x7f800000, 0xff800000, 0x7fc00000, 0x00000fff,
    0x80400000, 0x00800000, 0x7f7fffff, 0x4f000000, 0xcf000001, 0x12345678, 0x89abcdef, 0x0000ffff,
    0x3c003800, 0xfbff7bff, 0x41200000, 0xc2c80000, 0x3eaaaaab, 0x00010001, 0x437f8000, 0x4b7fffff};
constexpr size_t kCount = std::size(kValues);
constexpr Q kOld = 0x1122334455667788;

Q integer(U x) { return x; }
U perm(Q both, U sel) {
  return sel >= 13   ? 0xff
         : sel == 12 ? 0
         : sel >= 8  ? (both >> (16 * (sel - 8) + 15) & 1 ? 0xff : 0)
                     : U(both >> (8 * sel)) & 0xff;
}
I bfe(I x, U offset, U width) {
  offset &= 31, width &= 31;
  if (!width)
    return 0;
  U field = U(x) >> offset & ((1u << width) - 1);
  if (offset + width >= 32)
    return x >> offset;
  return I(field << (32 - width)) >> (32 - width);
}
F maxOf(F a, F b) {
  return std::isnan(a)   ? b
         : std::isnan(b) ? a
         : a == b        ? (std::signbit(a) ? b : a)
                         : std::max(a, b);
}
F minOf(F a, F b) {
  return std::isnan(a)   ? b
         : std::isnan(b) ? a
         : a == b        ? (std::signbit(a) ? a : b)
                         : std::min(a, b);
}
U toU32(F x) { return std::isnan(x) || x <= 0 ? 0 : x >= 4294967296.0f ? ~0u : U(x); }
U toI32(F x) {
  return std::isnan(x)         ? 0
         : x >= 2147483648.0f  ? 0x7fffffff
         : x <= -2147483648.0f ? 0x80000000
                               : U(I(x));
}

// clang-format off
const Case kCases[] = {
    {"v_add_u32_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(a) + U(b)); }},
    {"v_add_u32_e64 v10, v2, v4 clamp", false, false, [](Q a, Q b, Q, Q) { return std::min<Q>(Q(U(a)) + U(b), 0xffffffff); }},
    {"v_sub_u32_e64 v10, v2, v4 clamp", false, false, [](Q a, Q b, Q, Q) { return integer(U(a) < U(b) ? 0 : U(a) - U(b)); }},
    {"v_subrev_u32_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(b) - U(a)); }},
    {"v_add_i32 v10, v2, v4 clamp", false, false, [](Q a, Q b, Q, Q) { return integer(U(std::clamp<int64_t>(int64_t(I(a)) + I(b), INT32_MIN, INT32_MAX))); }},
    {"v_mul_lo_u32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(a) * U(b)); }},
    {"v_mul_hi_u32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return Q(U(a)) * U(b) >> 32; }},
    {"v_mul_hi_i32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(int64_t(I(a)) * I(b) >> 32)); }},
    {"v_mul_i32_i24_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(I(U(a) << 8) >> 8) * U(I(U(b) << 8) >> 8)); }},
    {"v_mul_u32_u24_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer((U(a) & 0xffffff) * (U(b) & 0xffffff)); }},
    {"v_mad_u32_u24 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer((U(a) & 0xffffff) * (U(b) & 0xffffff) + U(c)); }},
    {"v_lshlrev_b32_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(b) << (a & 31)); }},
    {"v_ashrrev_i32_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(I(b) >> (a & 31))); }},
    {"v_lshrrev_b64 v[10:11], v2, v[4:5]", true, false, [](Q a, Q b, Q, Q) { return b >> (a & 63); }},
    {"v_lshlrev_b64 v[10:11], v2, v[4:5]", true, false, [](Q a, Q b, Q, Q) { return b << (a & 63); }},
    {"v_ashrrev_i64 v[10:11], v2, v[4:5]", true, false, [](Q a, Q b, Q, Q) { return Q(int64_t(b) >> (a & 63)); }},
    {"v_lshl_add_u64 v[10:11], v[2:3], 3, v[4:5]", true, false, [](Q a, Q b, Q, Q) { return (a << 3) + b; }},
    {"v_mad_u64_u32 v[10:11], vcc, v2, v4, v[6:7]", true, false, [](Q a, Q b, Q c, Q) { return Q(U(a)) * U(b) + c; }},
    {"v_mad_i64_i32 v[10:11], vcc, v2, v4, v[6:7]", true, false, [](Q a, Q b, Q c, Q) { return Q(int64_t(I(a)) * I(b)) + c; }},
    {"v_bfe_u32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer((U(a) >> (b & 31)) & ((1u << (c & 31)) - 1)); }},
    {"v_bfe_i32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U(bfe(I(a), U(b), U(c)))); }},
    {"v_bfi_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U((a & b) | (~a & c))); }},
    {"v_bfm_b32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(((1u << (a & 31)) - 1) << (b & 31)); }},
    {"v_alignbit_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U((Q(U(a)) << 32 | U(b)) >> (c & 31))); }},
    {"v_alignbyte_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U((Q(U(a)) << 32 | U(b)) >> (8 * (c & 3)))); }},
    {"v_perm_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { Q both = Q(U(a)) << 32 | U(b); U r = 0; for (int k = 0; k < 4; ++k) r |= perm(both, U(c) >> (8 * k) & 0xff) << (8 * k); return integer(r); }},
    {"v_bitop3_b32 v10, v2, v4, v6 bitop3:0xca", false, false, [](Q a, Q b, Q c, Q) { return integer(U((a & b) | (~a & c))); }},
    {"v_and_or_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U((a & b) | c)); }},
    {"v_or3_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U(a | b | c)); }},
    {"v_add3_u32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U(a + b + c)); }},
    {"v_lshl_add_u32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer((U(a) << (b & 31)) + U(c)); }},
    {"v_add_lshl_u32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U(a + b) << (c & 31)); }},
    {"v_lshl_or_b32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer((U(a) << (b & 31)) | U(c)); }},
    {"v_xad_u32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(U((a ^ b) + c)); }},
    {"v_med3_i32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { I x[] = {I(a), I(b), I(c)}; std::sort(x, x + 3); return integer(U(x[1])); }},
    {"v_min3_u32 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { return integer(std::min({U(a), U(b), U(c)})); }},
    {"v_bcnt_u32_b32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer(U(std::popcount(U(a))) + U(b)); }},
    {"v_ffbh_i32_e32 v10, v2", false, false, [](Q a, Q, Q, Q) { U x = I(a) < 0 ? ~U(a) : U(a); return integer(x ? U(std::countl_zero(x)) : ~0u); }},
    {"v_ffbl_b32_e32 v10, v2", false, false, [](Q a, Q, Q, Q) { return integer(U(a) ? U(std::countr_zero(U(a))) : ~0u); }},
    {"v_sad_u8 v10, v2, v4, v6", false, false, [](Q a, Q b, Q c, Q) { U s = U(c); for (int k = 0; k < 32; k += 8) s += U(std::abs(I(a >> k & 255) - I(b >> k & 255))); return integer(s); }},
    {"v_add_u16_e32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return (a + b) & 0xffff; }},
    {"v_mad_u16 v10, v2, v4, v6 op_sel:[1,0,0,1]", false, false, [](Q a, Q b, Q c, Q d) { return (d & 0xffff) | integer(((U(a) >> 16) * U(b) + U(c)) << 16); }},
    {"v_pk_add_u16 v10, v2, v4 op_sel:[1,0] op_sel_hi:[0,1] clamp", false, false, [](Q a, Q b, Q, Q) { U lo = std::min<U>((U(a) >> 16) + U(b & 0xffff), 0xffff), hi = std::min<U>(U(a & 0xffff) + (U(b) >> 16), 0xffff); return integer(lo | hi << 16); }},
    {"v_cvt_pk_i16_i32 v10, v2, v4", false, false, [](Q a, Q b, Q, Q) { return integer((U(std::clamp(I(a), -32768, 32767)) & 0xffff) | U(std::clamp(I(b), -32768, 32767)) << 16); }},
    {"v_mov_b32_sdwa v10, v2 dst_sel:BYTE_2 dst_unused:UNUSED_PRESERVE src0_sel:BYTE_1", false, false, [](Q a, Q, Q, Q d) { return integer((U(d) & 0xff00ffff) | (U(a) & 0xff00) << 8); }},
    {"v_add_u32_sdwa v10, sext(v2), v4 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:BYTE_3", false, false, [](Q a, Q b, Q, Q) { return integer((U(I(a) >> 16) + (U(b) >> 24)) << 16); }},
    {"v_add_f32_e32 v10, v2, v4", false, true, [](Q a, Q b, Q, Q) { return integer(u(f(U(a)) + f(U(b)))); }},
    {"v_sub_f32_e64 v10, |v2|, -v4", false, true, [](Q a, Q b, Q, Q) { return integer(u(std::fabs(f(U(a))) + f(U(b)))); }},
    // MODE.ieee, with which these kernels start, makes nothing of omod.
    {"v_mul_f32_e64 v10, v2, v4 mul:2", false, true, [](Q a, Q b, Q, Q) { return integer(u(f(U(a)) * f(U(b)))); }},
    {"v_add_f32_e64 v10, v2, v4 clamp", false, true, [](Q a, Q b, Q, Q) { F x = f(U(a)) + f(U(b)); return integer(u(std::isnan(x) ? 0 : x > 1 ? 1 : x > 0 ? x : 0)); }},
    {"v_fma_f32 v10, v2, -v4, |v6|", false, true, [](Q a, Q b, Q c, Q) { return integer(u(std::fma(f(U(a)), -f(U(b)), std::fabs(f(U(c)))))); }},
    {"v_fmac_f32_e32 v10, v2, v4", false, true, [](Q a, Q b, Q, Q d) { return integer(u(std::fma(f(U(a)), f(U(b)), f(U(d))))); }},
    {"v_fmaak_f32 v10, v2, v4, 0x40490fdb", false, true, [](Q a, Q b, Q, Q) { return integer(u(std::fma(f(U(a)), f(U(b)), f(0x40490fdb)))); }},
    {"v_fmamk_f32 v10, v2, 0x40490fdb, v4", false, true, [](Q a, Q b, Q, Q) { return integer(u(std::fma(f(U(a)), f(0x40490fdb), f(U(b))))); }},
    {"v_max_f32_e32 v10, v2, v4", false, true, [](Q a, Q b, Q, Q) { return integer(u(maxOf(f(U(a)), f(U(b))))); }},
    {"v_min3_f32 v10, v2, v4, v6", false, true, [](Q a, Q b, Q c, Q) { return integer(u(minOf(minOf(f(U(a)), f(U(b))), f(U(c))))); }},
    {"v_maximum3_f32 v10, v2, v4, v6", false, true, [](Q a, Q b, Q c, Q) { F x = f(U(a)), y = f(U(b)), z = f(U(c)); return integer(std::isnan(x) || std::isnan(y) || std::isnan(z) ? 0x7fc00000 : u(maxOf(maxOf(x, y), z))); }},
    {"v_mul_legacy_f32 v10, v2, v4", false, true, [](Q a, Q b, Q, Q) { F x = f(U(a)), y = f(U(b)); return integer(x == 0 || y == 0 ? 0 : u(x * y)); }},
    {"v_floor_f32_e32 v10, v2", false, true, [](Q a, Q, Q, Q) { return integer(u(std::floor(f(U(a))))); }},
    {"v_rndne_f32_e32 v10, v2", false, true, [](Q a, Q, Q, Q) { return integer(u(std::nearbyint(f(U(a))))); }},
    {"v_cvt_u32_f32_e32 v10, v2", false, false, [](Q a, Q, Q, Q) { return integer(toU32(f(U(a)))); }},
    {"v_cvt_i32_f32_e64 v10, -v2", false, false, [](Q a, Q, Q, Q) { return integer(toI32(-f(U(a)))); }},
    {"v_cvt_f32_i32_e32 v10, v2", false, false, [](Q a, Q, Q, Q) { return integer(u(F(I(a)))); }},
    {"v_cvt_f32_ubyte2_e32 v10, v2", false, false, [](Q a, Q, Q, Q) { return integer(u(F(a >> 16 & 255))); }},
    {"v_cvt_f64_f32_e32 v[10:11], v2", true, false, [](Q a, Q, Q, Q) { return std::bit_cast<Q>(double(f(U(a)))); }},
    {"v_ldexp_f32 v10, v2, v4", false, true, [](Q a, Q b, Q, Q) { return integer(u(F(std::ldexp(double(f(U(a))), std::clamp(I(b), -1000, 1000))))); }},
    {"v_pk_mul_f32 v[10:11], v[2:3], v[4:5] op_sel:[0,1] op_sel_hi:[0,0] neg_hi:[1,0]", true, true, [](Q a, Q b, Q, Q) { return u(f(U(a)) * f(U(b >> 32))) | Q(u(-f(U(a)) * f(U(b)))) << 32; }},
    {"v_pk_fma_f32 v[10:11], v[2:3], v[4:5], v[6:7] op_sel_hi:[1,1,1]", true, true, [](Q a, Q b, Q c, Q) { return u(std::fma(f(U(a)), f(U(b)), f(U(c)))) | Q(u(std::fma(f(U(a >> 32)), f(U(b >> 32)), f(U(c >> 32))))) << 32; }},
    {"v_pk_mov_b32 v[10:11], v[2:3], v[4:5] op_sel:[1,0]", true, false, [](Q a, Q b, Q, Q) { return Q(U(a >> 32)) | Q(U(b)) << 32; }},
    {"v_cndmask_b32_e64 v10, v2, -v4, s[14:15]", false, false, [](Q, Q b, Q, Q) { return integer(U(b) ^ 0x80000000); }},
    {"v_mov_b32_e32 v10, 0.15915494", false, false, [](Q, Q, Q, Q) { return integer(0x3e22f983); }},
    {"v_mov_b64_e32 v[10:11], v[2:3]", true, false, [](Q a, Q, Q, Q) { return a; }},
    {"v_accvgpr_write_b32 a10, v2\n  s_nop 1\n  v_accvgpr_read_b32 v10, a10", false, false, [](Q a, Q, Q, Q) { return integer(U(a)); }},
};
// clang-format on

/// Inputs are three arrays of 64-bit values, one per thread; outputs {v10, v11} per case and
/// thread.
std::string program() {
  std::string text =

      "  s_load_dwordx8 s[16:23], s[0:1], 0x0\n  s_lshl_b32 s3, s2, 6\n"
      "  v_add_u32_e32 v20, s3, v0\n  v_lshlrev_b32_e32 v20, 3, v20\n"
      "  s_waitcnt lgkmcnt(0)\n  global_load_dwordx2 v[2:3], v20, s[16:17]\n"
      "  global_load_dwordx2 v[4:5], v20, s[18:19]\n  global_load_dwordx2 v[6:7], v20, s[20:21]\n"
      "  s_mov_b64 s[14:15], -1\n  s_waitcnt vmcnt(0)\n";
  text += "  v_mul_u32_u24_e32 v20, " + std::to_string(std::size(kCases)) + ", v20\n";
  for (const Case &c : kCases)
    text += "  v_mov_b32_e32 v10, 0x55667788\n  v_mov_b32_e32 v11, 0x11223344\n  " + c.text +
            "\n  s_nop 1\n  global_store_dwordx2 v20, v[10:11], s[22:23]\n  v_add_u32_e32 v20, 8, "
            "v20\n";
  return text;
}

bool isNan32(U x) { return (x & 0x7fffffff) > 0x7f800000; }
bool matches(U got, U want, bool nanEqual) {
  return got == want || (nanEqual && isNan32(got) && isNan32(want));
}

} // namespace

TEST_CASE("vector instructions on edge values") {
  std::vector<Q> a, b, c;
  for (U shift = 0; shift < kCount; ++shift)
    for (U n = 0; n < kCount; ++n) {
      a.push_back(kValues[n] | Q(kValues[(n + 7) % kCount]) << 32);
      b.push_back(kValues[(n + shift) % kCount] | Q(kValues[(n + 3 * shift + 5) % kCount]) << 32);
      c.push_back(kValues[(5 * n + 3 * shift + 1) % kCount] | Q(kValues[(n * 3 + shift) % kCount])
                                                                  << 32);
    }
  size_t items = a.size();
  Fixture fixture(assemble(kernelText(program(), ".amdhsa_float_denorm_mode_32 3")));
  uint64_t pa = fixture.upload(a), pb = fixture.upload(b), pc = fixture.upload(c),
           po = fixture.upload(std::vector<Q>(items * std::size(kCases)));
  REQUIRE(fixture.launch("k", U(items / 64), 64, Args().add(pa).add(pb).add(pc).add(po)) == "");
  std::vector<Q> out = fixture.download<Q>(po, items * std::size(kCases));
  for (size_t n = 0; n < std::size(kCases); ++n)
    for (size_t t = 0; t < items; ++t) {
      Q got = out[t * std::size(kCases) + n], want = kCases[n].expected(a[t], b[t], c[t], kOld);
      if (!kCases[n].wide)
        want = U(want) | (kOld >> 32 << 32);
      INFO(kCases[n].text << std::hex << " a=" << a[t] << " b=" << b[t] << " c=" << c[t] << " gave "
                          << got);
      REQUIRE(matches(U(got), U(want), kCases[n].nanEqual));
      REQUIRE(matches(U(got >> 32), U(want >> 32), kCases[n].nanEqual && kCases[n].wide));
    }
}

namespace {
/// Runs `body` on one wave: v1 = lane * 4, v2 = in[lane], s[6:7] the output; the body leaves its
/// result in v10.
std::vector<U> oneWave(const std::string &body, const std::vector<U> &in,
                       const std::string &extra = "") {
  Fixture fixture(
      assemble(kernelText("  s_load_dwordx4 s[4:7], s[0:1], 0x0\n  v_lshlrev_b32_e32 v1, 2, v0\n"
                          "  s_waitcnt lgkmcnt(0)\n  global_load_dword v2, v1, s[4:5]\n"
                          "  s_waitcnt vmcnt(0)\n" +
                              body + "\n  s_nop 4\n  global_store_dword v1, v10, s[6:7]\n",
                          extra)));
  uint64_t pi = fixture.upload(in), po = fixture.upload(std::vector<U>(64));
  REQUIRE(fixture.launch("k", 1, 64, Args().add(pi).add(po)) == "");
  return fixture.download<U>(po, 64);
}
std::vector<U> counting() {
  std::vector<U> v(64);
  for (U l = 0; l < 64; ++l)
    v[l] = 1000 + l;
  return v;
}
} // namespace

TEST_CASE("f32 denormals are flushed or kept as the descriptor and s_setreg say") {
  std::vector<U> in(64, 0x00400000); // a denormal
  const std::string add = "  v_add_f32_e32 v10, v2, v2", max = "  v_max_f32_e32 v10, v2, v2";
  const std::string flush = ".amdhsa_float_denorm_mode_32 0",
                    keep = ".amdhsa_float_denorm_mode_32 3";
  CHECK(oneWave(add, in, keep)[5] == 0x00800000);
  CHECK(oneWave(add, in, flush)[5] == 0);
  CHECK(oneWave(max, in, keep)[5] == 0x00400000);
  CHECK(oneWave(max, in, flush)[5] == 0);
  CHECK(oneWave("  v_mov_b32_e32 v10, v2", in, flush)[5] == 0x00400000); // a move is no arithmetic
  CHECK(oneWave("  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\n" + add, in, keep)[5] == 0);
  CHECK(oneWave("  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 3\n" + add, in, flush)[5] ==
        0x00800000);
  // Rounding toward plus infinity.
  std::vector<U> one(64, 0x3f800000);
  CHECK(oneWave("  v_add_f32_e32 v10, 0x30000000, v2", one, ".amdhsa_float_round_mode_32 1")[0] ==
        0x3f800001);
  CHECK(oneWave("  v_add_f32_e32 v10, 0x30000000, v2", one)[0] == 0x3f800000);
}

TEST_CASE("comparisons write the bits of active lanes, v_cmpx writes EXEC as well") {
  std::vector<U> in(64);
  for (U l = 0; l < 64; ++l)
    in[l] = l % 4 == 3 ? 0x7fc00000 : u(F(l));
  auto mask = [&](const std::string &compare) {
    std::vector<U> out =
        oneWave("  s_mov_b32 exec_hi, 0\n" + compare +
                    "\n  s_mov_b64 exec, -1\n  v_mov_b32_e32 v10, s20\n  v_mov_b32_e32 v11, s21\n"
                    "  v_cmp_eq_u32_e32 vcc, 0, v0\n  v_cndmask_b32_e32 v10, v11, v10, vcc",
                in);
    return out[0] | Q(out[1]) << 32;
  };
  U valid = 0x77777777; // lanes that are not NaN
  CHECK(mask("  v_cmp_lt_f32_e64 s[20:21], v2, 4.0") == 0x7);
  CHECK(mask("  v_cmp_nlt_f32_e64 s[20:21], v2, 4.0") == (~0x7u));
  CHECK(mask("  v_cmp_u_f32_e64 s[20:21], v2, v2") == U(~valid));
  CHECK(mask("  v_cmp_o_f32_e64 s[20:21], v2, 1.0") == valid);
  CHECK(mask("  v_cmp_neq_f32_e64 s[20:21], v2, v2") == U(~valid));
  CHECK(mask("  v_cmp_lg_f32_e64 s[20:21], v2, 0") == (valid & ~1u));
  CHECK(mask("  v_cmp_class_f32_e64 s[20:21], v2, 3") == U(~valid));
  CHECK(mask("  v_cmp_class_f32_e64 s[20:21], v2, 64") == 1);
  CHECK(mask("  v_cmp_gt_i32_e64 s[20:21], v0, 29") == 0xc0000000);
  CHECK(mask("  v_cmp_t_u32_e64 s[20:21], v0, v0") == 0xffffffff);
  CHECK(mask("  v_cmpx_lt_u32_e64 s[20:21], v0, 5\n  s_mov_b64 s[20:21], exec") == 0x1f);
  CHECK(mask("  v_cmp_eq_u32_sdwa s[20:21], v0, v0 src0_sel:BYTE_0 src1_sel:BYTE_1") == 1);
}

TEST_CASE("DPP: invalid sources keep the old value or give 0, masks protect lanes") {
  std::vector<U> in = counting(), out;
  const std::string old = "  v_mov_b32_e32 v10, 7\n";
  out =
      oneWave(old + "  s_nop 1\n  v_mov_b32_dpp v10, v2 row_shr:3 row_mask:0xf bank_mask:0xf", in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l % 16 < 3 ? 7 : in[l - 3]));
  out = oneWave(
      old + "  s_nop 1\n  v_mov_b32_dpp v10, v2 row_shl:5 row_mask:0xf bank_mask:0xf bound_ctrl:0",
      in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l % 16 >= 11 ? 0 : in[l + 5]));
  out = oneWave(
      old + "  s_nop 1\n  v_add_u32_dpp v10, v2, v0 quad_perm:[3,2,1,0] row_mask:0x5 bank_mask:0x3",
      in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l / 16 % 2 == 0 && l % 16 < 8 ? in[l ^ 3] + l : 7));
  out = oneWave(
      old + "  s_nop 1\n  v_mov_b32_dpp v10, v2 row_newbcast:9 row_mask:0xf bank_mask:0xf", in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == in[l / 16 * 16 + 9]);
  // An inactive source lane is invalid.
  out = oneWave(
      old + "  s_mov_b32 exec_lo, 0xfffffffe\n  s_nop 4\n"
            "  v_mov_b32_dpp v10, v2 row_ror:1 row_mask:0xf bank_mask:0xf\n  s_mov_b64 exec, -1",
      in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l < 2 ? 7 : in[l % 16 ? l - 1 : l + 15]));
}

TEST_CASE("lane instructions ignore or honour EXEC as they should") {
  std::vector<U> in = counting();
  const std::string odd =
      "  s_mov_b32 s8, 0xaaaaaaa0\n  s_mov_b32 s9, 0\n  s_mov_b64 exec, s[8:9]\n";
  const std::string back = "\n  s_mov_b64 exec, -1\n  v_mov_b32_e32 v10, s10";
  CHECK(oneWave(odd + "  v_readfirstlane_b32 s10, v2" + back, in)[0] == 1005);
  CHECK(oneWave("  s_mov_b64 exec, 0\n  v_readfirstlane_b32 s10, v2" + back, in)[0] == 1000);
  CHECK(oneWave(odd + "  v_readlane_b32 s10, v2, 40" + back, in)[0] == 1040);
  std::vector<U> out =
      oneWave("  v_mov_b32_e32 v10, v2\n  s_mov_b64 exec, 0\n  v_writelane_b32 v10, 9, 33\n"
              "  s_mov_b64 exec, -1",
              in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l == 33 ? 9 : in[l]));
  out =
      oneWave("  v_mov_b32_e32 v10, v0\n" + odd + "  v_swap_b32 v10, v2\n  s_mov_b64 exec, -1", in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (0xaaaaaaa0ull >> l & 1 ? in[l] : l));
  out = oneWave("  v_mbcnt_lo_u32_b32 v10, -1, 0\n  v_mbcnt_hi_u32_b32 v10, -1, v10", in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == l);
}

TEST_CASE("carries travel through lane masks") {
  std::vector<U> in(64);
  for (U l = 0; l < 64; ++l)
    in[l] = l % 3 ? 0xffffffff : l;
  std::vector<U> out = oneWave("  v_add_co_u32_e32 v11, vcc, 1, v2\n  v_mov_b32_e32 v12, 10\n"
                               "  v_addc_co_u32_e32 v10, vcc, 0, v12, vcc",
                               in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l % 3 ? 11 : 10));
  out = oneWave("  v_sub_co_u32_e64 v11, s[10:11], v0, 7\n  v_mov_b32_e32 v12, 10\n"
                "  v_subbrev_co_u32_e64 v10, s[12:13], 1, v12, s[10:11]",
                in);
  for (U l = 0; l < 64; ++l)
    REQUIRE(out[l] == (l < 7 ? 8 : 9));
}

TEST_CASE("s_set_gpr_idx adds M0 to the registers it enables") {
  std::vector<U> in = counting();
  const std::string fill =
      "  v_mov_b32_e32 v30, 300\n  v_mov_b32_e32 v33, 333\n  s_mov_b32 s8, 3\n";
  std::vector<U> out =
      oneWave(fill + "  s_set_gpr_idx_on s8, gpr_idx(SRC0)\n  v_mov_b32_e32 v10, v30\n"
                     "  s_set_gpr_idx_off\n",
              in);
  CHECK(out[20] == 333);
  out = oneWave(
      fill + "  s_set_gpr_idx_on s8, gpr_idx(DST)\n  v_mov_b32_e32 v7, v30\n  s_set_gpr_idx_off\n",
      in);
  CHECK(out[20] == 300);
}

TEST_CASE("fp8 conversions place their halves") {
  std::vector<U> in(64, u(1.5f));
  // 1.5 is 0x3c in e4m3, -2.0 is 0xc0.
  CHECK(oneWave("  v_mov_b32_e32 v10, 0x11223344\n  v_cvt_pk_fp8_f32 v10, v2, -2.0", in)[3] ==
        0x1122c03c);
  CHECK(oneWave("  v_mov_b32_e32 v10, 0x11223344\n  v_cvt_pk_fp8_f32 v10, v2, -2.0 op_sel:[0,0,1]",
                in)[3] == 0xc03c3344);
  CHECK(oneWave(
            "  v_mov_b32_e32 v3, 0xc03c3344\n  v_cvt_pk_f32_fp8_sdwa v[10:11], v3 src0_sel:WORD_1",
            in)[3] == u(1.5f));
  CHECK(oneWave("  v_mov_b32_e32 v3, 0xc03c3344\n  v_cvt_f32_fp8_sdwa v10, v3 src0_sel:BYTE_3",
                in)[3] == u(-2.0f));
  CHECK(oneWave("  v_cvt_pk_bf16_f32 v10, v2, 1.0", in)[3] == 0x3f803fc0);
  CHECK(oneWave("  v_cvt_pkrtz_f16_f32 v10, v2, 1.0", in)[3] == 0x3c003e00);
  // Scale 4: 1.5 / 4 = 0.375 is 0x2c, 1 / 4 = 0x28; back times 4.
  CHECK(oneWave("  v_mov_b32_e32 v3, 4.0\n  v_mov_b32_e32 v4, 1.0\n  v_mov_b32_e32 v10, 0\n"
                "  v_cvt_scalef32_pk_fp8_f32 v10, v2, v4, v3 op_sel:[0,0,0,1]",
                in)[3] == 0x282c0000);
  CHECK(oneWave("  v_mov_b32_e32 v3, 4.0\n  v_mov_b32_e32 v4, 0x282c0000\n"
                "  v_cvt_scalef32_pk_bf16_fp8 v10, v4, v3 op_sel:[1,0,0]",
                in)[3] == 0x3f803fc0);
  // fp4: 1.5 -> 3, 1.0 -> 2 in byte 2.
  CHECK(oneWave("  v_mov_b32_e32 v3, 1.0\n  v_mov_b32_e32 v10, 0\n"
                "  v_cvt_scalef32_pk_fp4_f32 v10, v2, v3, v3 op_sel:[0,0,0,1]",
                in)[3] == 0x00230000);
}
