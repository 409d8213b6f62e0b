// DS instructions other than atomics: reads, writes, transposing reads, and exchanges over the LDS
// crossbar.
#include "runtime/sim/LdsOps.h"
#include "runtime/sim/MemoryOps.h"
#include <algorithm>
#include <type_traits>

namespace attune::sim {
namespace {

/// LDS byte address of each lane: the address register plus a 16-bit offset.
void ldsAddresses(Wave &w, Access &a) {
  const Inst &i = *a.inst;
  const uint32_t *v = w.row(i.src[0]);
  for (int l = 0; l < kLanes; ++l)
    a.address[l] = v[l] + uint32_t(i.offset);
}

/// An access that needs no Access, which is nearly every one of a launch that nobody watches: it
/// takes effect now, for all lanes, inside LDS. Lane l is at base + address[l]; null: it is not
/// one.
struct WholeLds {
  const uint32_t *address = nullptr;
  uint64_t base = 0;
};
WholeLds wholeLds(Wave &w, const Inst &i) {
  const Workgroup &g = *w.group;
  uint64_t end = uint64_t(i.offset) + i.memBytes;
  if (!g.direct() || w.exec() != kAllLanes || i.memBytes < 4 || end > g.lds.bytes)
    return {};
  const uint32_t *address = w.row(i.src[0]);
  uint32_t largest = 0;
  for (int l = 0; l < kLanes; ++l)
    largest = std::max(largest, address[l]);
  if (largest > g.lds.bytes - end)
    return {};
  return {address, g.lds.base + uint64_t(i.offset)};
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

/// Row k of a column-wise read is what a few neighbouring lanes read, one after another.
template <class T, unsigned C, class Address>
ATTUNE_SIM_INLINE void loadRow(Vector<T, C> &row, uint64_t base, const Address *address) {
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

// The transposes again for lanes that are all whole, straight from LDS into word k of 16 lanes,
// whose addresses these are.

/// Lane i of 16 receives element i of the rows 0, 1, 2, 3.
struct LoadB16 {
  template <class Address>
  ATTUNE_SIM_INLINE static void word(Vector<uint32_t, 16> &out, uint64_t base,
                                     const Address *address, int k) {
    Vector<uint16_t, 16> low, high;
    loadRow<uint16_t, 16>(low, base, address + 8 * k);
    loadRow<uint16_t, 16>(high, base, address + 8 * k + 4);
    interleave<uint16_t, uint32_t>(out, low, high);
  }
};
/// Lane i of 16 receives element i of the rows 0 to 7.
struct LoadB8 {
  template <class Address>
  ATTUNE_SIM_INLINE static void word(Vector<uint32_t, 16> &out, uint64_t base,
                                     const Address *address, int k) {
    Vector<uint8_t, 16> row[4];
    for (int n = 0; n < 4; ++n)
      loadRow<uint8_t, 16>(row[n], base, address + 8 * k + 2 * n);
    Vector<uint16_t, 16> low, high;
    interleave<uint8_t, uint16_t>(low, row[0], row[1]);
    interleave<uint8_t, uint16_t>(high, row[2], row[3]);
    interleave<uint16_t, uint32_t>(out, low, high);
  }
};

/// All lanes. Both words before either is stored: a row may be where the addresses are.
template <class Load, class Address>
void loadTransposed(LaneRow *rows, uint64_t base, const Address *address) {
  for (int l = 0; l < kLanes; l += 16) {
    Vector<uint32_t, 16> words[2];
    Load::word(words[0], base, address + l, 0);
    Load::word(words[1], base, address + l, 1);
    store<uint32_t, 16>(rows[0] + l, words[0]);
    store<uint32_t, 16>(rows[1] + l, words[1]);
  }
}

/// Load: what whole lanes do, void if there is no shorter way for them.
template <Transpose Fn, class Load> void completeTranspose(Wave &w, const Access &a) {
  const Inst &i = *a.inst;
  bool whole = wholeAccess(a, 0, w.group->lds.bytes);
  if constexpr (!std::is_void_v<Load>) {
    if (whole) {
      loadTransposed<Load>(&w.row(i.dst), w.group->lds.base, a.address);
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
  if (WholeLds whole = wholeLds(w, i); whole.address) {
    loadAll(i.memBytes, &w.row(i.dst), whole.base, whole.address);
    return;
  }
  Access a = ldsAccess(w, i, completeRead);
  ldsAddresses(w, a);
  w.issue(a, Counter::Lgkm);
}
void dsWrite(Wave &w, const Inst &i) {
  if (WholeLds whole = wholeLds(w, i); whole.address) {
    storeAll(i.memBytes, &w.row(i.src[1]), whole.base, whole.address);
    return;
  }
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
template <Transpose Fn, class Load = void> static void transposingRead(Wave &w, const Inst &i) {
  if constexpr (!std::is_void_v<Load>)
    if (WholeLds whole = wholeLds(w, i); whole.address) {
      loadTransposed<Load>(&w.row(i.dst), whole.base, whole.address);
      return;
    }
  Access a = ldsAccess(w, i, completeTranspose<Fn, Load>);
  ldsAddresses(w, a);
  w.issue(a, Counter::Lgkm);
}
void dsReadB64TrB16(Wave &w, const Inst &i) { transposingRead<transposeB16, LoadB16>(w, i); }
void dsReadB64TrB8(Wave &w, const Inst &i) { transposingRead<transposeB8, LoadB8>(w, i); }
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
