// Storage and rounding of host tensors. The narrow floats are made straight from double, in one
// rounding.
#include "runtime/launch/HostTensor.h"
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>

namespace attune {

namespace {

/// Bits of a float with the given field widths nearest to `x`; one rounding, ties to even.
uint32_t packFloat(double x, int expBits, int manBits) {
  uint32_t sign = std::signbit(x) ? 1u << (expBits + manBits) : 0;
  uint32_t inf = ((1u << expBits) - 1) << manBits;
  if (std::isnan(x))
    return sign | inf | 1u << (manBits - 1);
  double magnitude = std::fabs(x);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | inf;
  int minExponent = 2 - (1 << (expBits - 1)); // of the smallest normal number
  int exponent = std::ilogb(magnitude);
  bool normal = exponent >= minExponent;
  int lsb = (normal ? exponent : minExponent) - manBits;
  auto mantissa = static_cast<uint64_t>(std::nearbyint(std::ldexp(magnitude, -lsb)));
  // A mantissa that rounds up to the next power of two carries into the exponent field, as it
  // should.
  if (normal && exponent > -minExponent + 1)
    return sign | inf;
  uint64_t bits = mantissa;
  if (normal)
    bits += static_cast<uint64_t>(exponent - minExponent) << manBits;
  return sign | (bits >= inf ? inf : static_cast<uint32_t>(bits));
}

double unpackHalf(uint16_t bits) {
  int exponent = bits >> 10 & 0x1f, mantissa = bits & 0x3ff;
  double magnitude = 0;
  if (exponent == 0x1f)
    magnitude = mantissa ? std::numeric_limits<double>::quiet_NaN()
                         : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    magnitude = std::ldexp(mantissa, -24);
  else
    magnitude = std::ldexp(mantissa + 1024, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

template <class T> T load(const uint8_t *bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T> void store(uint8_t *bytes, T value) { std::memcpy(bytes, &value, sizeof value); }

template <class T> void storeSaturated(uint8_t *bytes, double value) {
  constexpr double lo = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double hi = static_cast<double>(std::numeric_limits<T>::max());
  T out = 0;
  if (value >= hi)
    out = std::numeric_limits<T>::max();
  else if (value <= lo)
    out = std::numeric_limits<T>::min();
  else if (!std::isnan(value))
    out = static_cast<T>(value);
  store(bytes, out);
}

} // namespace

double decode(DType t, const uint8_t *bytes) {
  switch (t) {
  case DType::F32:
    return load<float>(bytes);
  case DType::F16:
    return unpackHalf(load<uint16_t>(bytes));
  case DType::BF16:
    return std::bit_cast<float>(static_cast<uint32_t>(load<uint16_t>(bytes)) << 16);
  default:
    return static_cast<double>(decodeInt(t, bytes));
  }
}

int64_t decodeInt(DType t, const uint8_t *bytes) {
  switch (t) {
  case DType::I64:
    return load<int64_t>(bytes);
  case DType::I32:
    return load<int32_t>(bytes);
  case DType::I16:
    return load<int16_t>(bytes);
  case DType::I8:
    return load<int8_t>(bytes);
  case DType::U8:
    return bytes[0];
  case DType::Bool:
    return bytes[0] != 0;
  default:
    return static_cast<int64_t>(decode(t, bytes));
  }
}

void encode(DType t, double value, uint8_t *bytes) {
  switch (t) {
  case DType::F32:
    return store(bytes, static_cast<float>(value));
  case DType::F16:
    return store(bytes, static_cast<uint16_t>(packFloat(value, 5, 10)));
  case DType::BF16:
    return store(bytes, static_cast<uint16_t>(packFloat(value, 8, 7)));
  case DType::I64:
    return storeSaturated<int64_t>(bytes, value);
  case DType::I32:
    return storeSaturated<int32_t>(bytes, value);
  case DType::I16:
    return storeSaturated<int16_t>(bytes, value);
  case DType::I8:
    return storeSaturated<int8_t>(bytes, value);
  case DType::U8:
    return storeSaturated<uint8_t>(bytes, value);
  case DType::Bool:
    return store(bytes, static_cast<uint8_t>(value != 0));
  }
}

Shape packedStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;)
    strides[d - 1] = strides[d] * std::max<int64_t>(shape[d], 1);
  return strides;
}

int64_t reachableElements(const Shape &shape, const Shape &strides) {
  int64_t last = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0)
      return 0;
    last += (shape[d] - 1) * strides[d];
  }
  return last + 1;
}

void forEachIndex(const Shape &shape, const std::function<void(Index)> &fn) {
  for (int64_t extent : shape)
    if (extent == 0)
      return;
  Shape index(shape.size(), 0);
  while (true) {
    fn(index);
    size_t d = shape.size();
    while (d > 0 && ++index[d - 1] == shape[d - 1])
      index[--d] = 0;
    if (d == 0)
      return;
  }
}

HostTensor HostTensor::packed(DType dtype, Shape shape) {
  HostTensor t{dtype, std::move(shape), {}, 0, {}};
  t.strides = packedStrides(t.shape);
  t.storage.assign(static_cast<size_t>(t.elements()) * sizeOf(dtype), 0);
  return t;
}

HostTensor HostTensor::strided(DType dtype, Shape shape, Shape strides, int64_t padFront,
                               int64_t padBack) {
  HostTensor t{dtype, std::move(shape), std::move(strides), padFront, {}};
  int64_t total = padFront + reachableElements(t.shape, t.strides) + padBack;
  t.storage.assign(static_cast<size_t>(total) * sizeOf(dtype), 0xFF);
  return t;
}

int64_t HostTensor::elements() const {
  int64_t n = 1;
  for (int64_t extent : shape)
    n *= extent;
  return n;
}

int64_t HostTensor::at(Index index) const {
  int64_t element = offset;
  for (size_t d = 0; d < index.size(); ++d)
    element += index[d] * strides[d];
  return element;
}

const uint8_t *HostTensor::address(Index index) const {
  return storage.data() + at(index) * sizeOf(dtype);
}

uint8_t *HostTensor::address(Index index) { return storage.data() + at(index) * sizeOf(dtype); }

double HostTensor::get(Index index) const { return decode(dtype, address(index)); }

void HostTensor::set(Index index, double value) { encode(dtype, value, address(index)); }

HostTensor relayout(const HostTensor &from, Shape strides, int64_t padFront, int64_t padBack) {
  HostTensor to =
      HostTensor::strided(from.dtype, from.shape, std::move(strides), padFront, padBack);
  forEachIndex(from.shape,
               [&](Index i) { std::memcpy(to.address(i), from.address(i), sizeOf(from.dtype)); });
  return to;
}

HostTensor toPacked(const HostTensor &from) { return relayout(from, packedStrides(from.shape)); }

HostTensor converted(const HostTensor &from, DType dtype) {
  HostTensor to = HostTensor::packed(dtype, from.shape);
  forEachIndex(from.shape, [&](Index i) { to.set(i, from.get(i)); });
  return to;
}

std::string shapeText(const Shape &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string describe(DType dtype, const Shape &shape) {
  return std::string(nameOf(dtype)) + shapeText(shape);
}

} // namespace attune
