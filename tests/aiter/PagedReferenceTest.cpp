// The reference for decode, on problems small enough to solve by hand. Runs without a checkout.
#include "tests/aiter/PagedCodes.h"
#include "tests/aiter/PagedWork.h"

using namespace aitertest;

namespace {

/// One head, q = k = 1-dimensional; v = the slot's number. With q = 0 all visible keys weigh alike.
PagedProblem counting(uint32_t queries, std::vector<uint32_t> slots) {
  PagedProblem p;
  p.qkDim = p.vDim = 1;
  p.queryStart = {0, queries};
  p.slots = {slots};
  p.q.assign(queries, 0.0f);
  p.k.assign(10, 1.0f);
  for (int n = 0; n < 10; ++n)
    p.v.push_back(float(n));
  return p;
}

} // namespace

TEST_CASE("paged reference: slots in list order, causal from the end", "[aiter][reference]") {
  PagedProblem p = counting(2, {7, 2, 9});
  PagedAnswer all = attendPaged(p);
  CHECK(all.out[0] == Approx(6));
  CHECK(all.lse[0] == Approx(std::log(3.0)));
  p.causal = true;
  PagedAnswer masked = attendPaged(p);
  CHECK(masked.out[0] == Approx(4.5)); // 7 and 2
  CHECK(masked.out[1] == Approx(6));
  p.v[2] = NAN; // a slot in use shows
  CHECK(std::isnan(attendPaged(p).out[1]));
  p.v[2] = 2;
  p.v[3] = p.k[3] = NAN; // one that is not, does not
  CHECK(attendPaged(p).out[1] == Approx(6));
}

TEST_CASE("paged reference: grouped heads, weights and the sink", "[aiter][reference]") {
  PagedProblem p = counting(1, {1, 3});
  p.heads = 4;
  p.kvHeads = 2;
  p.scale = 2;
  p.q = {0, 1, 0, 1};
  p.k = {0, 0, 0, 0, 0, 0, 0.5f, 1}; // [slot][kv head]: slot 3 has keys 0.5 and 1
  p.v = {0, 0, 10, 20, 0, 0, 30, 40};
  PagedAnswer a = attendPaged(p);
  CHECK(a.out[0] == Approx(20));
  CHECK(a.out[1] == Approx((10 + std::exp(1.0) * 30) / (1 + std::exp(1.0))));
  CHECK(a.out[3] == Approx((20 + std::exp(2.0) * 40) / (1 + std::exp(2.0))));
  CHECK(a.lse[3] == Approx(std::log(1 + std::exp(2.0))));
  p.sink = {0, 0, 0, 0};
  CHECK(attendPaged(p).out[0] == Approx(40.0 / 3));
  CHECK(attendPaged(p).lse[0] == Approx(std::log(3.0)));
}

TEST_CASE("paged reference: rows without keys, and context-parallel ranks", "[aiter][reference]") {
  PagedProblem p = counting(2, {});
  CHECK(attendPaged(p).out[0] == 0);
  CHECK(attendPaged(p).lse[0] == -INFINITY);
  p = counting(3, {4, 6}); // keys 1 and 4 of 5: token 0 sees positions up to 2
  p.causal = true;
  p.ranks = 3;
  p.rank = 1;
  p.allKeys = {5};
  CHECK(attendPaged(p).out[0] == 4);
  CHECK(attendPaged(p).out[1] == 4);
  CHECK(attendPaged(p).out[2] == 5);
}

TEST_CASE("splits merge to the whole", "[aiter][reference]") {
  std::vector<float> a = {1}, b = {4}, bad = {NAN};
  std::vector<PartialRow> parts = {{a, std::log(1.0f)}, {b, std::log(2.0f)}};
  double lse = 0;
  CHECK(mergeSplits(parts, 1, lse)[0] == Approx(3));
  CHECK(lse == Approx(std::log(3.0)));
  parts.push_back({bad, -INFINITY}); // weighs nothing
  CHECK(mergeSplits(parts, 1, lse)[0] == Approx(3));
  CHECK(mergeSplits({}, 1, lse)[0] == 0);
  CHECK(lse == -INFINITY);
}

TEST_CASE("work lists cover every key once", "[aiter][reference]") {
  PagedProblem p = counting(2, {});
  p.heads = 4;
  p.slots = {std::vector<uint32_t>(300), {}, std::vector<uint32_t>(64)};
  p.queryStart = {0, 2, 4, 6};
  WorkLists work =
      splitWork(p, {.pageKeys = 16, .block = 4, .parts = 2, .headGroup = 2, .lists = 3});
  REQUIRE(work.entries.size() == 6); // two parts and one whole, two head groups each
  CHECK(work.entries[0].keyStart == 0);
  CHECK(work.entries[0].keyEnd == 12);
  CHECK(work.entries[0].keysAfter == 7);
  CHECK(work.entries[1].headRange == (4 << 16 | 2));
  CHECK(work.entries[2].keyEnd == 19);
  CHECK(work.entries[2].partial == 2);
  CHECK(work.entries[4].sequence == 2);
  CHECK(work.entries[4].partial == -1);
  CHECK(work.entries[4].keyStart == 19);
  CHECK(work.partialTokens == 4);
  CHECK(work.listStart == std::vector<uint32_t>{0, 2, 4, 6});
}

TEST_CASE("cache codes", "[aiter][reference]") {
  CodeArray codes(Code::I8, 2);
  codes.set(0, -3.4);
  CHECK(codes.get(0) == -3);
  CHECK(codes.get(1) == -1); // not drawn
  CodeArray half(Code::F16, 2);
  half.set(0, 0.1);
  CHECK(half.get(0) == 0.0999755859375);
  CHECK(std::isnan(half.get(1)));
  CHECK(std::isnan(CodeArray(Code::E4M3, 1).get(0)));
}
