// Scalar arithmetic and logic: SOP1, SOP2, SOPC, SOPK.
//
// SCC after an instruction: carry or borrow of unsigned sums, overflow of signed ones, "result is
// not zero" of logic, shifts and bit fields, the outcome of a comparison, "src0 was chosen" of min
// and max.
#include "runtime/sim/Ops.h"
#include <algorithm>
#include <bit>

namespace attune::sim {
namespace {

using U = uint32_t;
using I = int32_t;
using Q = uint64_t;
using L = int64_t;

template <class T> T source(const Wave &w, const Inst &i, int n) {
  if constexpr (sizeof(T) == 8)
    return T(scalar64(w, i, i.src[n]));
  else
    return T(scalar32(w, i, i.src[n]));
}
template <class T> void result(Wave &w, const Inst &i, T value) {
  if constexpr (sizeof(T) == 8)
    writeScalar64(w, i.dst, Q(value));
  else
    writeScalar32(w, i.dst, U(value));
}

/// Result only; SCC is left alone.
template <class D, class A, class Fn> void plain1(Wave &w, const Inst &i, Fn fn) {
  result<D>(w, i, fn(source<A>(w, i, 0)));
}
template <class D, class A, class B, class Fn> void plain2(Wave &w, const Inst &i, Fn fn) {
  result<D>(w, i, fn(source<A>(w, i, 0), source<B>(w, i, 1)));
}
/// SCC = result is not zero.
template <class D, class A, class Fn> void logic1(Wave &w, const Inst &i, Fn fn) {
  D value = fn(source<A>(w, i, 0));
  result<D>(w, i, value);
  w.scc = value != 0;
}
template <class D, class A, class B, class Fn> void logic2(Wave &w, const Inst &i, Fn fn) {
  D value = fn(source<A>(w, i, 0), source<B>(w, i, 1));
  result<D>(w, i, value);
  w.scc = value != 0;
}
template <class A, class B, class Fn> void compare(Wave &w, const Inst &i, Fn fn) {
  w.scc = fn(source<A>(w, i, 0), source<B>(w, i, 1));
}
/// The old EXEC goes to the destination, fn(source, EXEC) to EXEC.
template <class Fn> void saveexec(Wave &w, const Inst &i, Fn fn) {
  Q exec = w.exec(), source = scalar64(w, i, i.src[0]);
  writeScalar64(w, i.dst, exec);
  w.setExec(fn(source, exec));
  w.scc = w.exec() != 0;
}
template <class Fn> void wrexec(Wave &w, const Inst &i, Fn fn) {
  w.setExec(fn(scalar64(w, i, i.src[0]), w.exec()));
  writeScalar64(w, i.dst, w.exec());
  w.scc = w.exec() != 0;
}

template <class T> T reverse(T x) {
  T r = 0;
  for (unsigned k = 0; k < 8 * sizeof(T); ++k)
    r |= (x >> k & 1) << (8 * sizeof(T) - 1 - k);
  return r;
}
template <class T> I firstOne(T x) { return x ? std::countr_zero(x) : -1; }
template <class T> I leadingZeros(T x) { return x ? std::countl_zero(x) : -1; }
/// Leading bits that equal the sign; -1 if all do.
template <class T> I signRun(T x) {
  using S = std::make_signed_t<T>;
  return leadingZeros(T(S(x) < 0 ? ~x : x));
}
template <class T> T wholeQuads(T x) { // each group of 4 bits: any set -> all set
  T any = (x | x >> 1 | x >> 2 | x >> 3) & T(0x1111111111111111);
  return any * 15;
}
template <class T> T quadMask(T x) {
  T r = 0;
  for (unsigned k = 0; k < 2 * sizeof(T); ++k)
    r |= T((x >> (4 * k) & 15) != 0) << k;
  return r;
}
/// Bit field of s_bfe: offset in the low bits of `field`, width in [22:16].
template <class T> T bitField(T x, U field) {
  constexpr unsigned bits = 8 * sizeof(T);
  unsigned offset = field & (bits - 1), width = field >> 16 & 0x7f;
  if (width == 0)
    return 0;
  using Unsigned = std::make_unsigned_t<T>;
  width = std::min(width, bits - offset);
  Unsigned top = Unsigned(x) << (bits - offset - width);
  return T(top) >> (bits - width); // arithmetic for signed T
}

} // namespace

// Moves and bit operations of one source.
void sMovB32(Wave &w, const Inst &i) {
  plain1<U, U>(w, i, [](U a) { return a; });
}
void sMovB64(Wave &w, const Inst &i) {
  plain1<Q, Q>(w, i, [](Q a) { return a; });
}
void sCmovB32(Wave &w, const Inst &i) {
  if (w.scc)
    sMovB32(w, i);
}
void sCmovB64(Wave &w, const Inst &i) {
  if (w.scc)
    sMovB64(w, i);
}
#define SIM_SCALAR1(kind, name, D, A, expression)                                                  \
  void name(Wave &w, const Inst &i) {                                                              \
    kind<D, A>(w, i, [](A a) { return D(expression); });                                           \
  }
#define SIM_SCALAR2(kind, name, D, A, B, expression)                                               \
  void name(Wave &w, const Inst &i) {                                                              \
    kind<D, A, B>(w, i, [](A a, B b) { return D(expression); });                                   \
  }
SIM_SCALAR1(logic1, sNotB32, U, U, ~a)
SIM_SCALAR1(logic1, sNotB64, Q, Q, ~a)
SIM_SCALAR1(logic1, sWqmB32, U, U, wholeQuads(a))
SIM_SCALAR1(logic1, sWqmB64, Q, Q, wholeQuads(a))
SIM_SCALAR1(logic1, sQuadmaskB32, U, U, quadMask(a))
SIM_SCALAR1(logic1, sQuadmaskB64, Q, Q, quadMask(a))
SIM_SCALAR1(logic1, sBcnt0I32B32, U, U, 32 - std::popcount(a))
SIM_SCALAR1(logic1, sBcnt0I32B64, U, Q, 64 - std::popcount(a))
SIM_SCALAR1(logic1, sBcnt1I32B32, U, U, std::popcount(a))
SIM_SCALAR1(logic1, sBcnt1I32B64, U, Q, std::popcount(a))
SIM_SCALAR1(logic1, sAbsI32, U, I, a < 0 ? 0u - U(a) : U(a))
SIM_SCALAR1(plain1, sBrevB32, U, U, reverse(a))
SIM_SCALAR1(plain1, sBrevB64, Q, Q, reverse(a))
SIM_SCALAR1(plain1, sFf0I32B32, U, U, firstOne(U(~a)))
SIM_SCALAR1(plain1, sFf0I32B64, U, Q, firstOne(~a))
SIM_SCALAR1(plain1, sFf1I32B32, U, U, firstOne(a))
SIM_SCALAR1(plain1, sFf1I32B64, U, Q, firstOne(a))
SIM_SCALAR1(plain1, sFlbitI32B32, U, U, leadingZeros(a))
SIM_SCALAR1(plain1, sFlbitI32B64, U, Q, leadingZeros(a))
SIM_SCALAR1(plain1, sFlbitI32, U, U, signRun(a))
SIM_SCALAR1(plain1, sFlbitI32I64, U, Q, signRun(a))
SIM_SCALAR1(plain1, sSextI32I8, I, U, int8_t(a))
SIM_SCALAR1(plain1, sSextI32I16, I, U, int16_t(a))
void sBitset0B32(Wave &w, const Inst &i) {
  w.s[i.dst.index] &= ~(1u << (scalar32(w, i, i.src[0]) & 31));
}
void sBitset1B32(Wave &w, const Inst &i) {
  w.s[i.dst.index] |= 1u << (scalar32(w, i, i.src[0]) & 31);
}
void sBitset0B64(Wave &w, const Inst &i) {
  writeScalar64(w, i.dst, w.pair(i.dst.index) & ~(Q(1) << (scalar32(w, i, i.src[0]) & 63)));
}
void sBitset1B64(Wave &w, const Inst &i) {
  writeScalar64(w, i.dst, w.pair(i.dst.index) | Q(1) << (scalar32(w, i, i.src[0]) & 63));
}
void sBitreplicateB64B32(Wave &w, const Inst &i) {
  plain1<Q, U>(w, i, [](U a) {
    Q r = 0;
    for (unsigned k = 0; k < 32; ++k)
      r |= Q(a >> k & 1) * 3 << (2 * k);
    return r;
  });
}

// EXEC.
#define SIM_EXEC(kind, name, expression)                                                           \
  void name(Wave &w, const Inst &i) {                                                              \
    kind(w, i, [](Q a, Q exec) { return expression; });                                            \
  }
SIM_EXEC(saveexec, sAndSaveexecB64, a &exec)
SIM_EXEC(saveexec, sOrSaveexecB64, a | exec)
SIM_EXEC(saveexec, sXorSaveexecB64, a ^ exec)
SIM_EXEC(saveexec, sAndn2SaveexecB64, a & ~exec)
SIM_EXEC(saveexec, sOrn2SaveexecB64, a | ~exec)
SIM_EXEC(saveexec, sNandSaveexecB64, ~(a &exec))
SIM_EXEC(saveexec, sNorSaveexecB64, ~(a | exec))
SIM_EXEC(saveexec, sXnorSaveexecB64, ~(a ^ exec))
SIM_EXEC(saveexec, sAndn1SaveexecB64, ~a &exec)
SIM_EXEC(saveexec, sOrn1SaveexecB64, ~a | exec)
SIM_EXEC(wrexec, sAndn1WrexecB64, ~a &exec)
SIM_EXEC(wrexec, sAndn2WrexecB64, a & ~exec)
#undef SIM_EXEC

// Sums. The signed forms set SCC on overflow.
void sAddU32(Wave &w, const Inst &i) {
  Q r = Q(source<U>(w, i, 0)) + source<U>(w, i, 1);
  result<U>(w, i, U(r));
  w.scc = r >> 32;
}
void sSubU32(Wave &w, const Inst &i) {
  U a = source<U>(w, i, 0), b = source<U>(w, i, 1);
  result<U>(w, i, a - b);
  w.scc = b > a;
}
void sAddcU32(Wave &w, const Inst &i) {
  Q r = Q(source<U>(w, i, 0)) + source<U>(w, i, 1) + w.scc;
  result<U>(w, i, U(r));
  w.scc = r >> 32;
}
void sSubbU32(Wave &w, const Inst &i) {
  Q a = source<U>(w, i, 0), b = Q(source<U>(w, i, 1)) + w.scc;
  result<U>(w, i, U(a - b));
  w.scc = b > a;
}
static void signedSum(Wave &w, const Inst &i, L exact) {
  result<U>(w, i, U(exact));
  w.scc = exact != I(exact);
}
void sAddI32(Wave &w, const Inst &i) {
  signedSum(w, i, L(source<I>(w, i, 0)) + source<I>(w, i, 1));
}
void sSubI32(Wave &w, const Inst &i) {
  signedSum(w, i, L(source<I>(w, i, 0)) - source<I>(w, i, 1));
}
void sAddkI32(Wave &w, const Inst &i) {
  signedSum(w, i, L(I(w.s[i.dst.index])) + int16_t(i.literal));
}
void sMulkI32(Wave &w, const Inst &i) { w.s[i.dst.index] *= U(I(int16_t(i.literal))); }
void sMovkI32(Wave &w, const Inst &i) { result<I>(w, i, int16_t(i.literal)); }
void sCmovkI32(Wave &w, const Inst &i) {
  if (w.scc)
    sMovkI32(w, i);
}
template <unsigned Shift> static void shiftedSum(Wave &w, const Inst &i) {
  Q r = (Q(source<U>(w, i, 0)) << Shift) + source<U>(w, i, 1);
  result<U>(w, i, U(r));
  w.scc = r >> 32 != 0;
}
void sLshl1AddU32(Wave &w, const Inst &i) { shiftedSum<1>(w, i); }
void sLshl2AddU32(Wave &w, const Inst &i) { shiftedSum<2>(w, i); }
void sLshl3AddU32(Wave &w, const Inst &i) { shiftedSum<3>(w, i); }
void sLshl4AddU32(Wave &w, const Inst &i) { shiftedSum<4>(w, i); }

// Minimum and maximum: SCC says that the first source was chosen, of equal ones by the maximum
// only.
template <class T, class Fn> static void choose(Wave &w, const Inst &i, Fn first) {
  T a = source<T>(w, i, 0), b = source<T>(w, i, 1);
  w.scc = first(a, b);
  result<T>(w, i, w.scc ? a : b);
}
void sMinI32(Wave &w, const Inst &i) {
  choose<I>(w, i, [](I a, I b) { return a < b; });
}
void sMinU32(Wave &w, const Inst &i) {
  choose<U>(w, i, [](U a, U b) { return a < b; });
}
void sMaxI32(Wave &w, const Inst &i) {
  choose<I>(w, i, [](I a, I b) { return a >= b; });
}
void sMaxU32(Wave &w, const Inst &i) {
  choose<U>(w, i, [](U a, U b) { return a >= b; });
}
void sCselectB32(Wave &w, const Inst &i) { result<U>(w, i, source<U>(w, i, w.scc ? 0 : 1)); }
void sCselectB64(Wave &w, const Inst &i) { result<Q>(w, i, source<Q>(w, i, w.scc ? 0 : 1)); }

// Logic, shifts, products, fields.
SIM_SCALAR2(logic2, sAndB32, U, U, U, a &b)
SIM_SCALAR2(logic2, sAndB64, Q, Q, Q, a &b)
SIM_SCALAR2(logic2, sOrB32, U, U, U, a | b)
SIM_SCALAR2(logic2, sOrB64, Q, Q, Q, a | b)
SIM_SCALAR2(logic2, sXorB32, U, U, U, a ^ b)
SIM_SCALAR2(logic2, sXorB64, Q, Q, Q, a ^ b)
SIM_SCALAR2(logic2, sAndn2B32, U, U, U, a & ~b)
SIM_SCALAR2(logic2, sAndn2B64, Q, Q, Q, a & ~b)
SIM_SCALAR2(logic2, sOrn2B32, U, U, U, a | ~b)
SIM_SCALAR2(logic2, sOrn2B64, Q, Q, Q, a | ~b)
SIM_SCALAR2(logic2, sNandB32, U, U, U, ~(a &b))
SIM_SCALAR2(logic2, sNandB64, Q, Q, Q, ~(a &b))
SIM_SCALAR2(logic2, sNorB32, U, U, U, ~(a | b))
SIM_SCALAR2(logic2, sNorB64, Q, Q, Q, ~(a | b))
SIM_SCALAR2(logic2, sXnorB32, U, U, U, ~(a ^ b))
SIM_SCALAR2(logic2, sXnorB64, Q, Q, Q, ~(a ^ b))
SIM_SCALAR2(logic2, sLshlB32, U, U, U, a << (b & 31))
SIM_SCALAR2(logic2, sLshlB64, Q, Q, U, a << (b & 63))
SIM_SCALAR2(logic2, sLshrB32, U, U, U, a >> (b & 31))
SIM_SCALAR2(logic2, sLshrB64, Q, Q, U, a >> (b & 63))
SIM_SCALAR2(logic2, sAshrI32, I, I, U, a >> (b & 31))
SIM_SCALAR2(logic2, sAshrI64, L, L, U, a >> (b & 63))
SIM_SCALAR2(logic2, sBfeU32, U, U, U, bitField(a, b))
SIM_SCALAR2(logic2, sBfeI32, I, I, U, bitField(a, b))
SIM_SCALAR2(logic2, sBfeU64, Q, Q, U, bitField(a, b))
SIM_SCALAR2(logic2, sBfeI64, L, L, U, bitField(a, b))
SIM_SCALAR2(logic2, sAbsdiffI32, U, U, U, I(a - b) < 0 ? b - a : a - b)
SIM_SCALAR2(plain2, sBfmB32, U, U, U, ((1u << (a & 31)) - 1) << (b & 31))
SIM_SCALAR2(plain2, sBfmB64, Q, U, U, ((Q(1) << (a & 63)) - 1) << (b & 63))
SIM_SCALAR2(plain2, sMulI32, U, U, U, a *b)
SIM_SCALAR2(plain2, sMulHiU32, U, U, U, Q(a) * b >> 32)
SIM_SCALAR2(plain2, sMulHiI32, I, I, I, L(a) * b >> 32)
SIM_SCALAR2(plain2, sPackLlB32B16, U, U, U, (a & 0xffff) | b << 16)
SIM_SCALAR2(plain2, sPackLhB32B16, U, U, U, (a & 0xffff) | (b & 0xffff0000))
SIM_SCALAR2(plain2, sPackHhB32B16, U, U, U, a >> 16 | (b & 0xffff0000))
#undef SIM_SCALAR1
#undef SIM_SCALAR2

// Comparisons.
#define SIM_CMP(name, A, B, expression)                                                            \
  void name(Wave &w, const Inst &i) {                                                              \
    compare<A, B>(w, i, [](A a, B b) { return bool(expression); });                                \
  }
#define SIM_CMPK(name, T, Imm, op)                                                                 \
  void name(Wave &w, const Inst &i) { w.scc = T(scalar32(w, i, i.src[0])) op T(Imm(i.literal)); }
SIM_CMP(sCmpEqI32, I, I, a == b)
SIM_CMP(sCmpLgI32, I, I, a != b)
SIM_CMP(sCmpGtI32, I, I, a > b)
SIM_CMP(sCmpGeI32, I, I, a >= b)
SIM_CMP(sCmpLtI32, I, I, a < b)
SIM_CMP(sCmpLeI32, I, I, a <= b)
SIM_CMP(sCmpEqU32, U, U, a == b)
SIM_CMP(sCmpLgU32, U, U, a != b)
SIM_CMP(sCmpGtU32, U, U, a > b)
SIM_CMP(sCmpGeU32, U, U, a >= b)
SIM_CMP(sCmpLtU32, U, U, a < b)
SIM_CMP(sCmpLeU32, U, U, a <= b)
SIM_CMP(sCmpEqU64, Q, Q, a == b)
SIM_CMP(sCmpLgU64, Q, Q, a != b)
SIM_CMP(sBitcmp0B32, U, U, !(a >> (b & 31) & 1))
SIM_CMP(sBitcmp1B32, U, U, a >> (b & 31) & 1)
SIM_CMP(sBitcmp0B64, Q, U, !(a >> (b & 63) & 1))
SIM_CMP(sBitcmp1B64, Q, U, a >> (b & 63) & 1)
SIM_CMPK(sCmpkEqI32, I, int16_t, ==)
SIM_CMPK(sCmpkLgI32, I, int16_t, !=)
SIM_CMPK(sCmpkGtI32, I, int16_t, >)
SIM_CMPK(sCmpkGeI32, I, int16_t, >=)
SIM_CMPK(sCmpkLtI32, I, int16_t, <)
SIM_CMPK(sCmpkLeI32, I, int16_t, <=)
SIM_CMPK(sCmpkEqU32, U, uint16_t, ==)
SIM_CMPK(sCmpkLgU32, U, uint16_t, !=)
SIM_CMPK(sCmpkGtU32, U, uint16_t, >)
SIM_CMPK(sCmpkGeU32, U, uint16_t, >=)
SIM_CMPK(sCmpkLtU32, U, uint16_t, <)
SIM_CMPK(sCmpkLeU32, U, uint16_t, <=)
#undef SIM_CMP
#undef SIM_CMPK

} // namespace attune::sim
