// Kernels for launch files, as assembly: c[i] = a[i] + scale * b[i] for i < n, and one that stores
// a number far into a buffer.
#pragma once
#include "tests/sim/coreHarness.h"
#include <fstream>
#include <string>

namespace exectest {

/// Arguments: a at 0, b at 8, c at 16, n (i32) at 24, scale (f32) at 28. Blocks of 64 threads.
inline std::string scaledAdd() {
  return simtest::kernelText("  s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
                             "  s_load_dwordx4 s[8:11], s[0:1], 0x10\n"
                             "  s_lshl_b32 s12, s2, 6\n"
                             "  v_add_u32_e32 v1, s12, v0\n"
                             "  v_lshlrev_b32_e32 v2, 2, v1\n"
                             "  s_waitcnt lgkmcnt(0)\n"
                             "  v_cmp_gt_i32_e32 vcc, s10, v1\n"
                             "  s_and_saveexec_b64 s[14:15], vcc\n"
                             "  global_load_dword v3, v2, s[4:5]\n"
                             "  global_load_dword v4, v2, s[6:7]\n"
                             "  s_waitcnt vmcnt(0)\n"
                             "  v_fma_f32 v5, v4, s11, v3\n"
                             "  global_store_dword v2, v5, s[8:9]\n");
}

/// Arguments: buffer at 0, distance in bytes (u64) at 8. Stores 0x600d there.
inline std::string farStore() {
  return simtest::kernelText("  s_load_dwordx4 s[4:7], s[0:1], 0x0\n"
                             "  s_waitcnt lgkmcnt(0)\n"
                             "  s_add_u32 s4, s4, s6\n  s_addc_u32 s5, s5, s7\n"
                             "  v_mov_b32_e32 v1, 0x600d\n  v_mov_b32_e32 v2, 0\n"
                             "  v_cmp_eq_u32_e32 vcc, 0, v0\n"
                             "  s_and_saveexec_b64 s[14:15], vcc\n"
                             "  global_store_dword v2, v1, s[4:5]\n",
                             "");
}

inline std::string scratchFile(const std::string &name) {
  return simtest::scratchDir() + "/" + name;
}

inline void writeText(const std::string &name, std::string_view text) {
  std::ofstream(scratchFile(name), std::ios::binary) << text;
}

} // namespace exectest
