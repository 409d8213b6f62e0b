#include "runtime/sim/timing/Classify.h"
#include "runtime/sim/Wave.h"
#include <algorithm>
#include <charconv>

namespace attune::sim {
namespace {

struct ValuRow {
  std::string_view prefix;
  ValuKind kind;
  uint16_t clk;
};
struct MfmaRow {
  std::string_view prefix;
  int passes;
  MfmaKind kind;
};
struct LdsRow {
  std::string_view prefix;
  uint8_t banks;
  LdsPhases phases;
  uint8_t issueClk, dataClk;
};

constexpr ValuRow kValuRows[] = {
#define TIMING_PARAM(...)
#define TIMING_VALU(prefix, kind, clk, source) {prefix, ValuKind::kind, clk},
#define TIMING_MFMA(...)
#define TIMING_LDS(...)
#include "runtime/sim/timing/Gfx950Timing.def"
};
constexpr MfmaRow kMfmaRows[] = {
#define TIMING_PARAM(...)
#define TIMING_VALU(...)
#define TIMING_MFMA(prefix, passes, kind, source) {prefix, passes, MfmaKind::kind},
#define TIMING_LDS(...)
#include "runtime/sim/timing/Gfx950Timing.def"
};
constexpr LdsRow kLdsRows[] = {
#define TIMING_PARAM(...)
#define TIMING_VALU(...)
#define TIMING_MFMA(...)
#define TIMING_LDS(prefix, banks, phases, issueClk, dataClk, source)                               \
  {prefix, banks, LdsPhases::phases, issueClk, dataClk},
#include "runtime/sim/timing/Gfx950Timing.def"
};

template <class Row> const Row *match(std::span<const Row> rows, std::string_view mnemonic) {
  auto at = std::find_if(rows.begin(), rows.end(),
                         [&](const Row &r) { return mnemonic.starts_with(r.prefix); });
  return at == rows.end() ? nullptr : &*at;
}

/// 2 M N K times the blocks of "v_mfma_f32_MxNxK_type" or "..._MxNxK_Bb_type".
uint64_t matrixFlops(std::string_view mnemonic) {
  size_t shape = mnemonic.rfind('_', mnemonic.find('x')) + 1;
  std::string_view rest = mnemonic.substr(shape);
  uint64_t flops = 2;
  for (int factor = 0; factor < 4; ++factor) {
    uint64_t n = 1;
    auto [next, error] = std::from_chars(rest.data(), rest.data() + rest.size(), n);
    size_t used = size_t(next - rest.data());
    bool blocks = used < rest.size() && rest[used] == 'b';
    if (error != std::errc() || (factor == 3) != blocks)
      break;
    flops *= n;
    rest.remove_prefix(std::min(used + 1, rest.size()));
  }
  return flops;
}

/// Bytes that a lane holds of A or B. The f8f6f4 forms name the type in cbsz and blgp: 0, 1 are 8
/// bits wide, 2, 3 are 6, 4 is 4.
int matrixBytes(const Inst &i, int source) {
  if (!kOpcodes[i.opcode].mnemonic.ends_with("f8f6f4"))
    return 4 * i.src[source].dwords;
  int type = source == 0 ? i.abs : i.neg;
  return type <= 1 ? 32 : type <= 3 ? 24 : 16;
}

int resultWaitStates(int passes, const TimingParams &p) {
  return passes <= 2   ? p.mfmaResultWaitStates2
         : passes <= 4 ? p.mfmaResultWaitStates4
         : passes <= 8 ? p.mfmaResultWaitStates8
                       : p.mfmaResultWaitStates16;
}

void classifyMatrix(InstTiming &t, const Inst &i, const MfmaRow &row, const TimingParams &p) {
  int a = matrixBytes(i, 0), b = matrixBytes(i, 1);
  int passes = row.passes;
  if (t.mnemonic.ends_with("f8f6f4") && std::max(a, b) == 32)
    passes *= 2;
  int slot = p.passClk;
  int valuSlot = 1 + std::max(a, b) / p.mfmaReadBytesPerSlot;
  int packedSlot = passes + p.mfmaPackedExtraPasses + (a >= p.mfmaReadBytesPerSlot ? 1 : 0);
  if (row.kind == MfmaKind::Blocking)
    valuSlot = packedSlot = passes + p.mfmaPackedExtraPasses;
  t.unit = Unit::Mfma;
  t.clk = uint16_t(passes * slot);
  t.valuAfter = uint16_t(valuSlot * slot);
  t.packedAfter = uint16_t(packedSlot * slot);
  t.memAfter = uint16_t(std::min(valuSlot, p.mfmaMemSlotMax) * slot);
  t.resultAfter = uint16_t((resultWaitStates(passes, p) + 1) * slot);
  t.otherAccAfter = uint16_t((passes + p.mfmaOtherAccWaitStates + 1) * slot);
  t.scaled = i.flags & Scaled;
  t.flops = matrixFlops(t.mnemonic);
}

void classifyVector(InstTiming &t, const Inst &i, const TimingParams &p) {
  t.unit = Unit::Valu;
  t.clk = uint16_t(p.valuClk);
  if (const MfmaRow *row = match<MfmaRow>(kMfmaRows, t.mnemonic)) {
    classifyMatrix(t, i, *row, p);
  } else if (const ValuRow *plain = match<ValuRow>(kValuRows, t.mnemonic)) {
    t.valu = plain->kind;
    t.clk = plain->clk;
  }
}

void classifyLds(InstTiming &t, const Inst &i) {
  const LdsRow *row = match<LdsRow>(kLdsRows, t.mnemonic);
  t.unit = Unit::Lds;
  t.banks = row->banks;
  t.phases = row->phases;
  t.clk = row->issueClk;
  t.ldsData = row->dataClk;
  t.store = t.mnemonic.starts_with("ds_write");
  if (t.store)
    t.ldsSlots = uint8_t(i.src[1].dwords + (t.phases == LdsPhases::Pair ? i.src[2].dwords : 0) + 1);
}

void classifyProgram(InstTiming &t, const Inst &i, const TimingParams &p) {
  std::string_view m = t.mnemonic;
  if (m == "s_waitcnt") {
    t.unit = Unit::Waitcnt;
    t.clk = uint16_t(p.waitcntClk);
    t.vmKeep = uint8_t((i.literal & 15) | (i.literal >> 14 & 3) << 4);
    t.lgkmKeep = uint8_t(i.literal >> 8 & 15);
  } else if (m == "s_nop") {
    t.unit = Unit::Nop;
    t.clk = uint16_t(((i.literal & 15) + 1) * uint32_t(p.nopClkPerUnit));
  } else if (m == "s_sleep") {
    t.unit = Unit::Sleep;
    t.clk = uint16_t((i.literal & 127) * uint32_t(p.sleepClkPerUnit) + uint32_t(p.slotClk));
  } else if (m == "s_barrier") {
    t.unit = Unit::Barrier;
  } else if (m == "s_setprio") {
    t.unit = Unit::Priority;
    t.literal = uint8_t(i.literal & 3);
  } else if (m.starts_with("s_endpgm")) {
    t.unit = Unit::End;
  } else if (kOpcodes[i.opcode].flags & Branch) {
    t.unit = Unit::Branch;
    t.clk = uint16_t(p.branchClk);
    t.target = i.literal;
  } else {
    t.unit = Unit::Nop; // hints and messages
    t.clk = uint16_t(p.slotClk);
  }
}

RegisterRange registersOf(const Operand &o, uint32_t accumOffset) {
  switch (o.kind) {
  case OperandKind::Vgpr:
    return {o.index, o.dwords};
  case OperandKind::Agpr:
    return {uint16_t(o.index + accumOffset), o.dwords};
  case OperandKind::Sgpr:
    return {uint16_t(kSgprBase + o.index), o.dwords};
  default:
    return {};
  }
}

void setRegisters(InstTiming &t, const Inst &i, uint32_t accumOffset) {
  // MFMA: the place of A, B and C counts, so that empty ranges stay.
  for (const Operand &o : i.src) {
    RegisterRange r = registersOf(o, accumOffset);
    if (r.count || t.unit == Unit::Mfma)
      t.reads[t.readCount++] = r;
  }
  for (const Operand *o : {&i.dst, &i.sdst})
    if (RegisterRange r = registersOf(*o, accumOffset); r.count)
      t.writes[t.writeCount++] = r;
}

} // namespace

InstTiming classify(const Inst &i, uint32_t accumOffset, const TimingParams &p) {
  const OpcodeInfo &op = kOpcodes[i.opcode];
  InstTiming t;
  t.mnemonic = op.mnemonic;
  t.pc = i.pc;
  t.opcode = i.opcode;
  t.clk = uint16_t(p.saluClk);
  switch (op.format) {
  case Format::SOP1:
  case Format::SOP2:
  case Format::SOPC:
    t.unit = op.mnemonic.starts_with("s_setpc") || op.mnemonic.starts_with("s_swappc")
                 ? Unit::Branch
                 : Unit::Salu;
    break;
  case Format::SOPK:
    t.unit = op.flags & Branch ? Unit::Branch : Unit::Salu;
    break;
  case Format::SOPP:
    classifyProgram(t, i, p);
    break;
  case Format::SMEM:
    t.unit = i.memBytes ? Unit::Smem : Unit::Salu;
    break;
  case Format::DS:
    if (op.signature == "=") // ds_nop
      t.unit = Unit::Nop;
    else
      classifyLds(t, i);
    break;
  case Format::FLAT:
  case Format::GLOBAL:
  case Format::SCRATCH:
  case Format::MUBUF:
    t.unit = Unit::Vmem;
    t.store = i.dst.kind == OperandKind::None && !(i.flags & ToLds);
    break;
  default:
    classifyVector(t, i, p);
  }
  setRegisters(t, i, accumOffset);
  return t;
}

std::vector<InstTiming> classifyText(std::span<const Inst> code, uint32_t accumOffset,
                                     const TimingParams &p) {
  std::vector<InstTiming> text;
  text.reserve(code.size());
  for (const Inst &i : code)
    text.push_back(classify(i, accumOffset, p));
  return text;
}

} // namespace attune::sim
