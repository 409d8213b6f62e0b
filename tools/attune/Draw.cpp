// A counter-based generator (SplitMix64's finaliser over a keyed counter) and what is drawn from
// it.
#include "tools/attune/Draw.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace attune::tool {

namespace {

constexpr uint64_t tokensPerDocument = 16;

uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

int64_t longest(const std::vector<int64_t> &lens) {
  return lens.empty() ? 0 : *std::max_element(lens.begin(), lens.end());
}

/// Ids start at 0 in each sequence and never pass the position, so a spec may also use them as
/// positions.
void fillDocuments(HostTensor &t, const Lens &lens, const Random &random) {
  int64_t token = 0;
  for (int64_t length : lens.kv) {
    int64_t id = 0;
    for (int64_t p = 0; p < length; ++p, ++token) {
      id += p > 0 && random.bits(token) % tokensPerDocument == 0;
      t.set({token}, static_cast<double>(id));
    }
  }
}

void fillIntegers(HostTensor &t, const CapturedTensor &info, const Lens &lens,
                  const Random &random) {
  int64_t i = 0;
  double ceiling = t.dtype == DType::I8 || t.dtype == DType::U8 ? 127 : 32767;
  forEachIndex(t.shape, [&](Index index) {
    int64_t limit = lens.longestKv();
    for (size_t d = 0; d < info.dims.size(); ++d)
      if (info.dims[d] == "batch")
        limit = lens.kv[static_cast<size_t>(index[d])];
    double value = std::floor(random.uniform(i++) * static_cast<double>(limit + 1));
    t.set(index, std::min(value, ceiling));
  });
}

} // namespace

Random::Random(uint64_t seed, std::string_view name) : key_(mix(seed)) {
  for (char c : name)
    key_ = mix(key_ ^ static_cast<uint8_t>(c));
}

uint64_t Random::bits(int64_t i) const { return mix(key_ ^ mix(static_cast<uint64_t>(i))); }

double Random::uniform(int64_t i) const {
  return std::ldexp(static_cast<double>(bits(i) >> 11), -53);
}

/// Box and Muller's, one value of the pair.
double Random::normal(int64_t i) const {
  double radius = std::sqrt(-2 * std::log(1 - uniform(2 * i)));
  return radius * std::cos(2 * std::numbers::pi * uniform(2 * i + 1));
}

int64_t extentOf(const std::string &dim, const ProblemShape &p, const Lens &lens) {
  if (dim == "batch")
    return static_cast<int64_t>(lens.q.size());
  if (dim == "heads")
    return p.numQHeads;
  if (dim == "kv_heads")
    return p.numKvHeads;
  if (dim == "tokens")
    return std::accumulate(lens.kv.begin(), lens.kv.end(), int64_t(0));
  if (dim == "q")
    return lens.longestQ();
  if (dim == "k")
    return lens.longestKv();
  return std::strtoll(dim.c_str(), nullptr, 10);
}

int64_t Lens::longestQ() const { return longest(q); }
int64_t Lens::longestKv() const { return longest(kv); }

HostTensor drawNormal(DType dtype, Shape shape, const Random &random) {
  HostTensor t = HostTensor::packed(dtype, std::move(shape));
  size_t size = sizeOf(dtype);
  for (size_t at = 0, i = 0; at < t.storage.size(); at += size, ++i)
    encode(dtype, random.normal(static_cast<int64_t>(i)), t.storage.data() + at);
  return t;
}

HostTensor drawCaptured(const CapturedTensor &info, const ProblemShape &problem, const Lens &lens,
                        const std::set<std::string> &slopes, uint64_t seed) {
  Shape shape;
  for (const std::string &dim : info.dims)
    shape.push_back(extentOf(dim, problem, lens));
  Random random(seed, info.name);
  if (isFloat(info.dtype) && !slopes.contains(info.name))
    return drawNormal(info.dtype, shape, random);
  HostTensor t = HostTensor::packed(info.dtype, shape);
  int64_t i = 0;
  if (isFloat(info.dtype))
    forEachIndex(shape, [&](Index index) {
      t.set(index, std::exp2(-8.0 * static_cast<double>(index[0] + 1) / problem.numQHeads));
    });
  else if (info.dtype == DType::Bool)
    forEachIndex(shape,
                 [&](Index index) { t.set(index, static_cast<double>(random.bits(i++) & 1)); });
  else if (info.dims == std::vector<std::string>{"tokens"})
    fillDocuments(t, lens, random);
  else
    fillIntegers(t, info, lens, random);
  return t;
}

} // namespace attune::tool
