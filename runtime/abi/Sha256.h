// SHA-256's work on whole blocks, in two forms that give the same state: plain C++, and the
// instructions that x86 processors have for it (five times as fast). Digest.h is what others use.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

namespace attune {

using Sha256State = std::array<uint32_t, 8>;
constexpr size_t sha256BlockBytes = 64;

/// Works `blocks` blocks of 64 bytes into the state.
using Sha256Blocks = void (*)(Sha256State &state, const uint8_t *data, size_t blocks);

void sha256Portable(Sha256State &state, const uint8_t *data, size_t blocks);

/// The form that uses this processor's instructions; null if it has none.
Sha256Blocks sha256Native();

} // namespace attune
