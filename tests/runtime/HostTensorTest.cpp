// Rounding of the narrow floats, and tensors in layouts other than packed.
#include "runtime/launch/HostTensor.h"
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>

using namespace attune;

namespace {

uint16_t bitsOf(DType t, double x) {
  uint8_t bytes[2];
  encode(t, x, bytes);
  uint16_t bits;
  std::memcpy(&bits, bytes, 2);
  return bits;
}

constexpr double infinity = std::numeric_limits<double>::infinity();

} // namespace

TEST_CASE("bf16 rounds to nearest, ties to even") {
  CHECK(bitsOf(DType::BF16, 1.0) == 0x3F80);
  CHECK(bitsOf(DType::BF16, 1 + std::ldexp(1, -8)) == 0x3F80);                      // tie to even
  CHECK(bitsOf(DType::BF16, 1 + 3 * std::ldexp(1, -8)) == 0x3F82);                  // tie to even
  CHECK(bitsOf(DType::BF16, 1 + std::ldexp(1, -8) + std::ldexp(1, -40)) == 0x3F81); // one rounding
  CHECK(bitsOf(DType::BF16, -1.99999) == 0xC000);                                   // carries
  CHECK(bitsOf(DType::BF16, 3.39e38) == 0x7F7F);
  CHECK(bitsOf(DType::BF16, 3.4e38) == 0x7F80);
  CHECK(bitsOf(DType::BF16, 1e300) == 0x7F80);
  CHECK(bitsOf(DType::BF16, std::ldexp(1, -133)) == 0x0001);
  CHECK(bitsOf(DType::BF16, std::ldexp(1, -134)) == 0x0000);
  CHECK(bitsOf(DType::BF16, -0.0) == 0x8000);
  CHECK(bitsOf(DType::BF16, -infinity) == 0xFF80);
  CHECK((bitsOf(DType::BF16, std::nan("")) & 0x7FFF) > 0x7F80);
}

TEST_CASE("fp16 rounds to nearest, with its subnormals and its overflow") {
  CHECK(bitsOf(DType::F16, 1.0) == 0x3C00);
  CHECK(bitsOf(DType::F16, 1 + std::ldexp(1, -11)) == 0x3C00);
  CHECK(bitsOf(DType::F16, 65504) == 0x7BFF);
  CHECK(bitsOf(DType::F16, 65519.99) == 0x7BFF);
  CHECK(bitsOf(DType::F16, 65520) == 0x7C00);
  CHECK(bitsOf(DType::F16, std::ldexp(1, -14)) == 0x0400);
  CHECK(bitsOf(DType::F16, std::ldexp(1, -14) - std::ldexp(1, -26)) == 0x0400);
  CHECK(bitsOf(DType::F16, std::ldexp(1, -24)) == 0x0001);
  CHECK(bitsOf(DType::F16, std::ldexp(1, -25)) == 0x0000);
}

TEST_CASE("Every 16-bit pattern survives decode and encode") {
  for (DType t : {DType::BF16, DType::F16})
    for (uint32_t bits = 0; bits < 0x10000; ++bits) {
      uint8_t in[2] = {static_cast<uint8_t>(bits), static_cast<uint8_t>(bits >> 8)};
      double value = decode(t, in);
      if (!std::isnan(value) && bitsOf(t, value) != bits)
        FAIL(nameOf(t) << " " << bits);
    }
}

TEST_CASE("Integers saturate and drop fractions") {
  int32_t i = 0;
  encode(DType::I32, 1e12, reinterpret_cast<uint8_t *>(&i));
  CHECK(i == INT32_MAX);
  encode(DType::I32, -3.9, reinterpret_cast<uint8_t *>(&i));
  CHECK(i == -3);
  uint8_t b = 7;
  encode(DType::U8, -5, &b);
  CHECK(b == 0);
  encode(DType::Bool, 0.5, &b);
  CHECK(b == 1);
  CHECK(decodeInt(DType::I8, reinterpret_cast<const uint8_t *>("\xFF")) == -1);
}

TEST_CASE("A layout changes where values lie and nothing else") {
  HostTensor t = HostTensor::packed(DType::I32, {2, 3, 4});
  CHECK(t.strides == Shape{12, 4, 1});
  double next = 0;
  forEachIndex(t.shape, [&](Index i) { t.set(i, next++); });
  CHECK(t.get({1, 2, 3}) == 23);

  HostTensor headMajor = relayout(t, {12, 1, 3}, 5, 2);
  CHECK(headMajor.storage.size() == (5 + 24 + 2) * 4);
  CHECK(headMajor.get({1, 2, 3}) == 23);
  CHECK(headMajor.at(Shape{0, 1, 0}) == 6);
  CHECK(headMajor.storage[0] == 0xFF);
  CHECK(toPacked(headMajor).storage == t.storage);

  HostTensor sparse = relayout(t, {100, 30, 2});
  CHECK(reachableElements(sparse.shape, sparse.strides) == 100 + 60 + 6 + 1);
  CHECK(reachableElements({2, 0, 4}, {1, 1, 1}) == 0);
  CHECK(toPacked(sparse).storage == t.storage);
  CHECK(converted(t, DType::F16).get({1, 2, 3}) == 23);
}

TEST_CASE("Tensors with no elements and with no dimensions") {
  HostTensor none = HostTensor::packed(DType::BF16, {3, 0, 64});
  CHECK(none.storage.empty());
  int calls = 0;
  forEachIndex(none.shape, [&](Index) { ++calls; });
  CHECK(calls == 0);
  HostTensor scalar = HostTensor::packed(DType::F32, {});
  scalar.set(Index{}, 2.5);
  CHECK(scalar.get(Index{}) == 2.5);
  CHECK(describe(DType::BF16, none.shape) == "bf16[3, 0, 64]");
}
