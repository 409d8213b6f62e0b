// The specs that ship: they parse, say what they compute, and take the values tests set.
#include "tests/spec/TestSpec.h"
#include <catch2/catch.hpp>
#include <filesystem>
#include <set>

using namespace attune;
using namespace attune::spec;
using namespace attune::spec::test;

namespace {

std::vector<std::string> specPaths() {
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(ATTUNE_SOURCE_DIR "/specs"))
    if (entry.path().extension() == ".attn")
      paths.push_back(entry.path().string());
  return paths;
}

Model shipped(const std::string &name, std::map<std::string, std::string> parameters = {}) {
  Options options;
  options.parameters = std::move(parameters);
  Result<Model> m = parseSpecFile(ATTUNE_SOURCE_DIR "/specs/" + name + ".attn", options);
  if (!m)
    FAIL(m.error().message);
  return *m;
}

} // namespace

TEST_CASE("Every spec parses, has a digest of its own and a comment with its formula") {
  std::set<std::string> digests;
  std::vector<std::string> paths = specPaths();
  REQUIRE(paths.size() >= 12);
  for (const std::string &path : paths) {
    INFO(path);
    Result<Model> m = parseSpecFile(path, {});
    if (!m)
      FAIL(m.error().message);
    CHECK(m->fileName == path);
    CHECK(digests.insert(m->digest).second);
    std::string text = sourceText("specs/" + std::filesystem::path(path).filename().string());
    std::string comment = text.substr(0, text.find("\nattention"));
    CHECK(comment.rfind("// ", 0) == 0);
    CHECK(comment.find("O[q] = ") != std::string::npos);
  }
}

TEST_CASE("Shapes are those of the models they come from") {
  auto shape = [](const std::string &name) { return shipped(name).problem; };
  ProblemShape llama = shape("causal_gqa");
  CHECK(llama.numQHeads == 32);
  CHECK(llama.numKvHeads == 8);
  CHECK(llama.headDim == 128);
  CHECK(llama.qStorage == Storage::Varlen);
  CHECK(shape("vit").qStorage == Storage::Dense);
  CHECK(shipped("vit").mask == -1);
  CHECK(shape("gpt_oss").hasSink);
  CHECK(shape("gpt_oss").headDim == 64);
  CHECK(shape("mha_d64").dtype == DType::F16);
  CHECK(shape("bloom_alibi").tensors.at(0).name == "slope");
  CHECK(*shipped("gemma2_softcap").scale == Approx(1.0 / 12));
  CHECK(*shipped("t5_bias").scale == 1);
  ProblemShape composed = shape("composed");
  CHECK(composed.vHeadDim == 64);
  CHECK(composed.scalars.at(0).name == "temperature");
}

TEST_CASE("Widths are parameters") {
  Point p;
  p.q = 100;
  p.kvLen = p.qLen = 200;
  CHECK(visible(shipped("mistral_window", {{"width", "64"}}), p).size() == 64);
  CHECK(visible(shipped("gpt_oss", {{"width", "16"}}), p).size() == 16);
  CHECK(visible(shipped("gemma2_softcap", {{"width", "8"}}), p).size() == 8);
  CHECK(visible(shipped("llama4_chunked", {{"length", "32"}}), p).size() == 5);
  CHECK(visible(shipped("longformer", {{"reach", "10"}, {"globals", "3"}}), p).size() == 24);
}
