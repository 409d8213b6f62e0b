// A small fixed set of random specs; e2e_random runs more.
#include "tests/e2e/random/Run.h"
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::e2e::random;

TEST_CASE("Random specs agree with the float64 oracle", "[random]") {
  auto compiler = Compiler::create();
  REQUIRE(compiler);
  int right = 0;
  for (uint64_t seed = 1; seed <= 48; ++seed) {
    Case c = makeCase(seed);
    Outcome outcome = runCase(*compiler, c);
    INFO(c.describe() << outcome.kind << ": " << outcome.message);
    CHECK(outcome.verdict != Verdict::Wrong);
    right += outcome.verdict == Verdict::Right;
  }
  CHECK(right >= 40); // the generator makes specs that are accepted
}

TEST_CASE("A seed decides the whole case", "[random]") {
  for (uint64_t seed : {7, 8, 9}) {
    CHECK(makeCase(seed).describe() == makeCase(seed).describe());
    CHECK(makeCase(seed).describe() != makeCase(seed + 1).describe());
  }
}
