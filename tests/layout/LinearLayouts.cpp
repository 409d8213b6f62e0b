// The algebra itself: text, fields, and the laws of composition and inversion on random maps.
#include "tests/layout/Support.h"

using namespace attune::layout;
using namespace attune::layout::test;

TEST_CASE("a layout's text says it all") {
  for (std::string_view text :
       {"row=(r0,r1,l5,r2,r3) col=(l0..l4)", "row=(l0..l4) k=(r0..r2,l5)",
        "row=(r0^l0,0,l1) col=()", "row=(r0) free=(l0..l5,w0)",
        "byte=(0,0,0,l0,l1^l5,l4^read0,block0,s0) free=(l2,l3)", "a=(r0^x0^y0,x1)"}) {
    INFO(text);
    CHECK(parsed(text).str() == text);
  }
  CHECK(parsed(" row = ( r0 , l0..l1 ) ").str() == "row=(r0,l0,l1)");
  CHECK(parsed("").str() == "");
}

TEST_CASE("text that is no layout is refused where it goes wrong") {
  auto fault = [](std::string_view text) { return LinearLayout::parse(text).error().message; };
  CHECK(fault("row=(r0") == "layout text 'row=(r0': expected ')' at column 8");
  CHECK(fault("row(r0)") == "layout text 'row(r0)': expected '=' at column 4");
  CHECK(fault("row=(5)") == "layout text 'row=(5)': expected an input bit such as l3 at column 7");
  CHECK(fault("row=(lane)") ==
        "layout text 'row=(lane)': expected an input bit such as l3 at column 10");
  CHECK(fault("row=(l3..l1)") ==
        "layout text 'row=(l3..l1)': expected a rising range of one input at column 12");
  CHECK(fault("row=(l1..r3)") ==
        "layout text 'row=(l1..r3)': expected a rising range of one input at column 12");
  CHECK(fault("a=(l0) a=(l1)") ==
        "layout text 'a=(l0) a=(l1)': expected an output that was not given before at column 9");
  CHECK(fault("a=(l0..l70)") ==
        "layout text 'a=(l0..l70)': 71 input and 71 output bits, the limit is 63");
  CHECK(fault("a=(l999)") ==
        "layout text 'a=(l999)': expected an input bit such as l3 at column 8");
}

TEST_CASE("text and layout are the same thing, for random maps") {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    LinearLayout l =
        randomLayout(random, {{"register", 3}, {"lane", 4}, {"wave", 1}}, {{"row", 4}, {"col", 5}});
    INFO(l.str());
    CHECK(parsed(l.str()) == l);
  }
}

TEST_CASE("coordinates go through fields by name") {
  const LinearLayout acc = parsed("row=(r0,r1,l5,r2,r3) col=(l0..l4)");
  CHECK(acc.at("row", {{"register", 4}, {"lane", 32}}) == 12);
  CHECK(acc.at("col", {{"register", 4}, {"lane", 35}}) == 3);
  CHECK(acc.at("row", {}) == 0);
  CHECK(acc.inSize("lane") == 64);
  CHECK(acc.outSize("row") == 32);
  CHECK(acc.inBits("wave") == 0);
  CHECK(acc.basis("lane", 5, "row") == 4);
}

TEST_CASE("equality is about names, not about their order") {
  const LinearLayout l = parsed("row=(r0,l1) col=(l0,l2)");
  CHECK(l == parsed("col=(l0,l2) row=(r0,l1)"));
  CHECK(l == l.sublayout({"lane", "register"}, {"col", "row"}));
  CHECK_FALSE(l == parsed("row=(l0,l2) col=(r0,l1)"));
  CHECK_FALSE(l == parsed("row=(r0,l1) key=(l0,l2)"));
  CHECK_FALSE(l == parsed("row=(r0,l1) col=(l0,l2) free=(l3)"));
}

TEST_CASE("maps are one to one, onto, or neither") {
  CHECK(parsed("row=(l0,r0)").isBijective());
  CHECK(parsed("row=(l0^r0,r0)").isBijective());
  CHECK_FALSE(parsed("row=(l0^r0,l0^r0)").isInjective());
  CHECK_FALSE(parsed("row=(l0^r0,l0^r0)").isSurjective());
  CHECK(parsed("row=(l0,0)").isInjective());
  CHECK_FALSE(parsed("row=(l0,0)").isSurjective());
  CHECK(parsed("row=(l0) free=(l1)").isSurjective());
  CHECK_FALSE(parsed("row=(l0) free=(l1)").isInjective());
}

TEST_CASE("an inverse undoes, and only bijections have one") {
  std::mt19937 random(2);
  const std::vector<Dim> ins = {{"register", 4}, {"lane", 6}, {"wave", 2}},
                         outs = {{"row", 7}, {"col", 5}};
  int bijections = 0;
  for (int i = 0; i < 2000; ++i) {
    const LinearLayout l = randomLayout(random, ins, outs);
    auto inverse = l.inverse();
    REQUIRE(bool(inverse) == l.isBijective());
    if (!inverse)
      continue;
    ++bijections;
    const LinearLayout round = l.then(*inverse), back = inverse->then(l);
    for (uint64_t x = 0; x < 4096; x += 37) {
      REQUIRE(round(x) == x);
      REQUIRE(back(x) == x);
    }
  }
  CHECK(bijections > 300); // a random square matrix is invertible 29 times in 100
  CHECK(parsed("row=(l0,0)").inverse().error().message ==
        "layout row=(l0,0) has 1 input and 2 output bits and can't be inverted");
  CHECK(parsed("row=(l0,l0) free=(r0)").inverse().error().message ==
        "layout row=(l0,l0) free=(r0) has rank 1 of 2 and can't be inverted");
}

TEST_CASE("composition is applying one after the other, whatever the order of fields") {
  std::mt19937 random(3);
  for (int i = 0; i < 300; ++i) {
    const LinearLayout a =
        randomLayout(random, {{"lane", 6}, {"register", 3}}, {{"row", 4}, {"col", 5}});
    const LinearLayout b = randomLayout(random, {{"col", 5}, {"row", 4}}, {{"byte", 10}});
    const LinearLayout c = randomLayout(random, {{"byte", 10}}, {{"bank", 6}});
    const LinearLayout ab = a.then(b);
    for (uint32_t lane = 0; lane < 64; lane += 5)
      for (uint32_t reg = 0; reg < 8; ++reg) {
        const std::initializer_list<Coord> at = {{"lane", lane}, {"register", reg}};
        REQUIRE(ab.at("byte", at) ==
                b.at("byte", {{"row", a.at("row", at)}, {"col", a.at("col", at)}}));
      }
    CHECK(ab.then(c) == a.then(b.then(c)));
  }
}

TEST_CASE("maps are linear: the image of a XOR is the XOR of the images") {
  std::mt19937 random(4);
  const LinearLayout l = randomLayout(random, {{"lane", 6}, {"register", 5}}, {{"row", 9}});
  for (int i = 0; i < 500; ++i) {
    const uint64_t x = random() % 2048, y = random() % 2048;
    REQUIRE(l(x ^ y) == (l(x) ^ l(y)));
  }
}

TEST_CASE("a product stacks shared fields and keeps the others") {
  const LinearLayout small = parsed("row=(r0,l0) col=(l1)");
  const LinearLayout tiled = small.product(parsed("row=(w0) col=(r0,r1)"));
  CHECK(tiled == parsed("row=(r0,l0,w0) col=(l1,r1,r2)"));
  CHECK(LinearLayout().product(small) == small);
  CHECK(small.product(LinearLayout()) == small);
  CHECK(small.product(LinearLayout::broadcast("wave", "row", 1)) ==
        parsed("row=(r0,l0) col=(l1) free=(w0)"));
}

TEST_CASE("fields can be picked, renamed, reordered, cut and joined") {
  const LinearLayout l = parsed("row=(r0,l0^r2,r1) col=(l1)");
  CHECK(l.sublayout({"lane"}, {"row"}) == parsed("row=(0,l0,0) free=(l1)"));
  CHECK(l.renameOut("row", "key") == parsed("key=(r0,l0^r2,r1) col=(l1)"));
  CHECK(l.renameIn("register", "element") ==
        parsed("row=(element0,l0^element2,element1) col=(l1)"));
  CHECK(l.transposeOuts("row", "col") == parsed("col=(r0,l0^r2,r1) row=(l1)"));
  CHECK(l.permuteIn("register", {2, 0, 1}) == parsed("row=(r1,l0^r0,r2) col=(l1)"));
  const LinearLayout cut = l.splitIn("register", {{"register", 2}, {"step", 1}});
  CHECK(cut == parsed("row=(r0,l0^s0,r1) col=(l1)"));
  CHECK(cut.joinIns({"register", "step"}, "register") == l);
  CHECK(cut.joinIns({"step", "register"}, "register") == l.permuteIn("register", {2, 0, 1}));
}

TEST_CASE("shift and mask terms compute the map") {
  CHECK(bitTerms(parsed("byte=(l2,l3,l0,l1)"), "lane", "byte") ==
        std::vector<BitTerm>{{0xc, -2}, {0x3, 2}});
  std::mt19937 random(5);
  for (int i = 0; i < 200; ++i) {
    const LinearLayout l = randomLayout(random, {{"lane", 6}}, {{"byte", 12}});
    const auto terms = bitTerms(l, "lane", "byte");
    for (uint32_t lane = 0; lane < 64; ++lane) {
      uint32_t value = 0;
      for (const BitTerm &t : terms)
        value ^= t.shift < 0 ? (lane & t.mask) >> -t.shift : (lane & t.mask) << t.shift;
      REQUIRE(value == l.at("byte", {{"lane", lane}}));
    }
  }
}
