// Shared by the layout tests: parsing that must succeed, and random maps from a fixed seed.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include <catch2/catch.hpp>
#include <random>

namespace attune::layout::test {

inline LinearLayout parsed(std::string_view text) {
  auto layout = LinearLayout::parse(text);
  INFO((layout ? "" : layout.error().message));
  REQUIRE(layout);
  return *layout;
}

/// Any map between these fields.
inline LinearLayout randomLayout(std::mt19937 &random, std::vector<Dim> ins,
                                 std::vector<Dim> outs) {
  int inBits = 0, outBits = 0;
  for (const Dim &d : ins)
    inBits += d.bits;
  for (const Dim &d : outs)
    outBits += d.bits;
  gf2::Columns columns;
  for (int i = 0; i < inBits; ++i)
    columns.push_back(random() & ((uint64_t(1) << outBits) - 1));
  return {std::move(ins), std::move(outs), std::move(columns)};
}

/// A bijection, drawn until one comes.
inline LinearLayout randomBijection(std::mt19937 &random, const std::vector<Dim> &ins,
                                    const std::vector<Dim> &outs) {
  for (;;)
    if (LinearLayout l = randomLayout(random, ins, outs); l.isBijective())
      return l;
}

/// A bijection that moves whole bits: each output bit is one input bit.
inline LinearLayout randomBitPermutation(std::mt19937 &random, const std::vector<Dim> &ins,
                                         const std::vector<Dim> &outs) {
  gf2::Columns columns;
  for (const Dim &d : ins)
    for (int i = 0; i < d.bits; ++i)
      columns.push_back(uint64_t(1) << columns.size());
  std::shuffle(columns.begin(), columns.end(), random);
  return {ins, outs, std::move(columns)};
}

} // namespace attune::layout::test
