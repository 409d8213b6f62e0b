// The tables of chips and matrix instructions, and the occupancy rule against measured residency.
#include "compiler/target/Mma.h"
#include <algorithm>
#include <catch2/catch.hpp>

using namespace attune;
using namespace attune::target;

TEST_CASE("chips are found by name, and an unknown one lists those there are") {
  CHECK(archByName("gfx950")->ldsBytes == 163840);
  CHECK(archByName("gfx942")->ldsBytes == 65536);
  CHECK(archByName("gfx951").error().message == "arch is 'gfx951'; known: gfx942, gfx950");
  CHECK(std::is_sorted(allArchs().begin(), allArchs().end(),
                       [](const Arch &a, const Arch &b) { return a.name < b.name; }));
}

TEST_CASE("features tell the chips apart") {
  CHECK(missingFeatures(*archByName("gfx950"), ReadTr16 | LdsDmaB128).empty());
  CHECK(missingFeatures(*archByName("gfx942"), ReadTr16 | LdsDmaB128) ==
        std::vector<std::string>{"lds_dma_b128", "read_tr16"});
}

TEST_CASE("occupancy follows the register steps measured on gfx950") {
  const Arch arch = *archByName("gfx950");
  const std::pair<int, int> steps[] = {{64, 8},  {65, 7},  {72, 7},  {80, 6},  {96, 5},  {128, 4},
                                       {129, 3}, {168, 3}, {169, 2}, {256, 2}, {257, 1}, {512, 1}};
  for (auto [vgpr, waves] : steps) {
    INFO(vgpr);
    CHECK(arch.occupancy(vgpr, 0, 0, 4) == waves);
  }
  CHECK(arch.occupancy(0, 0, 0, 4) == 8);
  CHECK(arch.occupancy(128, 128, 0, 4) == 2);
  // 126 VGPRs round up to 128 before the AGPRs: 128 + 42 = 170 -> 176.
  CHECK(arch.occupancy(126, 42, 0, 4) == 2);
  CHECK(arch.occupancy(126, 40, 0, 4) == 3);
}

TEST_CASE("occupancy is bounded by LDS, workgroup size and barriers") {
  const Arch arch = *archByName("gfx950");
  CHECK(arch.occupancy(256, 0, 163840, 8) == 2); // AITER forward, head_dim 128: one workgroup
  CHECK(arch.occupancy(256, 0, 68608, 4) == 2);  // AITER decode: two workgroups
  CHECK(arch.occupancy(64, 0, 65536, 4) == 2);   // two workgroups of four waves
  CHECK(arch.occupancy(64, 0, 81920, 4) == 2);   // exactly half of the LDS
  CHECK(arch.occupancy(64, 0, 81921, 4) == 1);   // one granule more
  CHECK(arch.occupancy(168, 0, 0, 8) == 2);      // 3 waves a SIMD hold one workgroup of 8 waves
  CHECK(arch.occupancy(64, 0, 65536, 1) == 1);   // two lone waves on four SIMDs
  CHECK(arch.occupancy(64, 0, 0, 2) == 8);       // 16 workgroups of 2 waves: the barriers suffice
  CHECK(arch.occupancy(64, 0, 163841, 4) == 0);
}

TEST_CASE("matrix instructions are found by shape and dtype where the chip has them") {
  const Arch gfx950 = *archByName("gfx950"), gfx942 = *archByName("gfx942");
  CHECK(findMma(gfx950, DType::BF16, 32, 32, 16)->rocdl == "rocdl.mfma.f32.32x32x16.bf16");
  CHECK(findMma(gfx950, DType::F16, 16, 16, 32)->passes == 4);
  CHECK(findMma(gfx942, DType::F16, 32, 32, 8)->rocdl == "rocdl.mfma.f32.32x32x8f16");
  CHECK(findMma(gfx942, DType::BF16, 32, 32, 16).error().message ==
        "gfx942 has no 32x32x16 matrix instruction for bf16; it has: 16x16x16, 32x32x8");
  CHECK(findMma(gfx950, DType::I8, 16, 16, 64).error().message ==
        "gfx950 has no 16x16x64 matrix instruction for i8; it has: none");
}

TEST_CASE("every matrix instruction of the table has fragment layouts") {
  for (const Mma &mma : allMmas())
    for (auto operand : {layout::Operand::A, layout::Operand::B, layout::Operand::Accumulator}) {
      auto fragment = layout::fragmentLayout(mma.shape, operand);
      INFO(mma.rocdl);
      REQUIRE(fragment);
      CHECK(fragment->isBijective());
    }
}
