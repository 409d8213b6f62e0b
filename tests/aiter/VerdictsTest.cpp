// Strict mode on AITER's kernels: every finding is of a class that was judged to be real, and every
// class is found. The samples have all of them; ATTUNE_AITER_STRICT=1 judges every launch of the
// other tests as well, and prints what is found.
#include "tests/aiter/Verdicts.h"
#include "tests/aiter/Harness.h"

using namespace aitertest;
using attune::sim::strict::Finding;
using attune::sim::strict::FindingKind;

TEST_CASE("strict: every finding is of a judged class, every class is found", "[aiter][strict]") {
  AITER_CHECKOUT_OR_SKIP();
  Verdicts verdicts;
  fmhaV3Samples();
  fmhaV4Samples();
  paSamples();
  mlaSamples();
  mlaV4Samples();
  for (const std::string &line : verdicts.unjudged())
    FAIL_CHECK(line);
  for (const std::string &name : verdicts.neverFound())
    FAIL_CHECK("no finding of " << name);

  // What an independent emulator had found before: gfx950-isa.md C.3.
  CHECK(verdicts.found("fmha_v3_fwd/fwd_hd128_bf16_causal.co", "dma-on-reads"));
  CHECK(verdicts.found("fmha_v3_fwd/fwd_hd192_hd128_bf16_causal.co", "dma-on-reads"));
  CHECK(verdicts.found("fmha_v3_fwd/fwd_hd128_fp8_causal.co", "reads-on-dma"));
  CHECK(verdicts.found("fmha_v3_fwd/fwd_hd128_fp8_causal.co", "lds-operand", 0x3c00, 0x3bd8));
  CHECK(verdicts.found("fmha_v4_fwd/fwd_hd128_fp8.co", "reads-on-dma"));
  CHECK(verdicts.found("fmha_v4_fwd/fwd_hd128_mxfp8.co", "reads-on-dma"));
  CHECK(verdicts.found("pa/pa_bf16_noquant_gqa8_1tg_4w.co", "page-number", 0x1630, 0xb70));
  CHECK(verdicts.found("mla/mla_a8w8_qh64_qseqlen4_gqaratio16.co", "lds-operand", 0x3d34, 0x3d10));
}

TEST_CASE("a finding belongs to a class by kind, instructions, place and family", "[harness]") {
  Finding f;
  f.kind = FindingKind::LdsRace;
  f.instruction = "ds_write_b128";
  f.subject = "LDS 0x40";
  f.wave = 1;
  f.other = "ds_read_b128";
  f.otherWave = 2;
  f.message = "touches LDS 0x40, ..., with no barrier in between";
  CHECK(verdictOn("mla/x.co", f) == "write-on-reads");
  CHECK(verdictOn("pa/x.co", f) == "");
  f.message = "touches LDS 0x40, ..., and which no s_waitcnt covered before the barrier";
  CHECK(verdictOn("mla/x.co", f) == "write-over-late-reads");
  f.kind = FindingKind::DmaOrder;
  CHECK(verdictOn("mla/x.co", f) == "");
  f.other = "buffer_load_dwordx4";
  CHECK(verdictOn("mla/x.co", f) == "write-over-dma");
  f.otherWave = 1;
  CHECK(verdictOn("mla/x.co", f) == "write-over-own-dma");
}
