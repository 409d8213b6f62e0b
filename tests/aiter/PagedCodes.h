// The element types of AITER's caches, as one enum: values to stored codes and back.
#pragma once
#include "tests/aiter/Formats.h"
#include <string_view>

namespace aitertest {

enum class Code : uint8_t { F32, BF16, F16, E4M3, I8 };

constexpr uint32_t bytesOf(Code c) {
  return c == Code::F32 ? 4 : c == Code::BF16 || c == Code::F16 ? 2 : 1;
}

constexpr std::string_view nameOf(Code c) {
  constexpr std::string_view kNames[] = {"f32", "bf16", "f16", "fp8", "int8"};
  return kNames[size_t(c)];
}

/// What the greatest element of a quantised group becomes.
constexpr double largestOf(Code c) { return c == Code::E4M3 ? 448 : c == Code::I8 ? 127 : 1; }

inline uint32_t encode(Code c, double x) {
  switch (c) {
  case Code::F32:
    return std::bit_cast<uint32_t>(float(x));
  case Code::BF16:
    return toBf16(float(x));
  case Code::F16:
    return std::bit_cast<uint16_t>(_Float16(x));
  case Code::E4M3:
    return kE4m3.encode(x);
  case Code::I8:
    return uint8_t(int8_t(std::clamp(std::nearbyint(x), -127.0, 127.0)));
  }
  return 0;
}

inline double decode(Code c, uint32_t code) {
  switch (c) {
  case Code::F32:
    return std::bit_cast<float>(code);
  case Code::BF16:
    return fromBf16(uint16_t(code));
  case Code::F16:
    return double(std::bit_cast<_Float16>(uint16_t(code)));
  case Code::E4M3:
    return kE4m3.decode(code);
  case Code::I8:
    return int8_t(code);
  }
  return 0;
}

/// Codes in memory, one after the other.
class CodeArray {
public:
  /// All ones: NaN in every float format, -1 in int8.
  CodeArray(Code code, size_t count) : code_(code), bytes_(count * bytesOf(code), 0xff) {}
  void set(size_t n, double value) {
    uint32_t code = encode(code_, value);
    std::memcpy(&bytes_[n * bytesOf(code_)], &code, bytesOf(code_));
  }
  double get(size_t n) const {
    uint32_t code = 0;
    std::memcpy(&code, &bytes_[n * bytesOf(code_)], bytesOf(code_));
    return decode(code_, code);
  }
  std::vector<uint8_t> &bytes() { return bytes_; }

private:
  Code code_;
  std::vector<uint8_t> bytes_;
};

} // namespace aitertest
