// Scalar instructions on edge values: result and SCC of each, against plain C++.
#include "tests/sim/coreHarness.h"
#include <bit>
#include <catch2/catch.hpp>
#include <functional>

using namespace simtest;

namespace {

using U = uint32_t;
using I = int32_t;
using Q = uint64_t;

struct Outcome {
  Q value;
  int scc; ///< -1: keeps its old value
};

/// An instruction on s[10:11] (a) and s[12:13] (b) that writes s[20:21] (old value: d), SCC being
/// `sccIn` before.
struct Case {
  std::string text;
  bool wide; ///< 64-bit result
  std::function<Outcome(Q a, Q b, Q d, bool sccIn)> expected;
};

Outcome logic(Q x, bool wide) { return {wide ? x : U(x), (wide ? x : U(x)) != 0}; }
Outcome keep(Q x) { return {x, -1}; }

const Q kValues[] = {0,
                     1,
                     2,
                     31,
                     33,
                     63,
                     0x7fffffff,
                     0x80000000,
                     0xffffffff,
                     0x100000000,
                     0x80000000deadbeef,
                     0xfffffffffffffffe,
                     0x00100007,
                     0x0123456789abcdef,
                     0xffff8000,
                     0x00200010};

// clang-format off
const Case kCases[] = {
    {"s_add_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return Outcome{U(U(a) + U(b)), U(a) + Q(U(b)) > 0xffffffff}; }},
    {"s_addc_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool c) { return Outcome{U(U(a) + U(b) + c), U(a) + Q(U(b)) + c > 0xffffffff}; }},
    {"s_sub_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return Outcome{U(U(a) - U(b)), U(b) > U(a)}; }},
    {"s_subb_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool c) { return Outcome{U(U(a) - U(b) - c), Q(U(b)) + c > U(a)}; }},
    {"s_add_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { int64_t r = int64_t(I(a)) + I(b); return Outcome{U(r), r != I(r)}; }},
    {"s_sub_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { int64_t r = int64_t(I(a)) - I(b); return Outcome{U(r), r != I(r)}; }},
    {"s_lshl2_add_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { Q r = (Q(U(a)) << 2) + U(b); return Outcome{U(r), r > 0xffffffff}; }},
    {"s_min_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return Outcome{U(I(a) < I(b) ? a : b), I(a) < I(b)}; }},
    {"s_min_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return Outcome{U(U(a) < U(b) ? a : b), U(a) < U(b)}; }},
    {"s_max_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return Outcome{U(I(a) > I(b) ? a : b), I(a) >= I(b)}; }},
    {"s_max_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return Outcome{U(U(a) > U(b) ? a : b), U(a) >= U(b)}; }},
    {"s_cselect_b32 s20, s10, s12", false, [](Q a, Q b, Q, bool c) { return keep(U(c ? a : b)); }},
    {"s_cselect_b64 s[20:21], s[10:11], s[12:13]", true, [](Q a, Q b, Q, bool c) { return keep(c ? a : b); }},
    {"s_cmov_b32 s20, s10", false, [](Q a, Q, Q d, bool c) { return keep(U(c ? a : d)); }},
    {"s_and_b32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return logic(a & b, false); }},
    {"s_andn2_b64 s[20:21], s[10:11], s[12:13]", true, [](Q a, Q b, Q, bool) { return logic(a & ~b, true); }},
    {"s_orn2_b32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return logic(a | ~b, false); }},
    {"s_xnor_b64 s[20:21], s[10:11], s[12:13]", true, [](Q a, Q b, Q, bool) { return logic(~(a ^ b), true); }},
    {"s_nand_b32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return logic(~(a & b), false); }},
    {"s_nor_b64 s[20:21], s[10:11], s[12:13]", true, [](Q a, Q b, Q, bool) { return logic(~(a | b), true); }},
    {"s_not_b64 s[20:21], s[10:11]", true, [](Q a, Q, Q, bool) { return logic(~a, true); }},
    {"s_lshl_b32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return logic(U(a) << (b & 31), false); }},
    {"s_lshl_b64 s[20:21], s[10:11], s12", true, [](Q a, Q b, Q, bool) { return logic(a << (b & 63), true); }},
    {"s_lshr_b64 s[20:21], s[10:11], s12", true, [](Q a, Q b, Q, bool) { return logic(a >> (b & 63), true); }},
    {"s_ashr_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return logic(U(I(a) >> (b & 31)), false); }},
    {"s_ashr_i64 s[20:21], s[10:11], s12", true, [](Q a, Q b, Q, bool) { return logic(Q(int64_t(a) >> (b & 63)), true); }},
    {"s_mul_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep(U(a) * U(b)); }},
    {"s_mul_hi_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep(Q(U(a)) * U(b) >> 32); }},
    {"s_mul_hi_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep(U(int64_t(I(a)) * I(b) >> 32)); }},
    {"s_bfm_b32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep(U(((1u << (a & 31)) - 1) << (b & 31))); }},
    {"s_bfe_u32 s20, s10, s12", false, [](Q a, Q b, Q, bool) {
       U offset = b & 31, width = U(b >> 16 & 127);
       return logic(width >= 32 ? U(a) >> offset : (U(a) >> offset) & ((1u << width) - 1), false); }},
    {"s_bfe_i32 s20, s10, 0x80004", false, [](Q a, Q, Q, bool) { return logic(U(int8_t(U(a) >> 4)), false); }},
    {"s_bfe_i64 s[20:21], s[10:11], 0x300014", true, [](Q a, Q, Q, bool) { return logic(Q(int64_t(a) >> 20), true); }},
    {"s_abs_i32 s20, s10", false, [](Q a, Q, Q, bool) { return logic(I(a) < 0 ? 0u - U(a) : U(a), false); }},
    {"s_absdiff_i32 s20, s10, s12", false, [](Q a, Q b, Q, bool) { U d = U(a) - U(b); U r = I(d) < 0 ? 0 - d : d; return Outcome{r, r != 0}; }},
    {"s_bcnt1_i32_b64 s20, s[10:11]", false, [](Q a, Q, Q, bool) { return logic(Q(std::popcount(a)), false); }},
    {"s_bcnt0_i32_b32 s20, s10", false, [](Q a, Q, Q, bool) { return logic(Q(std::popcount(U(~a))), false); }},
    {"s_ff1_i32_b32 s20, s10", false, [](Q a, Q, Q, bool) { return keep(U(a) ? U(std::countr_zero(U(a))) : ~0u); }},
    {"s_ff1_i32_b64 s20, s[10:11]", false, [](Q a, Q, Q, bool) { return keep(a ? U(std::countr_zero(a)) : ~0u); }},
    {"s_flbit_i32_b32 s20, s10", false, [](Q a, Q, Q, bool) { return keep(U(a) ? U(std::countl_zero(U(a))) : ~0u); }},
    {"s_flbit_i32 s20, s10", false, [](Q a, Q, Q, bool) { U x = I(a) < 0 ? ~U(a) : U(a); return keep(x ? U(std::countl_zero(x)) : ~0u); }},
    {"s_brev_b32 s20, s10", false, [](Q a, Q, Q, bool) { U r = 0; for (int k = 0; k < 32; ++k) r |= U(a >> k & 1) << (31 - k); return keep(r); }},
    {"s_sext_i32_i8 s20, s10", false, [](Q a, Q, Q, bool) { return keep(U(int8_t(a))); }},
    {"s_sext_i32_i16 s20, s10", false, [](Q a, Q, Q, bool) { return keep(U(int16_t(a))); }},
    {"s_pack_ll_b32_b16 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep((a & 0xffff) | U(b << 16)); }},
    {"s_pack_lh_b32_b16 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep((a & 0xffff) | (U(b) & 0xffff0000)); }},
    {"s_pack_hh_b32_b16 s20, s10, s12", false, [](Q a, Q b, Q, bool) { return keep((a >> 16 & 0xffff) | (b & 0xffff0000)); }},
    {"s_bitset1_b32 s20, s10", false, [](Q a, Q, Q d, bool) { return keep(U(d) | 1u << (a & 31)); }},
    {"s_bitset0_b64 s[20:21], s10", true, [](Q a, Q, Q d, bool) { return keep(d & ~(Q(1) << (a & 63))); }},
    {"s_bitreplicate_b64_b32 s[20:21], s10", true, [](Q a, Q, Q, bool) { Q r = 0; for (int k = 0; k < 64; ++k) r |= (a >> (k / 2) & 1) << k; return keep(r); }},
    {"s_wqm_b32 s20, s10", false, [](Q a, Q, Q, bool) { U r = 0; for (int k = 0; k < 32; ++k) r |= U((a >> (k & ~3) & 15) != 0) << k; return logic(r, false); }},
    {"s_quadmask_b64 s[20:21], s[10:11]", true, [](Q a, Q, Q, bool) { Q r = 0; for (int k = 0; k < 16; ++k) r |= Q((a >> (4 * k) & 15) != 0) << k; return logic(r, true); }},
    {"s_addk_i32 s20, 0x8000", false, [](Q, Q, Q d, bool) { int64_t r = int64_t(I(d)) - 32768; return Outcome{U(r), r != I(r)}; }},
    {"s_mulk_i32 s20, 0xfffd", false, [](Q, Q, Q d, bool) { return keep(U(d) * U(-3)); }},
    {"s_movk_i32 s20, 0x8001", false, [](Q, Q, Q, bool) { return keep(U(-32767)); }},
    {"s_mov_b64 s[20:21], -5", true, [](Q, Q, Q, bool) { return keep(Q(-5)); }},
    {"s_mov_b64 s[20:21], 0x80000001", true, [](Q, Q, Q, bool) { return keep(0x80000001); }},
    {"s_mov_b64 s[20:21], 1.0", true, [](Q, Q, Q, bool) { return keep(0x3ff0000000000000); }},
    {"s_mov_b32 s20, -4.0", false, [](Q, Q, Q, bool) { return keep(0xc0800000); }},
    {"s_cmp_lg_u64 s[10:11], s[12:13]", false, [](Q a, Q b, Q d, bool) { return Outcome{U(d), a != b}; }},
    {"s_cmp_le_i32 s10, s12", false, [](Q a, Q b, Q d, bool) { return Outcome{U(d), I(a) <= I(b)}; }},
    {"s_cmp_gt_u32 s10, s12", false, [](Q a, Q b, Q d, bool) { return Outcome{U(d), U(a) > U(b)}; }},
    {"s_cmpk_lt_i32 s10, 0xffff", false, [](Q a, Q, Q d, bool) { return Outcome{U(d), I(a) < -1}; }},
    {"s_cmpk_ge_u32 s10, 0xffff", false, [](Q a, Q, Q d, bool) { return Outcome{U(d), U(a) >= 0xffff}; }},
    {"s_bitcmp1_b64 s[10:11], s12", false, [](Q a, Q b, Q d, bool) { return Outcome{U(d), bool(a >> (b & 63) & 1)}; }},
    {"s_bitcmp0_b32 s10, s12", false, [](Q a, Q b, Q d, bool) { return Outcome{U(d), !(a >> (b & 31) & 1)}; }},
};
// clang-format on

constexpr Q kOld = 0x1122334455667788;

/// Each workgroup takes one pair of inputs through every case; results are {s20, s21, scc, 0}.
std::string program() {
  std::string text =
      "  s_load_dwordx4 s[4:7], s[0:1], 0x0\n  s_lshl_b32 s3, s2, 5\n  s_waitcnt lgkmcnt(0)\n"
      "  s_load_dwordx4 s[24:27], s[4:5], s3\n"
      "  s_add_u32 s3, s3, 16\n"
      "  s_load_dword s28, s[4:5], s3\n  s_waitcnt lgkmcnt(0)\n";
  text +=
      "  s_mulk_i32 s2, " + std::to_string(std::size(kCases) * 16) + "\n  v_mov_b32_e32 v0, s2\n";
  for (const Case &c : kCases)
    text += "  s_mov_b64 s[10:11], s[24:25]\n  s_mov_b64 s[12:13], s[26:27]\n"
            "  s_mov_b32 s20, 0x55667788\n  s_mov_b32 s21, 0x11223344\n  s_cmp_lg_u32 s28, 0\n  " +
            c.text +
            "\n  s_cselect_b32 s22, 1, 0\n  v_mov_b32_e32 v2, s20\n  v_mov_b32_e32 v3, s21\n"
            "  v_mov_b32_e32 v4, s22\n  global_store_dwordx3 v0, v[2:4], s[6:7]\n  v_add_u32_e32 "
            "v0, 16, v0\n";
  return text;
}

} // namespace

TEST_CASE("scalar instructions on edge values") {
  std::vector<Q> inputs; // a, b, scc, unused
  for (Q a : kValues)
    for (Q b : kValues)
      for (Q scc : {0, 1})
        inputs.insert(inputs.end(), {a, b, scc, 0});
  size_t groups = inputs.size() / 4;
  Fixture f(assemble(kernelText(program())));
  uint64_t pin = f.upload(inputs), po = f.upload(std::vector<U>(groups * std::size(kCases) * 4));
  REQUIRE(f.launch("k", U(groups), 1, Args().add(pin).add(po)) == "");
  std::vector<U> out = f.download<U>(po, groups * std::size(kCases) * 4);
  for (size_t g = 0; g < groups; ++g)
    for (size_t n = 0; n < std::size(kCases); ++n) {
      const U *r = &out[(g * std::size(kCases) + n) * 4];
      Q a = inputs[4 * g], b = inputs[4 * g + 1];
      bool scc = inputs[4 * g + 2];
      Outcome e = kCases[n].expected(a, b, kOld, scc);
      INFO(kCases[n].text << std::hex << " a=" << a << " b=" << b << " scc=" << scc << " gave "
                          << r[0] << " " << r[1]);
      Q value = kCases[n].wide ? r[0] | Q(r[1]) << 32 : r[0];
      REQUIRE(value == e.value);
      REQUIRE(int(r[2]) == (e.scc < 0 ? int(scc) : e.scc));
    }
}

TEST_CASE("saveexec keeps the old mask and combines the new one") {
  const char *body = "  s_load_dwordx2 s[6:7], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
                     "  v_lshlrev_b32_e32 v1, 2, v0\n  v_mov_b32_e32 v2, 0\n"
                     "  s_mov_b32 s8, 0xf0f0f0f0\n  s_mov_b32 s9, 0xff00\n"
                     "  s_and_saveexec_b64 s[10:11], s[8:9]\n  v_mov_b32_e32 v2, 1\n"
                     "  s_xor_b64 exec, exec, s[10:11]\n  v_mov_b32_e32 v2, 2\n"
                     "  s_mov_b64 exec, s[10:11]\n  global_store_dword v1, v2, s[6:7]\n";
  Fixture f(assemble(kernelText(body)));
  uint64_t p = f.upload(std::vector<U>(64));
  REQUIRE(f.launch("k", 1, 64, Args().add(p)) == "");
  std::vector<U> out = f.download<U>(p, 64);
  for (int l = 0; l < 64; ++l)
    REQUIRE(out[l] == (0xff00f0f0f0f0ull >> l & 1 ? 1 : 2));
}
