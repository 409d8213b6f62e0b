// Kernels that clang-22 compiled, checked against the same computation on the host.
#include "tests/sim/coreHarness.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

using namespace simtest;

namespace {

constexpr uint32_t kWorkgroups = 3, kThreads = 256, kItems = kWorkgroups * kThreads;

template <class T, class Fn> std::vector<T> generate(size_t n, Fn fn) {
  std::mt19937 random(7);
  std::vector<T> data(n);
  for (T &x : data)
    x = T(fn(random));
  return data;
}
std::vector<float> floats(size_t n, float lo, float hi) {
  return generate<float>(n,
                         [=](auto &r) { return std::uniform_real_distribution<float>(lo, hi)(r); });
}

} // namespace

TEST_CASE("vector add leaves the elements past n alone") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<float> a = floats(kItems, -10, 10), b = floats(kItems, -1, 1), c(kItems, 99);
  int n = 700;
  uint64_t pa = f.upload(a), pb = f.upload(b), pc = f.upload(c);
  REQUIRE(f.launch("vector_add", kWorkgroups, kThreads, Args().add(pa).add(pb).add(pc).add(n)) ==
          "");
  c = f.download<float>(pc, kItems);
  for (int i = 0; i < int(kItems); ++i)
    REQUIRE(c[i] == (i < n ? a[i] + b[i] : 99));
  CHECK(f.stats.workgroups == kWorkgroups);
  CHECK(f.stats.opcodeCounts["s_endpgm"] == kWorkgroups * kThreads / 64);
}

TEST_CASE("a loop with a different trip count in every lane") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<uint32_t> in(kItems), expected(kItems);
  std::iota(in.begin(), in.end(), 1u);
  for (uint32_t i = 0; i < kItems; ++i)
    for (uint32_t x = in[i]; x != 1; ++expected[i])
      x = x & 1 ? 3 * x + 1 : x / 2;
  uint64_t pin = f.upload(in), pout = f.upload(expected);
  std::memset(attune::sim::Memory::host(pout), 0, kItems * 4);
  REQUIRE(f.launch("collatz", kWorkgroups, kThreads, Args().add(pin).add(pout)) == "");
  CHECK(f.download<uint32_t>(pout, kItems) == expected);
}

TEST_CASE("integer division, signed, unsigned and 64 bits wide") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  auto number = [](auto &r) {
    int bits = int(r() % 31) + 1;
    int x = int(r() >> (32 - bits)) | 1;
    return r() & 1 ? -x : x;
  };
  std::vector<int32_t> a = generate<int32_t>(kItems, number),
                       b = generate<int32_t>(kItems, [&](auto &r) {
                         r.discard(3);
                         return number(r);
                       });
  a[0] = INT32_MIN, b[0] = 3, a[1] = INT32_MAX, b[1] = -1, a[2] = 0;
  std::vector<int32_t> zero(kItems);
  std::vector<uint64_t> wide(kItems);
  uint64_t pa = f.upload(a), pb = f.upload(b), pq = f.upload(zero), pr = f.upload(zero),
           pu = f.upload(zero), pw = f.upload(wide);
  REQUIRE(f.launch("divide", kWorkgroups, kThreads,
                   Args().add(pa).add(pb).add(pq).add(pr).add(pu).add(pw)) == "");
  auto q = f.download<int32_t>(pq, kItems), r = f.download<int32_t>(pr, kItems);
  auto u = f.download<uint32_t>(pu, kItems);
  wide = f.download<uint64_t>(pw, kItems);
  for (uint32_t i = 0; i < kItems; ++i) {
    INFO(a[i] << " / " << b[i]);
    REQUIRE(q[i] == a[i] / b[i]);
    REQUIRE(r[i] == a[i] % b[i]);
    REQUIRE(u[i] == uint32_t(a[i]) / uint32_t(b[i]));
    REQUIRE(wide[i] == uint32_t(a[i]) * 0x123456789ull / uint32_t(b[i]));
  }
}

TEST_CASE("f32 functions") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<float> x = floats(kItems, -20, 20), out(8 * kItems);
  x[0] = 0, x[1] = -0.0f, x[2] = 0.5f, x[3] = -2.5f;
  uint64_t px = f.upload(x), po = f.upload(out);
  REQUIRE(f.launch("float_math", kWorkgroups, kThreads, Args().add(px).add(po)) == "");
  out = f.download<float>(po, out.size());
  for (uint32_t i = 0; i < kItems; ++i) {
    float v = x[i], *o = &out[8 * i];
    INFO("x = " << v);
    // OpenCL division may be off by 2.5 ulp, square roots by 3.
    REQUIRE(o[0] == Approx(v / 3.7f).epsilon(3e-7));
    REQUIRE(o[1] == Approx(std::sqrt(std::fabs(v))).epsilon(3e-7));
    REQUIRE(o[2] == Approx(std::exp2(v)).epsilon(2e-7));
    REQUIRE(o[3] == Approx(std::log2(std::fabs(v) + 1)).epsilon(2e-7).margin(1e-7));
    REQUIRE(o[4] == std::floor(v) + std::nearbyint(v) * 1000.0f);
    REQUIRE(o[5] == std::fma(v, v, -v));
    REQUIRE(o[6] == float(int(v * 100.0f)) + float(uint32_t(std::fabs(v * 7.0f))));
    REQUIRE(o[7] == std::fmax(std::fmin(v, 2.0f), -1.5f));
  }
}

TEST_CASE("f64 division and square root are correctly rounded") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<double> x = generate<double>(kItems, [](auto &r) {
    return std::ldexp(std::uniform_real_distribution<double>(-1, 1)(r), int(r() % 200) - 100);
  });
  std::vector<double> out(2 * kItems);
  uint64_t px = f.upload(x), po = f.upload(out);
  REQUIRE(f.launch("double_math", kWorkgroups, kThreads, Args().add(px).add(po)) == "");
  out = f.download<double>(po, out.size());
  for (uint32_t i = 0; i < kItems; ++i) {
    REQUIRE(out[2 * i] == x[i] / 7.0 + std::fma(x[i], x[i], 1.0));
    REQUIRE(out[2 * i + 1] == std::sqrt(std::fabs(x[i])));
  }
}

TEST_CASE("f16 arithmetic, packed and scalar") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<_Float16> x(kItems), out(4 * kItems);
  std::vector<float> source = floats(kItems, -30, 30);
  for (uint32_t i = 0; i < kItems; ++i)
    x[i] = _Float16(source[i]);
  uint64_t px = f.upload(x), po = f.upload(out);
  REQUIRE(f.launch("half_math", kWorkgroups, kThreads, Args().add(px).add(po)) == "");
  out = f.download<_Float16>(po, out.size());
  for (uint32_t i = 0; i < kItems; ++i) {
    float a = float(x[i]);
    INFO("x = " << a);
    REQUIRE(float(out[4 * i]) ==
            float(_Float16(std::fma(double(a), 1.5, 0.25)))); // contracted to an fma
    REQUIRE(float(out[4 * i + 1]) == Approx(std::fabs(a) < 1 ? a : a / 3).epsilon(1e-3));
    REQUIRE(float(out[4 * i + 2]) == float(int(a)));
    float p = float(_Float16(a * 2 + 2)), q = float(_Float16(std::fma(-double(a), 3.0, 3.0)));
    REQUIRE(float(out[4 * i + 3]) == float(_Float16(p - q)));
  }
}

TEST_CASE("a workgroup sums through LDS") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<float> in = generate<float>(kItems, [](auto &r) { return float(r() % 1000); });
  std::vector<float> sums(kWorkgroups);
  uint64_t pin = f.upload(in), ps = f.upload(sums);
  REQUIRE(f.launch("lds_sum", kWorkgroups, kThreads, Args().add(pin).add(ps)) == "");
  sums = f.download<float>(ps, kWorkgroups);
  for (uint32_t g = 0; g < kWorkgroups; ++g)
    CHECK(sums[g] == std::accumulate(&in[g * kThreads], &in[g * kThreads] + kThreads, 0.0f));
}

TEST_CASE("arrays in scratch are private to a lane") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<int32_t> in = generate<int32_t>(16 * kItems, [](auto &r) { return int32_t(r()); });
  uint64_t pin = f.upload(in), po = f.upload(in);
  REQUIRE(f.launch("scratch_sort", kWorkgroups, kThreads, Args().add(pin).add(po)) == "");
  CHECK(f.stats.opcodeCounts.count("scratch_store_dwordx4") +
            f.stats.opcodeCounts.count("scratch_store_dword") >
        0);
  for (uint32_t i = 0; i < kItems; ++i)
    std::sort(&in[16 * i], &in[16 * i] + 16);
  CHECK(f.download<int32_t>(po, in.size()) == in);
}

TEST_CASE("atomics on LDS and on memory from several threads") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<uint8_t> in = generate<uint8_t>(4 * kItems, [](auto &r) { return r() % 200; });
  std::vector<uint32_t> bins(256), expected(256);
  std::vector<uint64_t> most(1);
  for (uint8_t x : in)
    ++expected[x];
  uint64_t pin = f.upload(in), pb = f.upload(bins), pm = f.upload(most);
  attune::sim::RunOptions options;
  options.threads = 3;
  REQUIRE(f.launch("histogram", kWorkgroups, kThreads, Args().add(pin).add(pb).add(pm), options) ==
          "");
  CHECK(f.download<uint32_t>(pb, 256) == expected);
  CHECK(f.download<uint64_t>(pm, 1)[0] >> 32 > 0);
}

TEST_CASE("sub-dword and wide memory accesses") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<uint8_t> u8 = generate<uint8_t>(kItems, [](auto &r) { return r(); });
  std::vector<int16_t> i16 = generate<int16_t>(kItems, [](auto &r) { return r(); });
  std::vector<float> f4 = floats(4 * kItems, -3, 3);
  std::vector<uint32_t> out(2 * kItems);
  uint64_t a = f.upload(u8), b = f.upload(i16), c = f.upload(f4), o = f.upload(out);
  REQUIRE(f.launch("repack", kWorkgroups, kThreads, Args().add(a).add(b).add(c).add(o)) == "");
  out = f.download<uint32_t>(o, out.size());
  for (uint32_t i = 0; i < kItems; ++i) {
    const float *v = &f4[4 * i];
    float sum = std::fma(v[1], v[2], v[0]) - v[3];
    REQUIRE(out[2 * i] == u8[i] + uint32_t(int32_t(i16[i])) * 3);
    REQUIRE(std::memcmp(&out[2 * i + 1], &sum, 4) == 0);
  }
}

TEST_CASE("constant tables are read through s_getpc, functions called through s_swappc") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  std::vector<int32_t> index(kItems), out(kItems);
  std::iota(index.begin(), index.end(), 0);
  uint64_t po = f.upload(out), pi = f.upload(index);
  REQUIRE(f.launch("constants", kWorkgroups, kThreads, Args().add(po).add(pi)) == "");
  out = f.download<int32_t>(po, kItems);
  constexpr int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
  for (uint32_t i = 0; i < kItems; ++i)
    REQUIRE(out[i] == table[i & 7]);

  std::vector<float> x = floats(kItems, -1, 1), y(kItems);
  uint64_t px = f.upload(x), py = f.upload(y);
  int n = 9;
  REQUIRE(f.launch("calls", kWorkgroups, kThreads, Args().add(px).add(py).add(n)) == "");
  CHECK(f.stats.opcodeCounts["s_swappc_b64"] > 0);
  y = f.download<float>(py, kItems);
  for (uint32_t i = 0; i < kItems; ++i) {
    float r = 0;
    for (int k = 0; k < n; ++k)
      r = std::fma(r, x[i], float(k + 1));
    REQUIRE(y[i] == r);
  }
}
