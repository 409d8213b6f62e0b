#include "tests/sim/timing/LoopText.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>

using namespace attune::sim;

namespace timingtest {
namespace {

/// Registers: operands v32..., accumulators v64..., vector work v16..v27, loads v8..v11.
std::string instruction(char letter, int vmKeep, int &labels) {
  switch (letter) {
  case 'M':
    return "v_mfma_f32_32x32x16_bf16 v[64:79], v[32:35], v[40:43], v[64:79]";
  case 'm':
    return "v_mfma_f32_16x16x32_f16 v[64:67], v[32:35], v[40:43], v[64:67]";
  case 'h':
    return "v_mfma_f32_16x16x16_f16 v[64:67], v[32:33], v[40:41], v[64:67]";
  case 'q':
    return "v_mfma_f32_16x16x128_f8f6f4 v[64:67], v[32:39], v[40:47], v[64:67]";
  case 'v':
    return "v_add_f32 v16, v17, v18";
  case 'f':
    return "v_fma_f32 v16, v17, v18, v19";
  case 'x':
    return "v_max3_f32 v16, v17, v18, v19";
  case 'c':
    return "v_cvt_pk_bf16_f32 v16, v17, v18";
  case 'e':
    return "v_exp_f32 v16, v17";
  case 'g':
    return "v_cmp_gt_f32 vcc, v17, v18\nv_cndmask_b32 v19, v17, v18, vcc\nv_add_f32 v19, v19, v18\n"
           "v_exp_f32 v19, v19\nv_cndmask_b32 v16, v17, v18, vcc\nv_ldexp_f32 v16, v19, v16";
  case 'p':
    return "v_pk_mul_f32 v[20:21], v[22:23], v[24:25]";
  case 's':
    return "v_permlane32_swap_b32 v26, v27";
  case 'R':
    return "ds_read_b128 v[8:11], v2";
  case 'K':
    return "ds_read_b128 v[8:11], v15";
  case 'T':
    return "ds_read_b64_tr_b16 v[8:9], v14";
  case 'o':
    return "ds_read_b64 v[8:9], v14";
  case 'B':
    return "ds_bpermute_b32 v12, v4, v17";
  case 'd':
    return "ds_write_b128 v2, v[80:83]";
  case 'G':
    return "s_mov_b32 m0, 0\nbuffer_load_dwordx4 v1, s[4:7], s8 offen lds\n"
           "s_add_u32 s8, s8, s11";
  case 'u':
    return "s_mov_b32 m0, 0\nbuffer_load_dword v5, s[4:7], s8 offen lds\n"
           "s_add_u32 s8, s8, s12";
  case 'A':
    return "s_mov_b32 m0, 0\nbuffer_load_dwordx4 v1, s[4:7], s20 offen lds\n"
           "s_add_u32 s20, s20, s11";
  case 'D':
    return "s_mov_b32 m0, 0\nbuffer_load_dwordx4 v6, s[4:7], s21 offen lds\n"
           "s_add_u32 s21, s21, s11";
  case 'J':
    return "s_add_u32 s20, s20, s13\ns_add_u32 s21, s21, s19";
  case 'S':
    return "buffer_store_short v16, v5, s[4:7], 0 offen";
  case 'X':
    return "buffer_store_dword v16, v5, s[4:7], 0 offen";
  case 'Y':
    return "buffer_load_dword v24, v5, s[4:7], 0 offen";
  case 'l':
    return "s_load_dwordx2 s[22:23], s[4:5], s8\ns_add_u32 s8, s8, 0x1000\ns_waitcnt lgkmcnt(0)";
  case 'L':
    return "buffer_load_dwordx4 v[84:87], v1, s[4:7], s8 offen\ns_add_u32 s8, s8, s11";
  case 'w':
    return "s_waitcnt lgkmcnt(0)";
  case 'W':
    return "s_waitcnt lgkmcnt(8)";
  case 'V':
    return "s_waitcnt vmcnt(" + std::to_string(vmKeep) + ")";
  case 'Z':
    return "s_waitcnt vmcnt(0)";
  case 'b':
    return "s_barrier";
  case 'n':
    return "s_nop 7";
  case '+':
    return "s_setprio 1";
  case '-':
    return "s_setprio 0";
  case 'k': {
    std::string label = "skip" + std::to_string(labels++);
    return "s_mov_b64 vcc, 0\ns_and_saveexec_b64 s[14:15], vcc\ns_cbranch_execz " + label + "\n" +
           label + ":\ns_or_b64 exec, exec, s[14:15]";
  }
  }
  FAIL("no instruction for '" << letter << "'");
  return "";
}

std::string expandFrom(const std::string &pattern, size_t &at, int vmKeep, int &labels) {
  std::string text;
  while (at < pattern.size() && pattern[at] != ')') {
    int times = 0;
    bool counted = false;
    for (; std::isdigit(static_cast<unsigned char>(pattern[at])); ++at, counted = true)
      times = times * 10 + (pattern[at] - '0');
    size_t start = at;
    for (int n = 0; n < (counted ? times : 1); ++n) {
      at = start;
      if (pattern[at] == '(')
        text += expandFrom(pattern, ++at, vmKeep, labels);
      else
        text += instruction(pattern[at], vmKeep, labels) + "\n";
    }
    ++at;
  }
  return text;
}

} // namespace

namespace {

std::string expand(const std::string &pattern, int vmKeep, int &labels) {
  size_t at = 0;
  return expandFrom(pattern, at, vmKeep, labels);
}

std::string turn(const std::string &label, const std::string &body) {
  return label + ":\n" + body + "s_sub_u32 s9, s9, 1\ns_cmp_lg_u32 s9, 0\ns_cbranch_scc1 " + label +
         "\n";
}

std::string registers(const Loop &l) {
  constexpr int kLoadBytes = 16;
  return "s_load_dwordx2 s[4:5], s[0:1], 0x0\ns_mov_b32 s6, " + std::to_string(l.bufferBytes) +
         "\ns_mov_b32 s7, 0x20000\n"
         "v_and_b32 v4, 63, v0\nv_lshlrev_b32 v1, 4, v0\nv_lshlrev_b32 v5, 2, v0\n"
         "v_lshlrev_b32 v2, 4, v4\nv_lshlrev_b32 v14, 3, v4\nv_mov_b32 v15, v2\nv_mov_b32 v6, v1\n"
         "s_mov_b32 m0, 0\ns_lshr_b32 s8, s2, 8\ns_lshl_b32 s8, s8, 20\ns_mov_b32 s20, 0\n"
         "s_mov_b32 s21, 0\nv_readfirstlane_b32 s10, v0\ns_mov_b32 s9, " +
         std::to_string(l.turns) + "\ns_mov_b32 s11, " + std::to_string(l.threads * kLoadBytes) +
         "\ns_mov_b32 s12, " + std::to_string(l.threads * 4) + "\n" + l.setUp +
         "\ns_waitcnt lgkmcnt(0)\ns_barrier\n";
}

} // namespace

std::string expand(const std::string &pattern, int vmKeep) {
  int labels = 0;
  return expand(pattern, vmKeep, labels);
}

std::string sumOf(const std::string &reg, std::initializer_list<BitField> fields) {
  std::string text = "v_mov_b32 " + reg + ", 0\n";
  for (const BitField &f : fields)
    text += "v_bfe_u32 v3, v0, " + std::to_string(f.first) + ", " + std::to_string(f.bits) +
            "\nv_mul_u32_u24 v3, " + std::to_string(f.factor) + ", v3\nv_add_u32 " + reg + ", " +
            reg + ", v3\n";
  return text;
}

TimingReport timeLoop(const Loop &l) {
  int labels = 0;
  auto text = [&](const std::string &pattern) { return expand(pattern, l.vmKeep, labels); };
  std::string body = registers(l) + text(l.before);
  if (!l.producers.empty())
    body += "s_cmp_lt_u32 s10, 256\ns_cbranch_scc0 loop\n" + turn("feed", text(l.producers)) +
            "s_branch done\n";
  if (l.pingPong)
    body += "s_cmp_lt_u32 s10, 256\ns_cbranch_scc1 loop\ns_barrier\n";
  body += turn("loop", text(l.pattern));
  if (l.pingPong)
    body += "s_cmp_lt_u32 s10, 256\ns_cbranch_scc0 done\ns_barrier\n";
  body += "done:\n" + text(l.after);
  std::string vgprs = std::to_string(l.vgprs);
  std::string kernel = ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body +
                       "s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
                       ".amdhsa_user_sgpr_kernarg_segment_ptr 1\n.amdhsa_next_free_sgpr 96\n"
                       ".amdhsa_next_free_vgpr " +
                       vgprs + "\n.amdhsa_accum_offset " +
                       std::to_string((std::min(l.vgprs, 256) + 3) / 4 * 4) +
                       "\n.amdhsa_kernarg_size 64\n.end_amdhsa_kernel\n";
  TimingReport r = timeSnippet({.body = "",
                                .threads = l.threads,
                                .lds = l.lds,
                                .options = l.options,
                                .text = kernel,
                                .bufferBytes = l.bufferBytes,
                                .workgroups = l.workgroups});
  REQUIRE(r.loop.found == (l.turns > 1));
  return r;
}

double loopClk(const Loop &l) { return timeLoop(l).loop.clk; }

} // namespace timingtest
