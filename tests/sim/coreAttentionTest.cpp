// The instructions that attention kernels live on, in code that clang-22 generated; and the promise
// that arrival, schedule and thread count do not change results of race-free code.
#include "tests/sim/coreHarness.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <numeric>
#include <random>

using namespace simtest;
using namespace attune::sim;

namespace {

std::vector<float> normal(size_t n) {
  std::mt19937 random(11);
  std::normal_distribution<float> draw;
  std::vector<float> x(n);
  for (float &v : x)
    v = draw(random);
  return x;
}
uint16_t bf16(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, 4);
  return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
float fromBf16(uint16_t h) {
  uint32_t bits = uint32_t(h) << 16;
  float x;
  std::memcpy(&x, &bits, 4);
  return x;
}
std::vector<uint32_t> iota(size_t n) {
  std::vector<uint32_t> v(n);
  std::iota(v.begin(), v.end(), 100u);
  return v;
}

} // namespace

TEST_CASE("bf16 MFMA computes a matrix product") {
  Fixture f(compileFile("attention.cl"));
  f.strict = true;
  const int k = 80;
  std::vector<float> source = normal(2 * 32 * k);
  std::vector<uint16_t> a(32 * k), b(32 * k);
  for (int n = 0; n < 32 * k; ++n)
    a[n] = bf16(source[n]), b[n] = bf16(source[32 * k + n]);
  std::vector<float> c(32 * 32);
  uint64_t pa = f.upload(a), pb = f.upload(b), pc = f.upload(c);
  REQUIRE(f.launch("gemm_nt", 1, 64, Args().add(pa).add(pb).add(pc).add(k)) == "");
  c = f.download<float>(pc, c.size());
  for (int m = 0; m < 32; ++m)
    for (int n = 0; n < 32; ++n) {
      double sum = 0;
      for (int j = 0; j < k; ++j)
        sum += double(fromBf16(a[m * k + j])) * fromBf16(b[n * k + j]);
      REQUIRE(c[m * 32 + n] == Approx(sum).margin(2e-5));
    }
  CHECK(f.stats.mfmaInstructions == k / 16);
  CHECK(std::count(f.stats.approximate.begin(), f.stats.approximate.end(),
                   "v_mfma_f32_32x32x16_bf16") == 1);
}

TEST_CASE("buffer bounds: loads past the end give 0, stores past it vanish, dword by dword") {
  Fixture f(compileFile("attention.cl"));
  f.strict = true;
  for (int bytes : {1024, 1000, 984, 20, 0}) {
    std::vector<uint32_t> in = iota(256), out(256, 7);
    uint64_t pi = f.upload(in), po = f.upload(out);
    REQUIRE(f.launch("bounded_copy", 1, 64, Args().add(pi).add(po).add(bytes)) == "");
    out = f.download<uint32_t>(po, 256);
    for (int n = 0; n < 256; ++n) {
      INFO("bytes " << bytes << " dword " << n);
      REQUIRE(out[n] == (4 * n < bytes ? in[n] + 1 : 7));
    }
  }
}

TEST_CASE("DMA to LDS: lanes land in order and lanes out of range write zeros") {
  Fixture f(compileFile("attention.cl"));
  f.strict = true;
  for (Arrival arrival : {Arrival::Instant, Arrival::Latest})
    for (int bytes : {4096, 3000}) {
      std::vector<uint32_t> in = iota(1024), out(1024);
      uint64_t pi = f.upload(in), po = f.upload(out);
      RunOptions options;
      options.arrival = arrival;
      REQUIRE(f.launch("dma_rotate", 1, 256, Args().add(pi).add(po).add(bytes), options) == "");
      CHECK(f.stats.opcodeCounts["buffer_load_dwordx4"] == 4);
      out = f.download<uint32_t>(po, 1024);
      for (int n = 0; n < 1024; ++n) {
        int from = (n + 256) % 1024;
        REQUIRE(out[n] == (4 * from < bytes ? in[from] : 0));
      }
    }
}

TEST_CASE("a transposing LDS read hands each lane a column") {
  Fixture f(compileFile("attention.cl"));
  f.strict = true;
  std::vector<int16_t> in(1024), out(256);
  std::iota(in.begin(), in.end(), int16_t(0));
  uint64_t pi = f.upload(in), po = f.upload(out);
  REQUIRE(f.launch("transpose16", 1, 64, Args().add(pi).add(po)) == "");
  out = f.download<int16_t>(po, 256);
  for (int lane = 0; lane < 64; ++lane)
    for (int k = 0; k < 4;
         ++k) // lanes 16 g .. 16 g + 15 read 64 consecutive elements: 4 rows of 16
      REQUIRE(out[4 * lane + k] == 64 * (lane / 16) + 16 * k + lane % 16);
}

TEST_CASE("reductions over lanes by DPP, swizzle, bpermute, permlane swap and readlane") {
  Fixture f(compileFile("attention.cl"));
  f.strict = true;
  std::vector<float> in = normal(64), out(192);
  uint64_t pi = f.upload(in), po = f.upload(out);
  REQUIRE(f.launch("lane_reduce", 1, 64, Args().add(pi).add(po)) == "");
  out = f.download<float>(po, 192);
  float most = *std::max_element(in.begin(), in.end());
  for (int l = 0; l < 64; ++l) {
    REQUIRE(out[l] == most);
    REQUIRE(out[64 + l] == in[l] + in[l ^ 32]);
    REQUIRE(out[128 + l] == in[17]);
  }
}

TEST_CASE("log-sum-exp of rows") {
  Fixture f(compileFile("attention.cl"));
  f.strict = true;
  const int n = 37;
  std::vector<float> in = normal(64 * n), out(192);
  uint64_t pi = f.upload(in), po = f.upload(out);
  REQUIRE(f.launch("softmax_rows", 1, 64, Args().add(pi).add(po).add(n)) == "");
  out = f.download<float>(po, 192);
  int positive = 0;
  for (int l = 0; l < 64; ++l) {
    double sum = 0, most = -1e30;
    for (int k = 0; k < n; ++k)
      sum += std::exp(double(in[l * n + k])), most = std::max<double>(most, in[l * n + k]);
    positive += most > 0;
    REQUIRE(out[l] == Approx(std::log2(sum)).margin(2e-6));
    REQUIRE(out[64 + l] == Approx(1 / (sum * std::exp(-most))).epsilon(2e-6));
  }
  CHECK(out[128] == float(positive));
}

TEST_CASE("race-free kernels give the same bits under every policy and thread count") {
  Fixture f(compileFile("basic.cl"));
  f.strict = true;
  const uint32_t groups = 9;
  std::vector<float> in = normal(groups * 256);
  uint64_t pi = f.upload(in);
  auto sums = [&](RunOptions options) {
    uint64_t po = f.upload(std::vector<float>(groups));
    REQUIRE(f.launch("lds_sum", groups, 256, Args().add(pi).add(po), options) == "");
    return f.download<uint32_t>(po, groups);
  };
  std::vector<uint32_t> first = sums({});
  for (Arrival arrival : {Arrival::Instant, Arrival::Latest})
    for (Schedule schedule : {Schedule::ToBarrier, Schedule::Reverse, Schedule::Random})
      for (int threads : {1, 2, 5})
        for (uint64_t seed : {1, 2}) {
          RunOptions options{.threads = threads,
                             .arrival = arrival,
                             .schedule = schedule,
                             .quantum = 7,
                             .seed = seed};
          CHECK(sums(options) == first);
        }
}

TEST_CASE("a kernel without its barrier is caught by the schedules") {
  // Wave 0 reads what wave 1 writes, with no barrier between: run in order it sees poison, in
  // reverse the data.
  const char *body = "  v_lshlrev_b32_e32 v1, 2, v0\n"
                     "  ds_write_b32 v1, v0\n"
                     "  v_xor_b32_e32 v2, 0x100, v1\n"
                     "  ds_read_b32 v3, v2\n"
                     "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n"
                     "  s_waitcnt lgkmcnt(0)\n"
                     "  global_store_dword v1, v3, s[4:5]\n";
  Fixture f(assemble(kernelText(body, ".amdhsa_group_segment_fixed_size 512")));
  auto result = [&](Schedule schedule) {
    uint64_t p = f.upload(std::vector<uint32_t>(128));
    RunOptions options;
    options.schedule = schedule;
    REQUIRE(f.launch("k", 1, 128, Args().add(p), options) == "");
    return f.download<uint32_t>(p, 128);
  };
  CHECK(result(Schedule::ToBarrier) != result(Schedule::Reverse));
}

TEST_CASE("late arrival shows a wait that is missing") {
  const char *load = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
                     "  v_lshlrev_b32_e32 v1, 2, v0\n  v_mov_b32_e32 v2, 5\n"
                     "  global_load_dword v2, v1, s[4:5]\n";
  const char *store = "  v_add_u32_e32 v2, 1, v2\n  global_store_dword v1, v2, s[4:5]\n";
  for (bool waits : {true, false}) {
    std::string wait = waits ? "  s_waitcnt vmcnt(0)\n" : "";
    Fixture f(assemble(kernelText(load + wait + store)));
    uint64_t p = f.upload(iota(64));
    RunOptions options;
    options.arrival = Arrival::Latest;
    REQUIRE(f.launch("k", 1, 64, Args().add(p), options) == "");
    CHECK((f.download<uint32_t>(p, 64)[3] == 104) == waits);
  }
}
TEST_CASE("typical arrival: LDS data after some instructions, memory at its wait") {
  // v3 and v4 hold 5 until ds_read (7) and global_load (100 + lane) arrive. `gap` instructions lie
  // between the ds_read and the use of v3, in which v4 has not been waited for either.
  auto result = [](int gap, uint32_t delay, bool waits, const char *filler = "s_nop 0") {
    std::string text = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n"
                       "  v_lshlrev_b32_e32 v1, 2, v0\n  v_mov_b32_e32 v2, 7\n"
                       "  v_mov_b32_e32 v3, 5\n  v_mov_b32_e32 v4, 5\n"
                       "  ds_write_b32 v1, v2\n  s_waitcnt lgkmcnt(0)\n"
                       "  global_load_dword v4, v1, s[4:5]\n  ds_read_b32 v3, v1\n";
    for (int n = 0; n < gap; ++n)
      text += std::string("  ") + filler + "\n";
    text += waits ? "  s_waitcnt lgkmcnt(0)\n" : "";
    text += "  v_add_u32_e32 v5, v3, v4\n  s_waitcnt vmcnt(0)\n"
            "  global_store_dword v1, v5, s[4:5]\n";
    Fixture f(assemble(kernelText(text, ".amdhsa_group_segment_fixed_size 256\n")));
    uint64_t p = f.upload(iota(64));
    RunOptions options;
    options.arrival = Arrival::Typical;
    options.ldsDelay = delay;
    REQUIRE(f.launch("k", 1, 64, Args().add(p), options) == "");
    return f.download<uint32_t>(p, 64)[3];
  };
  CHECK(result(0, 0, false) == 7 + 5);
  CHECK(result(3, 4, false) == 5 + 5);
  CHECK(result(4, 4, false) == 7 + 5);
  CHECK(result(0, 4, true) == 7 + 5);
  const char *mfma = "v_mfma_f32_32x32x16_bf16 v[32:47], v[8:11], v[12:15], 0"; // counts as 8
  CHECK(result(1, 9, false, mfma) == 5 + 5);
  CHECK(result(1, 8, false, mfma) == 7 + 5);
}
