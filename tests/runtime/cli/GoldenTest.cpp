// Golden records as text, and the histogram of instructions.
#include "tools/attune/Golden.h"
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::tool;
using Catch::Contains;

namespace {

Golden record() {
  return {.origin = {{"arch", "gfx950"}, {"llvm", "22.1.8"}, {"plan", "kv_tile=64 waves=4"}},
          .stages = {{"spec", "a"}, {"attn", "b"}, {"tile", "c"}, {"llvm", "d"}, {"isa", "e"}},
          .resources = {{"sgpr", "40"}, {"vgpr", "128"}},
          .classes = {{"matrix", "32"}, {"valu", "400"}}};
}

} // namespace

TEST_CASE("Golden text reads back as written") {
  Golden golden = record();
  CHECK_THAT(golden.str(),
             Contains("sha256.tile c\n") && Contains("origin.plan kv_tile=64 waves=4\n"));
  auto back = Golden::parse(golden.str());
  REQUIRE(back);
  CHECK(*back == golden);
  CHECK_FALSE(Golden::parse("sha256.tile\n"));
  CHECK_FALSE(Golden::parse("color.tile c\n"));
  CHECK_FALSE(Golden::parse("<<<<<<< HEAD\n"));
}

TEST_CASE("Instructions are counted by class") {
  const char *isa = R"(
	.text
	.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
kernel:                                 ; @kernel
; %bb.0:
	s_load_dwordx4 s[0:3], s[4:5], 0x0
	s_waitcnt lgkmcnt(0)
	buffer_load_dwordx4 v1, s[0:3], 0 offen lds ; to LDS
	buffer_load_dwordx4 v[2:5], v1, s[0:3], 0 offen
	v_mfma_f32_32x32x16_bf16 a[0:15], v[0:3], v[4:7], 0
	v_exp_f32_e32 v1, v1
	v_pk_mul_f32 v[0:1], v[2:3], v[4:5]
	v_add_f32_e32 v1, v2, v3
	v_readfirstlane_b32 s0, v0
	ds_read_b64_tr_b16 v[0:1], v2
	ds_bpermute_b32 v0, v1, v2
.LBB0_1:
	s_barrier
	s_cbranch_scc1 .LBB0_1
	s_add_i32 s0, s0, 1
	s_endpgm
	.section	.rodata,"a",@progbits
	.amdhsa_group_segment_fixed_size 65536
amdhsa.kernels:
  - .agpr_count:     0
    .max_flat_workgroup_size: 256
)";
  Fields want{{"barrier", "1"}, {"branch", "1"},         {"cross_lane", "2"}, {"lds", "1"},
              {"lds_dma", "1"}, {"matrix", "1"},         {"packed", "1"},     {"salu", "2"},
              {"smem", "1"},    {"transcendental", "1"}, {"valu", "1"},       {"vmem", "1"},
              {"wait", "1"}};
  CHECK(instructionClasses(isa) == want);
}
