// What a wave finds in its registers and what a launch passes to it.
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>

using namespace simtest;
using namespace attune::sim;

namespace {
using U = uint32_t;

/// Every thread stores v10 at its linear index; workgroup ids are in s2, s3, s4.
const char *kStore = "  s_load_dwordx2 s[6:7], s[0:1], 0x0\n  v_lshlrev_b32_e32 v1, 2, v20\n"
                     "  s_waitcnt lgkmcnt(0)\n  global_store_dword v1, v10, s[6:7]\n";

attune::Result<RunStats> launch(Fixture &f, std::array<U, 3> grid, std::array<U, 3> block,
                                uint64_t out) {
  Args args;
  args.add(out);
  return f.simulator.launch(f.module,
                            {.kernel = "k", .grid = grid, .block = block, .kernarg = args});
}
} // namespace

TEST_CASE("workgroup ids, packed thread ids and a last wave that is not full") {
  std::string body =
      "  v_and_b32_e32 v11, 0x3ff, v0\n  v_bfe_u32 v12, v0, 10, 10\n  v_bfe_u32 v13, v0, 20, 10\n"
      "  v_mad_u32_u24 v20, v13, 2, v12\n  v_mad_u32_u24 v20, v20, 25, v11\n" // block 25 x 2 x 3
      "  s_mul_i32 s8, s4, 6\n  s_mul_i32 s9, s3, 2\n  s_add_u32 s8, s8, s9\n  s_add_u32 s8, s8, "
      "s2\n"
      "  s_mulk_i32 s8, 150\n  v_add_u32_e32 v20, s8, v20\n"
      "  v_lshl_or_b32 v10, s4, 24, v0\n  v_mov_b32_e32 v10, v20\n";
  Fixture f(assemble(kernelText(body + kStore, ".amdhsa_system_sgpr_workgroup_id_y 1\n"
                                               ".amdhsa_system_sgpr_workgroup_id_z 1\n"
                                               ".amdhsa_system_vgpr_workitem_id 2")));
  uint64_t p = f.upload(std::vector<U>(2 * 3 * 4 * 150, 0xffffffff));
  attune::Result<RunStats> r = launch(f, {2, 3, 4}, {25, 2, 3}, p);
  REQUIRE(r);
  CHECK(r->workgroups == 24);
  std::vector<U> out = f.download<U>(p, 24 * 150);
  for (U n = 0; n < out.size(); ++n)
    REQUIRE(out[n] == n);
}

TEST_CASE("preloaded kernel arguments start in SGPRs, 256 bytes behind the entry") {
  std::string body =
      "  s_trap 2\n" // firmware without preload would start here
      "  .p2align 8\n"
      "  v_lshlrev_b32_e32 v1, 2, v0\n  v_mov_b32_e32 v10, s4\n  v_add_u32_e32 v10, s5, v10\n"
      "  global_store_dword v1, v10, s[2:3]\n";
  Fixture f(assemble(kernelText(body, ".amdhsa_user_sgpr_kernarg_preload_length 3\n"
                                      ".amdhsa_user_sgpr_kernarg_preload_offset 0\n")));
  uint64_t p = f.upload(std::vector<U>(64));
  REQUIRE(f.launch("k", 3, 64, Args().add(p).add(U(40))) == "");
  CHECK(f.download<U>(p, 64)[9] ==
        42); // the third dword, and the id of the last workgroup after it
}

TEST_CASE("AGPRs are the upper part of one register file") {
  std::string body =
      "  v_mov_b32_e32 v20, v0\n  v_mov_b32_e32 v130, 77\n  v_accvgpr_read_b32 v10, a2\n";
  Fixture f(assemble(kernelText(body + kStore)));
  uint64_t p = f.upload(std::vector<U>(64));
  REQUIRE(launch(f, {1, 1, 1}, {64, 1, 1}, p));
  CHECK(f.download<U>(p, 64)[0] == 77); // accum_offset is 128
}

TEST_CASE("hidden arguments describe the launch") {
  Fixture f(compileFile("hidden.cl"));
  uint64_t p = f.upload(std::vector<U>(8));
  Args args;
  args.add(p);
  REQUIRE(f.simulator.launch(f.module, {.kernel = "hidden",
                                        .grid = {3, 2, 1},
                                        .block = {64, 4, 1},
                                        .kernarg = args,
                                        .options = {.threads = 1}})); // all write the same words
  CHECK(f.download<U>(p, 4) == std::vector<U>{64, 4, 3, 2});
}

TEST_CASE("code object versions 4, 5 and 6 run") {
  for (const char *version : {"4", "5", "6"}) {
    std::string base = scratchDir() + "/version" + version;
    REQUIRE(runCommand(
        "clang-22 -x cl -cl-std=CL2.0 -O2 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib "
        "-mcode-object-version=" +
        std::string(version) + " -c -o " + base + ".o " + kernelPath("hidden.cl")));
    REQUIRE(runCommand("ld.lld-22 -shared -o " + base + ".co " + base + ".o"));
    std::string bytes = readText(base + ".co");
    Fixture f(Bytes(bytes.begin(), bytes.end()));
    uint64_t p = f.upload(std::vector<U>(8));
    Args args;
    args.add(p);
    INFO("version " << version);
    REQUIRE(f.simulator.launch(
        f.module, {.kernel = "hidden", .grid = {3, 2, 1}, .block = {64, 4, 1}, .kernarg = args}));
    CHECK(f.download<U>(p, 2) == std::vector<U>{64, 4});
  }
}

TEST_CASE("kernel facts come from descriptor and metadata") {
  Fixture f(compileFile("basic.cl"));
  attune::Result<std::vector<KernelInfo>> kernels = f.simulator.kernels(f.module);
  REQUIRE(kernels);
  bool seen = false;
  for (const KernelInfo &k : *kernels) {
    CHECK(k.vgprs % 8 == 0);
    CHECK(k.accumOffset % 4 == 0);
    if (k.name != "lds_sum")
      continue;
    seen = true;
    CHECK(k.ldsBytes == 1024);
    CHECK(k.scratchBytes == 0);
    CHECK(k.kernargBytes >= 16);
    CHECK(k.maxThreads == 256);
  }
  CHECK(seen);
}

TEST_CASE("symbols have addresses, globals are relocated") {
  Fixture f(compileFile("hidden.cl"));
  attune::Result<uint64_t> value = f.simulator.symbol(f.module, "value");
  REQUIRE(value);
  U stored = 0;
  REQUIRE(f.simulator.memory().copyOut(&stored, *value, 4));
  CHECK(stored == 1234);
  CHECK_FALSE(f.simulator.symbol(f.module, "no_such_symbol"));
  uint64_t p = f.upload(std::vector<U>(8));
  REQUIRE(f.launch("through_pointer", 1, 64, Args().add(p)) == "");
  CHECK(f.download<U>(p, 1)[0] == 1234);
}

TEST_CASE("memory: bounds, poison, and buffers larger than the machine") {
  Memory m;
  uint64_t p = *m.alloc(100);
  char buffer[200] = {};
  CHECK(m.copyIn(p, buffer, 100));
  CHECK_FALSE(m.copyIn(p, buffer, 101));
  CHECK_FALSE(m.copyOut(buffer, p + 50, 51));
  CHECK_FALSE(m.copyOut(buffer, p - 1, 1));
  CHECK(m.find(p + 99, 1) != nullptr);
  CHECK(m.find(p + 100, 1) == nullptr);
  m.free(p);
  CHECK(m.find(p, 1) == nullptr);
  m.setPoison(0xee);
  uint64_t q = *m.alloc(10);
  CHECK(m.copyOut(buffer, q, 10));
  CHECK(uint8_t(buffer[9]) == 0xee);
  m.setPoison(-1);
  attune::Result<uint64_t> large = m.alloc(uint64_t(3) << 40); // the thread sanitizer leaves 6 TiB
  REQUIRE(large);
  CHECK(m.copyIn(*large + (uint64_t(2) << 40), buffer, 1));
  CHECK_FALSE(m.alloc(uint64_t(1) << 60));
}
