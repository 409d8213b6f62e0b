// A tensor in host memory exactly as it is stored: bytes, a shape and element strides.
//
// Layout is data here, never a template parameter: element [i, j, ...] lies at
//   offset + i * strides[0] + j * strides[1] + ...      (in elements, from the start of `storage`)
// so one type can say packed, sliced, head-major, padded or broadcast, and a test can place a
// tensor in the middle of bytes that nobody may read. Values go in and out as double; floats are
// rounded to nearest, ties to even.
#pragma once
#include "runtime/abi/DType.h"
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace attune {

using Shape = std::vector<int64_t>;
using Index = std::span<const int64_t>;

struct HostTensor {
  DType dtype = DType::BF16;
  Shape shape;
  Shape strides;      ///< in elements
  int64_t offset = 0; ///< of element [0, ..., 0], in elements
  std::vector<uint8_t> storage;

  /// Row-major with no gaps; every element zero.
  static HostTensor packed(DType, Shape shape);
  /// Any non-negative strides, with `padFront` and `padBack` spare elements around. Every byte is
  /// 0xFF, which is NaN in the float types, so that what is never written shows.
  static HostTensor strided(DType, Shape shape, Shape strides, int64_t padFront = 0,
                            int64_t padBack = 0);

  int64_t elements() const;      ///< product of the shape
  int64_t at(Index index) const; ///< element number within storage
  const uint8_t *address(Index index) const;
  uint8_t *address(Index index);
  double get(Index index) const;
  void set(Index index, double value);
  double get(std::initializer_list<int64_t> i) const { return get(Index(i.begin(), i.size())); }
  void set(std::initializer_list<int64_t> i, double v) { set(Index(i.begin(), i.size()), v); }
};

/// Row-major strides of a shape.
Shape packedStrides(const Shape &shape);

/// One past the last element that a shape with these strides reaches from its first; 0 if there are
/// no elements.
int64_t reachableElements(const Shape &shape, const Shape &strides);

/// Calls `fn` for every index of a shape, last dimension fastest.
void forEachIndex(const Shape &shape, const std::function<void(Index)> &fn);

/// One stored value as double. Every dtype but I64 beyond 2^53 is exact.
double decode(DType, const uint8_t *bytes);
/// Integers (and Bool) without the detour through double.
int64_t decodeInt(DType, const uint8_t *bytes);
/// Rounds to nearest even; floats overflow to infinity, integers saturate and drop the fraction.
void encode(DType, double value, uint8_t *bytes);

constexpr bool isFloat(DType t) { return t == DType::F32 || t == DType::F16 || t == DType::BF16; }

/// The same values in another layout or another type; packed unless strides are given.
HostTensor relayout(const HostTensor &, Shape strides, int64_t padFront = 0, int64_t padBack = 0);
HostTensor toPacked(const HostTensor &);
HostTensor converted(const HostTensor &, DType);

/// "bf16[2, 300, 8, 128]", for messages.
std::string describe(DType, const Shape &shape);
/// "[2, 300, 8, 128]"
std::string shapeText(const Shape &shape);

} // namespace attune
