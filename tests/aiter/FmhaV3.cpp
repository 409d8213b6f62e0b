#include "tests/aiter/FmhaV3.h"
#include "tests/aiter/Reference.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace aitertest {
namespace {

/// What an e4m3 code stands for is code * descale; powers of two would hide a missing factor.
constexpr float kDescale[3] = {0.31f, 0.27f, 0.43f};

/// Where each sequence's rows lie.
struct Packing {
  Packing(const std::vector<uint32_t> &lengths, uint32_t padding) : logical{0}, physical{0} {
    for (uint32_t n : lengths) {
      logical.push_back(logical.back() + n);
      physical.push_back(physical.back() + n + padding);
    }
  }
  uint32_t rows() const { return physical.back(); }
  std::vector<uint32_t> logical, physical; ///< cumulative
};

/// One of q, k, v: what the kernel reads, and what that means.
struct Tensor {
  Tensor(CodeObject &co, bool fp8, size_t elements, uint64_t seed, float descale,
         const char *name) {
    std::vector<float> values = normals(elements, seed, fp8 ? 1 / descale : 1);
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
        q_(shape.queries, shape.padding), k_(shape.keys, shape.padding),
        query_(co_, kernel.fp8, size_t(q_.rows()) * shape.heads * kernel.dim, 1, kDescale[0], "q"),
        key_(co_, kernel.fp8, size_t(k_.rows()) * shape.kvHeads * kernel.dim, 2, kDescale[1], "k"),
        value_(co_, kernel.fp8, size_t(k_.rows()) * shape.kvHeads * kernel.valueDim, 3, kDescale[2],
               "v"),
        out_(co_.output(outElements() * 2, "o")), lse_(co_.output(lseElements() * 4, "lse")) {}

  void launch(const Policy &policy) {
    uint32_t longest = *std::max_element(shape_.queries.begin(), shape_.queries.end());
    uint32_t tiles = (longest + kernel_.tileQ - 1) / kernel_.tileQ;
    uint32_t x = kernel_.causal ? (tiles + 1) / 2 : tiles; // a causal workgroup does two tiles
    uint32_t batch = uint32_t(shape_.queries.size());
    std::array<uint32_t, 3> grid = {x, shape_.heads, batch};
    if (kernel_.group)
      grid = {shape_.heads, batch, x};
    co_.launch(grid, kernel_.threads, arguments(), policy);
  }
  FmhaErrors compare(const Policy &);

private:
  size_t outElements() const { return size_t(q_.rows()) * shape_.heads * kernel_.valueDim; }
  size_t lseElements() const { return size_t(q_.rows()) * shape_.heads; }
  double scale() const { return 1 / std::sqrt(double(kernel_.dim)); }
  Kernarg arguments();
  void setSequences(Kernarg &);
  /// LSE of a head: batch mode [batch, head, row], group mode [head, row of all].
  size_t lseIndex(size_t sequence, size_t head) const {
    return kernel_.group ? head * q_.rows() + q_.physical[sequence]
                         : (sequence * shape_.heads + head) * shape_.queries[0];
  }

  const FmhaKernel &kernel_;
  const FmhaShape &shape_;
  CodeObject co_;
  Packing q_, k_;
  Tensor query_, key_, value_;
  uint64_t out_, lse_;
};

Kernarg FmhaRun::arguments() {
  uint32_t in = kernel_.fp8 ? 1 : 2;
  uint32_t qRow = shape_.heads * kernel_.dim * in, kRow = shape_.kvHeads * kernel_.dim * in;
  uint32_t vRow = shape_.kvHeads * kernel_.valueDim * in;
  uint32_t oRow = shape_.heads * kernel_.valueDim * 2;
  uint32_t sq = *std::max_element(shape_.queries.begin(), shape_.queries.end());
  uint32_t sk = *std::max_element(shape_.keys.begin(), shape_.keys.end());
  Kernarg a(656);
  a.set(0x000, out_).set(0x010, query_.address).set(0x020, key_.address).set(0x030, value_.address);
  a.set(0x040, lse_).set(0x050, float(scale())).set(0x060, sq).set(0x070, qRow);
  a.set(0x080, kernel_.tileQ * qRow).set(0x090, kernel_.dim * in).set(0x0a0, sq * qRow);
  a.set(0x0b0, shape_.heads / shape_.kvHeads).set(0x0c0, kRow).set(0x0d0, kernel_.dim * in);
  a.set(0x0e0, sk * kRow);
  // The host's rule: bits 1-2 remap workgroups over the dies; by heads only if those divide by 8.
  a.set(0x0f0, uint32_t(kernel_.causal && shape_.heads % 8 ? 3 : 5));
  a.set(0x100, uint32_t(shape_.lse)).set(0x110, sk).set(0x120, kernel_.dim);
  a.set(0x130, kernel_.valueDim).set(0x140, shape_.heads).set(0x150, vRow);
  a.set(0x160, kernel_.valueDim * in).set(0x170, sk * vRow).set(0x180, oRow);
  a.set(0x190, kernel_.valueDim * 2).set(0x1a0, sq * oRow);
  a.set(0x1d0, uint32_t(kernel_.group ? q_.rows() : sq) * 4);
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

FmhaErrors FmhaRun::compare(const Policy &policy) {
  std::vector<double> out = fromBf16(co_.download<uint16_t>(out_, outElements()));
  std::vector<float> lseRaw = co_.download<float>(lse_, lseElements());
  std::vector<double> lse(lseRaw.begin(), lseRaw.end());
  std::vector<double> wantOut(out.size(), NAN), wantLse(lse.size(), NAN);
  uint32_t heads = shape_.heads, kvHeads = shape_.kvHeads;
  for (size_t n = 0; n < shape_.queries.size(); ++n)
    for (uint32_t h = 0; h < heads; ++h) {
      uint32_t kvHead = h / (heads / kvHeads);
      size_t qRow = size_t(q_.physical[n]) * heads + h;
      size_t kRow = size_t(k_.physical[n]) * kvHeads + kvHead;
      attend({shape_.queries[n], shape_.keys[n], kernel_.dim, kernel_.valueDim, scale(),
              kernel_.causal},
             {query_.meaning.data() + qRow * kernel_.dim, size_t(heads) * kernel_.dim},
             {key_.meaning.data() + kRow * kernel_.dim, size_t(kvHeads) * kernel_.dim},
             {value_.meaning.data() + kRow * kernel_.valueDim, size_t(kvHeads) * kernel_.valueDim},
             wantOut.data() + qRow * kernel_.valueDim, size_t(heads) * kernel_.valueDim,
             wantLse.data() + lseIndex(n, h));
    }
  // Rows of no sequence are NaN in `want` and were poisoned with NaN in the kernel's output.
  FmhaErrors errors;
  for (auto *pair : {&out, &lse}) {
    std::vector<double> &want = pair == &out ? wantOut : wantLse, got;
    std::vector<double> expected;
    for (size_t i = 0; i < want.size(); ++i)
      if (!std::isnan(want[i])) {
        got.push_back((*pair)[i]);
        expected.push_back(want[i]);
      } else {
        errors.paddingTouched |= !std::isnan((*pair)[i]);
      }
    (pair == &out ? errors.out : errors.lse) = relL2(got, expected);
  }
  if (!shape_.lse)
    errors.lse = 0;
  co_.report(shape_.text(), errors.out, fmt::format("lse {:.1e}  {}", errors.lse, policy.name));
  return errors;
}

} // namespace

std::string FmhaShape::text() const {
  return fmt::format("h{}/{} q{} k{}{}", heads, kvHeads, fmt::join(queries, ","),
                     fmt::join(keys, ","), padding ? fmt::format(" padding {}", padding) : "");
}

FmhaErrors runFmhaV3(const FmhaKernel &kernel, const FmhaShape &shape, const Policy &policy) {
  FmhaRun run(kernel, shape);
  run.launch(policy);
  return run.compare(policy);
}

} // namespace aitertest
