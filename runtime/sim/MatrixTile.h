// Numbers side by side in host registers: a compiler extension, so that the tiles of a matrix
// product stay in registers at any optimisation level.
#pragma once
#include "runtime/sim/HostIsa.h"
#include <cmath>
#include <cstring>
#include <type_traits>

namespace attune::sim {

template <class T, unsigned C> struct VectorOf {
  typedef T Type __attribute__((vector_size(C * sizeof(T))));
};
template <class T, unsigned C> using Vector = typename VectorOf<T, C>::Type;

template <class T, unsigned C> ATTUNE_SIM_INLINE void load(Vector<T, C> &v, const T *from) {
  std::memcpy(&v, from, sizeof(v));
}
template <class T, unsigned C> ATTUNE_SIM_INLINE void store(T *to, const Vector<T, C> &v) {
  std::memcpy(to, &v, sizeof(v));
}

/// acc += a * b, rounded once (integers: modulo 2^32).
template <class T, unsigned C>
ATTUNE_SIM_INLINE void fuse(Vector<T, C> &acc, const Vector<T, C> &a, const Vector<T, C> &b) {
  if constexpr (std::is_integral_v<T>) {
    acc += a * b;
  } else {
#if defined(__clang__)
    acc = __builtin_elementwise_fma(a, b, acc);
#else
    for (unsigned c = 0; c < C; ++c)
      acc[c] = std::fma(a[c], b[c], acc[c]);
#endif
  }
}
template <class T, unsigned C>
ATTUNE_SIM_INLINE void fuse(Vector<T, C> &acc, T a, const Vector<T, C> &b) {
  fuse<T, C>(acc, a - Vector<T, C>{}, b); // x - 0 is x, -0 included
}

} // namespace attune::sim
