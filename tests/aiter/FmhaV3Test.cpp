// AITER's 16 fmha_v3_fwd code objects against float64: dense, causal, grouped (ragged batches) and
// both; bf16 with head dims 128 and 192, fp8 with 128 and 256.
//
// Why a kernel is run under Arrival::Typical with short turns, and what the others do to it:
//   hd128 bf16 dense, group   right under every policy
//   hd128 bf16 causal         a workgroup does two q tiles; the second one's Q arrives by LDS-DMA
//                             over V rows that slower waves still read, without a barrier between.
//                             Right only if waves keep close to each other.
//   hd192, fp8                K and V of the next tile arrive by LDS-DMA in a buffer that other
//                             waves read in the same barrier interval. Right only if memory takes
//                             long enough, so not under Arrival::Instant.
//   fp8                       s_waitcnt lgkmcnt(8) where lgkmcnt(4) is needed: V's transposing
//                             reads are used before they are waited for. Right only if LDS answers
//                             within the MFMA in between, so not under Arrival::Latest.
// The table's `tolerates` says which policies give right results; the last test asserts all of it,
// the failures too: they are what the strict checks must explain.
#include "tests/aiter/FmhaV3.h"
#include "tests/aiter/Verdicts.h"

using namespace aitertest;

namespace {

struct TestedFmha {
  FmhaKernel kernel;
  /// One character per policy, in the order of kPolicies: + right, - wrong.
  const char *tolerates;
  /// What strict mode finds: nothing exactly where every policy is tolerated.
  const char *strict;
};

const char *const kRaces = "dma-order lds-race";
const char *const kRacesAndWaits = "dma-order lds-race missing-wait";

const TestedFmha kTestedV3[] = {
    // file, head dim of q and k, of v, fp8, causal, group, q tile, threads
    {{"fwd_hd128_bf16.co", 128, 128, false, false, false, 256, 512}, "+++ +++ +++", ""},
    {{"fwd_hd128_bf16_causal.co", 128, 128, false, true, false, 256, 512}, "-++ --+ --+", kRaces},
    {{"fwd_hd128_bf16_group.co", 128, 128, false, false, true, 256, 512}, "+++ +++ +++", ""},
    {{"fwd_hd128_bf16_causal_group.co", 128, 128, false, true, true, 256, 512},
     "-++ --+ --+",
     kRaces},
    {{"fwd_hd192_hd128_bf16.co", 192, 128, false, false, false, 128, 256}, "--- +++ +++", kRaces},
    {{"fwd_hd192_hd128_bf16_causal.co", 192, 128, false, true, false, 128, 256},
     "--- +++ +++",
     kRaces},
    {{"fwd_hd192_hd128_bf16_group.co", 192, 128, false, false, true, 128, 256},
     "--- +++ +++",
     kRaces},
    {{"fwd_hd192_hd128_bf16_causal_group.co", 192, 128, false, true, true, 128, 256},
     "--- +++ +++",
     kRaces},
    {{"fwd_hd128_fp8.co", 128, 128, true, false, false, 256, 512}, "--- +++ ---", kRacesAndWaits},
    {{"fwd_hd128_fp8_causal.co", 128, 128, true, true, false, 256, 512},
     "--- +++ ---",
     kRacesAndWaits},
    {{"fwd_hd128_fp8_group.co", 128, 128, true, false, true, 256, 512},
     "--- +++ ---",
     kRacesAndWaits},
    {{"fwd_hd128_fp8_causal_group.co", 128, 128, true, true, true, 256, 512},
     "--- +++ ---",
     kRacesAndWaits},
    {{"fwd_hd256_fp8.co", 256, 256, true, false, false, 256, 512}, "--- +++ ---", kRacesAndWaits},
    {{"fwd_hd256_fp8_causal.co", 256, 256, true, true, false, 256, 512},
     "--- +++ ---",
     kRacesAndWaits},
    {{"fwd_hd256_fp8_group.co", 256, 256, true, false, true, 256, 512},
     "--- +++ ---",
     kRacesAndWaits},
    {{"fwd_hd256_fp8_causal_group.co", 256, 256, true, true, true, 256, 512},
     "--- +++ ---",
     kRacesAndWaits},
};

/// bf16: the rounding of P and of the output. fp8: P has 4 bits.
double tolerance(const FmhaKernel &kernel) { return kernel.fp8 ? 5e-2 : 3e-3; }

/// hd256 takes 2^x from the bits of a float (some per cent off) in kv tiles far below the maximum.
double lseTolerance(const FmhaKernel &kernel) { return kernel.dim == 256 ? 2e-4 : 1e-6; }

FmhaShape canonical(const FmhaKernel &kernel) {
  if (kernel.group)
    return {.heads = 2, .kvHeads = 1, .queries = {300, 70}, .keys = {333, 40}};
  return {.heads = 2, .kvHeads = 1, .queries = {300}, .keys = {333}};
}

void checkShape(const FmhaKernel &kernel, const FmhaShape &shape) {
  INFO(kernel.file << " " << shape.text());
  FmhaErrors errors = runFmhaV3(kernel, shape, kTypical);
  CHECK(errors.out <= tolerance(kernel));
  CHECK(errors.lse <= lseTolerance(kernel));
  CHECK_FALSE(errors.paddingTouched);
}

/// Runs every kernel of one mode on the shapes that `only` chooses.
void checkAll(bool group, bool causalOnly, const std::vector<FmhaShape> &shapes) {
  for (const TestedFmha &tested : kTestedV3)
    if (tested.kernel.group == group && (tested.kernel.causal || !causalOnly))
      for (const FmhaShape &shape : shapes)
        checkShape(tested.kernel, shape);
}

} // namespace

void aitertest::fmhaV3Samples() {
  for (const TestedFmha &tested : kTestedV3)
    if (tested.kernel.causal && !tested.kernel.group)
      checkShape(tested.kernel, canonical(tested.kernel));
}

TEST_CASE("fmha_v3: ragged lengths, GQA, batches", "[aiter][fmha_v3]") {
  AITER_CHECKOUT_OR_SKIP();
  checkAll(false, false,
           {{.heads = 4, .kvHeads = 2, .queries = {300}, .keys = {333}},
            {.heads = 8, .kvHeads = 1, .queries = {40, 40}, .keys = {40, 40}},
            {.heads = 1, .kvHeads = 1, .queries = {1}, .keys = {1}},
            {.heads = 4, .kvHeads = 2, .queries = {90, 90}, .keys = {77, 77}, .headMajor = true},
            {.heads = 2, .kvHeads = 2, .queries = {129}, .keys = {512}, .lse = false}});
}

TEST_CASE("fmha_v3: causal, several q tiles and rows that see no key", "[aiter][fmha_v3]") {
  AITER_CHECKOUT_OR_SKIP();
  checkAll(false, true,
           {{.heads = 2, .kvHeads = 1, .queries = {600}, .keys = {600}}, // an odd number of tiles
            {.heads = 8, .kvHeads = 8, .queries = {300}, .keys = {300}}, // heads over the dies
            {.heads = 2, .kvHeads = 1, .queries = {300}, .keys = {200}}, // 100 empty rows
            {.heads = 2, .kvHeads = 1, .queries = {300}, .keys = {20}}});
}

TEST_CASE("fmha_v3: sequences of different lengths", "[aiter][fmha_v3]") {
  AITER_CHECKOUT_OR_SKIP();
  checkAll(true, false,
           {{.heads = 4, .kvHeads = 2, .queries = {300, 40, 129}, .keys = {333, 40, 70}},
            {.heads = 2, .kvHeads = 1, .queries = {70, 0, 20, 30}, .keys = {90, 50, 0, 64}},
            {.heads = 2, .kvHeads = 1, .queries = {70, 33}, .keys = {90, 61}, .padding = 7}});
}

TEST_CASE("fmha_v3: which policies each kernel tolerates", "[aiter][fmha_v3][policies]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const TestedFmha &tested : kTestedV3) {
    INFO(tested.kernel.file);
    std::string found;
    for (const Policy &policy : kPolicies) {
      FmhaErrors errors = runFmhaV3(tested.kernel, canonical(tested.kernel), policy);
      found += found.size() % 4 == 3 ? " " : "";
      found += errors.out <= tolerance(tested.kernel) ? '+' : '-';
    }
    CHECK(found == tested.tolerates);
    attune::sim::strict::StrictChecker checker;
    runFmhaV3(tested.kernel, canonical(tested.kernel), kTypical, &checker);
    CHECK(kindsFound(checker) == tested.strict);
  }
}
