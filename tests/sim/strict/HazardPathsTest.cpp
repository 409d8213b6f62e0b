// Wait states looked at once for each path (HazardPaths) against a clock that looks at every
// instruction (HazardClock): random programs whose branches go by random bits, several waves in
// turns, and after each instruction of each wave the same breaches.
#include "runtime/sim/strict/HazardPaths.h"
#include "runtime/sim/Observer.h"
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>
#include <fmt/format.h>
#include <random>

using namespace attune::sim;
using namespace simtest;
using strict::Breach;

namespace {

struct Tally {
  uint64_t steps = 0, kept = 0, broken = 0, moved = 0, always = 0, differences = 0;
};

class Both : public Observer {
public:
  Both(const Dispatch &d, Tally &tally, size_t maxPaths)
      : program_(d), paths_(program_, kWaves, maxPaths), tally_(tally),
        clocks_(kWaves, strict::HazardClock(program_)) {}
  static constexpr size_t kWaves = 4;

  void begin(const Workgroup &, std::span<const std::unique_ptr<Wave>>) override {
    for (size_t n = 0; n < kWaves; ++n) {
      paths_.begin(n);
      clocks_[n].restart();
    }
  }
  void before(Wave &w, const Inst &i) override {
    ++tally_.steps;
    std::vector<Breach> expected, got;
    bool kept = paths_.step(w.id, i);
    if (w.vectorMode && strict::canMove(i)) {
      strict::Facts f = strict::movedFacts(program_.factsAt(i), w.vectorMode, w.s[reg::kM0] & 0xff);
      clocks_[w.id].run(i, f, expected);
      got = paths_.inspectMoved(w.id, i, f);
      ++tally_.moved;
    } else {
      clocks_[w.id].run(i, program_.factsAt(i), expected);
      if (!kept)
        got = paths_.inspect(w.id, i);
      tally_.kept += kept;
    }
    tally_.broken += expected.size();
    tally_.differences += got != expected || !covers(program_.touchAt(i), program_.factsAt(i));
  }

private:
  /// Has an instruction's Touch all of its registers, or "always"?
  bool covers(const strict::Touch &t, const strict::Facts &f) {
    std::array<uint64_t, strict::kCellWords + 1> set{};
    for (unsigned n = 0; n < std::size(t.word); ++n)
      set[t.word[n]] |= t.mask[n];
    bool all = true;
    auto look = [&](const strict::Span &span) {
      for (unsigned c = span.first; c < unsigned(span.first) + span.count; ++c)
        all &= bool(set[c / 64] >> c % 64 & 1);
    };
    std::for_each_n(f.read, f.reads, look);
    std::for_each_n(f.write, f.writes, look);
    if (!set[strict::kAlways])
      return all;
    ++tally_.always;
    return true;
  }

  strict::Program program_;
  strict::HazardPaths paths_;
  Tally &tally_;
  std::vector<strict::HazardClock> clocks_;
};

struct MakeBoth : ObserverFactory {
  Tally tally;
  size_t maxPaths = 4096;
  std::unique_ptr<Observer> make(const Dispatch &d) override {
    return std::make_unique<Both>(d, tally, maxPaths);
  }
};

/// Instructions that produce what others must wait for. {a}, {b}: one of few VGPRs; {m}, {n}: the
/// first of 16 in a row; {s}: an SGPR; {k}: 0 to 7.
constexpr std::string_view kPool[] = {
    "v_mov_b32 v{a}, v{b}",
    "v_exp_f32 v{a}, v{b}",
    "v_add_f32 v{a}, v{a}, v{b}",
    "v_add_f32 v{a}, s{s}, v{b}",
    "v_dot2_f32_f16 v{a}, v{b}, v{a}, v{b}",
    "v_mov_b32_dpp v{a}, v{b} row_shl:1",
    "v_mov_b32_sdwa v{a}, v{b} dst_sel:WORD_1",
    "v_readlane_b32 s{s}, v{a}, 1",
    "v_readlane_b32 s{s}, v{a}, s30",
    "v_readfirstlane_b32 s30, v{b}",
    "v_permlane32_swap_b32 v{a}, v{b}",
    "v_cmp_gt_f32 vcc, v{a}, v{b}",
    "v_cmpx_gt_f32 vcc, 1.0, 0",
    "v_div_fmas_f32 v{a}, v{a}, v{b}, v{b}",
    "v_cndmask_b32 v{a}, v{a}, v{b}, vcc",
    "v_swap_b32 v{a}, v{b}",
    "v_mfma_f32_32x32x16_bf16 v[{m}:{m}+15], v[{n}:{n}+3], v[{n}+4:{n}+7], v[{m}:{m}+15]",
    "v_mfma_f32_32x32x2_f32 v[{m}:{m}+15], v{a}, v{b}, v[{m}:{m}+15]",
    "v_mfma_f32_16x16x32_bf16 v[{m}:{m}+3], v[{n}:{n}+3], v[0:3], v[{n}+8:{n}+11]",
    "v_mfma_f32_4x4x4_16b_f16 v[{m}:{m}+3], v[{n}:{n}+1], v[0:1], v[{m}:{m}+3]",
    "v_mfma_f64_16x16x4_f64 v[{m}:{m}+7], v[{n}:{n}+1], v[0:1], v[{m}:{m}+7]",
    "v_mul_f32 v{m}, v{n}, v{a}",
    "v_mfma_f32_32x32x16_bf16 a[56:71], v[62:65], v[190:193], a[120:135]", // six words of a set
    "global_store_dwordx4 v60, v[{n}:{n}+3], s[4:5]",
    "s_mov_b32 m0, s{s}",
    "s_nop {k}",
};

std::string instruction(std::minstd_rand &random) {
  std::string line(kPool[random() % std::size(kPool)]);
  auto put = [&](std::string_view what, unsigned value) {
    for (size_t at; (at = line.find(what)) != line.npos;)
      line.replace(at, what.size(), std::to_string(value));
  };
  put("{a}", unsigned(random() % 4));
  put("{b}", unsigned(random() % 4));
  put("{m}", unsigned(16 + random() % 2 * 8));
  put("{n}", unsigned(16 + random() % 2 * 8));
  put("{s}", unsigned(24 + random() % 2));
  put("{k}", unsigned(random() % 8));
  return "  " + line + "\n";
}

/// `blocks` blocks of up to `longest` instructions. Behind each a wave goes on, or to some other
/// one, as a linear congruential generator says whose seed is the wave's and workgroup's number;
/// 400 times.
std::string randomProgram(unsigned seed, unsigned blocks, unsigned longest, bool indexed) {
  std::minstd_rand random(seed);
  std::string text = "  s_load_dwordx2 s[4:5], s[0:1], 0\n  v_lshrrev_b32 v1, 6, v0\n  s_nop 1\n"
                     "  v_readfirstlane_b32 s20, v1\n  v_lshlrev_b32 v60, 4, v0\n"
                     "  s_lshl_b32 s21, s2, 4\n  s_add_u32 s20, s20, s21\n  s_movk_i32 s22, 400\n"
                     "  s_waitcnt lgkmcnt(0)\n";
  for (unsigned b = 0; b < blocks; ++b) {
    text += fmt::format("block{}:\n", b);
    for (unsigned n = unsigned(random() % longest); n > 0; --n)
      text += instruction(random);
    if (indexed && b % 3 == 0)
      text += "  s_and_b32 s23, s20, 3\n  s_set_gpr_idx_on s23, gpr_idx(SRC0,DST)\n" +
              fmt::format("  v_mov_b32 v16, v17\n  s_set_gpr_idx_off\n  v_add_f32 v2, v16, v19\n");
    text += "  s_mul_i32 s20, s20, 0x41c64e6d\n  s_add_u32 s20, s20, 0x3039\n"
            "  s_sub_u32 s22, s22, 1\n  s_cmp_eq_u32 s22, 0\n  s_cbranch_scc1 last\n" +
            fmt::format("  s_bitcmp1_b32 s20, {}\n  s_cbranch_scc1 block{}\n", 16 + random() % 8,
                        random() % blocks);
  }
  return text + "  s_branch block0\nlast:\n  s_mov_b64 exec, -1\n";
}

Tally compare(const std::string &body, size_t maxPaths = 4096) {
  std::string text = kernelText(body); // with 256 registers of each kind
  for (auto [from, to] : {std::pair("vgpr 256", "vgpr 512"), {"offset 128", "offset 256"}})
    text.replace(text.find(from), std::string(from).size(), to);
  Fixture f(assemble(text));
  uint64_t p = f.upload(std::vector<uint32_t>(4096));
  MakeBoth both;
  both.maxPaths = maxPaths;
  RunOptions options{.threads = 1, .schedule = Schedule::InTurn, .quantum = 7};
  options.observers = &both;
  REQUIRE(f.launch("k", 3, 64 * unsigned(Both::kWaves), Args().add(p), options) == "");
  return both.tally;
}

} // namespace

TEST_CASE("paths break the same rules as a clock that looks at every instruction") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    unsigned blocks = seed % 4 ? 3 + seed : 40, longest = seed % 3 ? 12 : 60;
    INFO("seed " << seed);
    Tally t = compare(randomProgram(seed, blocks, longest, false));
    CHECK(t.differences == 0);
    CHECK(t.broken > 1000);
    CHECK(t.kept > t.steps / 20);
    CHECK(t.moved == 0);
    CHECK(t.always > 0);
    CHECK(t.always < t.steps / 2);
  }
}

TEST_CASE("paths forget what registers moved by s_set_gpr_idx have done") {
  for (unsigned seed = 20; seed < 26; ++seed) {
    INFO("seed " << seed);
    Tally t = compare(randomProgram(seed, 9, 50, true));
    CHECK(t.differences == 0);
    CHECK(t.moved > 100);
    CHECK(t.kept > 100);
  }
}

TEST_CASE("branches in ever new orders") {
  for (unsigned seed = 31; seed < 37; ++seed) {
    INFO("seed " << seed);
    std::string body = randomProgram(seed, 12, seed % 2 ? 2 : 50, false);
    Tally all = compare(body), few = compare(body, 20), none = compare(body, 0);
    CHECK(all.differences + few.differences + none.differences == 0);
    CHECK(all.broken == none.broken);
    CHECK(none.kept <= few.kept);
    CHECK(few.kept < all.kept);
  }
}

TEST_CASE("a loop is looked at until its path repeats, then no more") {
  // Eight instructions a turn: the path is the same from the sixth turn on.
  std::string loop = "  s_movk_i32 s6, 1000\n  v_mov_b32 v1, 0\n1:\n  v_exp_f32 v2, v1\n"
                     "  s_nop 0\n  v_add_f32 v3, v2, v1\n  v_mov_b32 v4, v3\n  s_nop 0\n"
                     "  s_sub_u32 s6, s6, 1\n  s_cmp_lg_u32 s6, 0\n  s_cbranch_scc1 1b\n";
  Tally t = compare(loop);
  CHECK(t.differences == 0);
  CHECK(t.steps - t.kept < 200);
  CHECK(t.broken == 0);
}
