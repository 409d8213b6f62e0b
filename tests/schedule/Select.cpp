// From problem to plan as a table, and each refusal word by word (field cases F37, F51 and F53
// among them).
#include "compiler/layout/Attention.h"
#include "compiler/schedule/Knobs.h"
#include "compiler/schedule/Limits.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::schedule;
using Knobs = std::vector<std::pair<std::string, std::string>>;

namespace {

ProblemShape problem(int headDim, int vHeadDim = 0, DType dtype = DType::BF16) {
  ProblemShape p;
  p.dtype = p.outDtype = dtype;
  p.numQHeads = 32, p.numKvHeads = 8;
  p.headDim = headDim, p.vHeadDim = vHeadDim ? vHeadDim : headDim;
  return p;
}

Result<Plan> plan(const ProblemShape &p, const Knobs &knobs = {},
                  std::string_view arch = "gfx950") {
  return choosePlan(p, *target::archByName(arch), knobs);
}

std::string refusal(const ProblemShape &p, const Knobs &knobs = {},
                    std::string_view arch = "gfx950") {
  auto result = plan(p, knobs, arch);
  REQUIRE_FALSE(result);
  CHECK(result.error().message.find('\n') == std::string::npos);
  return result.error().message;
}

} // namespace

TEST_CASE("problems get these plans") {
  struct Row {
    ProblemShape problem;
    Knobs knobs;
    std::string plan;
    int ldsBytes;
  };
  const Row rows[] = {
      {problem(128), {}, "kv_tile=64 q_per_wave=32 stages=2 waves=4 waves_per_eu=2", 65536},
      {problem(128, 128, DType::F16),
       {},
       "kv_tile=64 q_per_wave=32 stages=2 waves=4 waves_per_eu=2",
       65536},
      {problem(64), {}, "kv_tile=64 q_per_wave=32 stages=2 waves=4 waves_per_eu=2", 32768},
      {problem(32), {}, "kv_tile=64 q_per_wave=32 stages=2 waves=4 waves_per_eu=2", 16384},
      {problem(128, 64), {}, "kv_tile=64 q_per_wave=32 stages=2 waves=4 waves_per_eu=2", 49152},
      // Eight waves need 8 DMA instructions in each tile: 64 x 32 x 2 bytes are only 4.
      {problem(32),
       {{"waves", "8"}},
       "kv_tile=128 q_per_wave=32 stages=2 waves=8 waves_per_eu=2",
       32768},
      {problem(32),
       {{"kv_tile", "32"}},
       "kv_tile=32 q_per_wave=32 stages=2 waves=2 waves_per_eu=2",
       8192},
      // 128 KiB leave room for one workgroup, so one of four waves is one a SIMD.
      {problem(128),
       {{"kv_tile", "128"}},
       "kv_tile=128 q_per_wave=32 stages=2 waves=4 waves_per_eu=1",
       131072},
      {problem(128),
       {{"kv_tile", "128"}, {"waves", "8"}},
       "kv_tile=128 q_per_wave=32 stages=2 waves=8 waves_per_eu=2",
       131072},
      {problem(128),
       {{"waves", "1"}},
       "kv_tile=64 q_per_wave=32 stages=2 waves=1 waves_per_eu=1",
       65536},
      // The command line comes after the spec and wins.
      {problem(64),
       {{"kv_tile", "32"}, {"kv_tile", "128"}},
       "kv_tile=128 q_per_wave=32 stages=2 waves=4 waves_per_eu=2",
       65536},
  };
  for (const Row &row : rows) {
    auto chosen = plan(row.problem, row.knobs);
    INFO(row.plan << (chosen ? "" : chosen.error().message));
    REQUIRE(chosen);
    CHECK(chosen->str() == row.plan);
    CHECK(chosen->ldsBytes(row.problem) == row.ldsBytes);
  }
}

TEST_CASE("every plan is one that the layouts can build, within LDS, with no bank conflict") {
  int built = 0;
  for (int d : supportedHeadDims())
    for (int dv : supportedHeadDims())
      for (const char *waves : {"1", "2", "4", "8"})
        for (const char *tile : {"32", "64", "128"}) {
          auto chosen = plan(problem(d, dv), {{"waves", waves}, {"kv_tile", tile}});
          if (!chosen)
            continue;
          ++built;
          INFO(chosen->str() << " " << d << " " << dv);
          auto tiles =
              layout::attentionTileLayouts({32, 32, 16, 8}, chosen->kvTile, d, dv, chosen->waves);
          REQUIRE(tiles);
          CHECK(tiles->worstConflict == 1);
          CHECK(chosen->ldsBytes(problem(d, dv)) ==
                chosen->stages * (tiles->k.bytes(chosen->kvTile) + tiles->v.bytes(chosen->kvTile)));
          CHECK(chosen->ldsBytes(problem(d, dv)) <= 163840);
        }
  CHECK(built > 80);
}

TEST_CASE("each choice has its reason") {
  const Plan p = *plan(problem(128), {{"kv_tile", "128"}});
  auto reason = [&](std::string_view name) {
    for (auto &[n, why] : p.reasons)
      if (n == name)
        return why;
    return std::string("none");
  };
  CHECK(reason("kv_tile") == "128 (given): keys of a kv tile");
  CHECK(reason("waves") == "4 (default): waves of a workgroup");
  CHECK(reason("waves_per_eu") ==
        "1 (2 does not fit): waves a SIMD should hold: bounds the registers of a wave");
  CHECK(reason("lds") ==
        "131072 of 163840 bytes: 2 stages of a 128 x 128 K tile and a 128 x 128 V tile");
  CHECK(reason("swizzle") ==
        "K 256-byte rows, chunk ^= row(4,8,1,2); V 256-byte rows, chunk ^= row(4,8,1,2); worst "
        "bank conflict 1");
}

TEST_CASE("F37: a head_dim is supported whole or refused with the list") {
  for (int d : {40, 72, 80, 96, 160, 192, 256, 512, 7, 0, -1}) {
    INFO(d);
    CHECK_THAT(refusal(problem(d)),
               Catch::Matchers::StartsWith("head_dim is " + std::to_string(d) +
                                           "; supported: 32, 64, 128; nearest legal: "));
  }
  CHECK(refusal(problem(80)) ==
        "head_dim is 80; supported: 32, 64, 128; nearest legal: 128, padded with zeros");
  CHECK(refusal(problem(256)) == "head_dim is 256; supported: 32, 64, 128; nearest legal: 128");
  CHECK(refusal(problem(-1)) == "head_dim is -1; supported: 32, 64, 128; nearest legal: 32");
  CHECK(refusal(problem(128, 96)) ==
        "v_head_dim is 96; supported: 32, 64, 128; nearest legal: 128, padded with zeros");
}

TEST_CASE("F51: the LDS budget is the chip's and an overrun is refused with need and limit") {
  // A chip with a quarter of the LDS: the default tile does not fit and a smaller one is chosen.
  target::Arch small = *target::archByName("gfx950");
  small.ldsBytes = 40960;
  CHECK(choosePlan(problem(128), small, {})->kvTile == 32);
  auto refused = choosePlan(problem(128), small, {{"kv_tile", "64"}});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "kv_tile=64 with stages=2 needs 65536 bytes of LDS; gfx950 has 40960 a workgroup; "
        "nearest legal: kv_tile=32");
}

TEST_CASE("F53: types and chips that don't fit are refused in one line") {
  CHECK(refusal(problem(128, 128, DType::F32)) ==
        "dtype of q, k and v is f32; supported: bf16, fp16; nearest legal: bf16");
  ProblemShape p = problem(128);
  p.outDtype = DType::I8;
  CHECK(refusal(p) == "dtype of out is i8; supported: bf16, fp16, f32; nearest legal: bf16");
  CHECK(refusal(problem(128), {}, "gfx942") ==
        "arch gfx942 lacks bf16_cvt, lds_dma_b128, permlane_swap, read_tr16; supported: gfx950");
  p = problem(128);
  p.numQHeads = 30;
  CHECK(refusal(p) == "30 query heads over 8 kv heads; the first must be a multiple of the second");
  p.numKvHeads = 0;
  CHECK(refusal(p) == "30 query heads over 0 kv heads; the first must be a multiple of the second");
}

TEST_CASE("knobs that don't exist or don't fit are refused with the nearest that does") {
  const std::string knobs = "knobs: kv_tile, q_per_wave, stages, waves, waves_per_eu";
  CHECK(refusal(problem(128), {{"kv_tiles", "64"}}) ==
        "schedule has no knob 'kv_tiles', did you mean 'kv_tile'?; " + knobs);
  CHECK(refusal(problem(128), {{"block_n", "64"}}) == "schedule has no knob 'block_n'; " + knobs);
  CHECK(refusal(problem(128), {{"kv_tile", "96"}}) ==
        "schedule knob kv_tile is 96; legal: 32, 64, 128; nearest legal: 128");
  CHECK(refusal(problem(128), {{"waves", "64k"}}) ==
        "schedule knob waves is '64k', not an integer; legal: 1, 2, 4, 8");
  CHECK(refusal(problem(128), {{"waves", "99999999999"}}) ==
        "schedule knob waves is '99999999999', not an integer; legal: 1, 2, 4, 8");
  CHECK(refusal(problem(128), {{"stages", "-2147483648"}}) ==
        "schedule knob stages is -2147483648; legal: 2; nearest legal: 2");
  CHECK(refusal(problem(32), {{"kv_tile", "32"}, {"waves", "8"}}) ==
        "waves=8 with kv_tile=32: a K tile of 2048 bytes is 2 DMA instructions of 1024 bytes, not "
        "a whole number for "
        "each wave; nearest legal: waves=2");
  CHECK(refusal(problem(128, 32), {{"kv_tile", "64"}, {"waves", "8"}}) ==
        "waves=8 with kv_tile=64: a V tile of 4096 bytes is 4 DMA instructions of 1024 bytes, not "
        "a whole number for "
        "each wave; nearest legal: waves=4");
  CHECK(refusal(problem(128), {{"kv_tile", "128"}, {"waves_per_eu", "3"}}) ==
        "waves_per_eu=3 with 131072 bytes of LDS for 4 waves: gfx950 holds 1 a SIMD; nearest "
        "legal: "
        "waves_per_eu=1");
}

TEST_CASE("the table of knobs is sorted and its defaults are those of Plan") {
  CHECK(std::is_sorted(allKnobs().begin(), allKnobs().end(),
                       [](auto &a, auto &b) { return a.name < b.name; }));
  const Plan defaults;
  for (const Knob &k : allKnobs())
    CHECK(defaults.*k.field == k.legal.front());
}
