#include "tests/aiter/FmhaV3.h"
#include "tests/aiter/Reference.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aitertest {
namespace {

/// What an e4m3 code stands for is code * descale; powers of two would hide a missing factor.
constexpr float kDescale[3] = {0.31f, 0.27f, 0.43f};

/// Where the rows of one tensor lie, counted in elements.
class Layout {
public:
  Layout(const std::vector<uint32_t> &lengths, const FmhaShape &shape, uint32_t heads, uint32_t dim)
      : lengths(lengths), logical{0}, physical{0}, heads(heads), dim(dim) {
    for (uint32_t n : lengths) {
      logical.push_back(logical.back() + n);
      physical.push_back(physical.back() + n + shape.padding);
    }
    rowStride = shape.headMajor ? dim : heads * dim;
    headStride = shape.headMajor ? longest() * dim : dim;
  }
  uint32_t longest() const { return *std::max_element(lengths.begin(), lengths.end()); }
  uint32_t batchStride() const { return longest() * heads * dim; }
  size_t elements() const { return size_t(physical.back()) * heads * dim; }
  size_t at(size_t sequence, uint32_t head) const {
    return size_t(physical[sequence]) * heads * dim + size_t(head) * headStride;
  }

  const std::vector<uint32_t> &lengths;
  std::vector<uint32_t> logical, physical; ///< cumulative rows, without and with padding
  uint32_t heads, dim, rowStride, headStride;
};

/// One of q, k, v: what the kernel reads, and what that means.
struct Tensor {
  Tensor(CodeObject &co, bool fp8, const Layout &layout, uint64_t seed, float descale,
         const char *name) {
    std::vector<float> values = normals(layout.elements(), seed, fp8 ? 1 / descale : 1);
    for (size_t n = 0; n < layout.lengths.size(); ++n) // padding
      for (size_t row = layout.physical[n] + layout.lengths[n]; row < layout.physical[n + 1]; ++row)
        std::fill_n(&values[row * layout.heads * layout.dim], layout.heads * layout.dim, NAN);
    if (fp8) {
      std::vector<uint8_t> codes = toE4m3(values);
      meaning = fromE4m3(codes);
      for (double &x : meaning)
        x *= descale;
      address = co.upload(codes, name);
    } else {
      std::vector<uint16_t> codes = toBf16(values);
      meaning = fromBf16(codes);
      address = co.upload(codes, name);
    }
  }
  uint64_t address;
  std::vector<double> meaning;
};

class FmhaRun {
public:
  FmhaRun(const FmhaKernel &kernel, const FmhaShape &shape)
      : kernel_(kernel), shape_(shape), co_("fmha_v3_fwd", kernel.file),
        q_(shape.queries, shape, shape.heads, kernel.dim),
        k_(shape.keys, shape, shape.kvHeads, kernel.dim),
        v_(shape.keys, shape, shape.kvHeads, kernel.valueDim),
        o_(shape.queries, shape, shape.heads, kernel.valueDim),
        query_(co_, kernel.fp8, q_, 1, kDescale[0], "q"),
        key_(co_, kernel.fp8, k_, 2, kDescale[1], "k"),
        value_(co_, kernel.fp8, v_, 3, kDescale[2], "v"), out_(co_.output(o_.elements() * 2, "o")),
        lse_(co_.output(lseElements() * 4, "lse")) {}

  /// Seconds.
  double launch(const Policy &policy, attune::sim::strict::StrictChecker *checker) {
    double before = co_.seconds();
    co_.watch(checker);
    uint32_t tiles = (q_.longest() + kernel_.tileQ - 1) / kernel_.tileQ;
    uint32_t x = kernel_.causal ? (tiles + 1) / 2 : tiles; // a causal workgroup does two tiles
    uint32_t batch = uint32_t(shape_.queries.size());
    std::array<uint32_t, 3> grid = {x, shape_.heads, batch};
    if (kernel_.group)
      grid = {shape_.heads, batch, x};
    co_.launch(grid, kernel_.threads, arguments(), policy);
    return co_.seconds() - before;
  }
  FmhaErrors compare(const Policy &);

private:
  size_t lseElements() const { return size_t(q_.physical.back()) * shape_.heads; }
  double scale() const { return 1 / std::sqrt(double(kernel_.dim)); }
  Kernarg arguments();
  void setSequences(Kernarg &);
  /// LSE of a head: batch mode [batch, head, row], group mode [head, row of all].
  size_t lseIndex(size_t sequence, size_t head) const {
    return kernel_.group ? head * q_.physical.back() + q_.physical[sequence]
                         : (sequence * shape_.heads + head) * shape_.queries[0];
  }

  const FmhaKernel &kernel_;
  const FmhaShape &shape_;
  CodeObject co_;
  Layout q_, k_, v_, o_;
  Tensor query_, key_, value_;
  uint64_t out_, lse_;
};

Kernarg FmhaRun::arguments() {
  uint32_t in = kernel_.fp8 ? 1 : 2;
  Kernarg a(656);
  a.set(0x000, out_).set(0x010, query_.address).set(0x020, key_.address).set(0x030, value_.address);
  a.set(0x040, lse_).set(0x050, float(scale())).set(0x060, q_.longest());
  a.set(0x070, q_.rowStride * in).set(0x080, kernel_.tileQ * q_.rowStride * in);
  a.set(0x090, q_.headStride * in).set(0x0a0, q_.batchStride() * in);
  a.set(0x0b0, shape_.heads / shape_.kvHeads).set(0x0c0, k_.rowStride * in);
  a.set(0x0d0, k_.headStride * in).set(0x0e0, k_.batchStride() * in);
  // The host's rule: bits 1-2 remap workgroups over the dies; by heads only if those divide by 8.
  a.set(0x0f0, uint32_t(kernel_.causal && shape_.heads % 8 ? 3 : 5));
  a.set(0x100, uint32_t(shape_.lse)).set(0x110, k_.longest()).set(0x120, kernel_.dim);
  a.set(0x130, kernel_.valueDim).set(0x140, shape_.heads).set(0x150, v_.rowStride * in);
  a.set(0x160, v_.headStride * in).set(0x170, v_.batchStride() * in);
  a.set(0x180, o_.rowStride * 2).set(0x190, o_.headStride * 2).set(0x1a0, o_.batchStride() * 2);
  a.set(0x1d0, (kernel_.group ? q_.physical.back() : q_.longest()) * 4);
  if (kernel_.group)
    setSequences(a);
  for (int n = 0; n < 3 && kernel_.fp8; ++n)
    a.set(0x200 + 0x10 * size_t(n), co_.upload(std::vector<float>{kDescale[n]}, "descale"));
  return a;
}

void FmhaRun::setSequences(Kernarg &a) {
  a.set(0x1b0, co_.upload(q_.logical, "cu_seqlens_q")).set(0x1c0, co_.upload(k_.logical, "cu_k"));
  a.set(0x1e0, co_.upload(q_.physical, "seqstart_q"))
      .set(0x1f0, co_.upload(k_.physical, "start_k"));
  a.set(0x0a0, 0u).set(0x0e0, 0u).set(0x170, 0u).set(0x1a0, 0u); // no batch strides
}

/// The error over the rows that are some sequence's. The others are NaN in `want`, and were NaN in
/// the output before the kernel ran.
double compareRows(const std::vector<double> &got, const std::vector<double> &want, bool &touched) {
  std::vector<double> gotRows, wantRows;
  for (size_t i = 0; i < want.size(); ++i)
    if (!std::isnan(want[i])) {
      gotRows.push_back(got[i]);
      wantRows.push_back(want[i]);
    } else {
      touched |= !std::isnan(got[i]);
    }
  return relL2(gotRows, wantRows);
}

FmhaErrors FmhaRun::compare(const Policy &policy) {
  std::vector<double> wantOut(o_.elements(), NAN), wantLse(lseElements(), NAN);
  for (size_t n = 0; n < shape_.queries.size(); ++n)
    for (uint32_t h = 0; h < shape_.heads; ++h) {
      uint32_t kvHead = h / (shape_.heads / shape_.kvHeads);
      attend({shape_.queries[n], shape_.keys[n], kernel_.dim, kernel_.valueDim, scale(),
              kernel_.causal},
             {query_.meaning.data() + q_.at(n, h), q_.rowStride},
             {key_.meaning.data() + k_.at(n, kvHead), k_.rowStride},
             {value_.meaning.data() + v_.at(n, kvHead), v_.rowStride}, wantOut.data() + o_.at(n, h),
             o_.rowStride, wantLse.data() + lseIndex(n, h));
    }
  FmhaErrors errors;
  std::vector<double> out = fromBf16(co_.download<uint16_t>(out_, o_.elements()));
  errors.out = compareRows(out, wantOut, errors.paddingTouched);
  if (shape_.lse) {
    std::vector<float> lse = co_.download<float>(lse_, lseElements());
    errors.lse = compareRows({lse.begin(), lse.end()}, wantLse, errors.paddingTouched);
  }
  errors.waveInstructions = co_.stats().waveInstructions;
  errors.mfmaInstructions = co_.stats().mfmaInstructions;
  co_.report(shape_.text(), errors.out, fmt::format("lse {:.1e}  {}", errors.lse, policy.name));
  return errors;
}

} // namespace

std::string FmhaShape::text() const {
  return fmt::format("h{}/{} q{} k{}{}{}", heads, kvHeads, fmt::join(queries, ","),
                     fmt::join(keys, ","), padding ? fmt::format(" padding {}", padding) : "",
                     headMajor ? " head-major" : "");
}

FmhaErrors runFmhaV3(const FmhaKernel &kernel, const FmhaShape &shape, const Policy &policy,
                     attune::sim::strict::StrictChecker *checker, unsigned launches) {
  FmhaRun run(kernel, shape);
  double fastest = INFINITY;
  for (unsigned n = 0; n < launches; ++n)
    fastest = std::min(fastest, run.launch(policy, checker));
  FmhaErrors errors = run.compare(policy);
  errors.seconds = fastest;
  return errors;
}

} // namespace aitertest
