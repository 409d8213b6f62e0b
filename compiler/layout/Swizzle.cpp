// The search walks candidate maps in the order of preference and stops at the first good one; a bad
// one mostly fails in the first phase of the first instruction.
#include "compiler/layout/Swizzle.h"
#include <algorithm>
#include <bit>
#include <limits>

namespace attune::layout {

namespace {

/// Chunk bits above this don't choose a bank: 16 chunks are all 64 banks.
constexpr int bankChunkBits = 4;
/// Looking further up than 32 rows is of no use: an instruction spans no more.
constexpr int maxRowBits = 5;

class SwizzleSearch {
public:
  SwizzleSearch(int rowBytes, const std::vector<LdsReader> &readers) : rowBytes_(rowBytes) {
    for (const LdsReader &r : readers)
      readers_.push_back(expand(r));
    const int chunkBits =
        std::min(std::countr_zero(unsigned(rowBytes / chunkBytes)), bankChunkBits);
    for (uint32_t image = 0; image < 1u << chunkBits; ++image)
      if (std::popcount(image) <= 2)
        images_.push_back(image);
  }

  SwizzleChoice run(int rowBits) {
    // First for one without conflicts, where a candidate is out at its first one; then for the
    // best.
    for (int limit : {2, std::numeric_limits<int>::max()}) {
      best_ = {LdsLayout::plain(rowBytes_), limit};
      consider({});
      for (int bits = 1; bits <= rowBits; ++bits)
        for (int ones = 1; ones <= 2 * bits && best_.worst > 1; ++ones) {
          std::vector<uint32_t> f;
          extend(f, bits, ones);
        }
      if (best_.worst < limit)
        break;
    }
    return best_;
  }

private:
  /// Keeps `f` if it is better than the best so far.
  void consider(const std::vector<uint32_t> &f) {
    LdsLayout layout = LdsLayout::swizzled(rowBytes_, f);
    int worst = 1;
    for (const LdsInstructions &r : readers_) {
      worst = std::max(worst, worstConflict(layout, r, best_.worst));
      if (worst >= best_.worst)
        return;
    }
    best_ = {std::move(layout), worst};
  }

  /// Completes `f` to `bits` images with `ones` more set bits; the last image is not 0, or fewer
  /// bits would do.
  void extend(std::vector<uint32_t> &f, int bits, int ones) {
    const int left = bits - int(f.size());
    if (left == 0) {
      if (ones == 0)
        consider(f);
      return;
    }
    for (uint32_t image : images_) {
      const int used = std::popcount(image);
      if (used > ones || ones - used > 2 * (left - 1) || (left == 1 && !image) || best_.worst == 1)
        continue;
      f.push_back(image);
      extend(f, bits, ones - used);
      f.pop_back();
    }
  }

  int rowBytes_;
  std::vector<LdsInstructions> readers_;
  std::vector<uint32_t> images_; ///< what a row bit may toggle
  SwizzleChoice best_;
};

} // namespace

SwizzleChoice findSwizzle(int rowBytes, int rows, const std::vector<LdsReader> &readers) {
  return SwizzleSearch(rowBytes, readers)
      .run(std::min(std::countr_zero(unsigned(rows)), maxRowBits));
}

} // namespace attune::layout
