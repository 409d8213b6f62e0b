// Packs q, k and v for AITER's fmha_v4_fwd code objects, and says what the packed bytes stand for.
//
// MX formats: 32 elements share a scale, a power of two in a byte (E8M0). q and k share it along
// the head dim; v along 32 tokens of one channel, as those are what one MFMA sums over.
//
// q is plain rows. k and v lie in tiles of 128 tokens, arranged as LDS will hold them, so that the
// kernel's LDS-DMA is a plain copy:
//   k e2m1   8192 bytes: [block of 32 channels][token][16 bytes]
//   k e2m3  17408 bytes: the first 16 bytes of each 24-byte block, then the last 8, then the scales
//           twice, the second copy moved by one byte so that an MFMA's op_sel picks without a shift
//   v e2m1   8192 bytes: [32 channels][64 tokens][token in the order of P's registers][16 bytes]
//   v e2m3  12288 bytes: [32 channels][64 tokens][lane][24 bytes], a lane's 32 tokens in the order
//           in which P's fp8 values lie in registers
//
// The launcher passes a sequence stride of tile bytes / 128, and some kernels take sequence *
// stride as the length of a head's keys or values. That cuts a last tile that is not full, in which
// bytes do not lie in the order of tokens: real values are lost. With `cut`, `meaning` says what is
// left.
#pragma once
#include "tests/aiter/Harness.h"
#include <cstdint>
#include <vector>

namespace aitertest {

inline constexpr uint32_t kHeadDim = 128, kTile = 128, kBlock = 32;

enum class Format { Int8, E4m3, E2m3, E2m1 };
uint32_t rowBytes(Format);

/// [batch, sequence, head, channel], the last fastest.
struct Dims {
  uint32_t batch, sequence, heads;
  size_t row(uint32_t b, uint32_t s, uint32_t h) const {
    return (size_t(b) * sequence + s) * heads + h;
  }
  size_t rows() const { return size_t(batch) * sequence * heads; }
  uint32_t tiles() const { return (sequence + kTile - 1) / kTile; }
  /// Number of the tile that holds token s of (b, h), tiles of one (b, h) being adjacent.
  size_t tile(uint32_t b, uint32_t s, uint32_t h) const {
    return (size_t(b) * heads + h) * tiles() + s / kTile;
  }
};

/// Bytes for the kernel, strides in bytes, and the values.
struct Packed {
  std::vector<uint8_t> data, scale;
  uint32_t sequenceStride, headStride, batchStride;
  std::vector<double> meaning; ///< [row][channel]
};

/// Rows as they are, no scales: int8 and e4m3 with one factor for all, which the caller knows.
Packed packPlain(const Dims &, Format, const std::vector<float> &, double descale);
/// q, or k of mxfp8: rows of blocks, E8M0 scales [row][4].
Packed packRows(const Dims &, Format, const std::vector<float> &);
Packed packKeyTiles(const Dims &, Format, const std::vector<float> &, bool cut);
Packed packValueTiles(const Dims &, Format, const std::vector<float> &, bool cut);

} // namespace aitertest
