// Operand maps of the dense 16x16 and 32x32 MFMA instructions; see Fragment.h.
#include "compiler/layout/Fragment.h"
#include <bit>
#include <cassert>
#include <fmt/format.h>

namespace attune::layout {

namespace {

constexpr int waveLanes = 64;
/// Consecutive accumulator registers of a lane are four consecutive rows, then the next lane group
/// follows.
constexpr int accumulatorRowRun = 4;

int log2Of(int powerOfTwo) { return std::countr_zero(unsigned(powerOfTwo)); }

/// A, or B with its column in the place of A's row.
LinearLayout inputOperand(const MmaShape &s, const std::string &outer) {
  return LinearLayout::identity("register", "k", log2Of(s.elementsPerLane))
      .product(LinearLayout::identity("lane", outer, log2Of(s.m)))
      .product(LinearLayout::identity("lane", "k", log2Of(waveLanes / s.m)));
}

LinearLayout accumulator(const MmaShape &s) {
  const int runs = s.accumulatorsPerLane() / accumulatorRowRun;
  return LinearLayout::identity("register", "row", log2Of(accumulatorRowRun))
      .product(LinearLayout::identity("lane", "col", log2Of(s.n)))
      .product(LinearLayout::identity("lane", "row", log2Of(waveLanes / s.n)))
      .product(LinearLayout::identity("register", "row", log2Of(runs)));
}

} // namespace

Result<LinearLayout> fragmentLayout(const MmaShape &s, Operand operand) {
  const bool square = s.m == s.n && (s.m == 16 || s.m == 32);
  if (!square || s.elementsPerLane <= 0 || s.m * s.k != s.elementsPerLane * waveLanes ||
      !std::has_single_bit(unsigned(s.k)))
    return Error{ErrorCode::Unsupported, fmt::format("no fragment layout for mma {}x{}x{} with {} "
                                                     "elements a lane; m = n must be 16 or 32 and "
                                                     "m * k = 64 * elements",
                                                     s.m, s.n, s.k, s.elementsPerLane)};
  switch (operand) {
  case Operand::A:
    return inputOperand(s, "row").sublayout({"register", "lane"}, {"row", "k"});
  case Operand::B:
    return inputOperand(s, "col").sublayout({"register", "lane"}, {"k", "col"});
  case Operand::Accumulator:
    break;
  }
  return accumulator(s);
}

LinearLayout sectorLayout(int rowBits, int colBits, int elementBytes) {
  const int chunkBits = log2Of(16 / elementBytes), laneCols = 4;
  assert(rowBits >= chunkBits + 2 && colBits >= laneCols);
  auto row = [](int bit) { return uint64_t(1) << bit; };
  auto col = [&](int bit) { return uint64_t(1) << (rowBits + bit); };
  gf2::Columns registers, lanes;
  for (int bit = 0; bit < chunkBits; ++bit)
    registers.push_back(row(bit));
  for (int bit = laneCols; bit < colBits; ++bit)
    registers.push_back(col(bit));
  for (int bit = chunkBits + 2; bit < rowBits; ++bit)
    registers.push_back(row(bit));
  for (int bit = 0; bit < laneCols; ++bit)
    lanes.push_back(col(bit));
  // Operands of 16-bit elements have lane bit 5 here already, so only bit 4 moves.
  lanes.push_back(row(chunkBits + 1));
  lanes.push_back(row(chunkBits));
  const int registerBits = int(registers.size());
  registers.insert(registers.end(), lanes.begin(), lanes.end());
  return LinearLayout({{"register", registerBits}, {"lane", laneCols + 2}},
                      {{"row", rowBits}, {"col", colBits}}, std::move(registers));
}

} // namespace attune::layout
