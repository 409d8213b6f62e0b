// What ends a launch or refuses a code object, and that the message says where and why.
#include "tests/sim/coreHarness.h"
#include <catch2/catch.hpp>

using namespace simtest;
using Catch::Matchers::Contains;

namespace {

std::string run(const std::string &body, const std::string &extra = "",
                attune::sim::RunOptions options = {}, uint32_t threads = 64) {
  Fixture f(assemble(kernelText(body, extra)));
  std::vector<uint32_t> buffer(64);
  uint64_t p = f.upload(buffer);
  return f.launch("k", 1, threads, Args().add(p), options);
}

const char *kLoadPointer = "  s_load_dwordx2 s[4:5], s[0:1], 0x0\n  s_waitcnt lgkmcnt(0)\n";

} // namespace

TEST_CASE("an access outside every buffer names kernel, instruction, wave, lane, address and the "
          "nearest buffer") {
  std::string message = run(std::string(kLoadPointer) +
                            "  v_lshlrev_b32_e32 v1, 2, v0\n"
                            "  v_add_u32_e32 v1, 4, v1\n" // lane 63 reads one dword past the end
                            "  global_load_dword v2, v1, s[4:5]\n");
  CHECK_THAT(message, Contains("kernel k, workgroup (0,0,0), wave 0, lane 63"));
  CHECK_THAT(message, Contains("access of 4 bytes outside every buffer"));
  CHECK_THAT(message, Contains("0 bytes past the end of buffer #"));
  CHECK_THAT(message, Contains("global_load_dword") && Contains("at pc 0x14"));
}

TEST_CASE("freed memory is no memory, whatever was allocated since") {
  Fixture f(assemble(kernelText(std::string(kLoadPointer) +
                                "  v_mov_b32_e32 v1, 0\n  global_store_dword v1, v1, s[4:5]\n")));
  Memory &memory = f.simulator.memory();
  uint64_t old = *memory.alloc(4096, "old");
  CHECK(f.launch("k", 1, 64, Args().add(old)) == "");
  memory.free(old);
  CHECK(*memory.alloc(4096, "new") != old);
  std::string message = f.launch("k", 1, 64, Args().add(old));
  CHECK_THAT(message, Contains("at byte 0 of old") && Contains("which was freed"));
  REQUIRE(memory.allocAt(old, 4096, "again")); // who asks for these addresses gets them
  CHECK(f.launch("k", 1, 64, Args().add(old)) == "");
  memory.free(old);
  for (size_t n = 0; n < 3 * Memory::kQuarantined; ++n)
    memory.free(*memory.alloc(4096));
  CHECK_THAT(f.launch("k", 1, 64, Args().add(old)), Contains("outside every buffer"));
}

TEST_CASE("inactive lanes may have any address") {
  CHECK(run(std::string(kLoadPointer) + "  v_mov_b32_e32 v1, 0x7fffffff\n"
                                        "  v_mov_b32_e32 v2, v1\n  v_mov_b32_e32 v3, v1\n"
                                        "  s_mov_b64 exec, 0\n"
                                        "  global_load_dword v4, v[2:3], off\n"
                                        "  ds_read_b32 v4, v1\n") == "");
}

TEST_CASE("an unknown instruction is an error with its words, when it is executed and not before") {
  std::string message = run("  .long 0xd3641234\n  .long 0\n");
  CHECK_THAT(message, Contains("unknown instruction, words d3641234") && Contains("at pc 0x0"));
  CHECK(run("  s_branch over\n  .long 0xd3641234\n  .long 0xffffffff\nover:\n") == "");
}

TEST_CASE("LDS has the size the kernel asked for") {
  std::string body =
      "  v_mov_b32_e32 v1, 0x3fc\n  ds_read_b64 v[2:3], v1\n  s_waitcnt lgkmcnt(0)\n";
  std::string message = run(body, ".amdhsa_group_segment_fixed_size 1024");
  CHECK_THAT(message, Contains("LDS access of 8 bytes at 0x3fc: the workgroup has 1024 bytes"));
  CHECK(run(body, ".amdhsa_group_segment_fixed_size 1028") == "");
}

TEST_CASE("scratch has the size the kernel asked for") {
  std::string body = "  s_mov_b32 s4, 60\n  scratch_store_dword off, v0, s4\n";
  CHECK(run(body, ".amdhsa_private_segment_fixed_size 64") == "");
  CHECK_THAT(run(body, ".amdhsa_private_segment_fixed_size 60"), Contains("a lane has 60 bytes"));
}

TEST_CASE("an endless loop meets its budget") {
  attune::sim::RunOptions options;
  options.instructionBudget = 1000;
  CHECK_THAT(run("again:\n  s_branch again\n", "", options),
             Contains("has executed 1000 instructions"));
}

TEST_CASE("a barrier that one wave never reaches lets the others go on, as hardware does") {
  CHECK(run("  v_readfirstlane_b32 s4, v0\n  s_cmp_eq_u32 s4, 0\n  s_cbranch_scc1 out\n  "
            "s_barrier\nout:\n",
            "", {}, 128) == "");
}

TEST_CASE("traps, stray jumps and running off the end") {
  CHECK_THAT(run("  s_trap 2\n"), Contains("s_trap 2"));
  CHECK_THAT(run("  s_mov_b64 s[4:5], 64\n  s_setpc_b64 s[4:5]\n"), Contains("jump to 0x40"));
  CHECK_THAT(run("  s_branch 2000\n"),
             Contains("branch to an address that no instruction starts at"));
}

TEST_CASE("every rounding and denormal mode runs, from the descriptor too") {
  CHECK(run("  s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0x0e\n") == "");
  CHECK(run("  s_nop 0\n", ".amdhsa_float_denorm_mode_16_64 0\n.amdhsa_float_round_mode_16_64 3") ==
        "");
  CHECK_THAT(run("  s_setreg_imm32_b32 hwreg(HW_REG_STATUS, 0, 1), 0\n"), Contains("only MODE"));
}

TEST_CASE("the fault of the lowest workgroup is reported, whatever the thread count") {
  Fixture f(assemble(kernelText("  s_cmp_lt_u32 s2, 5\n  s_cbranch_scc1 out\n  s_trap 1\nout:\n")));
  std::vector<uint32_t> none(1);
  uint64_t p = f.upload(none);
  for (int threads : {1, 2, 4}) {
    attune::sim::RunOptions options;
    options.threads = threads;
    CHECK_THAT(f.launch("k", 64, 64, Args().add(p), options), Contains("workgroup (5,0,0)"));
  }
}

TEST_CASE("launches that cannot be") {
  Fixture f(assemble(kernelText("  s_nop 0\n")));
  Args none;
  CHECK_THAT(f.launch("missing", 1, 64, none), Contains("no kernel \"missing\"; it has: k"));
  CHECK_THAT(f.launch("k", 1, 2048, none),
             Contains("a workgroup of 2048 threads; it may have 1 to 1024"));
  CHECK_THAT(f.launch("k", 1, 64, none, {}, 200000), Contains("the limit is 163840"));
  CHECK(f.launch("k.kd", 1, 64, none, {}, 163840) == "");
  CHECK(f.launch("k", 0, 64, none) == "");
}

TEST_CASE("code objects that are not for this machine are refused by name") {
  attune::sim::Simulator s;
  Bytes good = assemble(kernelText("  s_nop 0\n"));
  auto message = [&](Bytes bytes) {
    attune::Result<attune::sim::ModuleId> r = s.load(bytes);
    return r ? std::string() : r.error().message;
  };
  CHECK(message(good) == "");
  CHECK_THAT(message({}), Contains("not a 64-bit little-endian ELF"));
  Bytes other = good;
  other[48] = 0x4c;
  CHECK_THAT(message(other), Contains("is for gfx942, the simulator runs gfx950"));
  other = good;
  other[8] = 1;
  CHECK_THAT(message(other), Contains("code object v3"));
  for (uint8_t abi : {2, 3, 4}) {
    other[8] = abi;
    CHECK(message(other) == "");
  }
}

TEST_CASE("no truncation or corruption of a code object crashes the loader") {
  const Bytes good = assemble(kernelText("  s_nop 0\n"));
  for (size_t n = 0; n < good.size(); n += 37) {
    attune::sim::Simulator s;
    CHECK_NOTHROW((void)s.load(std::span(good.data(), n)));
  }
  uint32_t random = 1;
  for (int n = 0; n < 400; ++n) {
    Bytes bytes = good;
    for (int k = 0; k < 4; ++k) {
      random = random * 1664525 + 1013904223;
      bytes[(random >> 8) % std::min<size_t>(bytes.size(), 1200)] ^= uint8_t(random);
    }
    attune::sim::Simulator s;
    CHECK_NOTHROW((void)s.load(bytes));
  }
}
