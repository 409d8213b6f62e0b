// The launch file as text: what every field becomes, and one error for every way to get it wrong.
#include "runtime/exec/LaunchFile.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <fmt/format.h>

using namespace attune;
using namespace attune::exec;
using Catch::Contains;

namespace {

std::string fileRefusal(const std::string &text) {
  auto file = parseLaunch(text, "l.json");
  if (file)
    return "accepted";
  CHECK_THAT(file.error().message, Catch::StartsWith("l.json: "));
  CHECK(file.error().code == ErrorCode::InvalidArgument);
  return file.error().message.substr(strlen("l.json: "));
}

std::string withArgs(const std::string &args) {
  return fmt::format(R"({{"grid": [1], "block": [64], "args": [{}]}})", args);
}

std::string refusedArg(const std::string &arg) { return fileRefusal(withArgs(arg)); }

LaunchFile accepted(const std::string &text) {
  auto file = parseLaunch(text, "folder/l.json");
  if (!file)
    FAIL(file.error().message);
  return *file;
}

template <class T> T valueOf(const std::string &kind, const std::string &value) {
  LaunchFile f = accepted(withArgs(fmt::format(R"({{"kind": "{}", "value": {}}})", kind, value)));
  REQUIRE(f.args[0].value.size() == sizeof(T));
  T out;
  std::memcpy(&out, f.args[0].value.data(), sizeof out);
  return out;
}

struct Wrong {
  const char *text, *message;
};

} // namespace

TEST_CASE("launch file: extents, names, offsets") {
  LaunchFile f =
      accepted(R"({"kernel": "k", "grid": [3, 2], "block": [64, 4, 2], "dynamic_lds": 163840,
    "args": [{"kind": "i32", "value": 1}, {"kind": "buffer", "size": 16, "name": "b"},
             {"kind": "bytes", "value": "01 02_03"}, {"kind": "f32", "value": 2},
             {"kind": "f64", "offset": 68, "value": 2}, {"kind": "i64", "value": 0}]})");
  CHECK(f.kernel == "k");
  CHECK(f.grid == std::array<uint32_t, 3>{3, 2, 1});
  CHECK(f.block == std::array<uint32_t, 3>{64, 4, 2});
  CHECK(f.dynamicLds == 163840);
  std::vector<uint32_t> offsets;
  for (const Arg &a : f.args)
    offsets.push_back(a.offset);
  CHECK(offsets == std::vector<uint32_t>{0, 8, 16, 20, 68, 80});
  CHECK(f.args[2].value == std::vector<uint8_t>{1, 2, 3});
  CHECK(f.resolved("a.npy") == "folder/a.npy");
  CHECK(f.resolved("/tmp/a.npy") == "/tmp/a.npy");
}

TEST_CASE("launch file: values at the ends of their types") {
  CHECK(valueOf<int32_t>("i32", "-2147483648") == INT32_MIN);
  CHECK(valueOf<uint32_t>("u32", "4294967295") == UINT32_MAX);
  CHECK(valueOf<int64_t>("i64", "-9223372036854775808") == INT64_MIN);
  CHECK(valueOf<uint64_t>("u64", "18446744073709551615") == UINT64_MAX);
  CHECK(valueOf<float>("f32", "0.1") == 0.1f);
  CHECK(valueOf<float>("f32", "\"-inf\"") == -INFINITY);
  CHECK(std::isnan(valueOf<float>("f32", "\"nan\"")));
  CHECK(valueOf<double>("f64", "1e300") == 1e300);
  CHECK(valueOf<double>("f64", "3") == 3);
}

TEST_CASE("launch file: fills") {
  auto fill = [](const std::string &value) {
    return accepted(withArgs(fmt::format(R"({{"kind": "buffer", "size": 8, "fill": {}}})", value)))
        .args[0]
        .buffer.fill;
  };
  CHECK(fill("255") == std::vector<uint8_t>{255});
  CHECK(fill("\"0x803F\"") == std::vector<uint8_t>{0x80, 0x3f});
  CHECK(fill("\"uninitialised\"").empty());
}

TEST_CASE("launch file: wrong at the top") {
  for (auto [text, message] : {
           Wrong{"{", "not JSON at line 1, column 2"},
           Wrong{"{\n \"grid\": [1,]}", "not JSON at line 2, column 13"},
           Wrong{"[]", "a launch file is an object"},
           Wrong{R"({"block": [1], "args": []})", "a launch file needs grid, for instance"},
           Wrong{R"({"grid": [1], "args": []})", "a launch file needs block"},
           Wrong{R"({"grid": [1], "block": [1]})", "a launch file needs args"},
           Wrong{R"({"grid": [1], "block": [1], "args": {}})", "args: {} is not a list"},
           Wrong{R"({"grid": [], "block": [1], "args": []})", "grid: [] is not a list of 1 to 3"},
           Wrong{
               R"({"grid": [1, 67108864], "block": [64, 64], "args": []})",
               "grid[1]: 67108864 workgroups of 64 threads are more than the 2^32 - 1 threads that "
               "a dispatch holds; at most 67108863"},
           Wrong{R"({"grid": [1,2,3,4], "block": [1], "args": []})", "grid: [1,2,3,4] is not"},
           Wrong{R"({"grid": [1,0], "block": [1], "args": []})",
                 "grid[1]: 0 is not a whole number from 1 to 2147483647"},
           Wrong{R"({"grid": [1.5], "block": [1], "args": []})", "grid[0]: 1.5 is not a whole"},
           Wrong{R"({"grid": [1], "block": [1025], "args": []})",
                 "block[0]: 1025 is not a whole number from 1 to 1024"},
           Wrong{R"({"grid": [1], "block": [-1], "args": []})", "block[0]: -1 is not"},
           Wrong{R"({"grid": [1], "block": [1], "args": [], "dynamic_lds": 163841})",
                 "dynamic_lds: 163841 is not a whole number from 0 to 163840"},
           Wrong{R"({"grid": [1], "block": [1], "args": [], "kernel": 3})",
                 "kernel: 3 is not a non-empty string"},
           Wrong{R"({"grid": [1], "block": [1], "args": [], "kernal": "k"})",
                 "kernal: unknown key; a launch file has: args, block, dynamic_lds, grid, kernel"},
           Wrong{R"({"grid": [1], "grid": [2], "block": [1], "args": []})",
                 "an object has the key \"grid\" twice"},
       }) {
    INFO(text);
    CHECK_THAT(fileRefusal(text), Contains(message));
  }
}

TEST_CASE("launch file: wrong values") {
  for (
      auto [text, message] : {
          Wrong{"3", "args[0]: an argument is an object"},
          Wrong{"{}", "args[0]: an argument needs kind"},
          Wrong{R"({"kind": "i16", "value": 1})", "args[0].kind: no kind is called i16; kinds: "
                                                  "buffer, bytes, f32, f64, i32, i64, u32, u64"},
          Wrong{R"({"kind": 3})", "args[0].kind: 3 is not a non-empty string"},
          Wrong{R"({"kind": "i32"})", "args[0]: an argument of kind i32 needs value"},
          Wrong{R"({"kind": "i32", "value": 2147483648})",
                "args[0].value: 2147483648 is not a whole number from -2147483648 to 2147483647, "
                "as i32"},
          Wrong{R"({"kind": "i32", "value": 1.0})", "args[0].value: 1.0 is not a whole number"},
          Wrong{R"({"kind": "u32", "value": -1})",
                "args[0].value: -1 is not a whole number from 0"},
          Wrong{R"({"kind": "u64", "value": 18446744073709551616})", "is not a whole number"},
          Wrong{R"({"kind": "f32", "value": 1e39})", "args[0].value: 1e+39 does not fit f32"},
          Wrong{R"({"kind": "f32", "value": "one"})", "args[0].value: \"one\" is not a number"},
          Wrong{R"({"kind": "bytes", "value": "012"})",
                "is not a string of 1 to 65536 bytes in hex"},
          Wrong{R"({"kind": "bytes", "value": ""})", "is not a string of 1 to 65536 bytes in hex"},
          Wrong{R"({"kind": "bytes"})", "an argument of kind bytes needs value"},
          Wrong{
              R"({"kind": "i32", "value": 1, "size": 4})",
              "args[0].size: unknown key; an argument of kind i32 has: kind, name, offset, value"},
          Wrong{R"({"kind": "i32", "value": 1, "offset": 6})",
                "args[0].offset: 6 is no multiple of 4, as scalar loads need; nearest: 4"},
          Wrong{R"({"kind": "i64", "value": 1, "offset": 65532})",
                "args[0].offset: the argument ends at byte 65540"},
          Wrong{R"({"kind": "i64", "value": 1, "offset": -8})", "args[0].offset: -8 is not"},
          Wrong{R"({"kind": "i64", "value": 1}, {"kind": "i32", "value": 1, "offset": 4})",
                "args[1].offset: bytes 4 to 7 overlap args[0], which has 0 to 7"},
          Wrong{
              R"({"kind": "i32", "value": 1, "offset": 4}, {"kind": "i64", "value": 1, "offset": 0})",
              "args[1].offset: bytes 0 to 7 overlap args[0]"},
          Wrong{
              R"({"kind": "i32", "value": 1, "name": "n"}, {"kind": "i32", "value": 1, "name": "n"})",
              "args[1].name: args[0] is called \"n\" already"},
      }) {
    INFO(text);
    CHECK_THAT(refusedArg(text), Contains(message));
  }
}

TEST_CASE("launch file: wrong buffers") {
  for (auto [text, message] : {
           Wrong{R"({"kind": "buffer"})", "needs size, file, claim or same_as"},
           Wrong{R"({"kind": "buffer", "size": 0})",
                 "args[0].size: 0 is not a whole number from 1 to"},
           Wrong{R"({"kind": "buffer", "claim": 70368744177665})",
                 "args[0].claim: 70368744177665 is not"},
           Wrong{R"({"kind": "buffer", "size": 4, "claim": 8})",
                 "args[0].size: file says the size already"},
           Wrong{R"({"kind": "buffer", "size": 4, "file": "a"})",
                 "args[0].size: file says the size already"},
           Wrong{R"({"kind": "buffer", "file": ""})",
                 "args[0].file: \"\" is not a non-empty string"},
           Wrong{R"({"kind": "buffer", "size": 4, "value": 3})",
                 "args[0].value: unknown key; an argument of kind buffer has: at, base, claim, "
                 "dtype, file, fill, "
                 "kind, name, offset, out, same_as, shape, size"},
           Wrong{R"({"kind": "buffer", "size": 4, "fill": 256})",
                 "args[0].fill: 256 is not a byte"},
           Wrong{R"({"kind": "buffer", "size": 4, "fill": "zero"})",
                 "args[0].fill: \"zero\" is not a byte"},
           Wrong{R"({"kind": "buffer", "size": 4, "fill": "010203"})",
                 "args[0].fill: a pattern of 3 bytes does not divide the size, 4"},
           Wrong{R"({"kind": "buffer", "claim": 4, "fill": 0})",
                 "args[0].fill: fill goes with size"},
           Wrong{R"({"kind": "buffer", "size": 4, "base": 4096})",
                 "args[0].base: 4096 is not a non-empty string"},
           Wrong{R"({"kind": "buffer", "size": 4, "base": "7f00"})",
                 "args[0].base: \"7f00\" is not an address in hex, like \"0x7f0000000000\""},
           Wrong{R"({"kind": "buffer", "size": 4, "base": "0x7g"})",
                 "args[0].base: \"0x7g\" is not an address in hex"},
           Wrong{R"({"kind": "buffer", "size": 4, "base": "0x1ffffffffffffffff"})",
                 "args[0].base: \"0x1ffffffffffffffff\" is not an address"},
           Wrong{R"({"kind": "buffer", "size": 4, "dtype": "f32"})",
                 "args[0].dtype: describes the output file; add \"out\""},
           Wrong{R"({"kind": "buffer", "size": 4, "shape": [1]})",
                 "args[0].shape: describes the output"},
           Wrong{R"({"kind": "buffer", "size": 4, "out": "o.npy", "dtype": "f32"})",
                 "args[0].out: dtype and shape go together"},
           Wrong{R"({"kind": "buffer", "size": 4, "out": "o.npy", "dtype": "f64", "shape": []})",
                 "args[0].dtype: no type is called f64; types: bf16"},
           Wrong{R"({"kind": "buffer", "size": 4, "out": "o.npy", "dtype": "f32", "shape": [-1]})",
                 "args[0].shape[0]: -1 is not"},
           Wrong{R"({"kind": "buffer", "same_as": "a"})",
                 "args[0].same_as: \"a\" is not the name of a buffer with contents of its own; "
                 "give one a \"name\""},
           Wrong{
               R"({"kind": "buffer", "size": 4, "name": "b"}, {"kind": "buffer", "same_as": "a"})",
               "those: b"},
           Wrong{R"({"kind": "buffer", "name": "a", "same_as": "a"})",
                 "args[0].same_as: \"a\" is not the name"},
           Wrong{R"({"kind": "i32", "value": 3, "name": "n"}, {"kind": "buffer", "same_as": "n"})",
                 "args[1].same_as: \"n\" is not the name of a buffer"},
           Wrong{R"({"kind": "buffer", "same_as": "a", "base": "0x1000"})",
                 "args[0].base: the buffer lies where its owner does"},
           Wrong{R"({"kind": "buffer", "size": 4, "same_as": "a"})",
                 "args[0].same_as: the buffer has its owner's size"},
       }) {
    INFO(text);
    CHECK_THAT(refusedArg(text), Contains(message));
  }
}

TEST_CASE("launch file: a file that is not there") {
  auto file = readLaunch("/no/such/launch.json");
  REQUIRE_FALSE(file);
  CHECK(file.error().code == ErrorCode::NotFound);
}
