// AITER's 51 paged-attention decode code objects against float64: bf16 and f16 caches, fp8 and int8
// with a scale per token, fp8 with one per page of 256 or 1024; plain and persistent; one query
// token per sequence and several (mtp), with and without the causal mask.
#include "tests/aiter/PaLaunch.h"
#include "tests/aiter/PagedWork.h"
#include "tests/aiter/Verdicts.h"

using namespace aitertest;

namespace {

constexpr Code kBf16 = Code::BF16, kF16 = Code::F16, kFp8 = Code::E4M3, kInt8 = Code::I8;

struct TestedPa {
  PaKernel kernel;
  uint32_t gqa;               ///< rows of its tile per query token
  uint32_t queries = 0;       ///< most tokens of a sequence; 0: one, without qo_indptr
  bool underAnyPolicy = true; ///< right whenever memory answers, whatever the waves' order
};

const TestedPa kPlainPa[] = {
    {{"pa_bf16_noquant_gqa8_1tg_4w.co", kBf16, kBf16}, 8},
    {{"pa_bf16_noquant_gqa8_1tg_4w_mtp_msk0.co", kBf16, kBf16}, 8, 2},
    {{"pa_bf16_noquant_gqa8_1tg_4w_mtp_msk1.co", kBf16, kBf16, true}, 8, 2},
    {{"pa_bf16_noquant_gqa16_1tg_4w.co", kBf16, kBf16}, 16},
    {{"pa_fp16_noquant_gqa8_1tg_4w.co", kF16, kF16}, 8},
    {{"pa_fp16_noquant_gqa8_1tg_4w_mtp_msk0.co", kF16, kF16}, 8, 2},
    {{"pa_fp16_noquant_gqa8_1tg_4w_mtp_msk1.co", kF16, kF16, true}, 8, 2},
    {{"pa_fp16_noquant_gqa16_1tg_4w.co", kF16, kF16}, 16},
    {{"pa_bf16_pertokenFp8_gqa8_2tg_4w.co", kBf16, kFp8}, 8},
    {{"pa_bf16_pertokenFp8_gqa8_2tg_4w_hp.co", kBf16, kFp8}, 8},
    {{"pa_bf16_pertokenFp8_gqa8_2tg_4w_uhp.co", kBf16, kFp8}, 8},
    {{"pa_bf16_pertokenFp8_gqa8_1tg_4w_mtp_msk0.co", kBf16, kFp8}, 8, 2},
    {{"pa_bf16_pertokenFp8_gqa8_1tg_4w_mtp_msk1.co", kBf16, kFp8, true}, 8, 2},
    {{"pa_bf16_pertokenFp8_gqa16_2tg_4w.co", kBf16, kFp8}, 16, 0, false},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_mtp_msk0.co", kBf16, kFp8}, 16, 1},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_mtp_msk1.co", kBf16, kFp8, true}, 16, 1},
    {{"pa_fp16_pertokenFp8_gqa8_2tg_4w.co", kF16, kFp8}, 8},
    {{"pa_fp16_pertokenFp8_gqa8_2tg_4w_hp.co", kF16, kFp8}, 8},
    {{"pa_fp16_pertokenFp8_gqa8_2tg_4w_uhp.co", kF16, kFp8}, 8},
    {{"pa_fp16_pertokenFp8_gqa8_1tg_4w_mtp_msk0.co", kF16, kFp8}, 8, 2},
    {{"pa_fp16_pertokenFp8_gqa8_1tg_4w_mtp_msk1.co", kF16, kFp8, true}, 8, 2},
    {{"pa_fp16_pertokenFp8_gqa16_2tg_4w.co", kF16, kFp8}, 16, 0, false},
    {{"pa_fp16_pertokenFp8_gqa16_1tg_4w_mtp_msk0.co", kF16, kFp8}, 16, 1},
    {{"pa_fp16_pertokenFp8_gqa16_1tg_4w_mtp_msk1.co", kF16, kFp8, true}, 16, 1},
    {{"pa_bf16_pertokenInt8_gqa8_2tg_4w.co", kBf16, kInt8}, 8},
    {{"pa_bf16_pertokenInt8_gqa8_1tg_4w_mtp_msk0.co", kBf16, kInt8}, 8, 2},
    {{"pa_bf16_pertokenInt8_gqa8_1tg_4w_mtp_msk1.co", kBf16, kInt8, true}, 8, 2},
    {{"pa_bf16_pertokenInt8_gqa16_2tg_4w.co", kBf16, kInt8}, 16, 0, false},
    {{"pa_bf16_pertokenInt8_gqa16_1tg_4w_mtp_msk0.co", kBf16, kInt8}, 16, 1},
    {{"pa_bf16_pertokenInt8_gqa16_1tg_4w_mtp_msk1.co", kBf16, kInt8, true}, 16, 1},
    {{"pa_fp16_pertokenInt8_gqa8_2tg_4w.co", kF16, kInt8}, 8},
    {{"pa_fp16_pertokenInt8_gqa8_1tg_4w_mtp_msk0.co", kF16, kInt8}, 8, 2},
    {{"pa_fp16_pertokenInt8_gqa8_1tg_4w_mtp_msk1.co", kF16, kInt8, true}, 8, 2},
    {{"pa_fp16_pertokenInt8_gqa16_2tg_4w.co", kF16, kInt8}, 16, 0, false},
    {{"pa_fp16_pertokenInt8_gqa16_1tg_4w_mtp_msk0.co", kF16, kInt8}, 16, 1},
    {{"pa_fp16_pertokenInt8_gqa16_1tg_4w_mtp_msk1.co", kF16, kInt8, true}, 16, 1},
};

/// "qlenN": a tile of N rows, so gqa x queries is at most N.
const TestedPa kPersistentPa[] = {
    {{"pa_bf16_perblockFp8_blk256_1tg_4w_qlen16_msk1_ps.co", kBf16, kFp8, true, 256, true, true},
     16,
     1},
    {{"pa_bf16_perblockFp8_blk256_1tg_4w_qlen32_msk1_ps.co", kBf16, kFp8, true, 256, true, true},
     16,
     2},
    {{"pa_bf16_perblockFp8_blk256_1tg_4w_qlen40_msk1_ps.co", kBf16, kFp8, true, 256, true, true},
     10,
     4},
    {{"pa_bf16_perblockFp8_blk256_1tg_4w_qlen48_msk1_ps.co", kBf16, kFp8, true, 256, true, true},
     16,
     3},
    {{"pa_bf16_perblockFp8_blk256_1tg_4w_qlen64_msk1_ps.co", kBf16, kFp8, true, 256, true, true},
     16,
     4},
    {{"pa_bf16_perblockFp8_blk1024_1tg_4w_qlen16_msk1_ps.co", kBf16, kFp8, true, 1024, true, true},
     16,
     1},
    {{"pa_bf16_perblockFp8_blk1024_1tg_4w_qlen32_msk1_ps.co", kBf16, kFp8, true, 1024, true, true},
     16,
     2},
    {{"pa_bf16_perblockFp8_blk1024_1tg_4w_qlen40_msk1_ps.co", kBf16, kFp8, true, 1024, true, true},
     10,
     4},
    {{"pa_bf16_perblockFp8_blk1024_1tg_4w_qlen48_msk1_ps.co", kBf16, kFp8, true, 1024, true, true},
     16,
     3},
    {{"pa_bf16_perblockFp8_blk1024_1tg_4w_qlen64_msk1_ps.co", kBf16, kFp8, true, 1024, true, true},
     16,
     4},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_qlen16_msk1_ps.co", kBf16, kFp8, true, 1024, false, true},
     16,
     1},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_qlen32_msk1_ps.co", kBf16, kFp8, true, 1024, false, true},
     16,
     2},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_qlen40_msk1_ps.co", kBf16, kFp8, true, 1024, false, true},
     10,
     4},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_qlen48_msk1_ps.co", kBf16, kFp8, true, 1024, false, true},
     16,
     3},
    {{"pa_bf16_pertokenFp8_gqa16_1tg_4w_qlen64_msk1_ps.co", kBf16, kFp8, true, 1024, false, true},
     16,
     4},
};

/// The error of the worst token, so that no row hides behind the others. Tokens of an empty
/// sequence do not count: these kernels make 0 / 0 of them.
double errorOf(const TestedPa &t, const PaShape &shape, const Policy &policy) {
  CodeObject co("pa", t.kernel.file);
  PaRun run = runPa(co, t.kernel, shape, policy);
  double error = worstToken(run.out, run.problem, attendPaged(run.problem));
  co.report(shape.text(), error, policy.name);
  return error;
}
double tolerance(const TestedPa &t) { return bytesOf(t.kernel.cache) == 1 ? 5e-2 : 3e-3; }

/// Tokens of each sequence: as many as the kernel takes; of every third only one, where they may
/// differ.
std::vector<uint32_t> queryCounts(const TestedPa &t, std::initializer_list<uint32_t> contexts) {
  std::vector<uint32_t> counts;
  for (uint32_t keys : contexts)
    if (t.queries && !t.kernel.persistent && counts.size() % 3 == 1)
      counts.push_back(1);
    else if (t.queries)
      counts.push_back(std::min(keys, t.queries));
  return counts;
}

} // namespace

void aitertest::paSamples() {
  auto contexts = {40u, 333u};
  auto check = [&](const TestedPa &t) {
    INFO(t.kernel.file);
    CHECK(errorOf(t, {1, t.gqa, contexts, queryCounts(t, contexts)}, kInTurn) <= tolerance(t));
  };
  for (const TestedPa &t : kPlainPa)
    if (t.kernel.query == kBf16)
      check(t);
  check(kPersistentPa[2]); // qlen40
}

TEST_CASE("pa: ragged contexts, permuted pages, two kv heads", "[aiter][pa]") {
  AITER_CHECKOUT_OR_SKIP();
  auto contexts = {1u, 40u, 333u, 256u, 16u, 257u};
  for (const TestedPa &t : kPlainPa) {
    INFO(t.kernel.file);
    CHECK(errorOf(t, {2, t.gqa, contexts, queryCounts(t, contexts)}, chosenPolicy(kInTurn)) <=
          tolerance(t));
  }
}

TEST_CASE("pa: fewer heads per kv head than the tile has rows", "[aiter][pa]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const TestedPa &t : kPlainPa)
    if (!t.queries) {
      INFO(t.kernel.file);
      CHECK(errorOf(t, {3, t.gqa - 3, {40, 129}}, chosenPolicy(kInTurn)) <= tolerance(t));
    }
}

TEST_CASE("pa: an empty sequence leaves its neighbours alone", "[aiter][pa]") {
  AITER_CHECKOUT_OR_SKIP();
  auto contexts = {40u, 0u, 129u};
  for (const TestedPa &t : kPlainPa)
    if (!t.queries) {
      INFO(t.kernel.file);
      CHECK(errorOf(t, {2, t.gqa, contexts}, chosenPolicy(kInTurn)) <= tolerance(t));
    }
}

TEST_CASE("pa: persistent, whole sequences and sequences in parts", "[aiter][pa]") {
  AITER_CHECKOUT_OR_SKIP();
  auto contexts = {5u, 300u, 1030u};
  for (const TestedPa &t : kPersistentPa)
    for (uint32_t parts : {1u, 2u}) {
      INFO(t.kernel.file << ", " << parts << " parts");
      PaShape shape{2, t.gqa, contexts, queryCounts(t, contexts), parts};
      CHECK(errorOf(t, shape, chosenPolicy(kInTurn)) <= tolerance(t));
    }
}

TEST_CASE("pa: right whenever memory answers, whatever the order of waves", "[aiter][pa]") {
  AITER_CHECKOUT_OR_SKIP();
  auto contexts = {40u, 333u};
  auto check = [&](const TestedPa &t) {
    for (const Policy &policy : {kToBarrier, kReverse, kLatest, kLatestReverse}) {
      INFO(t.kernel.file << ", " << policy.name);
      PaShape shape{1, t.gqa, contexts, queryCounts(t, contexts)};
      bool right = errorOf(t, shape, policy) <= tolerance(t);
      bool latest = policy.arrival == attune::sim::Arrival::Latest;
      CHECK(right == (t.underAnyPolicy || !latest));
    }
  };
  for (const TestedPa &t : kPlainPa)
    check(t);
  for (const TestedPa &t : kPersistentPa)
    check(t);
}
