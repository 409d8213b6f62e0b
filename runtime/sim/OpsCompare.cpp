// v_cmp_*, v_cmpx_*, v_cmp_class_*, v_cndmask: lane masks from comparisons, and selection by a lane
// mask.
//
// The result is one bit per lane, 0 for inactive lanes, in VCC or the SGPR pair that the encoding
// names. v_cmpx writes EXEC as well.
#include "runtime/sim/Lanes.h"

namespace attune::sim {
namespace {

/// Sign bits of 64 dwords as a mask.
uint64_t packSigns(const uint32_t *row) {
  uint64_t mask = 0;
  for (int l = 0; l < kLanes; ++l)
    mask |= uint64_t(row[l] >> 31) << l;
  return mask;
}

void writeMask(Wave &w, const Inst &i, uint64_t mask) {
  writeScalar64(w, i.dst, mask);
  if (kOpcodes[i.opcode].flags & VopcX)
    w.setExec(mask);
}

template <class A, class B, class Fn> void compareLanes(Wave &w, const Inst &i, Fn fn) {
  uint64_t mask = w.exec();
  alignas(64) LaneRow buffer[2][2], bits;
  Source<A> a(w, i, 0, buffer[0], mask);
  Source<B> b(w, i, 1, buffer[1], mask);
  SIM_LANE_LOOP
  for (int l = 0; l < kLanes; ++l)
    bits[l] = fn(a[l], b[l]) ? ~0u : 0u;
  writeMask(w, i, packSigns(bits) & mask);
}

/// f64 comparisons see denormals or zeros as MODE says of f64.
template <class T, class Fn> void compare(Wave &w, const Inst &i, Fn fn) {
  if constexpr (std::is_same_v<T, double>) {
    DoubleFloatMode guard(w);
    compareLanes<T, T>(w, i, fn);
  } else {
    compareLanes<T, T>(w, i, fn);
  }
}

} // namespace

#define SIM_COMPARE(name, T, expression)                                                           \
  void name(Wave &w, const Inst &i) {                                                              \
    compare<T>(w, i, [](auto a, auto b) { return expression; });                                   \
  }
#define SIM_COMPARE_FLOAT(suffix, T)                                                               \
  SIM_COMPARE(vCmpF##suffix, T, ((void)a, (void)b, false))                                         \
  SIM_COMPARE(vCmpLt##suffix, T, a < b)                                                            \
  SIM_COMPARE(vCmpEq##suffix, T, a == b)                                                           \
  SIM_COMPARE(vCmpLe##suffix, T, a <= b)                                                           \
  SIM_COMPARE(vCmpGt##suffix, T, a > b)                                                            \
  SIM_COMPARE(vCmpLg##suffix, T, a<b || a> b)                                                      \
  SIM_COMPARE(vCmpGe##suffix, T, a >= b)                                                           \
  SIM_COMPARE(vCmpO##suffix, T, !isNan(a) && !isNan(b))                                            \
  SIM_COMPARE(vCmpU##suffix, T, isNan(a) || isNan(b))                                              \
  SIM_COMPARE(vCmpNge##suffix, T, !(a >= b))                                                       \
  SIM_COMPARE(vCmpNlg##suffix, T, !(a < b || a > b))                                               \
  SIM_COMPARE(vCmpNgt##suffix, T, !(a > b))                                                        \
  SIM_COMPARE(vCmpNle##suffix, T, !(a <= b))                                                       \
  SIM_COMPARE(vCmpNeq##suffix, T, !(a == b))                                                       \
  SIM_COMPARE(vCmpNlt##suffix, T, !(a < b))                                                        \
  SIM_COMPARE(vCmpTru##suffix, T, ((void)a, (void)b, true))
#define SIM_COMPARE_INT(suffix, T)                                                                 \
  SIM_COMPARE(vCmpF##suffix, T, ((void)a, (void)b, false))                                         \
  SIM_COMPARE(vCmpLt##suffix, T, a < b)                                                            \
  SIM_COMPARE(vCmpEq##suffix, T, a == b)                                                           \
  SIM_COMPARE(vCmpLe##suffix, T, a <= b)                                                           \
  SIM_COMPARE(vCmpGt##suffix, T, a > b)                                                            \
  SIM_COMPARE(vCmpNe##suffix, T, a != b)                                                           \
  SIM_COMPARE(vCmpGe##suffix, T, a >= b)                                                           \
  SIM_COMPARE(vCmpT##suffix, T, ((void)a, (void)b, true))

SIM_COMPARE_FLOAT(F16, Half)
SIM_COMPARE_FLOAT(F32, float)
SIM_COMPARE_FLOAT(F64, double)
SIM_COMPARE_INT(I16, int16_t)
SIM_COMPARE_INT(U16, uint16_t)
SIM_COMPARE_INT(I32, int32_t)
SIM_COMPARE_INT(U32, uint32_t)
SIM_COMPARE_INT(I64, int64_t)
SIM_COMPARE_INT(U64, uint64_t)
#undef SIM_COMPARE_FLOAT
#undef SIM_COMPARE_INT
#undef SIM_COMPARE

// The class functions look at bits: a denormal is a denormal even where arithmetic would flush it.
void vCmpClassF32(Wave &w, const Inst &i) {
  compareLanes<uint32_t, uint32_t>(
      w, i, [](uint32_t x, uint32_t classes) { return (classOfF32(x) & classes) != 0; });
}
void vCmpClassF64(Wave &w, const Inst &i) {
  compareLanes<double, uint32_t>(
      w, i, [](double x, uint32_t classes) { return (classOfF64(asBits(x)) & classes) != 0; });
}
void vCmpClassF16(Wave &w, const Inst &i) {
  compareLanes<uint16_t, uint16_t>(
      w, i, [](uint16_t x, uint16_t classes) { return (classOfF16(x) & classes) != 0; });
}

/// dst = mask bit ? src1 : src0; abs and neg apply, so sources are fetched like any others.
void vCndmaskB32(Wave &w, const Inst &i) {
  uint64_t mask = w.exec(), select = scalar64(w, i, i.src[2]);
  alignas(64) LaneRow buffer[2][2], out;
  Source<uint32_t> a(w, i, 0, buffer[0], mask), b(w, i, 1, buffer[1], mask);
  for (int l = 0; l < kLanes; ++l)
    out[l] = select >> l & 1 ? b[l] : a[l];
  commitRow(w, i, 0, out, mask);
}

} // namespace attune::sim
