// Scalar instructions on edge values: result, SCC and EXEC after each combination of sources, SCC
// and EXEC before. A combination is one turn of a loop that loads sources into SGPRs.
#include "tests/sim/coreHarness.h"
#include "tests/sim/edges/EdgeAudit.h"
#include "tests/sim/edges/EdgeRun.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace simtest;

namespace {

/// Before: sources, old destination, EXEC, SCC. After: what the instruction leaves.
struct Scalar {
  uint64_t a = 0, b = 0, old = 0, exec = 0;
  bool scc = false;
  uint32_t u() const { return uint32_t(a); }
  uint32_t v() const { return uint32_t(b); }
  int32_t i() const { return int32_t(a); }
  int32_t j() const { return int32_t(b); }
};
struct After {
  uint64_t result;
  int scc = -1;     ///< -1: as before
  bool set = true;  ///< false: no result
  int64_t exec = 0; ///< with `writesExec`
  bool writesExec = false;
};
using S = const Scalar &;
using I128 = __int128;

struct ScalarRow {
  const char *op, *types; ///< "result=sources"; letters of EdgeRun.h, '-' for no result
  After (*reference)(S);
  int constant = -1; ///< SOPK's 16 bits in place of the second source
};

// Results with SCC = "not zero", with their own SCC, and without.
After logic32(uint64_t x) { return {uint32_t(x), uint32_t(x) != 0}; }
After logic64(uint64_t x) { return {x, x != 0}; }
After plain32(uint64_t x) { return {uint32_t(x)}; }
After plain64(uint64_t x) { return {x}; }
After test(bool holds) { return {0, holds, false}; }
bool atLeast(uint32_t a, uint32_t b) { return a >= b; } // g++ objects where b is seen to be 0
After carry(I128 x) { return {uint32_t(x), x < 0 || x > 0xffffffff}; }
After overflow(I128 x) { return {uint32_t(x), x < INT32_MIN || x > INT32_MAX}; }
After unchanged(S s) { return {s.old}; }
After execIs(S s, uint64_t mask) { return {s.exec, mask != 0, true, int64_t(mask), true}; }
After bothAre(uint64_t mask) { return {mask, mask != 0, true, int64_t(mask), true}; }

uint64_t reversedBits(uint64_t x, int bits) {
  uint64_t r = 0;
  for (int k = 0; k < bits; ++k)
    r |= (x >> k & 1) << (bits - 1 - k);
  return r;
}
/// Position of the first bit that is `wanted`, from the low or the high end; -1 if there is none.
After search(uint64_t x, int bits, bool wanted, bool fromTop) {
  for (int k = 0; k < bits; ++k)
    if ((x >> (fromTop ? bits - 1 - k : k) & 1) == wanted)
      return plain32(uint64_t(k));
  return plain32(0xffffffff);
}
After signRun(uint64_t x, int bits) {
  bool sign = x >> (bits - 1) & 1;
  return search(x, bits, !sign, true);
}
uint64_t ones(uint64_t x, int bits) {
  uint64_t n = 0;
  for (int k = 0; k < bits; ++k)
    n += x >> k & 1;
  return n;
}
uint64_t quads(uint64_t x, int bits, bool widened) {
  uint64_t r = 0;
  for (int k = 0; k < bits; k += 4)
    if (x >> k & 15)
      r |= widened ? uint64_t(15) << k : uint64_t(1) << (k / 4);
  return r;
}
/// Offset in the low bits, width in [22:16]; widths beyond the register take what there is.
uint64_t bitField(uint64_t x, uint64_t field, int bits, bool isSigned) {
  int offset = int(field % uint64_t(bits)), width = int(field >> 16 & 0x7f);
  I128 value = isSigned ? (bits == 64 ? I128(int64_t(x)) : I128(int32_t(x))) : I128(x);
  value >>= offset;
  if (width >= bits)
    return uint64_t(value);
  I128 low = value & ((I128(1) << width) - 1);
  if (isSigned && width && (low >> (width - 1) & 1))
    low -= I128(1) << width;
  return uint64_t(low);
}
uint64_t fieldMask(uint64_t width, uint64_t offset, int bits) {
  return uint64_t(((I128(1) << width % bits) - 1) << offset % bits);
}
uint64_t doubled(uint32_t x) {
  uint64_t r = 0;
  for (int k = 0; k < 64; ++k)
    r |= uint64_t(x >> (k / 2) & 1) << k;
  return r;
}

#define ROW(op, types, ...)                                                                        \
  {op, types, [](S s) -> After {                                                                   \
     (void)s;                                                                                      \
     return __VA_ARGS__;                                                                           \
   }}
#define LOGIC(name, expression)                                                                    \
  ROW("s_" name "_b32", "u=uu", logic32(expression)),                                              \
      ROW("s_" name "_b64", "q=qq", logic64(expression))
#define EXEC(name, expression) ROW("s_" name "_saveexec_b64", "q=q", execIs(s, expression))

const ScalarRow kOneSource[] = {
    ROW("s_mov_b32", "u=u", plain32(s.a)),
    ROW("s_mov_b64", "q=q", plain64(s.a)),
    ROW("s_cmov_b32", "u=u", s.scc ? plain32(s.a) : unchanged(s)),
    ROW("s_cmov_b64", "q=q", s.scc ? plain64(s.a) : unchanged(s)),
    ROW("s_not_b32", "u=u", logic32(~s.a)),
    ROW("s_not_b64", "q=q", logic64(~s.a)),
    ROW("s_wqm_b32", "u=u", logic32(quads(s.a, 32, true))),
    ROW("s_wqm_b64", "q=q", logic64(quads(s.a, 64, true))),
    ROW("s_quadmask_b32", "u=u", logic32(quads(s.a, 32, false))),
    ROW("s_quadmask_b64", "q=q", logic64(quads(s.a, 64, false))),
    ROW("s_brev_b32", "u=u", plain32(reversedBits(s.a, 32))),
    ROW("s_brev_b64", "q=q", plain64(reversedBits(s.a, 64))),
    ROW("s_bcnt0_i32_b32", "u=u", logic32(32 - ones(s.a, 32))),
    ROW("s_bcnt0_i32_b64", "u=q", logic32(64 - ones(s.a, 64))),
    ROW("s_bcnt1_i32_b32", "u=u", logic32(ones(s.a, 32))),
    ROW("s_bcnt1_i32_b64", "u=q", logic32(ones(s.a, 64))),
    ROW("s_ff0_i32_b32", "u=u", search(s.a, 32, false, false)),
    ROW("s_ff0_i32_b64", "u=q", search(s.a, 64, false, false)),
    ROW("s_ff1_i32_b32", "u=u", search(s.a, 32, true, false)),
    ROW("s_ff1_i32_b64", "u=q", search(s.a, 64, true, false)),
    ROW("s_flbit_i32_b32", "u=u", search(s.a, 32, true, true)),
    ROW("s_flbit_i32_b64", "u=q", search(s.a, 64, true, true)),
    ROW("s_flbit_i32", "u=u", signRun(s.a, 32)),
    ROW("s_flbit_i32_i64", "u=q", signRun(s.a, 64)),
    ROW("s_sext_i32_i8", "u=u", plain32(uint64_t(int8_t(s.a)))),
    ROW("s_sext_i32_i16", "u=u", plain32(uint64_t(int16_t(s.a)))),
    ROW("s_bitset0_b32", "u=n", plain32(s.old & ~(uint64_t(1) << s.a % 32))),
    ROW("s_bitset1_b32", "u=n", plain32(s.old | uint64_t(1) << s.a % 32)),
    ROW("s_bitset0_b64", "q=n", plain64(s.old & ~(uint64_t(1) << s.a % 64))),
    ROW("s_bitset1_b64", "q=n", plain64(s.old | uint64_t(1) << s.a % 64)),
    ROW("s_bitreplicate_b64_b32", "q=u", plain64(doubled(s.u()))),
    ROW("s_abs_i32", "u=u", logic32(s.i() < 0 ? uint64_t(-int64_t(s.i())) : s.u())),
    EXEC("and", s.a & s.exec),
    EXEC("or", s.a | s.exec),
    EXEC("xor", s.a ^ s.exec),
    EXEC("andn2", s.a & ~s.exec),
    EXEC("orn2", s.a | ~s.exec),
    EXEC("nand", ~(s.a & s.exec)),
    EXEC("nor", ~(s.a | s.exec)),
    EXEC("xnor", ~(s.a ^ s.exec)),
    EXEC("andn1", ~s.a & s.exec),
    EXEC("orn1", ~s.a | s.exec),
    ROW("s_andn1_wrexec_b64", "q=q", bothAre(~s.a & s.exec)),
    ROW("s_andn2_wrexec_b64", "q=q", bothAre(s.a & ~s.exec)),
};

const ScalarRow kTwoSources[] = {
    ROW("s_add_u32", "u=uu", carry(I128(s.u()) + s.v())),
    ROW("s_sub_u32", "u=uu", carry(I128(s.u()) - s.v())),
    ROW("s_addc_u32", "u=uu", carry(I128(s.u()) + s.v() + s.scc)),
    ROW("s_subb_u32", "u=uu", carry(I128(s.u()) - s.v() - s.scc)),
    ROW("s_add_i32", "u=uu", overflow(I128(s.i()) + s.j())),
    ROW("s_sub_i32", "u=uu", overflow(I128(s.i()) - s.j())),
    ROW("s_lshl1_add_u32", "u=uu", carry(I128(s.u()) * 2 + s.v())),
    ROW("s_lshl2_add_u32", "u=uu", carry(I128(s.u()) * 4 + s.v())),
    ROW("s_lshl3_add_u32", "u=uu", carry(I128(s.u()) * 8 + s.v())),
    ROW("s_lshl4_add_u32", "u=uu", carry(I128(s.u()) * 16 + s.v())),
    ROW("s_min_i32", "u=uu", {std::min(s.i(), s.j()) & 0xffffffffu, s.i() < s.j()}),
    ROW("s_min_u32", "u=uu", {std::min(s.u(), s.v()), s.u() < s.v()}),
    ROW("s_max_i32", "u=uu", {std::max(s.i(), s.j()) & 0xffffffffu, s.i() >= s.j()}),
    ROW("s_max_u32", "u=uu", {std::max(s.u(), s.v()), s.u() >= s.v()}),
    ROW("s_cselect_b32", "u=uu", plain32(s.scc ? s.a : s.b)),
    ROW("s_cselect_b64", "q=qq", plain64(s.scc ? s.a : s.b)),
    LOGIC("and", s.a & s.b),
    LOGIC("or", s.a | s.b),
    LOGIC("xor", s.a ^ s.b),
    LOGIC("andn2", s.a & ~s.b),
    LOGIC("orn2", s.a | ~s.b),
    LOGIC("nand", ~(s.a & s.b)),
    LOGIC("nor", ~(s.a | s.b)),
    LOGIC("xnor", ~(s.a ^ s.b)),
    ROW("s_lshl_b32", "u=un", logic32(s.a << s.b % 32)),
    ROW("s_lshr_b32", "u=un", logic32(s.u() >> s.b % 32)),
    ROW("s_ashr_i32", "u=un", logic32(uint64_t(I128(s.i()) >> s.b % 32))),
    ROW("s_lshl_b64", "q=qn", logic64(s.a << s.b % 64)),
    ROW("s_lshr_b64", "q=qn", logic64(s.a >> s.b % 64)),
    ROW("s_ashr_i64", "q=qn", logic64(uint64_t(I128(int64_t(s.a)) >> s.b % 64))),
    ROW("s_bfe_u32", "u=uB", logic32(bitField(s.u(), s.b, 32, false))),
    ROW("s_bfe_i32", "u=uB", logic32(bitField(s.u(), s.b, 32, true))),
    ROW("s_bfe_u64", "q=qB", logic64(bitField(s.a, s.b, 64, false))),
    ROW("s_bfe_i64", "q=qB", logic64(bitField(s.a, s.b, 64, true))),
    ROW("s_bfm_b32", "u=nn", plain32(fieldMask(s.a, s.b, 32))),
    ROW("s_bfm_b64", "q=nn", plain64(fieldMask(s.a, s.b, 64))),
    ROW("s_mul_i32", "u=uu", plain32(uint64_t(s.a *s.b))),
    ROW("s_mul_hi_u32", "u=uu", plain32(uint64_t(I128(s.u()) * s.v() >> 32))),
    ROW("s_mul_hi_i32", "u=uu", plain32(uint64_t(I128(s.i()) * s.j() >> 32))),
    ROW("s_absdiff_i32", "u=uu",
        logic32(int32_t(s.u() - s.v()) < 0 ? s.v() - s.u() : s.u() - s.v())),
    ROW("s_pack_ll_b32_b16", "u=uu", plain32(s.a % 65536 | s.b << 16)),
    ROW("s_pack_lh_b32_b16", "u=uu", plain32(s.a % 65536 | (s.b >> 16) << 16)),
    ROW("s_pack_hh_b32_b16", "u=uu", plain32(s.u() >> 16 | (s.b >> 16) << 16)),
    ROW("s_cmp_eq_i32", "-=uu", test(s.i() == s.j())),
    ROW("s_cmp_lg_i32", "-=uu", test(s.i() != s.j())),
    ROW("s_cmp_gt_i32", "-=uu", test(s.i() > s.j())),
    ROW("s_cmp_ge_i32", "-=uu", test(s.i() >= s.j())),
    ROW("s_cmp_lt_i32", "-=uu", test(s.i() < s.j())),
    ROW("s_cmp_le_i32", "-=uu", test(s.i() <= s.j())),
    ROW("s_cmp_eq_u32", "-=uu", test(s.u() == s.v())),
    ROW("s_cmp_lg_u32", "-=uu", test(s.u() != s.v())),
    ROW("s_cmp_gt_u32", "-=uu", test(s.u() > s.v())),
    ROW("s_cmp_ge_u32", "-=uu", test(s.u() >= s.v())),
    ROW("s_cmp_lt_u32", "-=uu", test(s.u() < s.v())),
    ROW("s_cmp_le_u32", "-=uu", test(s.u() <= s.v())),
    ROW("s_cmp_eq_u64", "-=qq", test(s.a == s.b)),
    ROW("s_cmp_lg_u64", "-=qq", test(s.a != s.b)),
    ROW("s_bitcmp0_b32", "-=un", test(!(s.a >> s.b % 32 & 1))),
    ROW("s_bitcmp1_b32", "-=un", test(s.a >> s.b % 32 & 1)),
    ROW("s_bitcmp0_b64", "-=qn", test(!(s.a >> s.b % 64 & 1))),
    ROW("s_bitcmp1_b64", "-=qn", test(s.a >> s.b % 64 & 1)),
};
#undef LOGIC
#undef EXEC

#define KROWS(k)                                                                                   \
  {"s_cmpk_eq_i32", "-=u", [](S s) { return test(s.i() == int16_t(k)); }, k},                      \
      {"s_cmpk_lg_i32", "-=u", [](S s) { return test(s.i() != int16_t(k)); }, k},                  \
      {"s_cmpk_gt_i32", "-=u", [](S s) { return test(s.i() > int16_t(k)); }, k},                   \
      {"s_cmpk_ge_i32", "-=u", [](S s) { return test(s.i() >= int16_t(k)); }, k},                  \
      {"s_cmpk_lt_i32", "-=u", [](S s) { return test(s.i() < int16_t(k)); }, k},                   \
      {"s_cmpk_le_i32", "-=u", [](S s) { return test(s.i() <= int16_t(k)); }, k},                  \
      {"s_cmpk_eq_u32", "-=u", [](S s) { return test(s.u() == k); }, k},                           \
      {"s_cmpk_lg_u32", "-=u", [](S s) { return test(s.u() != k); }, k},                           \
      {"s_cmpk_gt_u32", "-=u", [](S s) { return test(s.u() > k); }, k},                            \
      {"s_cmpk_ge_u32", "-=u", [](S s) { return test(atLeast(s.u(), k)); }, k},                    \
      {"s_cmpk_lt_u32", "-=u", [](S s) { return test(!atLeast(s.u(), k)); }, k},                   \
      {"s_cmpk_le_u32", "-=u", [](S s) { return test(s.u() <= k); }, k},                           \
      {"s_addk_i32", "u=", [](S s) { return overflow(I128(int32_t(s.old)) + int16_t(k)); }, k},    \
      {"s_mulk_i32",                                                                               \
       "u=", [](S s) { return plain32(uint64_t(int32_t(s.old) * I128(int16_t(k)))); }, k},         \
      {"s_movk_i32", "u=", [](S) { return plain32(uint64_t(int16_t(k))); }, k}, {                  \
    "s_cmovk_i32", "u=", [](S s) { return s.scc ? plain32(uint64_t(int16_t(k))) : unchanged(s); }, \
        k                                                                                          \
  }
const ScalarRow kConstants[] = {KROWS(0u), KROWS(1u), KROWS(0x7fffu), KROWS(0x8000u),
                                KROWS(0xffffu)};
#undef KROWS
#undef ROW

/// Dwords of a combination: SCC, unused, sources, old destination, EXEC, unused.
constexpr int kInput = 16, kOutput = 8;

std::string kernel(const ScalarRow &row, size_t number) {
  std::string types = row.types, sources = types.substr(2), text, operands;
  auto reg = [](int first, char letter) {
    return letter == 'q' ? fmt::format("s[{}:{}]", first, first + 1) : fmt::format("s{}", first);
  };
  if (types[0] != '-')
    operands = reg(40, types[0]);
  for (size_t n = 0; n < sources.size(); ++n)
    operands += (operands.empty() ? "" : ", ") + reg(18 + 2 * int(n), sources[n]);
  if (row.constant >= 0)
    operands += fmt::format(", 0x{:x}", row.constant);
  text = fmt::format(
      ".text\n.globl s{0}\n.p2align 8\n.type s{0},@function\ns{0}:\n"
      "  s_load_dwordx4 s[80:83], s[0:1], 0\n  s_load_dword s84, s[0:1], 16\n  v_mov_b32 v0, 0\n"
      "  s_waitcnt lgkmcnt(0)\n.Scalar{0}:\n  s_load_dwordx16 s[16:31], s[80:81], 0\n"
      "  s_waitcnt lgkmcnt(0)\n  s_mov_b64 s[40:41], s[22:23]\n  s_cmp_lg_u32 s16, 0\n"
      "  s_mov_b64 exec, s[24:25]\n  {1} {2}\n  s_cselect_b32 s44, 1, 0\n"
      "  s_mov_b64 s[46:47], exec\n  s_mov_b64 exec, 1\n",
      number, row.op, operands);
  const int outputs[] = {40, 41, 44, 44, 46, 47};
  for (int k = 0; k < 6; ++k)
    text += fmt::format("  v_mov_b32 v{}, s{}\n", 2 + k, outputs[k]);
  text += fmt::format("  global_store_dwordx4 v0, v[2:5], s[82:83]\n"
                      "  global_store_dwordx2 v0, v[6:7], s[82:83] offset:16\n"
                      "  s_add_u32 s80, s80, {}\n  s_addc_u32 s81, s81, 0\n"
                      "  s_add_u32 s82, s82, {}\n  s_addc_u32 s83, s83, 0\n"
                      "  s_sub_u32 s84, s84, 1\n  s_cmp_lg_u32 s84, 0\n  s_cbranch_scc1 .Scalar{}\n"
                      "  s_endpgm\n",
                      4 * kInput, 4 * kOutput, number);
  return text + fmt::format(".rodata\n.p2align 6\n.amdhsa_kernel s{}\n"
                            "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
                            "  .amdhsa_next_free_vgpr 16\n  .amdhsa_next_free_sgpr 96\n"
                            "  .amdhsa_accum_offset 16\n  .amdhsa_kernarg_size 24\n"
                            ".end_amdhsa_kernel\n",
                            number);
}

std::vector<uint64_t> scalarValues(char letter) {
  if (letter != 'B')
    return edgeValues(letter);
  std::vector<uint64_t> fields; // offset and width of s_bfe
  for (uint64_t offset : {0, 1, 31, 32, 63})
    for (uint64_t width : {0, 1, 5, 31, 32, 33, 63, 64, 127})
      fields.push_back(offset | width << 16);
  return fields;
}

std::vector<Scalar> combinations(const ScalarRow &row) {
  std::string sources = std::string(row.types).substr(2);
  const std::vector<uint64_t> none = {0};
  std::vector<uint64_t> a = sources.empty() ? none : scalarValues(sources[0]),
                        b = sources.size() < 2 ? none : scalarValues(sources[1]);
  const uint64_t execs[] = {~uint64_t(0), 0, 0x00000000ffffffff, 0x8000000000000001};
  std::vector<uint64_t> olds = sources.empty() ? edgeValues('u') : none;
  std::vector<Scalar> all;
  for (uint64_t x : a)
    for (uint64_t y : b)
      for (uint64_t old : olds)
        for (bool scc : {false, true}) {
          size_t n = all.size();
          uint64_t noise = (n + 1) * 0x9e3779b97f4a7c15;
          all.push_back({x, y, sources.empty() ? old : noise, execs[n / 2 % 4], scc});
          if (sources == "q") // EXEC is a source, too, of those that write it
            for (uint64_t exec : execs)
              all.push_back({x, y, noise, exec, scc});
        }
  return all;
}

std::string runRow(Fixture &fixture, const ScalarRow &row, size_t number) {
  std::vector<Scalar> cases = combinations(row);
  std::vector<uint32_t> in(cases.size() * kInput), out(cases.size() * kOutput);
  for (size_t n = 0; n < cases.size(); ++n) {
    const Scalar &s = cases[n];
    uint32_t *at = &in[n * kInput];
    at[0] = s.scc;
    const uint64_t values[] = {s.a, s.b, s.old, s.exec};
    std::memcpy(at + 2, values, sizeof(values));
  }
  uint64_t inputs = fixture.upload(in), outputs = fixture.upload(out);
  attune::sim::RunOptions options;
  options.threads = 1;
  options.observers = &edgeAudit();
  std::string error =
      fixture.launch("s" + std::to_string(number), 1, 64,
                     Args().add(inputs).add(outputs).add(uint64_t(cases.size())), options);
  if (!error.empty())
    return error;
  out = fixture.download<uint32_t>(outputs, out.size());
  std::string report;
  bool wide = row.types[0] == 'q';
  for (size_t n = 0; n < cases.size(); ++n) {
    const Scalar &s = cases[n];
    After e = row.reference(s);
    const uint32_t *at = &out[n * kOutput];
    uint64_t result = at[0] | (wide ? uint64_t(at[1]) << 32 : 0), exec = at[4] | uint64_t(at[5])
                                                                                     << 32;
    uint64_t expected = wide ? e.result : uint32_t(e.result);
    uint64_t expectedExec = e.writesExec ? uint64_t(e.exec) : s.exec;
    int scc = e.scc < 0 ? s.scc : e.scc;
    if ((!e.set || result == expected) && int(at[2]) == scc && exec == expectedExec)
      continue;
    if (report.size() < 600)
      report += fmt::format(
          "{:x} {:x} old {:x} exec {:x} scc {} -> {:x} scc {} exec {:x}, not {:x} "
          "scc {} exec {:x}\n",
          s.a, s.b, s.old, s.exec, int(s.scc), result, at[2], exec, expected, scc, expectedExec);
  }
  return report;
}

void runScalars(std::span<const ScalarRow> rows) {
  std::string text;
  for (size_t n = 0; n < rows.size(); ++n)
    text += kernel(rows[n], n);
  Fixture fixture(assemble(text));
  for (size_t n = 0; n < rows.size(); ++n) {
    std::string report = runRow(fixture, rows[n], n);
    INFO(rows[n].op << "\n" << report);
    CHECK(report.empty());
  }
}

} // namespace

TEST_CASE("scalar instructions on edge values, with SCC and EXEC", "[edges]") {
  runScalars(kOneSource);
  runScalars(kTwoSources);
  runScalars(kConstants);
}
