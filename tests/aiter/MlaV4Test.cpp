// AITER's mla_v4 code object (DeepSeek v4 decode) against float64. A row of q or of the cache is
// 512 numbers, key and value alike: 448 in e4m3 with a power of two (E8M0) for every 64 of them,
// and 64 rope numbers in bf16 in a plane of their own.
//
//   fp8 plane  [rows][512 bytes]: 448 codes, 14 scales (each of the 7 twice), 50 unused
//   rope plane [rows][64] bf16
//
// Every head has a sink, a virtual key with a logit and no value. Splits are dealt in blocks of 32
// keys; the sink is in one of them.
#include "tests/aiter/PagedCodes.h"
#include "tests/aiter/PagedWork.h"
#include "tests/aiter/Verdicts.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace aitertest;

namespace {

constexpr uint32_t kDim = 512, kNope = 448, kRope = 64, kGroup = 64, kRowBytes = 512;
constexpr uint32_t kKeyBlock = 32;

/// Rows of either tensor, as bytes and as numbers; undrawn rows are NaN.
struct Rows {
  std::vector<uint8_t> nope;
  CodeArray rope;
  std::vector<float> values; ///< [rows, kDim]

  explicit Rows(size_t count)
      : nope(count * kRowBytes, 0xff), rope(Code::BF16, count * kRope), values(count * kDim, NAN) {}
  void draw(size_t row, Normal &draw) {
    uint8_t *codes = &nope[row * kRowBytes];
    float *value = &values[row * kDim];
    for (uint32_t group = 0; group < kNope / kGroup; ++group) {
      uint8_t scale = uint8_t(127 - 6 - draw.below(3)); // N(0, 1) / 2^-8 stays below 448 or so
      codes[kNope + 2 * group] = codes[kNope + 2 * group + 1] = scale;
      for (uint32_t d = group * kGroup; d < (group + 1) * kGroup; ++d) {
        codes[d] = kE4m3.encode(draw() / fromE8m0(scale));
        value[d] = float(kE4m3.decode(codes[d]) * fromE8m0(scale));
      }
    }
    for (uint32_t d = 0; d < kRope; ++d) {
      rope.set(row * kRope + d, draw());
      value[kNope + d] = float(rope.get(row * kRope + d));
    }
  }
};

struct Shape {
  uint32_t heads = 64, queries = 1;
  std::vector<uint32_t> contexts;
  uint32_t splits = 1;
  std::string text() const {
    return fmt::format("h {} q {} ctx {} splits {}", heads, queries, fmt::join(contexts, ","),
                       splits);
  }
};

struct Launch {
  PagedProblem problem;
  std::vector<uint32_t> keyStart, slotList;
  Rows q{0}, cache{0};

  Launch(const Shape &shape, Normal &draw) {
    PagedProblem &p = problem;
    p.heads = shape.heads;
    p.qkDim = p.vDim = kDim;
    p.scale = 1 / std::sqrt(double(kDim));
    p.queryStart = prefixSums(std::vector<uint32_t>(shape.contexts.size(), shape.queries));
    keyStart = prefixSums(shape.contexts);
    uint32_t slots = keyStart.back() * 3 / 2 + 2;
    std::vector<uint32_t> order = shuffled(slots, draw);
    slotList.assign(order.begin(), order.begin() + keyStart.back());
    cache = Rows(slots);
    for (uint32_t slot : slotList)
      cache.draw(slot, draw);
    for (size_t b = 0; b < shape.contexts.size(); ++b)
      p.slots.emplace_back(slotList.begin() + keyStart[b], slotList.begin() + keyStart[b + 1]);
    size_t rows = size_t(p.tokens()) * p.heads;
    q = Rows(rows);
    for (size_t row = 0; row < rows; ++row)
      q.draw(row, draw);
    p.q = q.values;
    p.k = p.v = cache.values;
    for (uint32_t head = 0; head < p.heads; ++head)
      p.sink.push_back(float(3 + draw()));
  }
};

struct Errors {
  double out, lse;
};

Errors run(const Shape &shape, const Policy &policy) {
  Normal draw(7);
  Launch launch(shape, draw);
  const PagedProblem &p = launch.problem;
  CodeObject co("mla_v4", "mla_a8w8_qh64_qseqlen1_gqaratio64_nm.co");
  size_t rows = size_t(p.tokens()) * p.heads;
  uint64_t partialOut = co.output(rows * shape.splits * kDim * 4, "R");
  uint64_t partialLse = co.output(rows * shape.splits * 4, "LSE");
  Kernarg args(0x150);
  args.set(0x00, partialOut)
      .set(0x10, partialLse)
      .set(0x20, co.upload(launch.q.nope, "Q"))
      .set(0x30, co.upload(launch.cache.nope, "KV"))
      .set(0x40, co.upload(launch.keyStart, "kv_indptr"))
      .set(0x50, co.upload(launch.slotList, "kv_indices"))
      .set(0x70, float(p.scale))
      .set(0x80, p.heads)
      .set(0x90, shape.splits)
      .set(0xd0, co.upload(p.queryStart, "qo_indptr"))
      .set(0xe0, co.upload(prefixSums(std::vector<uint32_t>(p.sequences(), shape.splits))))
      .set(0xf0, uint32_t(shape.splits == 1))
      .set(0x100, co.upload(launch.q.rope.bytes(), "Q rope"))
      .set(0x110, co.upload(launch.cache.rope.bytes(), "KV rope"))
      .set(0x120, co.upload(p.sink, "sink"));
  uint32_t tiles = (shape.queries * p.heads + 63) / 64;
  co.launch({tiles, p.sequences(), shape.splits}, 256, args, policy);

  std::vector<double> out(rows * kDim, NAN), lse(rows, NAN);
  if (shape.splits == 1) {
    out = fromBf16(co.download<uint16_t>(partialOut, rows * kDim));
  } else {
    Partials partials{co.download<float>(partialOut, rows * shape.splits * kDim),
                      co.download<float>(partialLse, rows * shape.splits), kDim};
    for (uint32_t b = 0; b < p.sequences(); ++b)
      for (uint32_t t = p.queryStart[b]; t < p.queryStart[b + 1]; ++t)
        for (uint32_t h = 0; h < p.heads; ++h) {
          std::vector<size_t> parts;
          for (uint32_t z = 0; z < shape.splits && z * kKeyBlock < p.slots[b].size(); ++z)
            parts.push_back((size_t(t) * shape.splits + z) * p.heads + h);
          partials.merge(parts, size_t(t) * p.heads + h, out, lse);
        }
  }
  PagedAnswer want = attendPaged(p);
  Errors errors{worstToken(out, p, want), shape.splits == 1 ? 0 : relL2(lse, want.lse)};
  co.report(shape.text(), errors.out, fmt::format("{} lse {}", policy.name, errors.lse));
  return errors;
}

} // namespace

void aitertest::mlaV4Samples() { CHECK(run({64, 1, {40, 333}}, kInTurn).out <= 3e-3); }

TEST_CASE("mla_v4: heads, tokens and splits", "[aiter][mlav4]") {
  AITER_CHECKOUT_OR_SKIP();
  for (uint32_t splits : {1u, 2u, 3u})
    for (Shape shape : {Shape{64, 1, {1, 40, 333, 128}}, Shape{16, 4, {4, 40, 333}},
                        Shape{128, 1, {70, 200}}, Shape{16, 1, {33}}}) {
      shape.splits = splits;
      INFO(shape.text());
      Errors errors = run(shape, chosenPolicy(kInTurn));
      CHECK(errors.out <= 3e-3);
      CHECK(errors.lse <= 1e-6);
    }
}
