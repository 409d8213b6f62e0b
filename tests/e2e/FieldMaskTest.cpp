// Public bug reports about masks and empty rows, each as a small test under the report's id. The
// answers are worked out by hand: with Q = 0 a row's output is the mean of the V rows that it sees,
// so V[j] = j shows which keys those are.
#include "runtime/device/SimDevice.h"
#include "tests/e2e/Harness.h"
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

using namespace attune;
using namespace attune::e2e;

namespace {

constexpr double minusInf = -std::numeric_limits<double>::infinity();

void valueIsKey(HostCall &call) {
  set(call.v, [](Index i) { return static_cast<double>(i[0]); });
}

/// Row `row` of one causal-length call (q_len = kv_len = n) under a mask, with Q = 0 and V[j] = j.
double meanKey(const std::string &mask, int64_t qLen, int64_t kvLen, int64_t row) {
  const Kernel &k = compile({.mask = mask});
  HostCall call = zeros(k, {qLen}, {kvLen});
  valueIsKey(call);
  return run(k, call).out(row);
}

void checkEmptyRow(const Rows &rows, int64_t row) {
  CHECK(rows.out(row) == 0);
  CHECK(rows.lse(row) == minusInf);
}

} // namespace

TEST_CASE("F01 a row that sees nothing is zero and leaves its neighbours alone", "[field]") {
  const Kernel &k = compile({.mask = "qi != hidden", .more = "scalar hidden : i32"});
  HostCall call = noise(k, {3}, {4});
  set(call.v, [](Index) { return 5.0; });
  call.scalars["hidden"] = 1;
  Rows with = run(k, call);
  call.scalars["hidden"] = -1;
  Rows without = run(k, call);
  for (int64_t c = 0; c < 64; ++c) {
    CHECK(with.out(1, 0, c) == 0);
    for (int64_t row : {0, 2})
      CHECK(with.out(row, 0, c) == without.out(row, 0, c));
  }
  CHECK(with.lse(1) == minusInf);
  CHECK(with.lse(0) == without.lse(0));
  CHECK(with.lse(2) == without.lse(2));
  CHECK(without.out(1) == 5);
}

TEST_CASE("F02 causal is aligned to the last key, more queries than keys included", "[field]") {
  const Kernel &k = compile({.mask = "causal"});
  HostCall call = zeros(k, {5}, {2});
  set(call.v, [](Index i) { return 10.0 * static_cast<double>(i[0] + 1); });
  Rows rows = run(k, call);
  for (int64_t row : {0, 1, 2})
    checkEmptyRow(rows, row);
  CHECK(rows.out(3) == 10);
  CHECK(rows.out(4) == 15);
  CHECK(rows.lse(3) == 0);
  CHECK(rows.lse(4) == Approx(std::log(2.0)).margin(1e-6));

  for (int64_t row : {0, 1, 2}) // sees keys 0 to 125 + row
    CHECK(meanKey("causal", 3, 128, row) == 62.5 + 0.5 * static_cast<double>(row));
}

TEST_CASE("F03 sequences without keys, without queries, or both", "[field]") {
  const Kernel &k = compile({.qHeads = 2});
  HostCall call = noise(k, {3, 0, 2, 1}, {0, 0, 5, 1});
  Rows rows = runChecked(k, call); // run checks guard bytes either side of O and LSE
  for (int64_t row : {0, 1, 2})
    checkEmptyRow(rows, row);
  CHECK(rows.out(5) == call.v.get({5, 0, 0})); // one key: its value

  auto bounded = makeSimDevice({.threads = 1, .instructionBudget = 100000});
  auto loaded = LoadedKernel::load(*bounded, k.image);
  REQUIRE(loaded);
  auto result = loaded->run(call);
  REQUIRE(result);
  CHECK(bits(result->out) == bits(rows.result.out));

  Rows none = run(k, noise(k, {0, 0}, {0, 3}));
  CHECK(none.result.out.elements() == 0);
}

TEST_CASE("F04 varlen with at most one query row, and some sequences empty", "[field]") {
  const Kernel &k = compile({.qHeads = 9, .kvHeads = 3, .mask = "causal"});
  HostCall call = noise(k, {0, 1, 0, 1}, {0, 3, 0, 5});
  Rows rows = runChecked(k, call);
  CHECK(rows.result.out.shape == Shape{2, 9, 64});
  CHECK(sameBits(rows, run(k, call, {.outStrides = {}, .lseStrides = {}, .maxQLen = 2})));
}

TEST_CASE("F08 a window of n keys counts the query's own; left n does not", "[field]") {
  struct Row {
    const char *mask;
    int64_t row;
    double mean;
  };
  const Row rows[] = {{"causal && window(4)", 10, 8.5}, // keys 7 to 10
                      {"window(4)", 10, 8.5},
                      {"window(4, 0)", 10, 8}, // keys 6 to 10
                      {"window(4)", 2, 1},     // cut by the start: 0 to 2
                      {"window(4, 0)", 2, 1},
                      {"window(4, 0)", 4, 2}};
  for (const Row &r : rows) {
    INFO(r.mask << " row " << r.row);
    CHECK(meanKey(r.mask, 11, 11, r.row) == r.mean);
    CHECK(meanKey(r.mask, 1, r.row + 1, 0) == r.mean); // the same row met by decode
  }
}

TEST_CASE("F09 window widths around zero and around the length", "[field]") {
  constexpr int64_t n = 33, last = n - 1;
  CHECK(meanKey("causal", n, n, last) == 16);
  CHECK(meanKey("window(1)", n, n, last) == 32);
  CHECK(meanKey("window(32)", n, n, last) == 16.5);
  CHECK(meanKey("window(33)", n, n, last) == 16);
  CHECK(meanKey("window(330)", n, n, last) == 16);
  for (const char *width : {"0", "-1"}) {
    Error error = refusal(Variant{.mask = std::string("window(") + width + ")"}.text());
    CHECK(error.message.find("at least 1, got " + std::string(width)) != std::string::npos);
  }
  // Right reach 0 is not the same as no limit on the right.
  CHECK(meanKey("window(3, 0)", 8, 8, 0) == 0);
  CHECK(meanKey("k >= q - 3", 8, 8, 0) == 3.5);

  // A width known at run time keeps exactly that many keys, so none for 0 and below.
  const Kernel &k = compile({.mask = "window(w)", .more = "scalar w : i32"});
  HostCall call = zeros(k, {n}, {n});
  valueIsKey(call);
  for (auto [width, mean] : {std::pair{1, 32.0}, {32, 16.5}, {33, 16.0}, {330, 16.0}}) {
    call.scalars["w"] = width;
    CHECK(run(k, call).out(last) == mean);
  }
  for (int width : {0, -1}) {
    call.scalars["w"] = width;
    checkEmptyRow(run(k, call), last);
  }
}

TEST_CASE("F10 a window as long as the sequence is causal", "[field]") {
  const Kernel &causal = compile({.mask = "causal"});
  HostCall call = noise(causal, {257}, {257});
  Rows want = runChecked(causal, call);
  // window(257) leaves another tile loop behind than causal does, and must not change a number.
  for (const char *mask : {"window(257)", "causal && window(257)", "causal && k >= q - 256"}) {
    INFO(mask);
    Rows got = runChecked(compile({.mask = mask}), call);
    for (int64_t row = 0; row < 257; ++row)
      CHECK(got.lse(row) == Approx(want.lse(row)).margin(1e-4));
  }
  // One less hides exactly the first key from exactly the last row.
  const Kernel &shorter = compile({.mask = "window(256)"});
  Rows got = runChecked(shorter, call);
  CHECK(got.lse(255) == Approx(want.lse(255)).margin(1e-4));
  CHECK(got.lse(256) < want.lse(256) - 1e-5);
}

TEST_CASE("F11 a window in decode hides the early keys and no others", "[field]") {
  CHECK(meanKey("causal && k >= q - 128", 1, 256, 0) == 191); // keys 127 to 255
  CHECK(meanKey("window(128, 0)", 1, 256, 0) == 191);
  CHECK(meanKey("window(129)", 1, 256, 0) == 191);
}

TEST_CASE("Masks that hide everything, and rows that see nothing between rows that do", "[masks]") {
  for (const char *mask : {"k < 0", "q > 3 && q < 2", "k >= kv_len"}) {
    INFO(mask);
    const Kernel &k = compile({.qHeads = 2, .mask = mask});
    Rows rows = runChecked(k, noise(k, {40}, {70}));
    for (int64_t row : {0, 31, 32, 39})
      checkEmptyRow(rows, row);
  }
  const Kernel &striped = compile({.mask = "q % 3 != 1 && k % 2 == 0"});
  Rows rows = runChecked(striped, noise(striped, {70}, {200}));
  checkEmptyRow(rows, 0); // q = 130
  checkEmptyRow(rows, 69);
}
