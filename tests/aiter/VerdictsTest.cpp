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
