// numpy's files: what numpy wrote reads right, what we write reads back, and no damaged file does
// worse than an error.
#include "runtime/launch/Npz.h"
#include "runtime/launch/Zip.h"
#include <catch2/catch.hpp>
#include <cstring>
#include <filesystem>
#include <random>
#include <unistd.h>

using namespace attune;
namespace fs = std::filesystem;

namespace {

Bytes fromHex(std::string_view hex) {
  Bytes out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out.push_back(static_cast<uint8_t>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  return out;
}

/// numpy 1.24: savez_compressed(a = float32 [[0, 1, 2], [3, 4, 5]], b = int32 [[1, 2], [3, 4], [5,
/// 6]] in Fortran order, d = float16[200] of zeros but d[7] = 1.5).
Bytes numpyArchive() {
  return fromHex(
      "504b0304140000000800000021004fe9002a550000009800000005001400612e6e7079010010009800000000"
      "00000055000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f5452"
      "9498179f5f94920a12774bcc294e058a17672416a402f91a463a0ac69a3a0ab50a64032e063068b007120e40"
      "04c40d40bcc00100504b0304140000000800000021005a00a1f8560000009800000005001400622e6e707901"
      "001000980000000000000056000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9369a2"
      "aea3a09e965f54529498179f5f94920a120f292a4d050a17672416a402b91ac63a0a469a3a0ab50ae4032e46"
      "0606066620660562262066016236200600504b030414000000080000002100f60715e74f0000001002000005"
      "001400642e6e70790100100010020000000000004f000000000000009bec17ea1b10c9c850c650ad9e925a9c"
      "5ca46ea5a06e9366a4aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a460606"
      "3a9a3a0ab50a64032e065460c7300a06140000504b01021403140000000800000021004fe9002a5500000098"
      "000000050000000000000000000000800100000000612e6e7079504b01021403140000000800000021005a00"
      "a1f8560000009800000005000000000000000000000080018c000000622e6e7079504b010214031400000008"
      "0000002100f60715e74f00000010020000050000000000000000000000800119010000642e6e7079504b0506"
      "0000000003000300990000009f0100000000");
}

Bytes npy(std::string header, std::string data, char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  if (version > 1)
    text += std::string(2, '\0');
  text += header + data;
  return {text.begin(), text.end()};
}

std::string refusal(const Bytes &bytes) {
  auto result = parseNpy(bytes, "x.npy");
  return result ? "accepted" : result.error().message;
}

/// A folder that goes away with the test.
struct TempFolder {
  fs::path path = fs::temp_directory_path() / ("attune-npz-" + std::to_string(getpid()));
  TempFolder() { fs::create_directories(path); }
  ~TempFolder() { fs::remove_all(path); }
  std::string file(const char *name) const { return (path / name).string(); }
};

} // namespace

TEST_CASE("An archive that numpy wrote") {
  auto tensors = parseNpz(numpyArchive(), "x.npz");
  REQUIRE(tensors);
  REQUIRE(tensors->size() == 3);
  const HostTensor &a = tensors->at("a"), &b = tensors->at("b"), &d = tensors->at("d");
  CHECK(a.dtype == DType::F32);
  CHECK(a.shape == Shape{2, 3});
  CHECK(a.get({1, 2}) == 5);
  CHECK(b.dtype == DType::I32);
  CHECK(b.strides == Shape{2, 1}); // Fortran order became row-major
  CHECK(b.get({2, 0}) == 5);
  CHECK(b.get({0, 1}) == 2);
  CHECK(d.dtype == DType::F16);
  CHECK(d.get({7}) == 1.5);
  CHECK(d.get({8}) == 0);
}

TEST_CASE("A .npy file byte by byte") {
  HostTensor t = HostTensor::packed(DType::BF16, {2});
  t.set({0}, 1);
  t.set({1}, -2);
  std::string header = "{'descr': '<u2', 'fortran_order': False, 'shape': (2,), }";
  header.append(118 - 1 - header.size(), ' ');
  CHECK(formatNpy(t) == npy(header + "\n", std::string("\x80?\x00\xc0", 4)));
}

TEST_CASE("Every type and layout survives a round trip") {
  TensorMap tensors;
  for (DType t : {DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                  DType::I8, DType::U8, DType::Bool}) {
    HostTensor x = HostTensor::packed(t, {3, 5});
    forEachIndex(x.shape, [&](Index i) { x.set(i, static_cast<double>(i[0] * 5 + i[1]) / 2); });
    tensors[std::string(nameOf(t))] = x;
  }
  tensors["empty"] = HostTensor::packed(DType::F32, {0, 4});
  tensors["scalar"] = HostTensor::packed(DType::F32, {});
  auto bytes = formatNpz(tensors);
  REQUIRE(bytes);
  auto back = parseNpz(*bytes, "x.npz");
  REQUIRE(back);
  REQUIRE(back->size() == tensors.size());
  for (const auto &[name, tensor] : tensors) {
    CHECK(back->at(name).dtype == tensor.dtype);
    CHECK(back->at(name).shape == tensor.shape);
    CHECK(back->at(name).storage == tensor.storage);
  }
  HostTensor strided = relayout(tensors["f32"], {1, 3}, 7, 7);
  CHECK(formatNpy(strided) == formatNpy(tensors["f32"]));
}

TEST_CASE("Headers that numpy could have written") {
  std::string two(8, '\0');
  auto v2 = parseNpy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", two, 2), "x");
  REQUIRE(v2);
  CHECK(v2->shape == Shape{2});
  auto python2 =
      parseNpy(npy("{\"shape\": (2L,), \"descr\": '<f4', 'fortran_order': True}", two), "x");
  REQUIRE(python2);
  auto raw = parseNpy(npy("{'descr': '<V2', 'fortran_order': False, 'shape': (4,)}", two), "x");
  REQUIRE(raw);
  CHECK(raw->dtype == DType::BF16);
}

TEST_CASE("What is refused says why") {
  using Catch::Contains;
  std::string rest = ", 'fortran_order': False, 'shape': (1,)}";
  CHECK_THAT(refusal(npy("{'descr': '<f8'" + rest, std::string(8, 0))),
             Contains("save it as float32"));
  CHECK_THAT(refusal(npy("{'descr': '>f4'" + rest, std::string(4, 0))), Contains("little-endian"));
  CHECK_THAT(refusal(npy("{'descr': [('a', '<f4')]" + rest, std::string(4, 0))),
             Contains("element type a structured type"));
  CHECK_THAT(refusal(npy("{'descr': '<f4'" + rest, "123")),
             Contains("needs 4 bytes, the file has 3"));
  CHECK_THAT(refusal(npy("{'descr': '<f4', 'shape': (1,)}", "1234")), Contains("not a dict of"));
  CHECK_THAT(refusal(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}", "1234")),
             Contains("not a dict of"));
  CHECK_THAT(refusal(npy(
                 "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}", "")),
             Contains("not a dict of"));
  CHECK_THAT(
      refusal(
          npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", "")),
      Contains("too many"));
  CHECK_THAT(refusal(npy("", "")), Contains("not a dict of"));
  CHECK_THAT(refusal(npy("{}", "", 9)), Contains("version 9"));
  CHECK_THAT(refusal({1, 2, 3}), Contains("not a .npy file"));
}

TEST_CASE("A file cut anywhere is an error") {
  Bytes archive = numpyArchive();
  for (size_t n = 0; n < archive.size(); ++n)
    CHECK_FALSE(parseNpz(std::span(archive).first(n), "x.npz"));
  Bytes one = formatNpy(HostTensor::packed(DType::I32, {3, 3}));
  for (size_t n = 0; n < one.size(); ++n)
    CHECK_FALSE(parseNpy(std::span(one).first(n), "x.npy"));
}

TEST_CASE("A damaged archive never gives a tensor that numpy did not write") {
  Bytes good = numpyArchive();
  auto want = parseNpz(good, "x.npz");
  REQUIRE(want);
  std::mt19937 random(1);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    Bytes bad = good;
    for (int flips = 1 + round % 3; flips-- > 0;)
      bad[random() % bad.size()] = static_cast<uint8_t>(random());
    auto got = parseNpz(bad, "x.npz");
    refused += !got;
    if (!got)
      continue;
    for (const auto &[name, tensor] : *got) // a name may be hit, the checksum guards the rest
      for (const auto &[wantName, wantTensor] : *want)
        if (name == wantName)
          CHECK(tensor.storage == wantTensor.storage);
  }
  CHECK(refused > 2000);
}

TEST_CASE("Zip members with hostile sizes are refused without taking the memory") {
  auto stored = zip::write({{"a.npy", formatNpy(HostTensor::packed(DType::I32, {3}))}});
  REQUIRE(stored);
  size_t directory = stored->size() - 22 - 46 - 5;
  Bytes bad = *stored;
  for (size_t i = 0; i < 4; ++i)
    bad[directory + 24 + i] = 0xFE; // claims nearly 4 GiB
  auto result = zip::read(bad);
  REQUIRE_FALSE(result);
  CHECK_THAT(result.error().message, Catch::Contains("stored with two sizes"));
  bad[directory + 10] = 8; // deflated
  CHECK_THAT(zip::read(bad).error().message, Catch::Contains("impossible size"));
  bad[directory + 10] = 14;
  CHECK_THAT(zip::read(bad).error().message, Catch::Contains("zip method 14"));
  bad[directory + 8] = 1;
  CHECK_THAT(zip::read(bad).error().message, Catch::Contains("encrypted"));
}

TEST_CASE("Files and folders") {
  TempFolder folder;
  HostTensor t = HostTensor::packed(DType::F32, {2, 2});
  t.set({1, 1}, 4);
  REQUIRE(writeNpz(folder.file("a.npz"), {{"t", t}}));
  auto back = readTensors(folder.file("a.npz"));
  REQUIRE(back);
  CHECK(back->at("t").get({1, 1}) == 4);

  fs::create_directory(folder.path / "arrays");
  CHECK_THAT(readTensors((folder.path / "arrays").string()).error().message,
             Catch::Contains("holds no .npy file"));
  REQUIRE(writeFile((folder.path / "arrays" / "q.npy").string(), formatNpy(t)));
  auto arrays = readTensors((folder.path / "arrays").string());
  REQUIRE(arrays);
  CHECK(arrays->at("q").storage == t.storage);

  CHECK(readTensors(folder.file("none.npz")).error().code == ErrorCode::NotFound);
  CHECK_FALSE(readFile(folder.path.string()));
  CHECK_FALSE(writeNpz(folder.file("no/such/folder.npz"), {{"t", t}}));
  // Nothing half-written stays behind.
  for (const auto &entry : fs::directory_iterator(folder.path))
    CHECK(entry.path().extension() != ".partial");
}
