// Program flow, waits, hardware registers and indexed register access.
//
// Branch targets were turned into indices of the code array by the decoder (Inst::literal); s_setpc
// and s_swappc look theirs up. `ip` already points to the next instruction when a handler runs.
#include "runtime/sim/Ops.h"
#include <fmt/format.h>

namespace attune::sim {
namespace {

uint64_t addressOfNext(const Wave &w, const Inst &i) {
  return w.group->textBase + i.pc + 4 * i.words;
}

void branch(Wave &w, const Inst &i, bool taken) {
  if (!taken)
    return;
  if (i.literal >= w.group->codeCount) {
    w.fault("branch to an address that no instruction starts at");
    return;
  }
  w.ip = i.literal;
}

void jump(Wave &w, uint64_t address) {
  uint64_t offset = address - w.group->textBase;
  int32_t index =
      offset < w.group->textBytes && offset % 4 == 0 ? w.group->indexOfDword[offset / 4] : -1;
  if (index < 0)
    w.fault(fmt::format(
        "jump to {:#x}, which is not the start of an instruction of this code object", address));
  else
    w.ip = uint32_t(index);
}

} // namespace

void sNop(Wave &, const Inst &) {}
void sEndpgm(Wave &w, const Inst &) {
  w.wait(0, 0);
  if (w.state == WaveState::Running)
    w.state = WaveState::Ended;
}
void sBranch(Wave &w, const Inst &i) { branch(w, i, true); }
void sCbranchScc0(Wave &w, const Inst &i) { branch(w, i, !w.scc); }
void sCbranchScc1(Wave &w, const Inst &i) { branch(w, i, w.scc); }
void sCbranchVccz(Wave &w, const Inst &i) { branch(w, i, w.vcc() == 0); }
void sCbranchVccnz(Wave &w, const Inst &i) { branch(w, i, w.vcc() != 0); }
void sCbranchExecz(Wave &w, const Inst &i) { branch(w, i, w.exec() == 0); }
void sCbranchExecnz(Wave &w, const Inst &i) { branch(w, i, w.exec() != 0); }
void sGetpcB64(Wave &w, const Inst &i) { writeScalar64(w, i.dst, addressOfNext(w, i)); }
void sSetpcB64(Wave &w, const Inst &i) { jump(w, scalar64(w, i, i.src[0])); }
void sSwappcB64(Wave &w, const Inst &i) {
  uint64_t target = scalar64(w, i, i.src[0]);
  writeScalar64(w, i.dst, addressOfNext(w, i));
  jump(w, target);
}
void sCallB64(Wave &w, const Inst &i) {
  writeScalar64(w, i.dst, addressOfNext(w, i));
  branch(w, i, true);
}

void sBarrier(Wave &w, const Inst &) { w.state = WaveState::AtBarrier; }
void sWaitcnt(Wave &w, const Inst &i) {
  uint32_t vm = (i.literal & 15) | (i.literal >> 14 & 3) << 4;
  w.wait(vm, i.literal >> 8 & 15);
}
void sTrap(Wave &w, const Inst &i) {
  w.fault(fmt::format("s_trap {}: the kernel stopped itself", i.literal & 0xff));
}
void sSethalt(Wave &w, const Inst &i) {
  if (i.literal & 1)
    w.fault("s_sethalt: the kernel stopped itself");
}
/// A clock that advances with the wave's own instructions: deterministic, and monotonic within a
/// wave.
void sMemtime(Wave &w, const Inst &i) { writeScalar64(w, i.dst, w.executed); }

// Hardware registers: simm16 = register [5:0], offset [10:6], width - 1 [15:11].
namespace {
enum HwReg : uint32_t {
  kMode = 1,
  kStatus = 2,
  kHwId = 4,
  kGprAlloc = 5,
  kLdsAlloc = 6,
  kXccId = 20
};

struct HwField {
  uint32_t reg, offset, mask;
  explicit HwField(uint32_t simm)
      : reg(simm & 63), offset(simm >> 6 & 31),
        mask(uint32_t((uint64_t(2) << (simm >> 11 & 31)) - 1)) {}
};

void setHwReg(Wave &w, const HwField &f, uint32_t value) {
  if (f.reg != kMode) {
    w.fault(fmt::format("s_setreg of hardware register {}: only MODE (1) can be written", f.reg));
    return;
  }
  setMode(w, (w.mode & ~(f.mask << f.offset)) | (value & f.mask) << f.offset);
}
} // namespace

void sGetregB32(Wave &w, const Inst &i) {
  HwField f(i.literal);
  uint32_t value = 0;
  switch (f.reg) {
  case kMode:
    value = w.mode;
    break;
  case kStatus:
    value = uint32_t(w.scc) | uint32_t(w.exec() == 0) << 9 | uint32_t(w.vcc() == 0) << 10;
    break;
  case kHwId:
  case kXccId:
    break; // one chiplet, one compute unit
  default:
    w.fault(fmt::format("s_getreg of hardware register {}: not modelled", f.reg));
    return;
  }
  writeScalar32(w, i.dst, value >> f.offset & f.mask);
}
void sSetregB32(Wave &w, const Inst &i) {
  setHwReg(w, HwField(i.literal), scalar32(w, i, i.src[0]));
}
/// MODE.VSKIP = bit src1 of src0.
void sSetvskip(Wave &w, const Inst &i) {
  uint32_t skip = scalar32(w, i, i.src[0]) >> (scalar32(w, i, i.src[1]) & 31) & 1;
  setMode(w, (w.mode & ~kModeVskip) | (skip ? kModeVskip : 0));
}
void sSetregImm32B32(Wave &w, const Inst &i) { setHwReg(w, HwField(i.literal), i.ext); }

// Indexed VGPR access. M0 holds the index in [7:0] and the enables in [15:12], which
// Wave::vectorMode has too.
namespace {
void setIndexing(Wave &w, uint32_t indexing) {
  w.vectorMode = (w.vectorMode & Wave::kSkipped) | indexing;
}
} // namespace

void sSetGprIdxOn(Wave &w, const Inst &i) {
  uint32_t enables = i.literal & 15;
  w.s[reg::kM0] = (w.s[reg::kM0] & 0xffff0f00) | (scalar32(w, i, i.src[0]) & 0xff) | enables << 12;
  setIndexing(w, Wave::kIndexed | enables);
}
void sSetGprIdxOff(Wave &w, const Inst &) { setIndexing(w, 0); }
void sSetGprIdxMode(Wave &w, const Inst &i) {
  w.s[reg::kM0] = (w.s[reg::kM0] & 0xffff0fff) | (i.literal & 15) << 12;
  setIndexing(w, Wave::kIndexed | (i.literal & 15));
}
void sSetGprIdxIdx(Wave &w, const Inst &i) {
  w.s[reg::kM0] = (w.s[reg::kM0] & ~0xffu) | (scalar32(w, i, i.src[0]) & 0xff);
}

} // namespace attune::sim
