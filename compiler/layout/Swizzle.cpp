// The search walks candidate maps in the order of preference and stops at the first good one. It
// tries a candidate on the first instruction of each reader only, where a bad one fails at once,
// and on all of them when that one passes.
#include "compiler/layout/Swizzle.h"
#include <algorithm>
#include <bit>

namespace attune::layout {

namespace {

/// Chunk bits above this don't choose a bank: 16 chunks are all 64 banks.
constexpr int bankChunkBits = 4;
/// Looking further up than 32 rows is of no use: an instruction spans no more.
constexpr int maxRowBits = 5;

class Search {
public:
  Search(int rowBytes, const std::vector<LdsReader> &readers)
      : rowBytes_(rowBytes), readers_(readers) {
    for (const LdsReader &r : readers)
      firstInstructions_.push_back({r.access, r.coords.sublayout({"lane"}, {"row", "byte"})});
    const int chunkBits =
        std::min(std::countr_zero(unsigned(rowBytes / chunkBytes)), bankChunkBits);
    for (uint32_t image = 0; image < 1u << chunkBits; ++image)
      if (std::popcount(image) <= 2)
        images_.push_back(image);
    best_ = tryAll(LdsLayout::plain(rowBytes));
  }

  SwizzleChoice run(int rowBits) {
    for (int bits = 1; bits <= rowBits && best_.worst > 1; ++bits)
      for (int ones = 1; ones <= 2 * bits && best_.worst > 1; ++ones) {
        std::vector<uint32_t> f;
        extend(f, bits, ones);
      }
    return best_;
  }

private:
  SwizzleChoice tryAll(LdsLayout layout) const {
    int worst = 1;
    for (const LdsReader &r : readers_)
      worst = std::max(worst, worstConflict(layout, r));
    return {std::move(layout), worst};
  }

  void consider(const std::vector<uint32_t> &f) {
    const LdsLayout layout = LdsLayout::swizzled(rowBytes_, f);
    for (const LdsReader &r : firstInstructions_)
      if (worstConflict(layout, r) >= best_.worst)
        return;
    SwizzleChoice choice = tryAll(layout);
    if (choice.worst < best_.worst)
      best_ = std::move(choice);
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
  const std::vector<LdsReader> &readers_;
  std::vector<LdsReader> firstInstructions_;
  std::vector<uint32_t> images_; ///< what a row bit may toggle
  SwizzleChoice best_;
};

} // namespace

SwizzleChoice findSwizzle(int rowBytes, int rows, const std::vector<LdsReader> &readers) {
  return Search(rowBytes, readers).run(std::min(std::countr_zero(unsigned(rows)), maxRowBits));
}

} // namespace attune::layout
