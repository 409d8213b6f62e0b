// DS instructions other than atomics: reads, writes, transposing reads, and exchanges over the LDS
// crossbar.
#include "runtime/sim/LdsOps.h"
#include "runtime/sim/MemoryOps.h"

namespace attune::sim {
namespace {

/// LDS byte address of each lane: the address register plus a 16-bit offset.
void ldsAddresses(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  const uint32_t *v = w.row(i.src[0]);
  for (int l = 0; l < kLanes; ++l)
    a.address[l] = v[l] + uint32_t(i.offset);
}

Access ldsAccess(Wave &w, const Inst &i, Access::Complete complete) {
  Access a;
  a.inst = &i;
  a.exec = w.exec();
  a.complete = complete;
  return a;
}

void completeRead(Wave &w, const Access &a) {
  if (wholeAccess(a, 0, w.group->lds.bytes)) {
    loadAll(a.inst->memBytes, &w.row(a.inst->dst), w.group->lds.base, a.address);
    return;
  }
  forLanes(w, a.exec, [&](int l) {
    if (const uint8_t *from = w.lds(uint32_t(a.address[l]), a.inst->memBytes, l))
      loadLane(w, *a.inst, l, from);
  });
}
void completeWrite(Wave &w, const Access &a) {
  if (wholeAccess(a, 0, w.group->lds.bytes)) {
    storeAll(a.inst->memBytes, a.data, w.group->lds.base, a.address);
    return;
  }
  forLanes(w, a.exec, [&](int l) {
    if (uint8_t *to = w.lds(uint32_t(a.address[l]), a.inst->memBytes, l))
      storeLane(a, l, to);
  });
}

/// The two addresses of ds_read2 / ds_write2: 8-bit offsets that count elements, or 64 elements.
uint32_t pairOffset(const Inst &i, int which) {
  uint32_t count = uint32_t(i.offset) >> (8 * which) & 0xff;
  return count * i.memBytes * (flagsOf(i) & St64 ? 64 : 1);
}
void completeRead2(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  int words = i.memBytes / 4;
  LaneRow *rows = &w.row(i.dst);
  forLanes(w, a.exec, [&](int l) {
    for (int which = 0; which < 2; ++which) {
      const uint8_t *from = w.lds(uint32_t(a.address[l]) + pairOffset(i, which), i.memBytes, l);
      if (!from)
        return;
      for (int k = 0; k < words; ++k)
        std::memcpy(&rows[which * words + k][l], from + 4 * k, 4);
    }
  });
}
void completeWrite2(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  forLanes(w, a.exec, [&](int l) {
    for (int which = 0; which < 2; ++which)
      if (uint8_t *to = w.lds(uint32_t(a.address[l]) + pairOffset(i, which), i.memBytes, l))
        storeLane(a, l, to, which * i.memBytes / 4);
  });
}

/// The words that each active lane reads; inactive lanes have 0.
bool gatherLanes(Wave &w, const Access &a, LaneRow *in) {
  unsigned bytes = a.inst->memBytes;
  std::memset(in, 0, bytes / 4 * sizeof(LaneRow));
  forLanes(w, a.exec, [&](int l) {
    const uint8_t *from = w.lds(uint32_t(a.address[l]), bytes, l);
    for (unsigned k = 0; from && k < bytes / 4; ++k)
      std::memcpy(&in[k][l], from + 4 * k, 4);
  });
  return w.state != WaveState::Faulted;
}

using Transpose = void (*)(const uint32_t (*)[64], uint32_t (*)[64]);
/// The same for lanes that are all whole, straight from LDS into the rows.
using LoadTransposed = void (*)(LaneRow *rows, uint64_t base, const uint64_t *address);

/// Row k of a column-wise read is what a few neighbouring lanes read, one after another.
template <class T, unsigned C>
ATTUNE_SIM_INLINE void loadRow(Vector<T, C> &row, uint64_t base, const uint64_t *address) {
  Vector<uint64_t, C * sizeof(T) / 8> words;
  for (unsigned n = 0; n < sizeof words / 8; ++n) {
    uint64_t word;
    std::memcpy(&word, Memory::host(base + address[n]), sizeof word);
    words[n] = word;
  }
  std::memcpy(&row, &words, sizeof row);
}

/// a[0], b[0], a[1], b[1], ...: two rows of 16 elements as 16 elements of twice the width.
template <class T, class Wide>
ATTUNE_SIM_INLINE void interleave(Vector<Wide, 16> &out, const Vector<T, 16> &a,
                                  const Vector<T, 16> &b) {
  Vector<T, 32> both =
      __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23, 8, 24,
                              9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  std::memcpy(&out, &both, sizeof out);
}

/// Lane i of 16 receives element i of the rows 0, 1, 2, 3.
void loadTransposedB16(LaneRow *rows, uint64_t base, const uint64_t *address) {
  for (int l = 0; l < kLanes; l += 16)
    for (int k = 0; k < 2; ++k) {
      const uint64_t *from = address + l + 8 * k;
      Vector<uint16_t, 16> low, high;
      loadRow<uint16_t, 16>(low, base, from);
      loadRow<uint16_t, 16>(high, base, from + 4);
      Vector<uint32_t, 16> words;
      interleave<uint16_t, uint32_t>(words, low, high);
      store<uint32_t, 16>(rows[k] + l, words);
    }
}
/// Lane i of 16 receives element i of the rows 0 to 7.
void loadTransposedB8(LaneRow *rows, uint64_t base, const uint64_t *address) {
  for (int l = 0; l < kLanes; l += 16)
    for (int k = 0; k < 2; ++k) {
      const uint64_t *from = address + l + 8 * k;
      Vector<uint8_t, 16> row[4];
      for (int n = 0; n < 4; ++n)
        loadRow<uint8_t, 16>(row[n], base, from + 2 * n);
      Vector<uint16_t, 16> low, high;
      interleave<uint8_t, uint16_t>(low, row[0], row[1]);
      interleave<uint8_t, uint16_t>(high, row[2], row[3]);
      Vector<uint32_t, 16> words;
      interleave<uint16_t, uint32_t>(words, low, high);
      store<uint32_t, 16>(rows[k] + l, words);
    }
}

/// Load: what whole lanes do, if there is a shorter way for them.
template <Transpose Fn, LoadTransposed Load> void completeTranspose(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  bool whole = wholeAccess(a, 0, w.group->lds.bytes);
  if constexpr (Load != nullptr) {
    if (whole) {
      Load(&w.row(i.dst), w.group->lds.base, a.address);
      return;
    }
  }
  int words = i.memBytes / 4;
  alignas(64) LaneRow in[4], out[3]; // an access has up to 4 words, a transpose up to 3
  if (whole)
    loadAll(i.memBytes, in, w.group->lds.base, a.address);
  else if (!gatherLanes(w, a, in))
    return;
  Fn(in, out);
  for (int k = 0; k < words; ++k)
    commitRow(w, i, k, out[k], a.exec);
}

/// Exchanges read registers at issue and write at completion.
void completeExchange(Wave &w, const Access &a) { commitRow(w, *a.inst, 0, a.data[0], a.exec); }

} // namespace

void dsRead(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeRead);
  ldsAddresses(w, a);
  w.issue(a, Counter::Lgkm);
}
void dsWrite(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeWrite);
  ldsAddresses(w, a);
  captureData(w, a, i.src[1]);
  w.issue(a, Counter::Lgkm);
}
static void pairAddresses(Wave &w, Access &a) {
  const uint32_t *v = w.row(a.inst->src[0]);
  for (int l = 0; l < kLanes; ++l)
    a.address[l] = v[l];
}
void dsRead2(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeRead2);
  pairAddresses(w, a);
  w.issue(a, Counter::Lgkm);
}
void dsWrite2(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeWrite2);
  pairAddresses(w, a);
  captureData(w, a, i.src[1]);
  captureData(w, a, i.src[2], i.memBytes / 4);
  w.issue(a, Counter::Lgkm);
}
template <Transpose Fn, LoadTransposed Load = nullptr>
static void transposingRead(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeTranspose<Fn, Load>);
  ldsAddresses(w, a);
  w.issue(a, Counter::Lgkm);
}
void dsReadB64TrB16(Wave &w, const Inst &i) {
  transposingRead<transposeB16, loadTransposedB16>(w, i);
}
void dsReadB64TrB8(Wave &w, const Inst &i) { transposingRead<transposeB8, loadTransposedB8>(w, i); }
void dsReadB64TrB4(Wave &w, const Inst &i) { transposingRead<transposeB4>(w, i); }
void dsReadB96TrB6(Wave &w, const Inst &i) { transposingRead<transposeB6>(w, i); }

void dsSwizzleB32(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeExchange);
  dsSwizzle(swizzleMap(uint16_t(i.offset)), a.exec, w.row(i.src[0]), a.data[0]);
  w.issue(a, Counter::Lgkm);
}
void dsBpermuteB32(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeExchange);
  dsBpermute(w.row(i.src[0]), w.row(i.src[1]), uint16_t(i.offset), a.exec, a.data[0]);
  w.issue(a, Counter::Lgkm);
}
void dsPermuteB32(Wave &w, const Inst &i) {
  Access a = ldsAccess(w, i, completeExchange);
  dsPermute(w.row(i.src[0]), w.row(i.src[1]), uint16_t(i.offset), a.exec, a.data[0]);
  w.issue(a, Counter::Lgkm);
}

} // namespace attune::sim
