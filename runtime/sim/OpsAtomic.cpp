// Atomics on LDS and memory. A scalar atomic is one of lane 0 whose registers are scalar. Lanes act
// in ascending order; on memory each lane's update is atomic towards other host threads too, so
// integer results do not depend on how workgroups are spread over threads.
//
// One function per operation, (old, operand) -> new; compare-and-swap has the value to write in the
// low half of its data registers and the value to compare with in the high half (DS: in the other
// order, in two operands).
#include "runtime/sim/MemoryAddress.h"
#include "runtime/sim/Numerics.h"
#include <atomic>
#include <bit>
#include <optional>

namespace attune::sim {
namespace {

using U = uint32_t;
using Q = uint64_t;

template <class T> T dataOf(const Access &a, int row, int l) {
  if constexpr (sizeof(T) == 8)
    return a.data[row][l] | Q(a.data[row + 1][l]) << 32;
  else
    return a.data[row][l];
}

template <class T> void writeOld(Wave &w, const Inst &i, int l, T old) {
  if (i.dst.kind == OperandKind::None)
    return;
  if (i.dst.kind == OperandKind::Sgpr) {
    std::memcpy(&w.s[i.dst.index], &old, sizeof(T));
    return;
  }
  w.row(i.dst)[l] = U(old);
  if constexpr (sizeof(T) == 8)
    w.row(i.dst, 1)[l] = U(old >> 32);
}

/// Fn: T(T old, T operand, T compare).
template <class T, class Fn> T updateMemory(uint8_t *at, T operand, T compare) {
  std::atomic_ref<T> cell(*reinterpret_cast<T *>(at));
  T old = cell.load(std::memory_order_relaxed);
  while (!cell.compare_exchange_weak(old, Fn()(old, operand, compare), std::memory_order_relaxed)) {
  }
  return old;
}

constexpr int compareRow(size_t size) { return int(size / 4); }

template <class T> uint8_t *aligned(Wave &w, uint8_t *at, int l) {
  if (!at || reinterpret_cast<uint64_t>(at) % sizeof(T) == 0)
    return at;
  w.fault("atomic at an address that is not a multiple of its size", l);
  return nullptr;
}

/// Adders of atomics round to nearest. Those of memory and those of f64 keep denormals, those of
/// f32 in LDS do as MODE says.
template <class T, class Fn> class AtomicArithmetic {
public:
  AtomicArithmetic(const Wave &w, bool lds) {
    constexpr uint32_t denormals = 3 << 4;
    if constexpr (Fn::computesFloats)
      mode_.emplace(w, lds && sizeof(T) == 4 ? w.mode & denormals : denormals);
  }

private:
  std::optional<HostFloatMode> mode_;
};

template <class T, class Fn> void completeMemory(Wave &w, const Access &a) {
  AtomicArithmetic<T, Fn> arithmetic(w, false);
  forLanes(w, a.exec, [&](int l) {
    if (a.bytes[l] < sizeof(T)) {
      writeOld<T>(w, *a.inst, l, 0);
      return;
    }
    if (uint8_t *at = aligned<T>(w, w.memory(a.address[l], sizeof(T), l), l))
      writeOld<T>(
          w, *a.inst, l,
          updateMemory<T, Fn>(at, dataOf<T>(a, 0, l), dataOf<T>(a, compareRow(sizeof(T)), l)));
  });
}

template <class T, class Fn> void completeLds(Wave &w, const Access &a) {
  AtomicArithmetic<T, Fn> arithmetic(w, true);
  forLanes(w, a.exec, [&](int l) {
    uint8_t *at = w.lds(U(a.address[l]), sizeof(T), l);
    if (!at)
      return;
    T old;
    std::memcpy(&old, at, sizeof(T));
    T value = Fn()(old, dataOf<T>(a, 0, l), dataOf<T>(a, compareRow(sizeof(T)), l));
    std::memcpy(at, &value, sizeof(T));
    writeOld<T>(w, *a.inst, l, old);
  });
}

void prepare(Wave &w, Access &a, const Inst &i, Access::Complete complete) {
  a.inst = &i;
  a.exec = w.exec();
  a.complete = complete;
  std::memset(a.data, 0, sizeof a.data); // the compare rows of operations without one
}

using Addresses = bool (*)(Wave &, Access &);
template <class T, class Fn>
void memoryAtomic(Wave &w, const Inst &i, Addresses addresses, Counter counter) {
  Access a;
  prepare(w, a, i, completeMemory<T, Fn>);
  if (!addresses(w, a))
    return;
  captureData(w, a, i.src[3]);
  w.issue(a, counter);
}
template <class T, class Fn> void scalarAtomic(Wave &w, const Inst &i, Addresses addresses) {
  Access a;
  prepare(w, a, i, completeMemory<T, Fn>);
  a.exec = 1;
  addresses(w, a);
  captureData(w, a, i.src[3]);
  w.issue(a, Counter::Lgkm);
}
template <class T, class Fn> void ldsAtomic(Wave &w, const Inst &i) {
  Access a;
  prepare(w, a, i, completeLds<T, Fn>);
  const U *v = w.row(i.src[0]);
  for (int l = 0; l < kLanes; ++l)
    a.address[l] = v[l] + U(i.offset);
  captureData(w, a, i.src[1]);
  w.issue(a, Counter::Lgkm);
}
/// DS compare-and-swap: data0 is the value to compare with, data1 the one to write.
template <class T, class Fn> void ldsCompareSwap(Wave &w, const Inst &i) {
  Access a;
  prepare(w, a, i, completeLds<T, Fn>);
  const U *v = w.row(i.src[0]);
  for (int l = 0; l < kLanes; ++l)
    a.address[l] = v[l] + U(i.offset);
  captureData(w, a, i.src[2]);
  captureData(w, a, i.src[1], compareRow(sizeof(T)));
  w.issue(a, Counter::Lgkm);
}

template <class T> auto asSigned(T x) { return std::make_signed_t<T>(x); }
float f32(U x) { return asFloat(x); }
double f64(Q x) { return asDouble(x); }
template <class Widen, class Narrow> U addPairs(U a, U b, Widen widen, Narrow narrow) {
  U lo = narrow(widen(uint16_t(a)) + widen(uint16_t(b)));
  U hi = narrow(widen(uint16_t(a >> 16)) + widen(uint16_t(b >> 16)));
  return lo | hi << 16;
}

#define SIM_UPDATE_KIND(Name, floats, expression)                                                  \
  template <class T> struct Name {                                                                 \
    static constexpr bool computesFloats = floats;                                                 \
    T operator()(T old, T x, T compare) const {                                                    \
      (void)old, (void)x, (void)compare;                                                           \
      return T(expression);                                                                        \
    }                                                                                              \
  };
#define SIM_UPDATE(Name, expression) SIM_UPDATE_KIND(Name, false, expression)
#define SIM_UPDATE_FLOAT(Name, expression) SIM_UPDATE_KIND(Name, true, expression)
SIM_UPDATE(Swap, x)
SIM_UPDATE(Cmpswap, old == compare ? x : old)
SIM_UPDATE(Add, old + x)
SIM_UPDATE(Sub, old - x)
SIM_UPDATE(Rsub, x - old)
SIM_UPDATE(Smin, asSigned(old) < asSigned(x) ? old : x)
SIM_UPDATE(Umin, old < x ? old : x)
SIM_UPDATE(Smax, asSigned(old) > asSigned(x) ? old : x)
SIM_UPDATE(Umax, old > x ? old : x)
SIM_UPDATE(And, old &x)
SIM_UPDATE(Or, old | x)
SIM_UPDATE(Xor, old ^ x)
SIM_UPDATE(Inc, old >= x ? 0 : old + 1)
SIM_UPDATE(Dec, old == 0 || old > x ? x : old - 1)
SIM_UPDATE_FLOAT(AddF32, asBits(f32(U(old)) + f32(U(x))))
SIM_UPDATE_FLOAT(MinF32, asBits(minNum(f32(U(old)), f32(U(x)))))
SIM_UPDATE_FLOAT(MaxF32, asBits(maxNum(f32(U(old)), f32(U(x)))))
SIM_UPDATE_FLOAT(AddF64, asBits(f64(old) + f64(x)))
SIM_UPDATE_FLOAT(MinF64, asBits(minNum(f64(old), f64(x))))
SIM_UPDATE_FLOAT(MaxF64, asBits(maxNum(f64(old), f64(x))))
SIM_UPDATE_FLOAT(PkAddF16, addPairs(U(old), U(x), f16ToF32, [](float s) { return U(f32ToF16(s)); }))
SIM_UPDATE_FLOAT(PkAddBf16,
                 addPairs(U(old), U(x), bf16ToF32, [](float s) { return U(f32ToBf16(s)); }))
#undef SIM_UPDATE
#undef SIM_UPDATE_FLOAT
#undef SIM_UPDATE_KIND

} // namespace

#define SIM_MEMORY_ATOMIC(Suffix, T, Update)                                                       \
  void bufferAtomic##Suffix(Wave &w, const Inst &i) {                                              \
    memoryAtomic<T, Update<T>>(w, i, bufferAddress, Counter::Vm);                                  \
  }                                                                                                \
  void globalAtomic##Suffix(Wave &w, const Inst &i) {                                              \
    memoryAtomic<T, Update<T>>(w, i, globalAddress, Counter::Vm);                                  \
  }                                                                                                \
  void flatAtomic##Suffix(Wave &w, const Inst &i) {                                                \
    memoryAtomic<T, Update<T>>(w, i, flatAddress, Counter::Both);                                  \
  }
#define SIM_SCALAR_ATOMIC(Suffix, T, Update)                                                       \
  void sAtomic##Suffix(Wave &w, const Inst &i) {                                                   \
    scalarAtomic<T, Update<T>>(w, i, scalarAddress);                                               \
  }                                                                                                \
  void sBufferAtomic##Suffix(Wave &w, const Inst &i) {                                             \
    scalarAtomic<T, Update<T>>(w, i, scalarBufferAddress);                                         \
  }
#define SIM_MEMORY_ATOMIC_INT(Name)                                                                \
  SIM_MEMORY_ATOMIC(Name, U, Name)                                                                 \
  SIM_MEMORY_ATOMIC(Name##X2, Q, Name)                                                             \
  SIM_SCALAR_ATOMIC(Name, U, Name)                                                                 \
  SIM_SCALAR_ATOMIC(Name##X2, Q, Name)
SIM_MEMORY_ATOMIC_INT(Swap)
SIM_MEMORY_ATOMIC_INT(Cmpswap)
SIM_MEMORY_ATOMIC_INT(Add)
SIM_MEMORY_ATOMIC_INT(Sub)
SIM_MEMORY_ATOMIC_INT(Smin)
SIM_MEMORY_ATOMIC_INT(Umin)
SIM_MEMORY_ATOMIC_INT(Smax)
SIM_MEMORY_ATOMIC_INT(Umax)
SIM_MEMORY_ATOMIC_INT(And)
SIM_MEMORY_ATOMIC_INT(Or)
SIM_MEMORY_ATOMIC_INT(Xor)
SIM_MEMORY_ATOMIC_INT(Inc)
SIM_MEMORY_ATOMIC_INT(Dec)
SIM_MEMORY_ATOMIC(AddF32, U, AddF32)
SIM_MEMORY_ATOMIC(PkAddF16, U, PkAddF16)
SIM_MEMORY_ATOMIC(PkAddBf16, U, PkAddBf16)
SIM_MEMORY_ATOMIC(AddF64, Q, AddF64)
SIM_MEMORY_ATOMIC(MinF64, Q, MinF64)
SIM_MEMORY_ATOMIC(MaxF64, Q, MaxF64)
#undef SIM_MEMORY_ATOMIC_INT
#undef SIM_SCALAR_ATOMIC
#undef SIM_MEMORY_ATOMIC

#define SIM_DS_ATOMIC(name, T, Update)                                                             \
  void name(Wave &w, const Inst &i) { ldsAtomic<T, Update<T>>(w, i); }
SIM_DS_ATOMIC(dsAddU32, U, Add)
SIM_DS_ATOMIC(dsSubU32, U, Sub)
SIM_DS_ATOMIC(dsRsubU32, U, Rsub)
SIM_DS_ATOMIC(dsIncU32, U, Inc)
SIM_DS_ATOMIC(dsDecU32, U, Dec)
SIM_DS_ATOMIC(dsMinI32, U, Smin)
SIM_DS_ATOMIC(dsMaxI32, U, Smax)
SIM_DS_ATOMIC(dsMinU32, U, Umin)
SIM_DS_ATOMIC(dsMaxU32, U, Umax)
SIM_DS_ATOMIC(dsAndB32, U, And)
SIM_DS_ATOMIC(dsOrB32, U, Or)
SIM_DS_ATOMIC(dsXorB32, U, Xor)
SIM_DS_ATOMIC(dsAddF32, U, AddF32)
SIM_DS_ATOMIC(dsMinF32, U, MinF32)
SIM_DS_ATOMIC(dsMaxF32, U, MaxF32)
SIM_DS_ATOMIC(dsPkAddF16, U, PkAddF16)
SIM_DS_ATOMIC(dsPkAddBf16, U, PkAddBf16)
SIM_DS_ATOMIC(dsAddU64, Q, Add)
SIM_DS_ATOMIC(dsSubU64, Q, Sub)
SIM_DS_ATOMIC(dsMinI64, Q, Smin)
SIM_DS_ATOMIC(dsMaxI64, Q, Smax)
SIM_DS_ATOMIC(dsMinU64, Q, Umin)
SIM_DS_ATOMIC(dsMaxU64, Q, Umax)
SIM_DS_ATOMIC(dsAndB64, Q, And)
SIM_DS_ATOMIC(dsOrB64, Q, Or)
SIM_DS_ATOMIC(dsXorB64, Q, Xor)
SIM_DS_ATOMIC(dsAddF64, Q, AddF64)
SIM_DS_ATOMIC(dsMinF64, Q, MinF64)
SIM_DS_ATOMIC(dsMaxF64, Q, MaxF64)
SIM_DS_ATOMIC(dsWrxchgRtnB32, U, Swap)
SIM_DS_ATOMIC(dsWrxchgRtnB64, Q, Swap)
#undef SIM_DS_ATOMIC
void dsCmpstB32(Wave &w, const Inst &i) { ldsCompareSwap<U, Cmpswap<U>>(w, i); }
void dsCmpstB64(Wave &w, const Inst &i) { ldsCompareSwap<Q, Cmpswap<Q>>(w, i); }

} // namespace attune::sim
