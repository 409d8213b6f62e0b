// Free contraction orders and transposing reads, both by composing one map with another's inverse;
// see Contraction.h.
#include "compiler/layout/Contraction.h"
#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace attune::layout {

namespace {

Error mismatch(std::string_view what, const LinearLayout &a, const LinearLayout &b) {
  return Error{ErrorCode::Unsupported,
               fmt::format("{}: accumulator {} against operand {}", what, a.str(), b.str())};
}

std::vector<std::string> namesOf(const std::vector<Dim> &dims) {
  std::vector<std::string> names;
  for (const Dim &d : dims)
    names.push_back(d.name);
  return names;
}

} // namespace

Result<ContractionOrder> contractionOrder(const LinearLayout &accumulator, const LinearLayout &b) {
  for (int i = 0; i < b.inBits("lane"); ++i)
    if (i >= accumulator.inBits("lane") ||
        accumulator.basis("lane", i, "col") != b.basis("lane", i, "col"))
      return mismatch(fmt::format("lane bit {} holds another column", i), accumulator, b);
  auto fragmentOf = b.inverse();
  if (!fragmentOf)
    return fragmentOf.error();
  const int elementBits = b.inBits("register"),
            stepBits = accumulator.inBits("register") - elementBits;
  if (stepBits < 0)
    return mismatch("the tile holds less than one operand", accumulator, b);

  // (k, col, step) -> (register, lane, step) -> (row, col)
  const LinearLayout split =
      accumulator.splitIn("register", {{"register", elementBits}, {"step", stepBits}});
  const LinearLayout inOrder =
      fragmentOf->product(LinearLayout::identity("step", "step", stepBits)).then(split);
  const bool columnsStay = inOrder.sublayout({"col"}, {"col"}) ==
                               LinearLayout::identity("col", "col", b.outBits("col")) &&
                           gf2::rank(inOrder.sublayout({"k", "step"}, {"col"}).columns()) == 0 &&
                           gf2::rank(inOrder.sublayout({"col"}, {"row"}).columns()) == 0;
  if (!columnsStay)
    return mismatch("rows and columns share lanes or registers", accumulator, b);
  return ContractionOrder{inOrder.sublayout({"k", "step"}, {"row"}), elementBits};
}

LinearLayout transposingRead(int bitsPerElement) {
  constexpr int groupBits = 4, laneBits = 6; // it transposes within 16 of the 64 lanes
  const int elementBits = std::countr_zero(64u / unsigned(bitsPerElement));
  // The 16 * n elements of a group, counted lane by lane, are n rows of 16; lane i receives column
  // i.
  const LinearLayout asRows = LinearLayout::identity("lane", "flat", groupBits)
                                  .product(LinearLayout::identity("register", "flat", elementBits));
  LinearLayout asWords = LinearLayout::identity("flat", "element", elementBits);
  asWords = asWords.product(LinearLayout::identity("flat", "lane", groupBits));
  return asRows.then(asWords)
      .product(LinearLayout::identity("lane", "lane", laneBits - groupBits))
      .sublayout({"register", "lane"}, {"element", "lane"});
}

Result<LinearLayout> transposingReadSource(const LinearLayout &wanted, std::string_view along,
                                           int bitsPerElement) {
  const LinearLayout read = transposingRead(bitsPerElement);
  const int elementBits = read.inBits("register"),
            readBits = wanted.inBits("register") - elementBits;
  if (readBits < 0 || wanted.inBits("lane") != read.inBits("lane"))
    return Error{ErrorCode::Unsupported,
                 fmt::format("fragment {} is smaller than one transposing read of {} elements",
                             wanted.str(), 1 << elementBits)};
  LinearLayout fragment =
      wanted.splitIn("register", {{"register", elementBits}, {"read", readBits}});
  LinearLayout toFragment = *read.inverse();
  std::vector<std::string> kept = {"lane"};
  for (const Dim &d : fragment.ins())
    if (d.name != "register" && d.name != "lane") {
      toFragment = toFragment.product(LinearLayout::identity(d.name, d.name, d.bits));
      kept.push_back(d.name);
    }
  const LinearLayout source = toFragment.then(fragment);

  const uint32_t wordMask = (uint32_t(1) << elementBits) - 1;
  for (int i = 0; i < elementBits; ++i)
    for (const Dim &out : source.outs())
      if (source.basis("element", i, out.name) != (out.name == along ? uint32_t(1) << i : 0))
        return Error{
            ErrorCode::Unsupported,
            fmt::format("fragment {} needs 64 bits that don't run along {}", wanted.str(), along)};
  const LinearLayout start = source.sublayout(kept, namesOf(source.outs()));
  for (uint64_t column : start.columns())
    if (start.outField(column, along) & wordMask)
      return Error{ErrorCode::Unsupported,
                   fmt::format("fragment {} needs reads that are not aligned along {}",
                               wanted.str(), along)};
  return start;
}

} // namespace attune::layout
