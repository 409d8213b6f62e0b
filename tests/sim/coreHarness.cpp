#include "tests/sim/coreHarness.h"
#include "runtime/sim/strict/Strict.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

namespace simtest {
namespace fs = std::filesystem;

bool runCommand(const std::string &command) {
  std::string log = scratchDir() + "/log";
  bool good = std::system((command + " > " + log + " 2>&1").c_str()) == 0;
  if (!good)
    UNSCOPED_INFO(command << "\n" << readText(log));
  return good;
}

const std::string &scratchDir() {
  static const attune::testing::TempDir dir; // as long as the process
  return dir.path();
}

std::string kernelPath(const std::string &file) {
  return (fs::path(__FILE__).parent_path() / "kernels" / file).string();
}

Bytes readBytes(const std::string &path) {
  std::string text = readText(path);
  return Bytes(text.begin(), text.end());
}

static Bytes link(const std::string &object) {
  std::string out = object + ".co";
  return runCommand("ld.lld-22 -shared -o " + out + " " + object) ? readBytes(out) : Bytes();
}

const Bytes &compileFile(const std::string &file) {
  static std::map<std::string, Bytes> built;
  auto [at, fresh] = built.try_emplace(file);
  if (!fresh)
    return at->second;
  std::string object = scratchDir() + "/" + file + ".o";
  std::string command =
      file.ends_with(".s")
          ? "llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx950 -filetype=obj -o "
          : "clang-22 -x cl -cl-std=CL2.0 -O2 -target amdgcn-amd-amdhsa -mcpu=gfx950 -nogpulib "
            "-Xclang -finclude-default-header -c -o ";
  if (runCommand(command + object + " " + kernelPath(file)))
    at->second = link(object);
  REQUIRE_FALSE(at->second.empty());
  return at->second;
}

static std::string assembleObject(const std::string &text) {
  static int counter = 0;
  std::string base = scratchDir() + "/asm" + std::to_string(counter++);
  std::ofstream(base + ".s") << text;
  REQUIRE(runCommand("llvm-mc-22 -triple=amdgcn-amd-amdhsa -mcpu=gfx950 -filetype=obj -o " + base +
                     ".o " + base + ".s"));
  return base + ".o";
}

Bytes assemble(const std::string &text) {
  Bytes linked = link(assembleObject(text));
  REQUIRE_FALSE(linked.empty());
  return linked;
}

std::vector<uint32_t> assembleWords(const std::string &text) {
  std::string object = assembleObject(text), raw = object + ".bin";
  REQUIRE(runCommand("llvm-objcopy-22 -O binary --only-section=.text " + object + " " + raw));
  Bytes bytes = readBytes(raw);
  std::vector<uint32_t> words(bytes.size() / 4);
  std::memcpy(words.data(), bytes.data(), words.size() * 4);
  return words;
}

std::string kernelText(const std::string &body, const std::string &extra) {
  return ".text\n.globl k\n.p2align 8\n.type k,@function\nk:\n" + body +
         "\n  s_endpgm\n.rodata\n.p2align 6\n.amdhsa_kernel k\n"
         "  .amdhsa_user_sgpr_kernarg_segment_ptr 1\n  .amdhsa_next_free_vgpr 256\n  "
         ".amdhsa_next_free_sgpr 96\n"
         "  .amdhsa_accum_offset 128\n  .amdhsa_kernarg_size 64\n" +
         extra + "\n.end_amdhsa_kernel\n";
}

Fixture::Fixture(const Bytes &codeObject) {
  attune::Result<attune::sim::ModuleId> loaded = simulator.load(codeObject);
  INFO((loaded ? std::string() : loaded.error().message));
  REQUIRE(loaded);
  module = *loaded;
}

std::string Fixture::launch(const std::string &kernel, uint32_t workgroups, uint32_t threads,
                            std::span<const uint8_t> args, attune::sim::RunOptions options,
                            uint32_t dynamicLds) {
  return launch({.kernel = kernel,
                 .grid = {workgroups, 1, 1},
                 .block = {threads, 1, 1},
                 .dynamicLdsBytes = dynamicLds,
                 .kernarg = args,
                 .options = options});
}

std::string Fixture::launch(attune::sim::Launch l) {
  attune::sim::strict::StrictChecker checker;
  if (strict)
    l.options = checker.watch(l.options);
  attune::Result<attune::sim::RunStats> result = simulator.launch(module, l);
  if (!result)
    return result.error().message;
  stats = std::move(*result);
  return checker.text();
}

} // namespace simtest
