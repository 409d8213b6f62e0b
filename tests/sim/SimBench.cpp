// How fast the simulator is: matrix products as pure functions, and instructions of whole kernels
// on one host thread. Each number is printed only after the result it was measured on has been
// checked. Not a test: run it by hand.
#include "runtime/sim/Matrix.h"
#include "runtime/sim/strict/Strict.h"
#include "tests/ThreadClock.h"
#include "tests/aiter/FmhaV3.h"
#include "tests/aiter/MlaLaunch.h"
#include "tests/aiter/PagedWork.h"
#include "tests/sim/coreHarness.h"
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace attune::sim;
using namespace simtest;

namespace {

/// Processor seconds of the fastest of several runs: the machine may be busy with other things.
template <class Fn> double fastest(int runs, Fn fn) {
  double best = 1e9;
  for (int n = 0; n < runs; ++n) {
    double start = threadSeconds();
    fn();
    best = std::min(best, threadSeconds() - start);
  }
  return best;
}

struct MatrixCase {
  const char *name;
  MfmaShape shape;
  uint32_t one; ///< 1.0 in every element of a word
};
const MatrixCase kMatrixCases[] = {
    {"32x32x16 bf16", {32, 32, 16, 1, MatType::Bf16, MatType::Bf16, MatType::F32}, 0x3f803f80},
    {"32x32x16 f16", {32, 32, 16, 1, MatType::F16, MatType::F16, MatType::F32}, 0x3c003c00},
    {"16x16x32 bf16", {16, 16, 32, 1, MatType::Bf16, MatType::Bf16, MatType::F32}, 0x3f803f80},
    {"32x32x8 bf16", {32, 32, 8, 1, MatType::Bf16, MatType::Bf16, MatType::F32}, 0x3f803f80},
    {"32x32x16 fp8", {32, 32, 16, 1, MatType::Fp8, MatType::Fp8, MatType::F32}, 0x38383838},
    {"32x32x64 f8f6f4 fp8", f8f6f4Shape(32, 0, 0), 0x38383838},
    {"16x16x128 f8f6f4 fp4", f8f6f4Shape(16, 4, 4), 0x22222222},
    {"32x32x32 i8", {32, 32, 32, 1, MatType::I8, MatType::I8, MatType::I32}, 0x01010101}};

/// One workgroup of `waves` waves, every wave running `loop` 2000 times; register results go to
/// `out`.
struct KernelCase {
  const char *name;
  std::string before, loop, after;
  unsigned instructionsPerTurn;
  float expected; ///< in every lane of what `after` stores from v20
};

std::string repeated(const std::string &line, unsigned times) {
  std::string text;
  for (unsigned n = 0; n < times; ++n)
    text += line;
  return text;
}

std::vector<KernelCase> kernelCases() {
  // Sums and products of small numbers: exact, so the result is known.
  std::string valu = repeated(
      "  v_add_f32 v20, v20, v21\n  v_max_f32 v22, v20, v21\n  v_fma_f32 v23, v21, v21, v20\n"
      "  v_mul_f32 v24, v21, v20\n",
      8);
  std::string mfma = repeated("  v_mfma_f32_32x32x16_bf16 v[32:47], v[0:3], v[4:7], v[32:47]\n", 8);
  std::string mix =
      "  ds_read_b128 v[0:3], v50\n  ds_read_b64_tr_b16 v[4:5], v51\n  ds_read_b64_tr_b16 v[6:7], "
      "v51\n"
      "  s_waitcnt lgkmcnt(0)\n  v_mfma_f32_32x32x16_bf16 v[32:47], v[0:3], v[4:7], v[32:47]\n" +
      repeated("  v_exp_f32 v25, v24\n  v_max3_f32 v26, v24, v24, v24\n  v_add_f32 v20, v20, v25\n"
               "  v_cvt_pk_bf16_f32 v27, v25, v26\n",
               4);
  std::string ones;
  for (unsigned r = 0; r < 8; ++r)
    ones += fmt::format("  v_mov_b32 v{}, 0x3f803f80\n", r);
  for (unsigned r = 32; r < 48; ++r)
    ones += fmt::format("  v_mov_b32 v{}, 0\n", r);
  ones += "  s_nop 1\n"; // a product reads what a v_mov wrote
  std::string lds =      // a part for each wave: there is no barrier
      "  v_and_b32 v51, 63, v52\n  v_and_b32 v53, 0xc0, v52\n  v_lshlrev_b32 v50, 4, v52\n"
      "  v_lshlrev_b32 v51, 3, v51\n  v_lshl_add_u32 v51, v53, 4, v51\n"
      "  ds_write_b128 v50, v[0:3]\n  s_waitcnt lgkmcnt(0)\n";
  return {{"VALU", "  v_mov_b32 v20, 0\n  v_mov_b32 v21, 1.0\n", valu, "", 32, 2000 * 8},
          {"MFMA 32x32x16 bf16", ones, mfma, "  s_nop 7\n  s_nop 7\n  v_mov_b32 v20, v32\n", 8,
           2000 * 8 * 16},
          {"attention mix", "  v_mov_b32 v20, 0\n  v_mov_b32 v24, 0\n" + ones + lds, mix, "", 21,
           2000 * 4}};
}

std::string benchKernel(const KernelCase &c) {
  return kernelText("  v_mov_b32 v52, v0\n  s_load_dwordx2 s[4:5], s[0:1], 0\n" + c.before +
                        "  s_movk_i32 s6, 2000\n1:\n" + c.loop +
                        "  s_sub_u32 s6, s6, 1\n  s_cmp_lg_u32 s6, 0\n  s_cbranch_scc1 1b\n" +
                        c.after +
                        "  s_waitcnt lgkmcnt(0)\n  v_lshlrev_b32 v60, 2, v52\n  global_store_dword "
                        "v60, v20, s[4:5]\n",
                    "  .amdhsa_group_segment_fixed_size 4096");
}

} // namespace

TEST_CASE("matrix products a second, one thread") {
  alignas(64) static uint32_t a[32][64], b[32][64], d[32][64];
  for (const MatrixCase &c : kMatrixCases) {
    for (unsigned r = 0; r < 32; ++r)
      for (unsigned l = 0; l < 64; ++l) {
        a[r][l] = b[r][l] = c.one;
        d[r][l] = 0;
      }
    const int count = 300;
    double seconds = fastest(100, [&] {
      for (int n = 0; n < count; ++n)
        mfma(c.shape, d, a, b, MfmaC{});
    });
    for (unsigned r = 0; r < c.shape.accRegs(); ++r)
      for (unsigned l = 0; l < 64; ++l) {
        float got = c.shape.acc == MatType::I32 ? float(d[r][l]) : std::bit_cast<float>(d[r][l]);
        REQUIRE(got == float(c.shape.k));
      }
    double perSecond = count / seconds;
    fmt::print("{:24} {:6.2f} M/s {:7.1f} GMAC/s\n", c.name, perSecond / 1e6,
               perSecond * 1e-9 * c.shape.m * c.shape.n * c.shape.k);
  }
}

TEST_CASE("wave instructions a second, one thread") {
  const unsigned threads = 256, workgroups = 4;
  for (const KernelCase &c : kernelCases()) {
    Fixture fixture(assemble(benchKernel(c)));
    uint64_t out = fixture.upload(std::vector<float>(threads, -1));
    RunOptions options;
    options.threads = 1;
    double seconds = fastest(10, [&] {
      REQUIRE(fixture.launch("k", workgroups, threads, Args().add(out), options) == "");
    });
    strict::StrictChecker checker;
    double watched = fastest(3, [&] {
      REQUIRE(fixture.launch("k", workgroups, threads, Args().add(out), checker.watch(options)) ==
              "");
    });
    // All workgroups write the same: to a checker, nothing else is amiss.
    for (const strict::Finding &f : checker.findings())
      REQUIRE(f.kind == strict::FindingKind::SameValue);
    for (float x : fixture.download<float>(out, threads))
      REQUIRE(x == c.expected);
    uint64_t instructions = fixture.stats.waveInstructions;
    REQUIRE(instructions >= uint64_t(workgroups) * threads / 64 * 2000 * c.instructionsPerTurn);
    fmt::print("{:24} {:6.2f} M wave-instructions/s, {:5.2f} M MFMA/s, strict {:.2f}x\n", c.name,
               double(instructions) / seconds / 1e6,
               double(fixture.stats.mfmaInstructions) / seconds / 1e6, watched / seconds);
  }
}

TEST_CASE("wave instructions a second in AITER's attention, one thread") {
  AITER_CHECKOUT_OR_SKIP();
  const aitertest::FmhaKernel kernel = {
      "fwd_hd128_bf16.co", 128, 128, false, false, false, 256, 512};
  for (uint32_t keys : {1024, 4096}) { // K and V stay in the host's second-level cache, or do not
    const aitertest::FmhaShape shape = {
        .heads = 1, .kvHeads = 1, .queries = {256}, .keys = {keys}, .lse = false};
    aitertest::FmhaErrors best =
        aitertest::runFmhaV3(kernel, shape, aitertest::kToBarrier, nullptr, 100);
    REQUIRE(best.out <= 3e-3);
    fmt::print("AITER fmha {:4} keys     {:6.2f} M wave-instructions/s, {:5.2f} M MFMA/s\n", keys,
               double(best.waveInstructions) / best.seconds / 1e6,
               double(best.mfmaInstructions) / best.seconds / 1e6);
  }
}

TEST_CASE("strict mode in AITER's latent attention, one thread") {
  AITER_CHECKOUT_OR_SKIP();
  using aitertest::Code;
  const aitertest::MlaKernel kernels[] = {
      {.file = "mla_a16w16_qh64_qseqlen1_gqaratio64_v3.co", .tileRows = 64, .bf16Unsplit = true},
      {.file = "mla_a16w16_qh16_m16x4_n16x1_coex0_mask1.co", .tileRows = 128, .bf16Unsplit = true},
      {.file = "mla_a8w8_qh16_qseqlen1_gqaratio16.co",
       .query = Code::E4M3,
       .cache = Code::E4M3,
       .tileRows = 128,
       .bf16Unsplit = true}};
  const aitertest::MlaShape shapes[] = {{.heads = 64, .queries = 1, .contexts = {1000}},
                                        {.heads = 16, .queries = 4, .contexts = {1000}},
                                        {.heads = 16, .queries = 1, .contexts = {1000}}};
  for (size_t n = 0; n < std::size(kernels); ++n) {
    aitertest::CodeObject co("mla", kernels[n].file);
    auto launch = [&] {
      double before = co.seconds();
      aitertest::runMla(co, kernels[n], shapes[n], aitertest::kInTurn);
      return co.seconds() - before;
    };
    double plain = 1e9, watched = 1e9;
    for (int run = 0; run < 5; ++run) {
      plain = std::min(plain, launch());
      strict::StrictChecker checker;
      co.watch(&checker);
      watched = std::min(watched, launch());
      co.watch(nullptr);
    }
    fmt::print("{:44} {:6.2f} M wave-instructions/s, strict {:.2f}x\n", kernels[n].file,
               double(co.stats().waveInstructions) / plain / 1e6, watched / plain);
  }
}
