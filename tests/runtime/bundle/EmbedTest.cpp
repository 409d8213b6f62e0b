// A bundle inside a C program: both forms give the same bytes at an aligned, read-only place.
#include "runtime/bundle/Embed.h"
#include "tests/runtime/bundle/Kernels.h"
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <sys/wait.h>

using namespace attune;
using namespace attune::bundle;
using namespace attune::bundle::testing;

namespace {

int shell(const std::string &command) {
  const int status = std::system(command.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Bytes asBytes(const std::string &text) { return {text.begin(), text.end()}; }

/// Compares the symbols with the bytes of a file.
constexpr auto program = R"(
#include <stdio.h>
#include <string.h>
extern const unsigned char kernels[];
extern const unsigned long long kernels_size;
static unsigned char file[1 << 20];
int main(int argc, char **argv) {
  FILE *f = fopen(argv[argc - 1], "rb");
  if (!f || fread(file, 1, sizeof(file), f) != kernels_size) return 2;
  return (unsigned long long)kernels % 16 ? 3 : memcmp(file, kernels, kernels_size) ? 4 : 0;
}
)";

} // namespace

TEST_CASE("A C array and an object file make the same program") {
  TempDir folder;
  const Bytes bundle = bundleOf({{.spec = "a"}, {.spec = "b", .code = std::string(999, 'x')}});
  folder.write("bundle", bundle);
  folder.write("main.c", asBytes(program));
  auto text = embedAsC(bundle, "kernels");
  REQUIRE(text);
  folder.write("array.c", asBytes(*text));
  auto object = embedAsObject(bundle, "kernels", hostMachine());
  REQUIRE(object);
  folder.write("object.o", *object);
  for (std::string form : {"array.c", "object.o"}) {
    CAPTURE(form);
    CHECK(shell(fmt::format("{} -Wall -Wextra -Werror -Wl,--fatal-warnings {} {} -o {} && {} {}",
                            ATTUNE_CC, folder / "main.c", folder / form, folder / "program",
                            folder / "program", folder / "bundle")) == 0);
  }
  CHECK(*embedAsObject(bundle, "kernels", "x86_64") !=
        *embedAsObject(bundle, "kernels", "aarch64"));
  CHECK(shell(fmt::format("readelf -aW {0} 2>&1 | grep -i -e warning -e error",
                          folder / "object.o")) == 1);
}

TEST_CASE("An array of a C++ program has C's names") {
  TempDir folder;
  auto text = embedAsC(bundleOf({}), "kernels");
  REQUIRE(text);
  folder.write("array.cpp", asBytes(*text));
  CHECK(shell(fmt::format(
            "{0} -x c++ -c {1}/array.cpp -o {1}/array.o && nm {1}/array.o | grep -q ' R kernels$'",
            ATTUNE_CC, folder / "")) == 0);
}

TEST_CASE("Names and machines that cannot be are refused") {
  for (std::string symbol : {"", "1a", "a-b", "a b", "\xc3\xa9"}) {
    CHECK_FALSE(embedAsC({}, symbol));
    CHECK_FALSE(embedAsObject({}, symbol, "x86_64"));
  }
  auto refused = embedAsObject({}, "kernels", "riscv64");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::Unsupported);
}
