// Element types of tensors, shared by the spec language, the compiler and the runtime.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace attune {

enum class DType : uint8_t { F32, F16, BF16, I64, I32, I16, I8, U8, Bool };

/// Bytes of one element. Bool takes one byte, 0 or 1.
constexpr int sizeOf(DType t) {
  switch (t) {
  case DType::I64:
    return 8;
  case DType::F32:
  case DType::I32:
    return 4;
  case DType::F16:
  case DType::BF16:
  case DType::I16:
    return 2;
  case DType::I8:
  case DType::U8:
  case DType::Bool:
    return 1;
  }
  return 0;
}

/// The name used in specs, sidecars and messages ("bf16").
constexpr std::string_view nameOf(DType t) {
  switch (t) {
  case DType::F32:
    return "f32";
  case DType::F16:
    return "fp16";
  case DType::BF16:
    return "bf16";
  case DType::I64:
    return "i64";
  case DType::I32:
    return "i32";
  case DType::I16:
    return "i16";
  case DType::I8:
    return "i8";
  case DType::U8:
    return "u8";
  case DType::Bool:
    return "bool";
  }
  return "?";
}

/// Inverse of nameOf; also takes "f16" for fp16.
constexpr std::optional<DType> dtypeFromName(std::string_view s) {
  if (s == "f16")
    return DType::F16;
  for (DType t : {DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                  DType::I8, DType::U8, DType::Bool})
    if (nameOf(t) == s)
      return t;
  return std::nullopt;
}

} // namespace attune
