#include "runtime/sim/strict/Facts.h"
#include "runtime/sim/Decoder.h"
#include "runtime/sim/Ops.h"
#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace attune::sim::strict {
namespace {

/// Sorted: scalar instructions without SCC as a result. All others of SOP1, SOP2 and SOPK with a
/// destination write it, apart from those that end in a jump.
constexpr std::string_view kKeepScc[] = {
    "s_bfm_b32",         "s_bfm_b64",         "s_bitreplicate_b64_b32",
    "s_bitset0_b32",     "s_bitset0_b64",     "s_bitset1_b32",
    "s_bitset1_b64",     "s_brev_b32",        "s_brev_b64",
    "s_call_b64",        "s_cmov_b32",        "s_cmov_b64",
    "s_cmovk_i32",       "s_cselect_b32",     "s_cselect_b64",
    "s_ff0_i32_b32",     "s_ff0_i32_b64",     "s_ff1_i32_b32",
    "s_ff1_i32_b64",     "s_flbit_i32",       "s_flbit_i32_b32",
    "s_flbit_i32_b64",   "s_flbit_i32_i64",   "s_getpc_b64",
    "s_getreg_b32",      "s_mov_b32",         "s_mov_b64",
    "s_movk_i32",        "s_mul_hi_i32",      "s_mul_hi_u32",
    "s_mul_i32",         "s_mulk_i32",        "s_pack_hh_b32_b16",
    "s_pack_lh_b32_b16", "s_pack_ll_b32_b16", "s_setpc_b64",
    "s_sext_i32_i16",    "s_sext_i32_i8",     "s_swappc_b64"};
static_assert(std::ranges::is_sorted(kKeepScc));

uint8_t passesOf(std::string_view m) {
  constexpr std::pair<std::string_view, uint8_t> kOdd[] = {
#define SIM_XDL_HAZARD(use, p2, p4, p8, p16)
#define SIM_SGEMM_HAZARD(use, p2, p8, p16)
#define SIM_HAZARD(producer, use, states)
#define SIM_PASSES(mnemonic, passes) {mnemonic, passes},
#include "runtime/sim/strict/Hazards.def"
#undef SIM_XDL_HAZARD
#undef SIM_SGEMM_HAZARD
#undef SIM_HAZARD
#undef SIM_PASSES
  };
  for (auto [name, passes] : kOdd)
    if (name == m)
      return passes;
  return m.find("_4x4x") != m.npos ? 2 : m.find("_16x16x") != m.npos ? 4 : 8;
}

Producer matrixProducer(std::string_view m, uint8_t passes) {
  if (m.ends_with("_f64"))
    return passes == 4 ? Producer::Dgemm4 : Producer::Dgemm16;
  if (m.ends_with("_f32"))
    return passes == 2 ? Producer::Sgemm2 : passes == 8 ? Producer::Sgemm8 : Producer::Sgemm16;
  return passes == 2   ? Producer::Xdl2
         : passes == 4 ? Producer::Xdl4
         : passes == 8 ? Producer::Xdl8
                       : Producer::Xdl16;
}

/// Does a VALU instruction put its result, or part of it, elsewhere than into the low bits?
bool shiftsResult(const Inst &i, const OpcodeInfo &op) {
  if (op.format >= Format::VOP3P || i.dst.kind == OperandKind::Sgpr)
    return false;
  if (i.flags & Sdwa)
    return (i.ext >> 8 & 7) != 6; // dst_sel, DWORD
  std::string_view m = op.mnemonic;
  bool bytes = m.starts_with("v_cvt_sr_") || m.ends_with("_pk_fp4_f32") ||
               m.ends_with("_pk_fp4_f16") || m.ends_with("_pk_fp4_bf16"); // op_sel[3:2]
  return i.opSel & (bytes ? 12 : 8);
}

bool transcendental(std::string_view m) {
  for (std::string_view p : {"v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_"})
    if (m.starts_with(p))
      return true;
  return false;
}

class Builder {
public:
  Builder(const Inst &i, uint32_t accumOffset)
      : i_(i), op_(kOpcodes[i.opcode]), m_(op_.mnemonic), accumOffset_(accumOffset) {}
  Facts run();

private:
  void span(Span *list, uint8_t &count, const Operand &o, Use use, unsigned source);
  void read(const Operand &o, Use use, unsigned source) { span(f_.read, f_.reads, o, use, source); }
  void write(const Operand &o, Use use) { span(f_.write, f_.writes, o, use, 255); }
  void readScalar(int number, int count, Use use) {
    f_.read[f_.reads++] = {uint16_t(kScalarCell + number), uint8_t(count), use, 255, false};
  }
  void writeScalar(int number, int count) {
    f_.write[f_.writes++] = {uint16_t(kScalarCell + number), uint8_t(count), Use::ScalarWrite, 255,
                             false};
  }
  void scalarUnit();
  void scalarFlow();
  void valu();
  void valuFlow();
  void matrix();
  void memory();

  const Inst &i_;
  const OpcodeInfo &op_;
  std::string_view m_;
  uint32_t accumOffset_;
  Facts f_;
};

void Builder::span(Span *list, uint8_t &count, const Operand &o, Use use, unsigned source) {
  auto add = [&](unsigned first, unsigned n, bool agpr) {
    list[count++] = {uint16_t(first), uint8_t(n), use, uint8_t(source), agpr};
  };
  switch (o.kind) {
  case OperandKind::Vgpr:
    return add(o.index, o.dwords, false);
  case OperandKind::Agpr:
    return add(o.index + accumOffset_, o.dwords, true);
  case OperandKind::Sgpr:
    return add(kScalarCell + o.index, o.dwords, false);
  case OperandKind::Inline: // VCCZ, EXECZ, SCC
    if (o.index == 251 || o.index == 252)
      return add(kScalarCell + (o.index == 251 ? reg::kVcc : reg::kExec), 2, false);
    if (o.index == 253)
      return add(kSccCell, 1, false);
    return;
  default:
    return;
  }
}

void Builder::scalarUnit() {
  for (unsigned n = 0; n < 3; ++n)
    read(i_.src[n], Use::Scalar, n);
  write(i_.dst, Use::ScalarWrite);
  f_.scalarProducer = Producer::SaluScalar;
  f_.allLanes = true;
  bool exec = m_.ends_with("saveexec_b64") || m_.ends_with("wrexec_b64");
  if (exec) {
    readScalar(reg::kExec, 2, Use::Scalar);
    writeScalar(reg::kExec, 2);
  }
  if (m_.starts_with("s_cbranch_vcc"))
    readScalar(reg::kVcc, 2, Use::Scalar);
  if (m_.starts_with("s_cbranch_exec"))
    readScalar(reg::kExec, 2, Use::Scalar);
  bool index = m_.starts_with("s_set_gpr_idx");
  if (index && m_ != "s_set_gpr_idx_off")
    writeScalar(reg::kM0, 1);
  bool carryIn = m_.starts_with("s_addc") || m_.starts_with("s_subb") ||
                 m_.starts_with("s_cselect") || m_.starts_with("s_cmov") ||
                 m_.starts_with("s_cbranch_scc");
  if (carryIn)
    readScalar(kSccCell - int(kScalarCell), 1, Use::Scalar);
  bool sopp = op_.format == Format::SOPP, result = i_.dst.kind != OperandKind::None;
  bool compares = (op_.format == Format::SOPC && m_ != "s_setvskip") || m_.starts_with("s_cmpk");
  if (!sopp && !index && (compares || (result && !std::ranges::binary_search(kKeepScc, m_))))
    writeScalar(kSccCell - int(kScalarCell), 1);
  if (m_ == "s_nop")
    f_.waitStates = uint8_t((i_.literal & 15) + 1);
  scalarFlow();
}

void Builder::scalarFlow() {
  auto is = [&](std::string_view p) { return m_.starts_with(p); };
  if (is("s_cbranch") || is("s_setpc") || is("s_swappc") || is("s_setvskip"))
    f_.flow = Flow::Branch;
  else if (is("s_cselect"))
    f_.flow = Flow::ScalarPick;
  else if (m_.ends_with("saveexec_b64") || m_.ends_with("wrexec_b64"))
    f_.flow = Flow::SaveExec;
  else if (is("s_and_b") || is("s_andn2_b"))
    f_.flow = Flow::BitAnd;
  else if (is("s_mov_b") || is("s_not_b") || is("s_or_b") || is("s_xor_b"))
    f_.flow = Flow::BitMix;
  else if (f_.writes)
    f_.flow = Flow::Scalar;
}

void Builder::valu() {
  std::string_view letters = op_.signature.substr(op_.signature.find('=') + 1);
  bool lane = op_.run == vReadlaneB32 || op_.run == vReadfirstlaneB32,
       put = op_.run == vWritelaneB32;
  bool permlane = op_.run == vPermlane16SwapB32 || op_.run == vPermlane32SwapB32;
  bool dot = m_.starts_with("v_dot"), trans = transcendental(m_);
  size_t last = std::min<size_t>(letters.size(), 3) - (op_.flags & ReadsDst ? 0 : 1);
  for (unsigned n = 0; n < 4; ++n) {
    const Operand &o = i_.src[n];
    bool vector = o.kind == OperandKind::Vgpr || o.kind == OperandKind::Agpr;
    Use use = lane ? Use::LaneRead : permlane ? Use::Swap : trans ? Use::Trans : Use::Valu;
    if ((i_.flags & Dpp) && n == 0)
      use = Use::Dpp;
    if (dot && n == last)
      use = Use::DotC;
    if (!vector)
      use = (lane || put) && n == 1                                         ? Use::LaneSelect
            : n == 2 && (op_.flags & Carry) && op_.run != vCndmaskB32       ? Use::CarryIn
            : o.kind == OperandKind::Inline                                 ? Use::ZeroFlag
            : o.kind == OperandKind::Sgpr && (o.index | 1) == reg::kVcc + 1 ? Use::VccValu
                                                                            : Use::ScalarValu;
    read(o, use, n);
  }
  if (op_.flags & ReadsVcc)
    readScalar(reg::kVcc, 2, Use::DivFmas);
  if (i_.flags & Dpp)
    readScalar(reg::kExec, 2, Use::DppExec);
  if (lane || put || permlane)
    readScalar(reg::kExec, 2, Use::LaneExec);
  bool scalarResult = i_.dst.kind == OperandKind::Sgpr;
  write(i_.dst, scalarResult ? Use::ScalarWrite : Use::ValuWrite);
  write(i_.sdst, Use::ScalarWrite);
  if (permlane || op_.run == vSwapB32)
    write(i_.src[0], Use::ValuWrite);
  if (op_.flags & VopcX)
    writeScalar(reg::kExec, 2);
  f_.vectorProducer = trans                   ? Producer::Trans
                      : dot                   ? Producer::Dot
                      : shiftsResult(i_, op_) ? Producer::Shifted
                                              : Producer::Valu;
  f_.scalarProducer = Producer::ValuScalar;
  f_.allLanes = op_.run == vReadlaneB32 || put;
  f_.crossLane = lane || permlane || (i_.flags & Dpp);
  f_.partial = (op_.flags & HalfDst) || m_.starts_with("v_fma_mixlo") ||
               m_.starts_with("v_fma_mixhi") || m_.starts_with("v_cvt_") || (i_.flags & Sdwa);
  f_.zeroes =
      !(i_.flags & (Dpp | Sdwa | SourceModified)) &&
      (m_ == "v_and_b32" || m_ == "v_mul_lo_u32" || m_ == "v_mul_i32_i24" || m_ == "v_mul_u32_u24");
  valuFlow();
}

void Builder::valuFlow() {
  bool carries = op_.run == vMadU64U32 || op_.run == vMadI64I32 || op_.run == vLshlAddU64;
  bool pair = (m_.starts_with("v_cvt_pk") || m_ == "v_pack_b32_f16") &&
              (op_.signature == "w=ww" || op_.signature == "w=hh");
  bool shift = op_.run == vLshlrevB64 || op_.run == vLshrrevB64 || op_.run == vAshrrevI64;
  bool packed = op_.format == Format::VOP3P && op_.signature.starts_with("q=");
  if (i_.dst.kind == OperandKind::None)
    f_.flow = Flow::None;
  else if (op_.run == vReadlaneB32)
    f_.flow = Flow::ReadLane;
  else if (op_.run == vReadfirstlaneB32)
    f_.flow = Flow::FirstLane;
  else if (op_.run == vWritelaneB32)
    f_.flow = Flow::WriteLane;
  else if (op_.run == vSwapB32)
    f_.flow = Flow::Swap;
  else if (op_.run == vPermlane16SwapB32)
    f_.flow = Flow::PermSwap16;
  else if (op_.run == vPermlane32SwapB32)
    f_.flow = Flow::PermSwap32;
  else if (op_.run == vCndmaskB32)
    f_.flow = Flow::Select;
  else if (i_.dst.kind == OperandKind::Sgpr)
    f_.flow = Flow::Compare;
  else
    f_.flow = packed               ? Flow::Halves
              : op_.run == vMovB64 ? Flow::Dwords
              : carries            ? Flow::Carries
              : shift              ? Flow::Shift
              : pair               ? Flow::Pair
                                   : Flow::Lanes;
}

void Builder::matrix() {
  bool sparse = m_.starts_with("v_smfmac");
  for (unsigned n = 0; n < 5; ++n) {
    bool c = sparse ? n == 3 : n == 2;
    bool scalar = i_.src[n].kind == OperandKind::Sgpr;
    read(i_.src[n], scalar ? Use::ScalarValu : c ? Use::MatrixC : Use::MatrixAB, n);
  }
  write(i_.dst, Use::MatrixWrite);
  f_.passes = passesOf(m_);
  f_.vectorProducer = f_.holder = matrixProducer(m_, f_.passes);
  f_.heldSource = sparse ? 3 : 2;
  f_.allLanes = f_.crossLane = true;
  f_.flow = Flow::Matrix;
}

void Builder::memory() {
  bool scalar = op_.format == Format::SMEM, lds = op_.format == Format::DS;
  for (unsigned n = 0; n < 4; ++n) {
    const Operand &o = i_.src[n];
    bool vector = o.kind == OperandKind::Vgpr || o.kind == OperandKind::Agpr;
    read(o, vector ? Use::Memory : scalar ? Use::Scalar : Use::ScalarVmem, n);
  }
  if (i_.flags & ToLds)
    readScalar(reg::kM0, 1, Use::DmaM0);
  write(i_.dst, scalar ? Use::ScalarWrite : Use::LoadWrite);
  f_.flow = Flow::Memory;
  bool exchange = m_ == "ds_bpermute_b32" || m_ == "ds_permute_b32" || m_ == "ds_swizzle_b32";
  switch (op_.format) {
  case Format::SMEM:
    f_.space = Space::Scalar;
    break;
  case Format::DS:
    f_.space = exchange ? Space::Exchange : Space::Lds;
    break;
  case Format::MUBUF:
    f_.space = Space::Buffer;
    break;
  case Format::GLOBAL:
    f_.space = Space::Global;
    break;
  case Format::FLAT:
    f_.space = Space::Flat;
    break;
  default:
    f_.space = Space::Scratch;
  }
  f_.allLanes = scalar;
  f_.crossLane = exchange;
  f_.partial = op_.flags & (D16 | D16Hi);
  bool write = m_.starts_with("ds_write");
  f_.atomic = lds ? !write && !exchange && !m_.starts_with("ds_read") && op_.signature != "="
                  : bool(op_.flags & Atomic);
  f_.store = lds ? write : i_.src[3].kind != OperandKind::None;
  if (!lds && !scalar && i_.src[3].dwords > 2) {
    bool sgpr = op_.format == Format::MUBUF && i_.src[2].kind == OperandKind::Sgpr;
    f_.holder = sgpr ? Producer::WideStoreSgpr : Producer::WideStore;
    f_.heldSource = 3;
  }
}

Facts Builder::run() {
  f_.known = true;
  switch (op_.format) {
  case Format::SOP1:
  case Format::SOP2:
  case Format::SOPC:
  case Format::SOPK:
  case Format::SOPP:
    scalarUnit();
    break;
  case Format::SMEM:
  case Format::DS:
  case Format::FLAT:
  case Format::GLOBAL:
  case Format::SCRATCH:
  case Format::MUBUF:
    memory();
    break;
  default:
    if (m_.starts_with("v_mfma") || m_.starts_with("v_smfmac"))
      matrix();
    else
      valu();
  }
  for (unsigned n = 0; n < f_.writes; ++n) {
    unsigned exec = kScalarCell + reg::kExec;
    f_.writesExec |= f_.write[n].first <= exec + 1 && f_.write[n].first + f_.write[n].count > exec;
  }
  return f_;
}

constexpr HazardTable hazardTable() {
  HazardTable t{};
  auto set = [&](Producer p, Use u, int states) { t[size_t(p)][size_t(u)] = uint8_t(states); };
#define SIM_XDL_HAZARD(use, p2, p4, p8, p16)                                                       \
  set(Producer::Xdl2, Use::use, p2);                                                               \
  set(Producer::Xdl4, Use::use, p4);                                                               \
  set(Producer::Xdl8, Use::use, p8);                                                               \
  set(Producer::Xdl16, Use::use, p16);
#define SIM_SGEMM_HAZARD(use, p2, p8, p16)                                                         \
  set(Producer::Sgemm2, Use::use, p2);                                                             \
  set(Producer::Sgemm8, Use::use, p8);                                                             \
  set(Producer::Sgemm16, Use::use, p16);
#define SIM_HAZARD(producer, use, states) set(Producer::producer, Use::use, states);
#define SIM_PASSES(mnemonic, passes)
#include "runtime/sim/strict/Hazards.def"
#undef SIM_XDL_HAZARD
#undef SIM_SGEMM_HAZARD
#undef SIM_HAZARD
#undef SIM_PASSES
  return t;
}

} // namespace

constinit const HazardTable kHazards = hazardTable();

Facts factsOf(const Inst &i, uint32_t accumOffset) {
  if (i.run == refused) {
    Facts none;
    none.known = true;
    return none;
  }
  return Builder(i, accumOffset).run();
}

bool canMove(const Inst &i) {
  Format format = kOpcodes[i.opcode].format;
  return format >= Format::VOP1 && format <= Format::VOP3P;
}

Facts movedFacts(const Facts &facts, uint32_t enabled, uint32_t index) {
  Facts f = facts;
  auto move = [&](Span &s, unsigned bit) {
    if ((enabled & bit) && s.first < kScalarCell && !s.agpr)
      s.first = uint16_t(std::min<unsigned>(s.first + index, kScalarCell - s.count));
  };
  for (unsigned n = 0; n < f.reads; ++n)
    move(f.read[n], f.read[n].source < 3 ? 1u << f.read[n].source : 0);
  for (unsigned n = 0; n < f.writes; ++n)
    move(f.write[n], 8);
  return f;
}

std::string cellName(unsigned cell, bool agpr, uint32_t accumOffset) {
  if (cell < kScalarCell)
    return agpr ? fmt::format("a{}", cell - accumOffset) : fmt::format("v{}", cell);
  switch (unsigned n = cell - kScalarCell; n) {
  case reg::kFlatScratch:
    return "flat_scratch_lo";
  case reg::kFlatScratch + 1:
    return "flat_scratch_hi";
  case reg::kVcc:
    return "vcc_lo";
  case reg::kVcc + 1:
    return "vcc_hi";
  case reg::kM0:
    return "m0";
  case reg::kExec:
    return "exec_lo";
  case reg::kExec + 1:
    return "exec_hi";
  case kSccCell - kScalarCell:
    return "scc";
  default:
    return fmt::format("s{}", n);
  }
}

} // namespace attune::sim::strict
