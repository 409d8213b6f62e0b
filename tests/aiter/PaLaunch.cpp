#include "tests/aiter/PaLaunch.h"
#include "tests/aiter/PagedWork.h"
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numbers>

namespace aitertest {
namespace {

constexpr uint32_t kDim = 128;

/// The two caches and their scales, as bytes and as numbers.
struct Cache {
  const PaKernel &kernel;
  uint32_t kvHeads, x;
  CodeArray k, v;
  std::vector<float> kScale, vScale;
  std::vector<float> kValues, vValues; ///< [slots, kvHeads, kDim]

  Cache(const PaKernel &p, uint32_t heads, uint32_t pages)
      : kernel(p), kvHeads(heads), x(16 / bytesOf(p.cache)),
        k(p.cache, size_t(pages) * kvHeads * p.pageTokens * kDim),
        v(p.cache, size_t(pages) * kvHeads * p.pageTokens * kDim),
        kScale(size_t(pages) * kvHeads * (p.scalePerBlock ? 1 : p.pageTokens), NAN),
        vScale(kScale.size(), NAN), kValues(size_t(pages) * p.pageTokens * kvHeads * kDim, NAN),
        vValues(kValues.size(), NAN) {}

  /// Draws the page's first `tokens` tokens; makes the rest finite and alike.
  void storePage(uint32_t page, uint32_t tokens, Normal &draw) {
    size_t tileBytes = size_t(kernel.pageTokens) * kDim * bytesOf(kernel.cache);
    size_t scales = kernel.scalePerBlock ? 1 : kernel.pageTokens;
    for (uint32_t head = 0; head < kvHeads; ++head) {
      size_t tile = size_t(page) * kvHeads + head;
      std::memset(&k.bytes()[tile * tileBytes], 0x31, tileBytes);
      std::memset(&v.bytes()[tile * tileBytes], 0x31, tileBytes);
      std::fill_n(&kScale[tile * scales], scales, 0.01f);
      std::fill_n(&vScale[tile * scales], scales, 0.01f);
      for (uint32_t token = 0; token < tokens; ++token)
        store(page, head, token, draw);
    }
  }

private:
  void store(uint32_t page, uint32_t head, uint32_t token, Normal &draw) {
    size_t tile = (size_t(page) * kvHeads + head) * kernel.pageTokens * kDim;
    size_t scale = size_t(page) * kvHeads + head;
    if (!kernel.scalePerBlock)
      scale = scale * kernel.pageTokens + token;
    size_t row = ((size_t(page) * kernel.pageTokens + token) * kvHeads + head) * kDim;
    storeRow(k, kScale[scale], &kValues[row], draw, [&](uint32_t d) {
      return tile + (size_t(d / x) * kernel.pageTokens + token) * x + d % x;
    });
    storeRow(v, vScale[scale], &vValues[row], draw,
             [&](uint32_t d) { return tile + (size_t(token / x) * kDim + d) * x + token % x; });
  }

  template <class Index>
  void storeRow(CodeArray &codes, float &scale, float *values, Normal &draw, Index index) {
    double raw[kDim], most = 0;
    for (double &r : raw)
      most = std::max(most, std::fabs(r = draw()));
    if (bytesOf(kernel.cache) > 1)
      scale = 1;
    else if (kernel.scalePerBlock)
      scale = float(5 / largestOf(kernel.cache)); // for all rows of N(0, 1); saturates rarely
    else
      scale = float(most / largestOf(kernel.cache));
    for (uint32_t d = 0; d < kDim; ++d) {
      codes.set(index(d), raw[d] / scale);
      values[d] = float(codes.get(index(d)) * scale);
    }
  }
};

class PaLaunch {
public:
  PaLaunch(CodeObject &co, const PaKernel &kernel, const PaShape &shape, uint64_t seed)
      : co_(co), kernel_(kernel), shape_(shape), draw_(seed) {
    drawPages();
    drawQueries();
  }
  PaRun run(const Policy &policy) {
    kernel_.persistent ? launchPersistent(policy) : launchPlain(policy);
    return std::move(run_);
  }

private:
  void drawPages();
  void drawQueries();
  std::vector<uint32_t> blockTable(uint32_t &stride) const;
  /// The fields 0x00 .. 0x7f, which both launch structs begin with.
  void setCommon(Kernarg &, uint64_t pageList);
  void launchPlain(const Policy &);
  void launchPersistent(const Policy &);
  void downloadOut();
  uint32_t tileBytes() const { return kernel_.pageTokens * kDim * bytesOf(kernel_.cache); }
  uint32_t rowBytes() const { return run_.problem.heads * kDim * bytesOf(kernel_.query); }
  uint32_t mostQueries() const {
    return shape_.queries.empty() ? 1 : *std::ranges::max_element(shape_.queries);
  }

  CodeObject &co_;
  const PaKernel &kernel_;
  const PaShape &shape_;
  Normal draw_;
  PaRun run_;
  std::vector<std::vector<uint32_t>> pages_; ///< of each sequence, in order
  std::vector<uint8_t> q_, k_, v_;
  std::vector<float> kScale_, vScale_;
  uint64_t out_ = 0;
};

void PaLaunch::drawPages() {
  PagedProblem &p = run_.problem;
  std::vector<uint32_t> counts;
  uint32_t used = 0;
  for (uint32_t keys : shape_.contexts)
    counts.push_back((keys + kernel_.pageTokens - 1) / kernel_.pageTokens), used += counts.back();
  std::vector<uint32_t> free = shuffled(used + used / 2 + 2, draw_); // a third belongs to nobody
  Cache cache(kernel_, shape_.kvHeads, uint32_t(free.size()));
  std::erase(free, 0u);
  cache.storePage(0, 0, draw_);
  for (size_t b = 0; b < counts.size(); ++b) {
    pages_.emplace_back(free.end() - counts[b], free.end());
    free.resize(free.size() - counts[b]);
    uint32_t left = shape_.contexts[b];
    for (uint32_t page : pages_[b]) {
      cache.storePage(page, std::min(left, kernel_.pageTokens), draw_);
      left -= std::min(left, kernel_.pageTokens);
    }
    std::vector<uint32_t> slots;
    for (uint32_t j = 0; j < shape_.contexts[b]; ++j)
      slots.push_back(pages_[b][j / kernel_.pageTokens] * kernel_.pageTokens +
                      j % kernel_.pageTokens);
    p.slots.push_back(slots);
  }
  p.k = std::move(cache.kValues);
  p.v = std::move(cache.vValues);
  k_ = cache.k.bytes();
  v_ = cache.v.bytes();
  kScale_ = std::move(cache.kScale);
  vScale_ = std::move(cache.vScale);
}

void PaLaunch::drawQueries() {
  PagedProblem &p = run_.problem;
  p.heads = shape_.kvHeads * shape_.gqa;
  p.kvHeads = shape_.kvHeads;
  p.qkDim = p.vDim = kDim;
  p.scale = 1 / std::sqrt(double(kDim));
  p.causal = kernel_.causal;
  p.queryStart = prefixSums(
      shape_.queries.empty() ? std::vector<uint32_t>(shape_.contexts.size(), 1) : shape_.queries);
  size_t values = size_t(p.tokens()) * p.heads * kDim;
  CodeArray q(kernel_.query, values);
  p.q.resize(values);
  for (size_t n = 0; n < values; ++n) {
    q.set(n, draw_());
    p.q[n] = float(q.get(n));
  }
  q_ = q.bytes();
}

/// [sequences, most pages]; entries past a sequence's pages name no page.
std::vector<uint32_t> PaLaunch::blockTable(uint32_t &stride) const {
  stride = 1;
  for (auto &pages : pages_)
    stride = std::max(stride, uint32_t(pages.size()));
  std::vector<uint32_t> table(pages_.size() * stride, 0x7fffffff);
  for (size_t b = 0; b < pages_.size(); ++b)
    std::ranges::copy(pages_[b], table.begin() + std::ptrdiff_t(b * stride));
  return table;
}

void PaLaunch::setCommon(Kernarg &args, uint64_t pageList) {
  bool scaled = bytesOf(kernel_.cache) == 1;
  out_ = co_.output(size_t(run_.problem.tokens()) * rowBytes(), "O");
  args.set(0x00, out_)
      .set(0x10, co_.upload(q_, "Q"))
      .set(0x20, co_.upload(k_, "K"))
      .set(0x30, co_.upload(v_, "V"))
      .set(0x40, pageList)
      .set(0x50, co_.upload(shape_.contexts, "context lens"))
      .set(0x60, scaled ? co_.upload(kScale_, "K scales") : 0)
      .set(0x70, scaled ? co_.upload(vScale_, "V scales") : 0)
      .set(0x80, float(std::numbers::log2e * run_.problem.scale));
}

void PaLaunch::launchPlain(const Policy &policy) {
  const PagedProblem &p = run_.problem;
  uint32_t tableStride = 0;
  std::vector<uint32_t> table = blockTable(tableStride);
  Kernarg args(0x110);
  setCommon(args, co_.upload(table, "block table"));
  args.set(0x90, tableStride)
      .set(0xa0, shape_.kvHeads)
      .set(0xb0, rowBytes())
      .set(0xc0, shape_.kvHeads * tileBytes())
      .set(0xd0, tileBytes())
      .set(0xe0, mostQueries() - 1)
      .set(0xf0, shape_.gqa)
      .set(0x100, shape_.queries.empty() ? 0 : co_.upload(p.queryStart, "qo_indptr"));
  co_.launch({shape_.kvHeads, p.sequences(), 1}, 256, args, policy);
  downloadOut();
}

void PaLaunch::launchPersistent(const Policy &policy) {
  const PagedProblem &p = run_.problem;
  std::vector<uint32_t> pageList, pageCounts;
  for (auto &pages : pages_) {
    pageList.insert(pageList.end(), pages.begin(), pages.end());
    pageCounts.push_back(uint32_t(pages.size()));
  }
  WorkLists work = splitWork(p, {.pageKeys = kernel_.pageTokens,
                                 .parts = shape_.splits,
                                 .headGroup = shape_.gqa,
                                 .countsKeysAfter = false});
  size_t rows = size_t(std::max(work.partialTokens, 1u)) * p.heads;
  uint64_t partialOut = co_.output(rows * kDim * 4, "split O");
  uint64_t partialLse = co_.output(rows * 4, "split LSE");
  uint32_t scaleHead = kernel_.scalePerBlock ? 4 : kernel_.pageTokens * 4;
  Kernarg args(0x170);
  setCommon(args, co_.upload(pageList, "kv_indices"));
  args.set(0x90, shape_.kvHeads)
      .set(0xa0, rowBytes())
      .set(0xb0, shape_.kvHeads * tileBytes())
      .set(0xc0, tileBytes())
      .set(0xd0, mostQueries() - 1)
      .set(0xe0, shape_.gqa)
      .set(0xf0, co_.upload(p.queryStart, "qo_indptr"))
      .set(0x100, co_.upload(prefixSums(pageCounts), "kv_indptr"))
      .set(0x110, co_.upload(work.listStart, "work_indptr"))
      .set(0x120, co_.upload(work.entries, "work_info"))
      .set(0x130, partialOut)
      .set(0x140, partialLse)
      .set(0x150, scaleHead)
      .set(0x160, shape_.kvHeads * scaleHead);
  co_.launch({uint32_t(work.listStart.size() - 1), 1, 1}, 256, args, policy);
  downloadOut();
  Partials partials{co_.download<float>(partialOut, rows * kDim),
                    co_.download<float>(partialLse, rows), kDim};
  std::vector<double> lse(size_t(p.tokens()) * p.heads);
  for (uint32_t t = 0; t < p.tokens(); ++t)
    for (uint32_t h = 0; h < p.heads; ++h) {
      std::vector<size_t> parts;
      for (const WorkEntry &w : work.entries)
        if (w.partial >= 0 && int32_t(t) >= w.queryStart && int32_t(t) < w.queryEnd &&
            h >= uint32_t(w.headRange & 0xffff) && h < uint32_t(w.headRange >> 16))
          parts.push_back(size_t(w.partial + int32_t(t) - w.queryStart) * p.heads + h);
      if (!parts.empty())
        partials.merge(parts, size_t(t) * p.heads + h, run_.out, lse);
    }
}

void PaLaunch::downloadOut() {
  size_t values = size_t(run_.problem.tokens()) * run_.problem.heads * kDim;
  CodeArray got(kernel_.query, values);
  got.bytes() = co_.download<uint8_t>(out_, values * bytesOf(kernel_.query));
  for (size_t n = 0; n < values; ++n)
    run_.out.push_back(got.get(n));
}

} // namespace

std::string PaShape::text() const {
  std::string text = fmt::format("kv {} x {} ctx {}", kvHeads, gqa, fmt::join(contexts, ","));
  if (!queries.empty())
    text += fmt::format(" q {}", fmt::join(queries, ","));
  if (splits > 1)
    text += fmt::format(" parts {}", splits);
  return text;
}

PaRun runPa(CodeObject &co, const PaKernel &kernel, const PaShape &shape, const Policy &policy,
            uint64_t seed) {
  return PaLaunch(co, kernel, shape, seed).run(policy);
}

} // namespace aitertest
