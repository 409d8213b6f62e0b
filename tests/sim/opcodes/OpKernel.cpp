// The kernels around instruction tests: inputs from memory into registers, the tested lines,
// registers to memory.
#include "tests/sim/opcodes/OpTest.h"
#include <fmt/format.h>

namespace simtest {
namespace {

bool isLaneRegister(const OpPlace &p) {
  return p.kind == OpPlace::Vector || p.kind == OpPlace::Accumulator;
}

size_t rowsOf(const OpPlace &p) {
  if (p.kind == OpPlace::Lds)
    return (p.values.size() + 63) / 64;
  return p.kind == OpPlace::Memory ? 0 : p.words;
}

class KernelWriter {
public:
  explicit KernelWriter(const OpTest &t) : test(t) {}
  std::string write(const std::string &name);

private:
  template <class... T> void line(fmt::format_string<T...> format, T &&...args) {
    text += "  " + fmt::format(format, std::forward<T>(args)...) + "\n";
  }
  void advance(const char *low, const char *high) {
    line("s_add_u32 {}, {}, 256", low, low);
    line("s_addc_u32 {}, {}, 0", high, high);
  }
  void loadRow(const std::string &target) {
    line("global_load_dword {}, v250, s[80:81]", target);
    advance("s80", "s81");
    line("s_waitcnt vmcnt(0)");
  }
  void storeRow(const std::string &source) {
    line("s_nop 7");
    line("global_store_dword v250, {}, s[82:83]", source);
    advance("s82", "s83");
  }
  void loadVectors();
  void setScalars();
  void storeResults();

  const OpTest &test;
  std::string text;
};

void KernelWriter::loadVectors() {
  for (const OpPlace &p : test.before)
    for (size_t row = 0; row < rowsOf(p); ++row) {
      if (p.kind == OpPlace::Vector) {
        loadRow(fmt::format("v{}", p.index + row));
      } else if (p.kind == OpPlace::Accumulator) {
        loadRow("v251");
        line("v_accvgpr_write_b32 a{}, v251", p.index + row);
      } else if (p.kind == OpPlace::Lds) {
        loadRow("v251");
        line("ds_write_b32 v250, v251 offset:{}", 256 * row);
      }
    }
}

void KernelWriter::setScalars() {
  line("s_mov_b32 s64, s70");
  line("s_mov_b32 s65, s71");
  line("s_mov_b32 s66, 0x{:x}", test.records);
  line("s_mov_b32 s67, 0x20000");
  line("s_waitcnt lgkmcnt(0)");
  const OpPlace *exec = nullptr, *scc = nullptr;
  for (const OpPlace &p : test.before) {
    uint64_t bits = p.values.empty() ? 0 : p.values[0].bits;
    auto halves = [&](const std::string &low, const std::string &high) {
      line("s_mov_b32 {}, 0x{:x}", low, uint32_t(bits));
      line("s_mov_b32 {}, 0x{:x}", high, uint32_t(bits >> 32));
    };
    if (p.kind == OpPlace::Scalar && p.words == 2)
      halves(fmt::format("s{}", p.index), fmt::format("s{}", p.index + 1));
    else if (p.kind == OpPlace::Scalar)
      line("s_mov_b32 s{}, 0x{:x}", p.index, uint32_t(bits));
    else if (p.kind == OpPlace::Vcc)
      halves("vcc_lo", "vcc_hi");
    else if (p.kind == OpPlace::M0)
      line("s_mov_b32 m0, 0x{:x}", uint32_t(bits));
    else if (p.kind == OpPlace::Exec)
      exec = &p;
    else if (p.kind == OpPlace::Scc)
      scc = &p;
  }
  line("s_cmp_eq_u32 0, {}", scc && scc->values[0].bits ? 0 : 1);
  if (exec) {
    line("s_mov_b32 exec_lo, 0x{:x}", uint32_t(exec->values[0].bits));
    line("s_mov_b32 exec_hi, 0x{:x}", uint32_t(exec->values[0].bits >> 32));
  }
  line("s_nop 7");
}

void KernelWriter::storeResults() {
  line("s_mov_b64 s[86:87], exec");
  line("s_cselect_b32 s90, 1, 0");
  line("s_mov_b64 s[88:89], vcc");
  line("s_mov_b32 s91, m0");
  line("s_mov_b64 exec, -1");
  line("s_waitcnt vmcnt(0) lgkmcnt(0)");
  line("s_nop 7");
  line("s_nop 7");
  line("s_nop 7");
  for (const OpPlace &p : test.after)
    for (size_t row = 0; row < rowsOf(p); ++row) {
      auto scalar = [&](size_t n) {
        line("v_mov_b32 v251, s{}", n);
        storeRow("v251");
      };
      switch (p.kind) {
      case OpPlace::Vector:
        storeRow(fmt::format("v{}", p.index + row));
        break;
      case OpPlace::Accumulator:
        line("v_accvgpr_read_b32 v251, a{}", p.index + row);
        storeRow("v251");
        break;
      case OpPlace::Scalar:
        scalar(p.index + row);
        break;
      case OpPlace::Exec:
        scalar(86 + row);
        break;
      case OpPlace::Vcc:
        scalar(88 + row);
        break;
      case OpPlace::Scc:
        scalar(90);
        break;
      case OpPlace::M0:
        scalar(91);
        break;
      case OpPlace::Lds:
        line("ds_read_b32 v251, v250 offset:{}", 256 * row);
        line("s_waitcnt lgkmcnt(0)");
        storeRow("v251");
        break;
      case OpPlace::Memory:
        break;
      }
    }
}

std::string KernelWriter::write(const std::string &name) {
  text = fmt::format(".text\n.globl {0}\n.p2align 8\n.type {0},@function\n{0}:\n", name);
  line("s_load_dwordx4 s[80:83], s[0:1], 0");
  line("s_load_dwordx2 s[70:71], s[0:1], 16");
  line("v_and_b32 v250, 63, v0");
  line("v_lshlrev_b32 v250, 2, v250");
  line("s_waitcnt lgkmcnt(0)");
  loadVectors();
  setScalars();
  for (const std::string &assembly : test.assembly)
    text += assembly + "\n";
  storeResults();
  line("s_endpgm");
  return text +
         fmt::format(
             ".rodata\n.p2align 6\n.amdhsa_kernel {}\n  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
             "  .amdhsa_next_free_vgpr 384\n  .amdhsa_next_free_sgpr 96\n  .amdhsa_accum_offset "
             "256\n"
             "  .amdhsa_kernarg_size 24\n  .amdhsa_group_segment_fixed_size 4096\n"
             "  .amdhsa_private_segment_fixed_size 256\n  .amdhsa_enable_private_segment 1\n"
             ".end_amdhsa_kernel\n",
             name);
}

} // namespace

std::string opTestKernels(const std::vector<OpTest> &tests) {
  std::string text;
  for (size_t n = 0; n < tests.size(); ++n)
    text += KernelWriter(tests[n]).write(fmt::format("t{}", n));
  return text;
}

std::vector<uint32_t> opTestInputs(const OpTest &test) {
  std::vector<uint32_t> rows;
  for (const OpPlace &p : test.before) {
    if (!isLaneRegister(p) && p.kind != OpPlace::Lds)
      continue;
    size_t start = rows.size();
    rows.resize(start + rowsOf(p) * 64);
    for (size_t n = 0; n < p.values.size(); ++n) {
      rows[start + n] = uint32_t(p.values[n].bits);
      if (isLaneRegister(p) && p.words == 2)
        rows[start + 64 + n] = uint32_t(p.values[n].bits >> 32);
    }
  }
  return rows;
}

size_t opTestOutputRows(const OpTest &test) {
  size_t rows = 0;
  for (const OpPlace &p : test.after)
    rows += rowsOf(p);
  return rows;
}

} // namespace simtest
