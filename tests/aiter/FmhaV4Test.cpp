// AITER's 8 fmha_v4_fwd code objects against float64: dense attention, head dim 128, on int8, fp8,
// mxfp8, mxfp6 and mxfp4 queries and keys, with fp8, mxfp6 and mxfp4 values. P is fp8 in all.
//
// The launch struct is fmha_v3's. With MX queries the kernel takes no softmax scale: q is expected
// multiplied by scale * log2(e), and the kernel raises 2 to the product.
//
// Policies: as in FmhaV3Test.cpp, LDS-DMA writes a buffer that other waves still read, so that
// memory must be late (but not in f4f4, which has a buffer more); and mxfp6 and f6f4 use data of
// LDS before they wait for it, so that LDS must not be.
//
// How exact. All take 2^x as the code 8 * x + bias of an e4m3 number, up to 6 % off; P below 2^-7
// of the maximum is 0. f4f4 adds 1 to the scores of the first kv tile only, which is a factor of
// 2^(1/8) between that tile and the others: 5 % with two tiles, less with more.
#include "tests/aiter/MxPack.h"
#include "tests/aiter/Reference.h"
#include "tests/aiter/Verdicts.h"
#include <fmt/format.h>
#include <numbers>

using namespace aitertest;

namespace {

/// What the kernel cuts off when the last kv tile is not full (MxPack.h).
enum class Cut { Nothing, Keys, Values };

struct V4Kernel {
  const char *file;
  Format keys, values;
  bool mxKeys;
  Cut cut;
  bool perChannel; ///< fp8 values: a factor per channel instead of one for all
  /// One character per policy, in the order of kPolicies: + right, - wrong.
  const char *tolerates;
  /// What strict mode finds. Misaligned: K scales are fetched a second time from one byte further,
  /// by dwords, which global memory permits.
  const char *strict;
};

const V4Kernel kTestedV4[] = {
    {"fwd_hd128_i8fp8.co", Format::Int8, Format::E4m3, false, Cut::Nothing, false, "--- +++ +++",
     "dma-order lds-race"},
    {"fwd_hd128_fp8.co", Format::E4m3, Format::E4m3, false, Cut::Nothing, false, "--- +++ +++",
     "dma-order lds-race"},
    {"fwd_hd128_f8f6.co", Format::E4m3, Format::E2m3, false, Cut::Values, false, "--- +++ +++",
     "dma-order lds-race"},
    {"fwd_hd128_mxfp8.co", Format::E4m3, Format::E4m3, true, Cut::Nothing, false, "--- +++ +++",
     "dma-order lds-race"},
    {"fwd_hd128_mxfp6.co", Format::E2m3, Format::E4m3, true, Cut::Nothing, true, "--- +++ ---",
     "dma-order lds-race missing-wait"},
    {"fwd_hd128_f6f4.co", Format::E2m3, Format::E2m1, true, Cut::Values, false, "--- +++ ---",
     "dma-order lds-race missing-wait"},
    {"fwd_hd128_mxfp4.co", Format::E2m1, Format::E4m3, true, Cut::Nothing, true, "--- +++ +++",
     "dma-order lds-race misaligned"},
    {"fwd_hd128_f4f4.co", Format::E2m1, Format::E2m1, true, Cut::Keys, false, "+++ +++ +++",
     "dma-order lds-race misaligned"},
};
constexpr double kTolerance = 5e-2;

struct V4Shape {
  uint32_t batch, heads, queries, keys;
  std::string text() const { return fmt::format("b{} h{} q{} k{}", batch, heads, queries, keys); }
};

constexpr float kQueryDescale = 0.031f, kKeyDescale = 0.027f, kValueDescale = 0.0043f;
constexpr uint32_t kQTile = 256;

/// N(0, 1) times a power of two that changes from block to block, so that no two neighbouring
/// blocks share a scale.
std::vector<float> blockNormals(const Dims &d, uint64_t seed, double scale) {
  std::vector<float> values = normals(d.rows() * kHeadDim, seed, scale);
  for (size_t n = 0; n < values.size(); ++n)
    values[n] *= float(std::ldexp(1.0, -int((n / kHeadDim + n / kBlock) % 3)));
  return values;
}

class V4Run {
public:
  V4Run(const V4Kernel &kernel, const V4Shape &shape)
      : kernel_(kernel), shape_(shape), co_("fmha_v4_fwd", kernel.file),
        queryDims_{shape.batch, shape.queries, shape.heads},
        keyDims_{shape.batch, shape.keys, shape.heads} {
    packKeys();
    packValues();
    out_ = co_.output(queryDims_.rows() * kHeadDim * 2, "o");
  }

  double run(const Policy &policy, attune::sim::strict::StrictChecker *checker = nullptr) {
    co_.watch(checker);
    co_.fill(out_, 0xff, queryDims_.rows() * kHeadDim * 2);
    co_.launch({(shape_.queries + kQTile - 1) / kQTile, shape_.heads, shape_.batch}, 512,
               arguments(), policy);
    double error =
        relL2(fromBf16(co_.download<uint16_t>(out_, queryDims_.rows() * kHeadDim)), expected());
    co_.report(shape_.text(), error, policy.name);
    return error;
  }

private:
  double softmaxScale() const { return 1 / std::sqrt(double(kHeadDim)); }
  void packKeys();
  void packValues();
  uint64_t uploadScales(const Packed &, size_t unused, const char *name);
  Kernarg arguments();
  const std::vector<double> &expected();

  const V4Kernel &kernel_;
  const V4Shape shape_;
  CodeObject co_;
  Dims queryDims_, keyDims_;
  Packed q_, k_, v_;
  double scale_ = 0; ///< of the reference
  std::vector<float> qDescale_, kDescale_, vDescale_;
  uint64_t out_ = 0;
  std::vector<double> expected_;
};

void V4Run::packKeys() {
  if (!kernel_.mxKeys) {
    q_ = packPlain(queryDims_, kernel_.keys, normals(queryDims_.rows() * kHeadDim, 1),
                   kQueryDescale);
    k_ = packPlain(keyDims_, kernel_.keys, normals(keyDims_.rows() * kHeadDim, 2), kKeyDescale);
    qDescale_ = {kQueryDescale};
    kDescale_ = {kKeyDescale};
    scale_ = softmaxScale();
    return;
  }
  q_ = packRows(queryDims_, kernel_.keys,
                blockNormals(queryDims_, 1, softmaxScale() * std::numbers::log2e));
  std::vector<float> keys = blockNormals(keyDims_, 2, 1);
  k_ = kernel_.keys == Format::E4m3
           ? packRows(keyDims_, kernel_.keys, keys)
           : packKeyTiles(keyDims_, kernel_.keys, keys, kernel_.cut == Cut::Keys);
  scale_ = std::numbers::ln2;
}

void V4Run::packValues() {
  if (kernel_.values != Format::E4m3) {
    v_ = packValueTiles(keyDims_, kernel_.values, blockNormals(keyDims_, 3, 1),
                        kernel_.cut == Cut::Values);
    return;
  }
  v_ = packPlain(keyDims_, kernel_.values, normals(keyDims_.rows() * kHeadDim, 3), kValueDescale);
  if (!kernel_.perChannel) {
    vDescale_ = {kValueDescale};
    return;
  }
  for (uint32_t n = 0; n < shape_.batch * shape_.heads * kHeadDim; ++n)
    vDescale_.push_back(kValueDescale * (1 + float(n % 37) / 16));
  for (size_t n = 0; n < v_.meaning.size(); ++n) { // [batch, head, channel]
    size_t row = n / kHeadDim, head = row % shape_.heads;
    size_t batch = row / shape_.heads / shape_.keys;
    v_.meaning[n] *=
        vDescale_[(batch * shape_.heads + head) * kHeadDim + n % kHeadDim] / double(kValueDescale);
  }
}

const std::vector<double> &V4Run::expected() {
  if (!expected_.empty())
    return expected_;
  expected_.resize(queryDims_.rows() * kHeadDim);
  std::vector<double> lse(shape_.queries);
  size_t stride = size_t(shape_.heads) * kHeadDim;
  for (uint32_t b = 0; b < shape_.batch; ++b)
    for (uint32_t h = 0; h < shape_.heads; ++h) {
      size_t q = queryDims_.row(b, 0, h) * kHeadDim, k = keyDims_.row(b, 0, h) * kHeadDim;
      attend({shape_.queries, shape_.keys, kHeadDim, kHeadDim, scale_}, {&q_.meaning[q], stride},
             {&k_.meaning[k], stride}, {&v_.meaning[k], stride}, &expected_[q], stride, lse.data());
    }
  return expected_;
}

uint64_t V4Run::uploadScales(const Packed &packed, size_t unused, const char *name) {
  std::vector<uint8_t> scales = packed.scale;
  scales.resize(scales.size() + unused, 0xff);
  return co_.upload(scales, name);
}

Kernarg V4Run::arguments() {
  uint32_t oRow = shape_.heads * kHeadDim * 2;
  Kernarg a(656);
  a.set(0x000, out_).set(0x010, co_.upload(q_.data, "q")).set(0x020, co_.upload(k_.data, "k"));
  a.set(0x030, co_.upload(v_.data, "v")).set(0x050, float(softmaxScale()));
  a.set(0x060, shape_.queries).set(0x070, q_.sequenceStride);
  a.set(0x080, kQTile * q_.sequenceStride).set(0x090, q_.headStride).set(0x0a0, q_.batchStride);
  a.set(0x0b0, 1u).set(0x0c0, k_.sequenceStride).set(0x0d0, k_.headStride);
  a.set(0x0e0, k_.batchStride).set(0x0f0, 5u).set(0x110, shape_.keys).set(0x120, kHeadDim);
  a.set(0x130, kHeadDim).set(0x140, shape_.heads).set(0x150, v_.sequenceStride);
  a.set(0x160, v_.headStride).set(0x170, v_.batchStride).set(0x180, oRow);
  a.set(0x190, kHeadDim * 2).set(0x1a0, shape_.queries * oRow);
  // Scales are read by global loads, which nothing bounds: for the rows of a whole q tile, and for
  // kv tiles that are fetched ahead and never used. What lies there must not matter: 0xff is NaN as
  // E8M0.
  size_t row = shape_.heads * 4, qUnused = (0 - shape_.queries) % kQTile * row;
  size_t kUnused = ((0 - shape_.keys) % kTile + 2 * kTile) * row, vUnused = 2 * 512;
  a.set(0x200, qDescale_.empty() ? uploadScales(q_, qUnused, "q scales") : co_.upload(qDescale_));
  a.set(0x210, kDescale_.empty() ? uploadScales(k_, kUnused, "k scales") : co_.upload(kDescale_));
  a.set(0x220, vDescale_.empty() ? uploadScales(v_, vUnused, "v scales") : co_.upload(vDescale_));
  return a;
}

} // namespace

void aitertest::fmhaV4Samples() {
  for (const V4Kernel &kernel : kTestedV4)
    CHECK(V4Run(kernel, {1, 1, 40, 512}).run(kTypical) <= kTolerance);
  CHECK(V4Run(std::end(kTestedV4)[-1], {1, 1, 40, 128}).run(kTypical) <= kTolerance); // f4f4
}

TEST_CASE("fmha_v4: every format, batches, several tiles", "[aiter][fmha_v4]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const V4Kernel &kernel : kTestedV4)
    for (const V4Shape &shape : {V4Shape{1, 8, 40, 128}, V4Shape{2, 2, 129, 512}}) {
      INFO(kernel.file << " " << shape.text());
      CHECK(V4Run(kernel, shape).run(kTypical) <= kTolerance);
    }
}

TEST_CASE("fmha_v4: ragged lengths", "[aiter][fmha_v4]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const V4Kernel &kernel : kTestedV4) {
    INFO(kernel.file);
    CHECK(V4Run(kernel, {1, 2, 300, 589}).run(kTypical) <= kTolerance);
    // With MX keys of 6 and 4 bits and fewer than 128 keys the scales are used before they are
    // read.
    bool keysInTiles = kernel.keys == Format::E2m3 || kernel.keys == Format::E2m1;
    if (!keysInTiles)
      CHECK(V4Run(kernel, {1, 2, 300, 40}).run(kTypical) <= kTolerance);
  }
}

TEST_CASE("fmha_v4: which policies each kernel tolerates", "[aiter][fmha_v4][policies]") {
  AITER_CHECKOUT_OR_SKIP();
  for (const V4Kernel &kernel : kTestedV4) {
    INFO(kernel.file);
    V4Run run(kernel, {1, 2, 300, 512});
    std::string found;
    for (const Policy &policy : kPolicies) {
      found += found.size() % 4 == 3 ? " " : "";
      found += run.run(policy) <= kTolerance ? '+' : '-';
    }
    CHECK(found == kernel.tolerates);
    attune::sim::strict::StrictChecker checker;
    run.run(kTypical, &checker);
    CHECK(kindsFound(checker) == kernel.strict);
  }
}
