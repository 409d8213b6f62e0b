// AITER's latent-attention code objects against float64: 26 plain ones (split over keys, and two
// prefills) and 52 persistent ones; bf16, fp8, and bf16 queries on an fp8 cache; 8 to 128 heads, 1
// to 8 query tokens, with and without the causal mask, the final LSE and round-robin context
// parallelism ("cprr").
//
// AITER's own table (mla_asm.csv) does not name mla_a8w8_qh16_qseqlen4_gqaratio16_ps_page, nor the
// plain ones of that name and MLA_A16W16_1TG_4W_32mx1_16nx1; those take the arguments of their
// siblings.
#include "tests/aiter/MlaLaunch.h"
#include "tests/aiter/PagedWork.h"
#include "tests/aiter/Verdicts.h"
#include <string_view>

using namespace aitertest;

namespace {

constexpr Code kBf16 = Code::BF16, kFp8 = Code::E4M3;

enum : uint32_t {
  kNoMask = 1, ///< as "msk0" in the name says too
  kMqaIsHeads = 2,
  kBf16Unsplit = 4,
  kOneSplit = 8,    ///< its partial output has no room for a second
  kManySplits = 32, ///< with one split it writes to the struct's 0xf0, which the host leaves null
  kEarlyLds = 16,   ///< see kInTurnEarlyLds
  kRawValues = 64,
};

struct TestedMla {
  std::string_view file;
  Code query, cache;
  uint32_t heads, queries, keyBlock;
  uint32_t tileRows = 0; ///< plain kernels
  uint32_t flags = 0;

  bool named(std::string_view part) const { return file.find(part) != file.npos; }
  MlaKernel kernel() const {
    return {.file = file.data(),
            .query = query,
            .cache = cache,
            .tileRows = tileRows,
            .keyBlock = keyBlock,
            .causal = !(flags & kNoMask) && !named("msk0"),
            .persistent = named("_ps"),
            .finalLse = named("_lse_"),
            .mqaIsHeads = (flags & kMqaIsHeads) != 0,
            .bf16Unsplit = (flags & kBf16Unsplit) != 0,
            .prefill = named("pfl"),
            .roundRobin = named("cprr"),
            .rawValues = (flags & kRawValues) != 0};
  }
  const Policy &policy() const {
    return chosenPolicy(flags & kEarlyLds ? kInTurnEarlyLds : kInTurn);
  }
  double tolerance() const { return query == kFp8 ? 5e-2 : 3e-3; }
};

// file, types of q and cache, heads, query tokens, keys of a block, rows of a workgroup
const TestedMla kPlainMla[] = {
    {"MLA_A16W16_1TG_4W_16mx4_32nx1_Coex0_Msk1_QH16.co", kBf16, kBf16, 32, 1, 32, 64, kBf16Unsplit},
    {"MLA_A16W16_1TG_4W_64mx1_16nx1_Coex0_Msk1_QH16.co", kBf16, kBf16, 64, 1, 16, 64, kManySplits},
    {"mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co", kBf16, kBf16, 16, 4, 16, 128, kBf16Unsplit},
    {"mla_a16w16_qh16_m32x4_n16x1_coex0_mask1.co", kBf16, kBf16, 16, 8, 16, 128, kBf16Unsplit},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_lse_v3.co", kBf16, kBf16, 64, 1, 32, 64, kBf16Unsplit},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_v3.co", kBf16, kBf16, 64, 1, 32, 64, kBf16Unsplit},
    {"mla_a16w16_qh8_qseqlen1_gqaratio8_v3.co", kBf16, kBf16, 8, 1, 64, 8},
    {"mla_a16w16_qh8_qseqlen2_gqaratio8.co", kBf16, kBf16, 8, 2, 64, 16,
     kNoMask | kMqaIsHeads | kBf16Unsplit},
    {"mla_a16w16_qh8_qseqlen2_gqaratio8_causal.co", kBf16, kBf16, 8, 2, 64, 16,
     kMqaIsHeads | kBf16Unsplit},
    {"mla_dec_stage1_bf16_a16w16_subQ128_mqa128.co", kBf16, kBf16, 128, 1, 16, 128, kBf16Unsplit},
    {"mla_dec_stage1_bf16_a16w16_subQ16_mqa16.co", kBf16, kBf16, 16, 1, 64, 16},
    {"mla_pfl_bf16_a16w16_causal_subQ128_mqa128.co", kBf16, kBf16, 128, 2, 16, 128,
     kMqaIsHeads | kBf16Unsplit},
    {"mla_pfl_bf16_a16w16_causal_subQ16_mqa16.co", kBf16, kBf16, 16, 8, 16, 128,
     kMqaIsHeads | kBf16Unsplit},
    {"mla_a8w8_qh128_m32x4_n16x2_msk0.co", kFp8, kFp8, 128, 1, 32, 128, kBf16Unsplit},
    {"mla_a8w8_qh128_m32x4_n16x2_msk1.co", kFp8, kFp8, 128, 1, 32, 128, kBf16Unsplit},
    {"mla_a8w8_qh16_qseqlen1_gqaratio16.co", kFp8, kFp8, 16, 1, 128, 128, kBf16Unsplit},
    {"mla_a8w8_qh16_qseqlen1_gqaratio16_msk0.co", kFp8, kFp8, 16, 1, 128, 128, kBf16Unsplit},
    {"mla_a8w8_qh16_qseqlen2_gqaratio16.co", kFp8, kFp8, 16, 2, 64, 128, kBf16Unsplit},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16.co", kFp8, kFp8, 16, 4, 64, 64,
     kMqaIsHeads | kBf16Unsplit | kOneSplit},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_msk0.co", kFp8, kFp8, 16, 4, 64, 64,
     kMqaIsHeads | kBf16Unsplit | kOneSplit},
    {"MLA_A16W16_1TG_4W_32mx1_16nx1_Coex0_Msk1_QH16.co", kBf16, kBf16, 32, 1, 16, 32, kManySplits},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_msk0.co", kFp8, kFp8, 32, 4, 64, 128, kOneSplit},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_msk0_v2.co", kFp8, kFp8, 32, 4, 64, 128, kOneSplit},
    {"mla_a8w8_qh64_qseqlen4_gqaratio16.co", kFp8, kFp8, 16, 4, 64, 64, kOneSplit},
    {"mla_a8w8_qh64_qseqlen4_gqaratio16_msk0.co", kFp8, kFp8, 16, 4, 64, 64, kOneSplit},
    {"mla_a8w8_qh8_qseqlen1_gqaratio8_v3.co", kFp8, kFp8, 8, 1, 64, 8, kBf16Unsplit},
};
const TestedMla kPersistentMla[] = {
    {"mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_lse_ps.co", kBf16, kBf16, 16, 4, 64},
    {"mla_a16w16_qh16_m16x4_n16x1_coex0_mask1_ps.co", kBf16, kBf16, 16, 4, 64},
    {"mla_a16w16_qh16_qseqlen4_gqaratio16_lse_ps.co", kBf16, kBf16, 16, 4, 64},
    {"mla_a16w16_qh16_qseqlen4_gqaratio16_ps.co", kBf16, kBf16, 16, 4, 64},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_cprr_ps.co", kBf16, kBf16, 32, 4, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_lse_cprr_ps.co", kBf16, kBf16, 32, 4, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_lse_ps.co", kBf16, kBf16, 32, 4, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_msk0_cprr_ps.co", kBf16, kBf16, 32, 4, 64, 0,
     kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_msk0_lse_cprr_ps.co", kBf16, kBf16, 32, 4, 64, 0,
     kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_msk0_lse_ps.co", kBf16, kBf16, 32, 4, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_msk0_ps.co", kBf16, kBf16, 32, 4, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh32_qseqlen4_gqaratio32_ps.co", kBf16, kBf16, 32, 4, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_cprr_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_lse_cprr_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0,
     kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_lse_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_msk0_cprr_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0,
     kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_msk0_lse_cprr_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0,
     kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_msk0_lse_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0,
     kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_msk0_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0, kMqaIsHeads},
    {"mla_a16w16_qh64_qseqlen1_gqaratio64_v3_ps.co", kBf16, kBf16, 64, 1, 64, 0, kMqaIsHeads},
    {"mla_a16w8_qh16_m16x4_n16x1_coex0_mask1_ps.co", kBf16, kFp8, 16, 4, 64},
    {"mla_a8w8_qh16_qseqlen1_gqaratio16_lse_ps.co", kFp8, kFp8, 16, 1, 128, 0, kEarlyLds},
    {"mla_a8w8_qh16_qseqlen1_gqaratio16_msk0_lse_ps.co", kFp8, kFp8, 16, 1, 128, 0, kEarlyLds},
    {"mla_a8w8_qh16_qseqlen1_gqaratio16_msk0_ps.co", kFp8, kFp8, 16, 1, 128, 0, kEarlyLds},
    {"mla_a8w8_qh16_qseqlen1_gqaratio16_ps.co", kFp8, kFp8, 16, 1, 128, 0, kEarlyLds},
    {"mla_a8w8_qh16_qseqlen2_gqaratio16_ps.co", kFp8, kFp8, 16, 2, 64},
    {"mla_a8w8_qh16_qseqlen2_gqaratio16_ps_page.co", kFp8, kFp8, 16, 2, 64},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_cprr_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_lse_cprr_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_lse_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_msk0_cprr_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0,
     kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_msk0_lse_cprr_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0,
     kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_msk0_lse_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_msk0_ps.co", kFp8, kFp8, 16, 4, 64},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_msk0_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_ps.co", kFp8, kFp8, 16, 4, 64},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_ps_page.co", kFp8, kFp8, 16, 4, 32, 0, kRawValues},
    {"mla_a8w8_qh16_qseqlen4_gqaratio16_v3_ps.co", kFp8, kFp8, 16, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen1_gqaratio32_lse_ps.co", kFp8, kFp8, 32, 1, 128, 0, kEarlyLds},
    {"mla_a8w8_qh32_qseqlen1_gqaratio32_ps.co", kFp8, kFp8, 32, 1, 128, 0, kEarlyLds},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_cprr_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_lse_cprr_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_lse_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_msk0_cprr_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_msk0_lse_cprr_ps.co", kFp8, kFp8, 32, 4, 128, 0,
     kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_msk0_lse_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_msk0_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio32_ps.co", kFp8, kFp8, 32, 4, 128, 0, kMqaIsHeads},
    {"mla_a8w8_qh32_qseqlen4_gqaratio8_lse_ps.co", kFp8, kFp8, 8, 4, 128},
    {"mla_a8w8_qh32_qseqlen4_gqaratio8_msk0_lse_ps.co", kFp8, kFp8, 8, 4, 128},
    {"mla_a8w8_qh32_qseqlen4_gqaratio8_msk0_ps.co", kFp8, kFp8, 8, 4, 128},
    {"mla_a8w8_qh32_qseqlen4_gqaratio8_ps.co", kFp8, kFp8, 8, 4, 128},
};

struct Errors {
  double out = 0; ///< of the worst token
  double lse = 0; ///< of what the kernel wrote
};

Errors errorsOf(const TestedMla &t, const MlaShape &shape, const Policy &policy) {
  CodeObject co("mla", std::string(t.file));
  MlaKernel kernel = t.kernel();
  MlaRun run = runMla(co, kernel, shape, policy);
  PagedAnswer want = attendPaged(run.problem);
  std::vector<double> gotLse, wantLse;
  for (size_t n = 0; n < run.lse.size(); ++n)
    if (!std::isnan(run.lse[n])) {
      gotLse.push_back(run.lse[n]);
      wantLse.push_back(want.lse[n]);
    }
  Errors errors{worstToken(run.out, run.problem, want), relL2(gotLse, wantLse)};
  co.report(shape.text(), errors.out, policy.name);
  return errors;
}

void checkErrors(const TestedMla &t, const MlaShape &shape) {
  INFO(t.file << ", " << shape.text());
  Errors errors = errorsOf(t, shape, t.policy());
  CHECK(errors.out <= t.tolerance());
  CHECK(errors.lse <= t.tolerance() / 100);
}

/// Ragged and with an empty sequence; split, at the blocks' boundaries. The last block of a
/// sequence holds as many keys as the sequence has query tokens, or more: a token that sees no key
/// of its split comes out NaN.
std::vector<uint32_t> contextsOf(const TestedMla &t, uint32_t splits) {
  if (splits == 1)
    return {t.queries, 333, 0, 40};
  return {333, 128, 128 + t.queries};
}

} // namespace

void aitertest::mlaSamples() {
  for (const TestedMla &t : kPlainMla) {
    uint32_t splits = t.flags & kOneSplit || t.named("pfl") ? 1 : 3;
    checkErrors(t, {t.heads, t.queries, contextsOf(t, splits), splits});
  }
  for (const TestedMla &t : kPersistentMla)
    if (t.named("gqaratio32_ps"))
      checkErrors(t, {t.heads, t.queries, contextsOf(t, 3), 3});
}

TEST_CASE("mla: split over keys, ragged contexts, permuted slots, an empty sequence",
          "[aiter][mla]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const TestedMla &t : kPlainMla)
    for (uint32_t splits : {1u, 3u})
      if (splits == 1 ? !(t.flags & kManySplits) : !(t.flags & kOneSplit || t.named("pfl")))
        checkErrors(t, {t.heads, t.queries, contextsOf(t, splits), splits});
}

TEST_CASE("mla: persistent, whole sequences and sequences in parts", "[aiter][mla]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const TestedMla &t : kPersistentMla)
    for (uint32_t parts : {1u, 3u})
      checkErrors(t, {t.heads, t.queries, contextsOf(t, parts), parts});
}

TEST_CASE("mla: round-robin context parallelism masks by global positions", "[aiter][mla]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const TestedMla &t : kPersistentMla)
    if (t.named("cprr"))
      for (uint32_t rank : {0u, 2u})
        checkErrors(t, {.heads = t.heads,
                        .queries = t.queries,
                        .contexts = {t.queries + 3, 700, 40},
                        .splits = 2,
                        .ranks = 3,
                        .rank = rank});
}
