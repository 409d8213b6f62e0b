// Digests against published vectors; sidecars through JSON and back, and every way one can be
// broken.
#include "runtime/abi/Digest.h"
#include "runtime/abi/KernelImage.h"
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

using namespace attune;
using Catch::Matchers::Contains;
using nlohmann::json;

namespace {

Sidecar example() {
  Sidecar s;
  s.problem = {"gemma2",
               Storage::Varlen,
               Storage::Dense,
               DType::F16,
               DType::BF16,
               71,
               1,
               128,
               64,
               LseKind::Base2,
               true,
               {{"slope", DType::F32, {"heads"}}, {"doc", DType::I64, {"tokens", "7"}}},
               {{"cap", DType::I32}}};
  s.arch = "gfx950", s.specDigest = sha256Hex("spec"), s.plan = "kv_tile=64 waves=4",
  s.llvmVersion = "22.1.8";
  s.kernel.name = "attention_gemma2";
  s.kernel.args = {{"q", "ptr", 0, 8}, {"q_len", "i32", 8, 4}, {"q_stride_token", "i64", 16, 8}};
  s.kernel.kernargBytes = 24, s.kernel.abiFingerprint = abiFingerprint(s.kernel.args);
  s.kernel.grid = {128, 256}, s.kernel.workspaceBytes = uint64_t(5) << 32;
  s.kernel.resources = {128, 64, 40, 65536, 0, 1, 2, 2};
  s.compileMs = 12.5;
  return s;
}

/// The message of reading `example` after `change` was made to its JSON.
std::string faultAfter(const std::function<void(json &)> &change) {
  json j = json::parse(toJson(example()));
  change(j);
  auto result = sidecarFromJson(j.dump());
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::InvalidArgument);
  return result.error().message;
}

} // namespace

TEST_CASE("SHA-256 gives the digests of FIPS 180-4") {
  CHECK(sha256Hex("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256Hex("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(sha256Hex(std::string(1000000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("a digest depends on the bytes and not on how they come in") {
  const std::string text(300, 'x');
  for (size_t cut = 0; cut <= text.size(); cut += 7)
    CHECK(Digest().bytes(text.substr(0, cut)).bytes(text.substr(cut)).hex() == sha256Hex(text));
}

TEST_CASE("fields can't run into each other") {
  CHECK(Digest().field("ab", "c").hex() != Digest().field("a", "bc").hex());
  CHECK(Digest().field("a", "b").field("c", "").hex() !=
        Digest().field("a", "").field("c", "b").hex());
  CHECK(Digest().field("a", "b").hex() == sha256Hex("a\x1f"
                                                    "1\x1f"
                                                    "b"));
}

TEST_CASE("the fingerprint covers each property of each argument, in order") {
  const std::vector<KernelArg> args = example().kernel.args;
  CHECK(abiFingerprint(args) == sha256Hex("q ptr 0 8\nq_len i32 8 4\nq_stride_token i64 16 8\n"));
  auto changed = args;
  std::swap(changed[0], changed[1]);
  CHECK(abiFingerprint(changed) != abiFingerprint(args));
}

TEST_CASE("a sidecar survives JSON") {
  const Sidecar before = example();
  auto after = sidecarFromJson(toJson(before));
  REQUIRE(after);
  CHECK(toJson(*after) == toJson(before));
  CHECK(after->problem.tensors[1].dims == std::vector<std::string>{"tokens", "7"});
  CHECK(after->problem.lse == LseKind::Base2);
  CHECK(after->problem.dtype == DType::F16);
  CHECK(after->kernel.workspaceBytes == uint64_t(5) << 32);
  CHECK(after->kernel.args[2].offset == 16);
  CHECK(after->compileMs == 12.5);
}

TEST_CASE("a name that is not UTF-8 does not stop a sidecar") {
  Sidecar s = example();
  s.problem.specName = "caf\xe9";
  auto after = sidecarFromJson(toJson(s));
  REQUIRE(after);
  CHECK_THAT(after->problem.specName, Contains("caf"));
}

TEST_CASE("a broken sidecar is refused by the path of the field") {
  CHECK(sidecarFromJson("{\"format\": 1,").error().message == "sidecar: the file is not JSON");
  CHECK(sidecarFromJson("[]").error().message == "sidecar: the file is not an object");
  CHECK(faultAfter([](json &j) { j.erase("arch"); }) == "sidecar: arch is missing");
  CHECK(faultAfter([](json &j) { j["format"] = 2; }) ==
        "sidecar: format is 2, this version reads 1");
  CHECK(faultAfter([](json &j) { j["kernel"]["speed"] = 1; }) ==
        "sidecar: kernel.speed is not a field of this format");
  CHECK(faultAfter([](json &j) { j["kernel"]["args"][1]["offset"] = "8"; }) ==
        "sidecar: kernel.args[1].offset is not a non-negative integer");
  CHECK(faultAfter([](json &j) { j["kernel"]["args"][1]["offset"] = -8; }) ==
        "sidecar: kernel.args[1].offset is not a non-negative integer");
  CHECK(faultAfter([](json &j) { j["kernel"]["args"][1]["size"] = int64_t(1) << 32; }) ==
        "sidecar: kernel.args[1].size is 4294967296, above the limit 4294967295");
  CHECK(faultAfter([](json &j) { j["problem"]["dtype"] = "fp4"; }) ==
        "sidecar: problem.dtype is \"fp4\", allowed: f32, fp16, bf16, i64, i32, i16, i8, u8, bool");
  CHECK(faultAfter([](json &j) { j["problem"]["tensors"][0]["dims"] = "heads"; }) ==
        "sidecar: problem.tensors[0].dims is not a list");
  CHECK(faultAfter([](json &j) { j["problem"]["has_sink"] = 1; }) ==
        "sidecar: problem.has_sink is not true or false");
}

TEST_CASE("an argument list that a launcher could not pack is refused") {
  CHECK(faultAfter([](json &j) { j["kernel"]["args"][0]["kind"] = "f64"; }) ==
        "sidecar: kernel.args[0] (q): kind is \"f64\", allowed: ptr, i64, i32, f32");
  CHECK(faultAfter([](json &j) { j["kernel"]["args"][1]["size"] = 8; }) ==
        "sidecar: kernel.args[1] (q_len): size is 8; i32 takes 4 bytes");
  CHECK(faultAfter([](json &j) { j["kernel"]["args"][1]["offset"] = 10; }) ==
        "sidecar: kernel.args[1] (q_len): offset 10 is not a multiple of 4");
  CHECK(faultAfter([](json &j) { j["kernel"]["kernarg_bytes"] = 20; }) ==
        "sidecar: kernel.args[2] (q_stride_token): offset 16 + 8 bytes is past kernarg_bytes = 20");
}
