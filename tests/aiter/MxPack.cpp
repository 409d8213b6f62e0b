#include "tests/aiter/MxPack.h"
#include <algorithm>

namespace aitertest {
namespace {

const SmallFloat &elementOf(Format f) {
  return f == Format::E4m3 ? kE4m3 : f == Format::E2m3 ? kE2m3 : kE2m1;
}
/// Exponent of the largest number.
int largestExponent(Format f) { return f == Format::E4m3 ? 8 : 2; }

uint8_t encodeInt8(double x) { return uint8_t(int8_t(std::clamp(std::nearbyint(x), -127., 127.))); }

/// 32 values under one scale.
struct Block {
  Block(Format format, const double *values) {
    double largest = 0;
    for (uint32_t n = 0; n < kBlock; ++n)
      largest = std::max(largest, std::fabs(values[n]));
    int exponent = largest > 0 ? std::ilogb(largest) - largestExponent(format) : 0;
    scale = uint8_t(exponent + 127);
    for (uint32_t n = 0; n < kBlock; ++n) {
      codes[n] = elementOf(format).encode(std::ldexp(values[n], -exponent));
      meaning[n] = elementOf(format).decode(codes[n]) * fromE8m0(scale);
    }
  }
  /// The codes side by side, the first in the lowest bits.
  std::vector<uint8_t> bytes(Format format) const {
    unsigned bits = unsigned(elementOf(format).bits());
    std::vector<uint8_t> out(kBlock * bits / 8);
    for (unsigned n = 0; n < kBlock * bits; ++n)
      out[n / 8] |= uint8_t((codes[n / bits] >> n % bits & 1) << n % 8);
    return out;
  }
  uint8_t scale;
  uint8_t codes[kBlock];
  double meaning[kBlock];
};

Block blockOf(Format format, const float *row, uint32_t block) {
  double values[kBlock];
  std::copy_n(row + size_t(block) * kBlock, kBlock, values);
  return Block(format, values);
}

/// Calls fn(b, s, h) for every row.
template <class Fn> void forRows(const Dims &d, Fn fn) {
  for (uint32_t b = 0; b < d.batch; ++b)
    for (uint32_t s = 0; s < d.sequence; ++s)
      for (uint32_t h = 0; h < d.heads; ++h)
        fn(b, s, h);
}

Packed rowsOf(const Dims &d, Format format) {
  uint32_t bytes = rowBytes(format);
  Packed p{.data = std::vector<uint8_t>(d.rows() * bytes),
           .scale = {},
           .sequenceStride = d.heads * bytes,
           .headStride = bytes,
           .batchStride = d.sequence * d.heads * bytes,
           .meaning = std::vector<double>(d.rows() * kHeadDim)};
  return p;
}
Packed tilesOf(const Dims &d, uint32_t tileBytes) {
  uint32_t head = d.tiles() * tileBytes;
  return {.data = std::vector<uint8_t>(size_t(d.batch) * d.heads * head),
          .scale = {},
          .sequenceStride = tileBytes / kTile,
          .headStride = head,
          .batchStride = d.heads * head,
          .meaning = std::vector<double>(d.rows() * kHeadDim)};
}

constexpr uint32_t kE2m3Tail = 8192, kE2m3Scales = 16384, kE2m3ShiftedScales = 16896;

/// Where tile token t has its four scale bytes, from kE2m3Scales or kE2m3ShiftedScales.
uint32_t scaleDword(uint32_t t) {
  uint32_t quarter = t / 32, rest = t % 32;
  return rest / 16 * 256 + (rest % 16 * 4 + quarter) * 4;
}

void placeKey(Packed &p, const Dims &d, Format format, uint32_t b, uint32_t s, uint32_t h,
              uint32_t block, const Block &values) {
  uint32_t t = s % kTile, quarter = t / 32;
  std::vector<uint8_t> bytes = values.bytes(format);
  if (format == Format::E2m1) {
    std::copy(bytes.begin(), bytes.end(), &p.data[d.tile(b, s, h) * 8192 + block * 2048 + t * 16]);
    return;
  }
  uint8_t *tile = &p.data[d.tile(b, s, h) * 17408];
  std::copy_n(bytes.begin(), 16, tile + quarter * 2048 + block * 512 + t % 32 * 16);
  std::copy_n(bytes.begin() + 16, 8, tile + kE2m3Tail + quarter * 1024 + block * 256 + t % 32 * 8);
  tile[kE2m3Scales + scaleDword(t) + block] = values.scale;
  if (block > 0)
    tile[kE2m3ShiftedScales + scaleDword(t) + block - 1] = values.scale;
  else if (s > 0) // the last byte of the token before, which may lie in the tile before
    p.data[d.tile(b, s - 1, h) * 17408 + kE2m3ShiftedScales + scaleDword((s - 1) % kTile) + 3] =
        values.scale;
}

/// The token that position n of block `half` holds, of 64 tokens that one MFMA sums over. It must
/// be the order in which the kernel finds P after it has packed it.
uint32_t tokenAt(Format format, uint32_t half, uint32_t n) {
  if (format == Format::E2m3) {
    uint32_t position = 32 * half + n;
    uint32_t pair = (position & 15) | (position & 16) << 1 | (position & 32) >> 1;
    uint32_t byte = pair % 32;
    return 32 * (byte / 16) + 8 * (byte % 16 / 4) + byte % 4 + 4 * (pair / 32);
  }
  for (uint32_t lane = 0; lane < 32; ++lane)
    if (4 * (lane / 8) + 16 * (lane / 4 % 2) + lane % 4 == n)
      return 32 * half + lane;
  return 0;
}

struct ValueBlock {
  uint32_t tile, channel, chunk, half; ///< chunk: which 64 tokens of the tile; half: which 32
};

size_t valueByte(Format format, size_t tile, const ValueBlock &at) {
  uint32_t unit = 2 * (at.channel / 32) + at.chunk, c = at.channel % 32;
  return format == Format::E2m3 ? tile * 12288 + unit * 1536 + (at.half * 32 + c) * 24
                                : tile * 8192 + unit * 1024 + at.half * 32 * 16 + c / 2;
}

void placeValue(Packed &p, Format format, size_t tile, const ValueBlock &at, const Block &values) {
  uint32_t group = at.channel / 32, c = at.channel % 32;
  uint8_t *scales = &p.scale[tile * 512 + at.chunk * 256 + at.half * 128];
  uint8_t *data = &p.data[valueByte(format, tile, at)];
  if (format == Format::E2m3) {
    std::vector<uint8_t> bytes = values.bytes(format);
    std::copy(bytes.begin(), bytes.end(), data);
    scales[c * 4 + group] = values.scale;
    return;
  }
  for (uint32_t n = 0; n < kBlock; ++n)
    data[n * 16] |= uint8_t(values.codes[n] << (c % 2 * 4));
  scales[c / 2 * 8 + c % 2 * 4 + group] = values.scale;
}

/// What is left of a block when bytes from `limit` on read 0.
void cutBlock(Block &block, Format format, size_t first, size_t limit) {
  for (uint32_t n = 0; n < kBlock; ++n) {
    if (format == Format::E2m1) {
      block.codes[n] = first + n * 16 < limit ? block.codes[n] : 0;
    } else {
      for (uint32_t bit = 0; bit < 6; ++bit)
        if (first + (n * 6 + bit) / 8 >= limit)
          block.codes[n] &= uint8_t(~(1u << bit));
    }
    block.meaning[n] = elementOf(format).decode(block.codes[n]) * fromE8m0(block.scale);
  }
}

} // namespace

uint32_t rowBytes(Format f) {
  return f == Format::E2m1 ? kHeadDim / 2 : f == Format::E2m3 ? kHeadDim * 6 / 8 : kHeadDim;
}

Packed packPlain(const Dims &d, Format format, const std::vector<float> &values, double descale) {
  Packed p = rowsOf(d, format);
  for (size_t n = 0; n < values.size(); ++n) {
    double x = values[n] / descale;
    p.data[n] = format == Format::Int8 ? encodeInt8(x) : kE4m3.encode(x);
    p.meaning[n] = descale * (format == Format::Int8 ? int8_t(p.data[n]) : kE4m3.decode(p.data[n]));
  }
  return p;
}

Packed packRows(const Dims &d, Format format, const std::vector<float> &values) {
  Packed p = rowsOf(d, format);
  for (size_t row = 0; row < d.rows(); ++row)
    for (uint32_t n = 0; n < kHeadDim / kBlock; ++n) {
      Block block = blockOf(format, &values[row * kHeadDim], n);
      std::vector<uint8_t> bytes = block.bytes(format);
      std::copy(bytes.begin(), bytes.end(), &p.data[row * rowBytes(format) + n * bytes.size()]);
      std::copy_n(block.meaning, kBlock, &p.meaning[row * kHeadDim + n * kBlock]);
      p.scale.push_back(block.scale);
    }
  return p;
}

Packed packKeyTiles(const Dims &d, Format format, const std::vector<float> &values, bool cut) {
  Packed p = tilesOf(d, format == Format::E2m1 ? 8192 : 17408);
  forRows(d, [&](uint32_t b, uint32_t s, uint32_t h) {
    size_t row = d.row(b, s, h);
    for (uint32_t n = 0; n < kHeadDim / kBlock; ++n) {
      Block block = blockOf(format, &values[row * kHeadDim], n);
      placeKey(p, d, format, b, s, h, n, block);
      // Only e2m1 keys are cut, whose blocks are the 16 bytes of a lane: there or not.
      if (cut && s / kTile * 8192 + n * 2048 + s % kTile * 16 >= d.sequence * p.sequenceStride)
        std::fill_n(block.meaning, kBlock, 0.0);
      std::copy_n(block.meaning, kBlock, &p.meaning[row * kHeadDim + n * kBlock]);
      p.scale.push_back(block.scale);
    }
  });
  return p;
}

Packed packValueTiles(const Dims &d, Format format, const std::vector<float> &values, bool cut) {
  Packed p = tilesOf(d, format == Format::E2m1 ? 8192 : 12288);
  p.scale.resize(size_t(d.batch) * d.heads * d.tiles() * 512);
  auto pack = [&](uint32_t b, uint32_t h, const ValueBlock &at) {
    double gathered[kBlock];
    uint32_t tokens[kBlock];
    for (uint32_t n = 0; n < kBlock; ++n) { // past the end: the last token again
      tokens[n] = at.tile * kTile + at.chunk * 64 + tokenAt(format, at.half, n);
      uint32_t s = std::min(tokens[n], d.sequence - 1);
      gathered[n] = values[d.row(b, s, h) * kHeadDim + at.channel];
    }
    Block block(format, gathered);
    placeValue(p, format, d.tile(b, at.tile * kTile, h), at, block);
    if (cut)
      cutBlock(block, format, valueByte(format, at.tile, at),
               size_t(d.sequence) * p.sequenceStride);
    for (uint32_t n = 0; n < kBlock; ++n)
      if (tokens[n] < d.sequence)
        p.meaning[d.row(b, tokens[n], h) * kHeadDim + at.channel] = block.meaning[n];
  };
  for (uint32_t b = 0; b < d.batch; ++b)
    for (uint32_t h = 0; h < d.heads; ++h)
      for (uint32_t tile = 0; tile < d.tiles(); ++tile)
        for (uint32_t channel = 0; channel < kHeadDim; ++channel)
          for (uint32_t n = 0; n < 4; ++n)
            pack(b, h, {tile, channel, n / 2, n % 2});
  return p;
}

} // namespace aitertest
