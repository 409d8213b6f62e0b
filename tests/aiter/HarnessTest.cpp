// The harness itself: what it cannot get wrong without every other test here being worth less.
// These run without a checkout.
#include "tests/aiter/Harness.h"
#include "tests/aiter/Reference.h"

using namespace aitertest;

TEST_CASE("bfloat16 rounds to nearest even", "[aiter][harness]") {
  CHECK(toBf16(1.0f) == 0x3f80);
  CHECK(toBf16(std::bit_cast<float>(0x3f808000u)) == 0x3f80); // a tie: down to even
  CHECK(toBf16(std::bit_cast<float>(0x3f818000u)) == 0x3f82); // a tie: up to even
  CHECK(toBf16(std::bit_cast<float>(0x3f808001u)) == 0x3f81);
  CHECK(fromBf16(0xc000) == -2.0f);
}

TEST_CASE("e4m3, e2m3 and e2m1 as OCP defines them", "[aiter][harness]") {
  CHECK(kE4m3.decode(0x7e) == 448);
  CHECK(kE4m3.decode(0x01) == 0x1p-9);
  CHECK(kE4m3.decode(0x38) == 1);
  CHECK(std::isnan(kE4m3.decode(0xff)));
  CHECK(kE2m3.decode(0x1f) == 7.5);
  CHECK(kE2m3.decode(0x01) == 0.125);
  CHECK(kE2m1.decode(0xf) == -6);
  CHECK(kE2m1.decode(0x1) == 0.5);
  CHECK(kE4m3.encode(1e9) == 0x7e);
  CHECK(kE4m3.encode(-1.0625) == 0xb8); // a tie between 1 and 1.125
  CHECK(kE4m3.encode(1.1875) == 0x3a);  // a tie between 1.125 and 1.25
  for (uint32_t code = 1; code < 0x7f; ++code)
    CHECK(kE4m3.encode(kE4m3.decode(code)) == code);
}

TEST_CASE("relL2 does not pass over what is not finite", "[aiter][harness]") {
  double inf = std::numeric_limits<double>::infinity();
  CHECK(relL2({3, 4}, {3, 4}) == 0);
  CHECK(relL2({3, 5}, {3, 4}) == Approx(0.2));
  CHECK(relL2({-inf, 4}, {-inf, 4}) == 0);
  CHECK(std::isinf(relL2({NAN, 4}, {3, 4})));
  CHECK(std::isinf(relL2({inf, 4}, {-inf, 4})));
  CHECK(std::isinf(relL2({1, 4}, {0, 0})));
}

TEST_CASE("the reference on a row that can be worked out by hand", "[aiter][harness]") {
  // One query of dim 1 against keys 0 and 1 with scale log(3): weights 1 and 3.
  double q[] = {1, 1}, k[] = {0, 1}, v[] = {10, 2, 20, 4}, out[4], lse[2];
  attend({1, 2, 1, 2, std::log(3.0)}, {q, 1}, {k, 1}, {v, 2}, out, 2, lse);
  CHECK(out[0] == Approx(17.5));
  CHECK(out[1] == Approx(3.5));
  CHECK(lse[0] == Approx(std::log(4.0)));
  // Two queries, causal: with one key the first row sees none.
  attend({2, 1, 1, 2, 1, true}, {q, 1}, {k, 1}, {v, 2}, out, 2, lse);
  CHECK(out[0] == 0);
  CHECK(std::isinf(lse[0]));
  CHECK(out[2] == 10);
  CHECK(lse[1] == 0);
}

TEST_CASE("a checkout is there or the tests are skipped", "[aiter]") {
  AITER_CHECKOUT_OR_SKIP();
  CodeObject co("fmha_v3_fwd", "fwd_hd128_bf16.co");
  CHECK(co.info().name == "_ZN5aiter19fmha_fwd_hd128_bf16E");
  CHECK(co.info().ldsBytes == 160 * 1024);
  CHECK(co.info().accumOffset == 160);
}
