// AITER's two persistent fp8 prefill code objects of latent attention (after up-projection: as many
// kv heads as heads, head dims 192 and 128) against float64.
//
// A work entry is a tile of up to 256 query tokens of one head against a run of key tiles of 128;
// causal tiles end at the last key that their last token sees. One scale each for q, k and v. Slots
// that no sequence lists are NaN, but for slot 0, which the kernels read past the end of the list.
#include "tests/aiter/PagedCodes.h"
#include "tests/aiter/PagedWork.h"
#include <fmt/format.h>

using namespace aitertest;

namespace {

constexpr uint32_t kQk = 192, kV = 128, kTileRows = 256, kKeyTile = 128;
constexpr float kScale = 5.0f / 448;

struct Sequence {
  uint32_t queries, keys;
};
struct Shape {
  uint32_t heads;
  std::vector<Sequence> sequences;
  uint32_t parts = 1; ///< of a tile's keys, at most
  std::string text() const {
    std::string text = fmt::format("h {}", heads);
    for (Sequence s : sequences)
      text += fmt::format(" {}x{}", s.queries, s.keys);
    return text + (parts > 1 ? fmt::format(" parts {}", parts) : "");
  }
};

/// Draws the rows listed, [row, heads, dim]; the others are NaN.
std::vector<uint8_t> drawRows(std::vector<float> &values, const std::vector<uint32_t> &rows,
                              uint32_t count, uint32_t perRow, Normal &draw) {
  CodeArray codes(Code::E4M3, size_t(count) * perRow);
  values.assign(size_t(count) * perRow, NAN);
  for (uint32_t row : rows)
    for (uint32_t d = 0; d < perRow; ++d) {
      size_t n = size_t(row) * perRow + d;
      codes.set(n, draw() / kScale);
      values[n] = float(codes.get(n) * kScale);
    }
  return codes.bytes();
}

struct Launch {
  PagedProblem problem;
  std::vector<uint32_t> keyStart, slotList;
  uint32_t slots = 0;
  std::vector<uint8_t> q, k, v;
  WorkLists work;

  Launch(const Shape &shape, bool causal, Normal &draw) {
    PagedProblem &p = problem;
    p.heads = p.kvHeads = shape.heads;
    p.qkDim = kQk;
    p.vDim = kV;
    p.scale = 1 / std::sqrt(double(kQk));
    p.causal = causal;
    std::vector<uint32_t> queries, keys;
    for (Sequence s : shape.sequences) {
      queries.push_back(s.queries);
      keys.push_back(s.keys);
    }
    p.queryStart = prefixSums(queries);
    keyStart = prefixSums(keys);
    slots = keyStart.back() * 3 / 2 + 2;
    std::vector<uint32_t> order = shuffled(slots, draw), tokens = shuffled(p.tokens(), draw);
    slotList.assign(order.begin(), order.begin() + keyStart.back());
    for (size_t b = 0; b < keys.size(); ++b)
      p.slots.emplace_back(slotList.begin() + keyStart[b], slotList.begin() + keyStart[b + 1]);
    q = drawRows(p.q, tokens, p.tokens(), p.heads * kQk, draw);
    std::vector<uint32_t> drawn = slotList;
    drawn.push_back(0);
    k = drawRows(p.k, drawn, slots, p.heads * kQk, draw);
    v = drawRows(p.v, drawn, slots, p.heads * kV, draw);
    for (uint32_t b = 0; b < p.sequences(); ++b)
      for (uint32_t from = 0; from < queries[b]; from += kTileRows)
        addTile(b, from, std::min(from + kTileRows, queries[b]), shape.parts);
    for (size_t n : {work.entries.size() / 2, work.entries.size()})
      work.listStart.push_back(uint32_t(n));
  }

private:
  void addTile(uint32_t b, uint32_t from, uint32_t to, uint32_t parts) {
    const PagedProblem &p = problem;
    uint32_t keys = uint32_t(p.slots[b].size());
    if (p.causal)
      keys = std::min(keys, keys - (p.queryStart[b + 1] - p.queryStart[b]) + to);
    uint32_t tiles = (keys + kKeyTile - 1) / kKeyTile;
    uint32_t each = (tiles + parts - 1) / parts * kKeyTile;
    for (uint32_t key = 0; key < keys; key += each) {
      bool split = each < keys;
      for (uint32_t head = 0; head < p.heads; ++head)
        work.entries.push_back({int32_t(b), split ? int32_t(work.partialTokens) : -1,
                                int32_t(p.queryStart[b] + from), int32_t(p.queryStart[b] + to),
                                int32_t(keyStart[b] + key),
                                int32_t(keyStart[b] + std::min(key + each, keys)), 0,
                                int32_t((head + 1) << 16 | head)});
      work.partialTokens += split ? kTileRows : 0;
    }
  }
};

double run(bool causal, const Shape &shape, const Policy &policy) {
  Normal draw(11);
  Launch launch(shape, causal, draw);
  const PagedProblem &p = launch.problem;
  CodeObject co("mla", fmt::format("mla_pfl_qh192_vh128_m32x8_n128x1_causal{}.co", int(causal)));
  size_t rows = size_t(p.tokens()) * p.heads;
  size_t partialRows = size_t(std::max(launch.work.partialTokens, 1u)) * p.heads;
  uint64_t out = co.output(rows * kV * 2, "O");
  uint64_t partialOut = co.output(partialRows * kV * 4, "partial O");
  uint64_t partialLse = co.output(partialRows * 4, "partial LSE");
  uint64_t scale = co.upload(std::vector{kScale}, "scale");
  Kernarg args(0x130);
  args.set(0x00, co.upload(launch.q, "Q"))
      .set(0x10, co.upload(launch.k, "K"))
      .set(0x20, co.upload(launch.v, "V"))
      .set(0x30, out)
      .set(0x40, partialOut)
      .set(0x50, partialLse)
      .set(0x60, co.upload(launch.work.listStart, "work_indptr"))
      .set(0x70, co.upload(launch.work.entries, "work_info"))
      .set(0x80, co.upload(p.queryStart, "qo_indptr"))
      .set(0x90, co.upload(launch.keyStart, "kv_indptr"))
      .set(0xa0, co.upload(launch.slotList, "kv_page_indices"))
      .set(0xb0, scale)
      .set(0xc0, scale)
      .set(0xd0, scale)
      .set(0xe0, float(p.scale))
      .set(0xf0, p.tokens())
      .set(0x100, p.heads)
      .set(0x110, launch.slots)
      .set(0x120, uint32_t(launch.slotList.size()));
  co.launch({uint32_t(launch.work.listStart.size() - 1), 1, 1}, 512, args, policy);

  std::vector<double> got = fromBf16(co.download<uint16_t>(out, rows * kV)), lse(rows);
  Partials partials{co.download<float>(partialOut, partialRows * kV),
                    co.download<float>(partialLse, partialRows), kV};
  for (uint32_t t = 0; t < p.tokens(); ++t)
    for (uint32_t h = 0; h < p.heads; ++h) {
      std::vector<size_t> parts;
      for (const WorkEntry &w : launch.work.entries)
        if (w.partial >= 0 && int32_t(t) >= w.queryStart && int32_t(t) < w.queryEnd &&
            h == uint32_t(w.headRange & 0xffff))
          parts.push_back(size_t(w.partial + int32_t(t) - w.queryStart) * p.heads + h);
      if (!parts.empty())
        partials.merge(parts, size_t(t) * p.heads + h, got, lse);
    }
  double error = worstToken(got, p, attendPaged(p));
  co.report(shape.text(), error, policy.name);
  return error;
}

} // namespace

TEST_CASE("mla prefill fp8, persistent: ragged sequences, whole tiles and tiles in parts",
          "[aiter][mlaprefill]") {
  AITER_CHECKOUT_OR_SKIP();
  for (bool causal : {false, true})
    for (uint32_t parts : {1u, 2u}) {
      INFO("causal " << causal << ", parts " << parts);
      CHECK(run(causal, {2, {{300, 333}, {40, 40}, {1, 200}, {5, 700}}, parts},
                chosenPolicy(kInTurn)) <= 5e-2);
    }
}
