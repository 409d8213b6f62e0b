#include "tests/aiter/MlaLaunch.h"
#include "tests/aiter/PagedWork.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aitertest {
namespace {

constexpr uint32_t kRow = 576, kValue = 512;
/// One scale for all of q and one for all of the cache, so that N(0, 1) fills e4m3's range.
constexpr float kQueryScale = 5.0f / 448, kCacheScale = 5.5f / 448;

class MlaLaunch {
public:
  MlaLaunch(CodeObject &co, const MlaKernel &kernel, const MlaShape &shape, uint64_t seed)
      : co_(co), kernel_(kernel), shape_(shape), draw_(seed) {
    drawSequences();
    drawCache();
    drawQueries();
  }
  MlaRun run(const Policy &);

private:
  void drawSequences();
  void drawCache();
  void drawQueries();
  Kernarg arguments();
  void setWork(Kernarg &);
  void collectPlain();
  void collectPersistent();
  bool writesBf16() const { return kernel_.bf16Unsplit && shape_.splits == 1; }
  /// Rows (token x heads + head) of the problem.
  size_t rows() const { return size_t(run_.problem.tokens()) * run_.problem.heads; }

  CodeObject &co_;
  const MlaKernel &kernel_;
  const MlaShape &shape_;
  Normal draw_;
  MlaRun run_;
  uint32_t slotCount_ = 0;
  std::vector<uint32_t> keyCounts_, slotList_;
  std::vector<uint8_t> q_, cache_;
  WorkLists work_;
  size_t partialRows_ = 0;
  uint64_t partialOut_ = 0, partialLse_ = 0, final_ = 0, finalLse_ = 0;
};

void MlaLaunch::drawSequences() {
  PagedProblem &p = run_.problem;
  p.heads = shape_.heads;
  p.kvHeads = 1;
  p.qkDim = kRow;
  p.vDim = kValue;
  p.scale = 1 / std::sqrt(double(kRow));
  p.causal = kernel_.causal;
  p.ranks = shape_.ranks;
  p.rank = shape_.rank;
  p.allKeys = shape_.contexts;
  uint32_t used = 0;
  for (uint32_t keys : shape_.contexts) {
    keyCounts_.push_back((keys + p.ranks - 1 - p.rank) / p.ranks);
    used += keyCounts_.back();
  }
  slotCount_ = used + used / 2 + 2; // a third belongs to nobody
  std::vector<uint32_t> free = shuffled(slotCount_, draw_);
  for (uint32_t keys : keyCounts_) {
    p.slots.emplace_back(free.end() - keys, free.end());
    free.resize(free.size() - keys);
    slotList_.insert(slotList_.end(), p.slots.back().begin(), p.slots.back().end());
  }
  p.queryStart = prefixSums(std::vector<uint32_t>(keyCounts_.size(), shape_.queries));
}

void MlaLaunch::drawCache() {
  CodeArray codes(kernel_.cache, size_t(slotCount_) * kRow);
  PagedProblem &p = run_.problem;
  p.k.assign(size_t(slotCount_) * kRow, NAN);
  p.v.assign(size_t(slotCount_) * kValue, NAN);
  float scale = kernel_.cache == Code::E4M3 ? kCacheScale : 1;
  for (uint32_t slot : slotList_)
    for (uint32_t d = 0; d < kRow; ++d) {
      size_t n = size_t(slot) * kRow + d;
      codes.set(n, draw_() / scale);
      p.k[n] = float(codes.get(n) * scale);
      if (d < kValue)
        p.v[size_t(slot) * kValue + d] = p.k[n];
    }
  cache_ = codes.bytes();
}

void MlaLaunch::drawQueries() {
  PagedProblem &p = run_.problem;
  size_t values = rows() * kRow;
  CodeArray q(kernel_.query, values + size_t(p.heads) * kRow);
  float scale = kernel_.query == Code::E4M3 ? kQueryScale : 1;
  p.q.resize(values);
  for (size_t n = 0; n < values; ++n) {
    q.set(n, draw_() / scale);
    p.q[n] = float(q.get(n) * scale);
  }
  q_ = q.bytes();
}

/// Where the kernel finds which keys are whose: split counts, or the pointers to work lists.
void MlaLaunch::setWork(Kernarg &args) {
  const PagedProblem &p = run_.problem;
  if (!kernel_.persistent) {
    partialRows_ = rows() * shape_.splits;
    std::vector<uint32_t> counts(p.sequences(), shape_.splits);
    args.set(0xe0, co_.upload(prefixSums(counts), "split_indptr"));
    return;
  }
  work_ = splitWork(p, {.block = kernel_.keyBlock, .parts = shape_.splits});
  partialRows_ = size_t(std::max(work_.partialTokens, 1u)) * p.heads;
  std::vector<uint64_t> lists = {co_.upload(work_.listStart, "work_indptr"),
                                 co_.upload(work_.entries, "work_info")};
  final_ = co_.output(rows() * kValue * 2, "final O");
  args.set(0xe0, co_.upload(lists, "work lists")).set(0xf0, final_);
}

Kernarg MlaLaunch::arguments() {
  const PagedProblem &p = run_.problem;
  Kernarg args(0x170);
  setWork(args);
  partialOut_ = co_.output(partialRows_ * kValue * (writesBf16() ? 2 : 4), "R");
  partialLse_ = co_.output(partialRows_ * 4, "LSE");
  finalLse_ = co_.output(rows() * 4, "final LSE");
  uint32_t tokenBytes = p.heads * kRow * bytesOf(kernel_.query);
  bool fp8Query = kernel_.query == Code::E4M3, fp8Cache = kernel_.cache == Code::E4M3;
  args.set(0x00, partialOut_)
      .set(0x10, partialLse_)
      .set(0x20, co_.upload(q_, "Q"))
      .set(0x30, co_.upload(cache_, "KV"))
      .set(0x40, co_.upload(prefixSums(keyCounts_), "kv_indptr"))
      .set(0x50, co_.upload(slotList_, "kv_indices"))
      .set(0x60, co_.upload(std::vector<uint32_t>(p.sequences(), 1), "last_page_lens"))
      .set(0x70, float(p.scale))
      .set(0x80, p.heads * (kernel_.mqaIsHeads ? 1 : shape_.queries))
      .set(0x90, kernel_.persistent ? 1u : shape_.splits)
      .set(0xa0, tokenBytes * (kernel_.prefill ? 1 : shape_.queries))
      .set(0xb0, kRow * bytesOf(kernel_.cache))
      .set(0xc0, 0u) // log2 of the page's tokens
      .set(0xd0, co_.upload(p.queryStart, "qo_indptr"))
      .set(0x100, fp8Query ? co_.upload(std::vector{kQueryScale}, "q scale") : 0)
      .set(0x110, fp8Cache ? co_.upload(std::vector{kCacheScale}, "kv scale") : 0)
      .set(0x120, uint32_t(kernel_.persistent || shape_.splits == 1))
      .set(0x130, kernel_.finalLse ? finalLse_ : 0)
      .set(0x140, kernel_.roundRobin ? co_.upload(prefixSums(shape_.contexts), "g_kv_indptr") : 0)
      .set(0x150, p.ranks)
      .set(0x160, p.rank);
  return args;
}

void MlaLaunch::collectPlain() {
  const PagedProblem &p = run_.problem;
  if (writesBf16()) {
    run_.out = fromBf16(co_.download<uint16_t>(partialOut_, rows() * kValue));
    auto lse = co_.download<float>(finalLse_, rows());
    run_.lse.assign(lse.begin(), lse.end());
    return;
  }
  Partials partials{co_.download<float>(partialOut_, partialRows_ * kValue),
                    co_.download<float>(partialLse_, partialRows_), kValue};
  for (uint32_t b = 0; b < p.sequences(); ++b) {
    uint32_t blocks = (keyCounts_[b] + kernel_.keyBlock - 1) / kernel_.keyBlock;
    for (uint32_t t = p.queryStart[b]; t < p.queryStart[b + 1]; ++t)
      for (uint32_t h = 0; h < p.heads; ++h) {
        std::vector<size_t> parts;
        for (uint32_t z = 0; z < std::min(shape_.splits, blocks); ++z)
          parts.push_back((size_t(t) * shape_.splits + z) * p.heads + h);
        partials.merge(parts, size_t(t) * p.heads + h, run_.out, run_.lse);
      }
  }
}

void MlaLaunch::collectPersistent() {
  const PagedProblem &p = run_.problem;
  run_.out = fromBf16(co_.download<uint16_t>(final_, rows() * kValue));
  auto lse = co_.download<float>(finalLse_, rows());
  run_.lse.assign(lse.begin(), lse.end());
  Partials partials{co_.download<float>(partialOut_, partialRows_ * kValue),
                    co_.download<float>(partialLse_, partialRows_), kValue};
  for (uint32_t t = 0; t < p.tokens(); ++t)
    for (uint32_t h = 0; h < p.heads; ++h) {
      std::vector<size_t> parts;
      for (const WorkEntry &w : work_.entries)
        if (w.partial >= 0 && int32_t(t) >= w.queryStart && int32_t(t) < w.queryEnd)
          parts.push_back(size_t(w.partial + int32_t(t) - w.queryStart) * p.heads + h);
      if (!parts.empty())
        partials.merge(parts, size_t(t) * p.heads + h, run_.out, run_.lse);
    }
}

MlaRun MlaLaunch::run(const Policy &policy) {
  const PagedProblem &p = run_.problem;
  run_.out.assign(rows() * kValue, NAN);
  run_.lse.assign(rows(), NAN);
  Kernarg args = arguments();
  std::array<uint32_t, 3> grid = {uint32_t(work_.listStart.size() - 1), 1, 1};
  if (!kernel_.persistent)
    grid = {(shape_.queries * p.heads + kernel_.tileRows - 1) / kernel_.tileRows, p.sequences(),
            shape_.splits};
  co_.launch(grid, 256, args, policy);
  kernel_.persistent ? collectPersistent() : collectPlain();
  if (kernel_.rawValues)
    for (double &value : run_.out)
      value *= kCacheScale;
  return std::move(run_);
}

} // namespace

std::string MlaShape::text() const {
  std::string text =
      fmt::format("h {} q {} ctx {} splits {}", heads, queries, fmt::join(contexts, ","), splits);
  if (ranks > 1)
    text += fmt::format(" rank {} of {}", rank, ranks);
  return text;
}

MlaRun runMla(CodeObject &co, const MlaKernel &kernel, const MlaShape &shape, const Policy &policy,
              uint64_t seed) {
  return MlaLaunch(co, kernel, shape, seed).run(policy);
}

} // namespace aitertest
