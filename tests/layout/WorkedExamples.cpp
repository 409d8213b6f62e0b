// The worked examples of the layout notes, each derived by the library and compared with what brute
// force found.
#include "compiler/layout/Attention.h"
#include "compiler/layout/Swizzle.h"
#include <catch2/catch.hpp>

using namespace attune::layout;

namespace {

const MmaShape mma32{32, 32, 16, 8}, mma16{16, 16, 32, 8};

LinearLayout parsed(std::string_view text) {
  auto layout = LinearLayout::parse(text);
  INFO((layout ? "" : layout.error().message));
  REQUIRE(layout);
  return *layout;
}

} // namespace

TEST_CASE("fragment layouts follow from the instruction's shape") {
  auto text = [](const MmaShape &s, Operand o) { return fragmentLayout(s, o)->str(); };
  CHECK(text(mma32, Operand::Accumulator) == "row=(r0,r1,l5,r2,r3) col=(l0..l4)");
  CHECK(text(mma16, Operand::Accumulator) == "row=(r0,r1,l4,l5) col=(l0..l3)");
  CHECK(text(mma32, Operand::A) == "row=(l0..l4) k=(r0..r2,l5)");
  CHECK(text(mma32, Operand::B) == "k=(r0..r2,l5) col=(l0..l4)");
  CHECK(text(mma16, Operand::A) == "row=(l0..l3) k=(r0..r2,l4,l5)");
  CHECK(text(mma16, Operand::B) == "k=(r0..r2,l4,l5) col=(l0..l3)");
}

TEST_CASE("the accumulator of S^T is an operand of PV in another key order") {
  auto a32 = fragmentLayout(mma32, Operand::Accumulator),
       a16 = fragmentLayout(mma16, Operand::Accumulator);
  auto b32 = fragmentLayout(mma32, Operand::B), b16 = fragmentLayout(mma16, Operand::B);
  CHECK(contractionOrder(*a32, *b32)->rowOf == parsed("row=(k0,k1,k3,k2,s0)"));
  const LinearLayout twoTiles = a16->product(LinearLayout::identity("register", "row", 1));
  CHECK(contractionOrder(twoTiles, *b16)->rowOf == parsed("row=(k0,k1,k3,k4,k2)"));
}
