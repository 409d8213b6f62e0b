// Plans: per family the variants that its config asks for, each with a spec that parses to what the
// model computes, and by name what cannot be made. Configs are those of published models, cut to
// the keys that matter.
#include "runtime/aot/Plan.h"
#include "compiler/schedule/Limits.h"
#include "compiler/spec/Spec.h"
#include "runtime/aot/Family.h"
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

using namespace attune;
using namespace attune::aot;

namespace {

Limits limits() {
  Limits limits;
  for (int dim : schedule::supportedHeadDims())
    limits.headDims.push_back(dim);
  for (DType type : schedule::supportedDTypes())
    limits.dtypes.emplace_back(nameOf(type));
  return limits;
}

Result<ModelPlan> tryPlan(const std::string &config, const Serving &serving = {}) {
  return planModel(config, "config.json", serving, limits());
}

ModelPlan plan(const std::string &config, const Serving &serving = {}) {
  auto made = tryPlan(config, serving);
  if (!made)
    FAIL(made.error().message);
  return *made;
}

std::string refusal(const std::string &config, const Serving &serving = {}) {
  auto made = tryPlan(config, serving);
  return made ? "planned" : made.error().message;
}

/// The checked spec of a variant, with its parameters.
spec::Model modelOf(const Variant &variant) {
  auto model =
      spec::parseSpec(variant.text, {.fileName = variant.spec,
                                     .parameters = {variant.set.begin(), variant.set.end()},
                                     .attention = {}});
  if (!model)
    FAIL(model.error().message);
  return *model;
}

/// The name, shape and captured tensors of a variant on one line.
std::string shapeOf(const Variant &variant) {
  const ProblemShape shape = modelOf(variant).problem;
  std::string text = fmt::format("{}: {} {} / {} of {}", variant.name, nameOf(shape.dtype),
                                 shape.numQHeads, shape.numKvHeads, shape.headDim);
  if (shape.hasSink)
    text += " sink";
  for (const CapturedTensor &tensor : shape.tensors)
    text += fmt::format(" {}[{}]", tensor.name, fmt::join(tensor.dims, ","));
  return text;
}

std::vector<std::string> shapesOf(const ModelPlan &plan) {
  std::vector<std::string> shapes;
  for (const Variant &variant : plan.variants)
    shapes.push_back(shapeOf(variant));
  return shapes;
}

std::vector<std::string> missingOf(const ModelPlan &plan) {
  std::vector<std::string> names;
  for (const NotCovered &missing : plan.notCovered)
    names.push_back(missing.name);
  return names;
}

using Names = std::vector<std::string>;

constexpr auto llama = R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
  "num_hidden_layers": 32, "num_key_value_heads": 8, "torch_dtype": "bfloat16", "rope_scaling": null})";

} // namespace

TEST_CASE("llama: one causal kernel, its heads shared by the ranks") {
  const ModelPlan whole = plan(llama);
  CHECK(shapesOf(whole) == Names{"llama full: bf16 32 / 8 of 128"});
  CHECK_THAT(whole.variants[0].reason, Catch::Contains("32 of 32 layers"));
  const spec::Model model = modelOf(whole.variants[0]);
  CHECK(model.mask >= 0);
  CHECK(model.score < 0);
  CHECK(model.scale.value_or(0) == Approx(1 / std::sqrt(128.0)));

  CHECK(shapesOf(plan(llama, {.tensorParallel = 8})) == Names{"llama full: bf16 4 / 1 of 128"});
  CHECK(shapesOf(plan(llama, {.tensorParallel = 16})) == Names{"llama full: bf16 2 / 1 of 128"});
  CHECK_THAT(refusal(llama, {.tensorParallel = 3}),
             Catch::Contains("--tp 3") && Catch::Contains("32"));
  CHECK_THAT(refusal(llama, {.tensorParallel = 0}), Catch::Contains("--tp 0"));
  CHECK(shapesOf(plan(llama, {.dtype = "fp16"})) == Names{"llama full: fp16 32 / 8 of 128"});
}

TEST_CASE("What the compiler lacks is not covered, by name") {
  CHECK(missingOf(plan(llama)) == Names{"llama decode"});
  CHECK(missingOf(plan(llama, {.pageSize = 64, .specDecode = 3, .kvDtype = "fp8"})) ==
        Names{"llama kv cache", "llama paged", "llama decode", "llama speculative decode"});
  const ModelPlan same = plan(llama, {.kvDtype = "bf16"});
  CHECK(missingOf(same) == Names{"llama decode"});
  const ModelPlan latent =
      plan(R"({"model_type": "deepseek_v3", "hidden_size": 7168, "num_attention_heads": 128,
        "num_hidden_layers": 61, "num_key_value_heads": 128, "torch_dtype": "bfloat16"})");
  CHECK(latent.variants.empty());
  REQUIRE(missingOf(latent) == Names{"deepseek_v3"});
  CHECK_THAT(latent.notCovered[0].reason, Catch::StartsWith("MLA"));
}

TEST_CASE("mistral: a window on every layer, or none where the config has none") {
  auto config = [](const char *window) {
    return fmt::format(R"({{"model_type": "mistral", "hidden_size": 4096, "num_attention_heads": 32,
      "num_hidden_layers": 32, "num_key_value_heads": 8, "sliding_window": {}, "torch_dtype": "bfloat16"}})",
                       window);
  };
  const ModelPlan local = plan(config("4096"));
  CHECK(shapesOf(local) == Names{"mistral window 4096: bf16 32 / 8 of 128"});
  CHECK_THAT(modelOf(local.variants[0]).canonical, Catch::Contains("4096"));
  CHECK(shapesOf(plan(config("null"))) == Names{"mistral full: bf16 32 / 8 of 128"});
}

TEST_CASE("gemma2: softcap, its own scale, a window on every other layer") {
  const ModelPlan made = plan(R"({"model_type": "gemma2", "hidden_size": 4608, "head_dim": 128,
    "num_attention_heads": 32, "num_hidden_layers": 46, "num_key_value_heads": 16, "sliding_window": 4096,
    "attn_logit_softcapping": 50.0, "query_pre_attn_scalar": 144, "torch_dtype": "float32"})");
  REQUIRE(shapesOf(made) ==
          Names{"gemma2 window 4096: bf16 32 / 16 of 128", "gemma2 full: bf16 32 / 16 of 128"});
  for (const Variant &variant : made.variants) {
    CHECK_THAT(variant.reason, Catch::Contains("23 of 46 layers") && Catch::Contains("float32"));
    const spec::Model model = modelOf(variant);
    CHECK(model.scale.value_or(0) == Approx(1 / 12.0));
    CHECK(model.score >= 0);
  }
  const ModelPlan wide = plan(R"({"model_type": "gemma2", "hidden_size": 3584, "head_dim": 256,
    "num_attention_heads": 16, "num_hidden_layers": 42, "num_key_value_heads": 8, "torch_dtype": "bfloat16"})");
  CHECK(wide.variants.empty());
  REQUIRE(missingOf(wide) == Names{"gemma2"});
  CHECK_THAT(wide.notCovered[0].reason, Catch::Contains("head_dim 256"));
}

TEST_CASE("qwen2 and qwen3: windows only if they are switched on, from a layer on") {
  auto config = [](const char *type, const char *use, int from) {
    return fmt::format(R"({{"model_type": "{}", "hidden_size": 3584, "num_attention_heads": 28,
      "num_hidden_layers": 28, "num_key_value_heads": 4, "sliding_window": 32768, "use_sliding_window": {},
      "max_window_layers": {}, "torch_dtype": "bfloat16"}})",
                       type, use, from);
  };
  CHECK(shapesOf(plan(config("qwen2", "false", 28))) == Names{"qwen2 full: bf16 28 / 4 of 128"});
  const ModelPlan mixed = plan(config("qwen2", "true", 21));
  REQUIRE(shapesOf(mixed) ==
          Names{"qwen2 window 32768: bf16 28 / 4 of 128", "qwen2 full: bf16 28 / 4 of 128"});
  CHECK_THAT(mixed.variants[0].reason, Catch::Contains("7 of 28 layers"));
  CHECK(shapesOf(plan(config("qwen3", "false", 28))) == Names{"qwen3 full: bf16 28 / 4 of 128"});
}

TEST_CASE("gpt_oss: sinks, and a window where layer_types says so") {
  const ModelPlan made = plan(R"({"model_type": "gpt_oss", "hidden_size": 2880, "head_dim": 64,
    "num_attention_heads": 64, "num_hidden_layers": 4, "num_key_value_heads": 8, "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention", "sliding_attention", "sliding_attention"],
    "torch_dtype": "bfloat16"})");
  REQUIRE(shapesOf(made) == Names{"gpt_oss window 128: bf16 64 / 8 of 64 sink",
                                  "gpt_oss full: bf16 64 / 8 of 64 sink"});
  CHECK_THAT(made.variants[0].reason, Catch::Contains("3 of 4 layers"));
}

TEST_CASE("layer_types is read whether or not the config has a reach") {
  auto config = [](const char *types, const char *more) {
    return fmt::format(R"({{"model_type": "qwen3", "head_dim": 128, "num_attention_heads": 8,
      "num_hidden_layers": 2, "num_key_value_heads": 8, "layer_types": {}{}}})",
                       types, more);
  };
  const char *mixed = R"(["sliding_attention", "full_attention"])";
  CHECK_THAT(refusal(config(mixed, "")), Catch::Contains("sliding_window is missing") &&
                                             Catch::Contains("layer 0 of layer_types"));
  CHECK(shapesOf(plan(config(mixed, R"(, "sliding_window": 64)"))) ==
        Names{"qwen3 window 64: bf16 8 / 8 of 128", "qwen3 full: bf16 8 / 8 of 128"});
  CHECK(shapesOf(plan(config(mixed, R"(, "sliding_window": 64, "use_sliding_window": false)"))) ==
        Names{"qwen3 full: bf16 8 / 8 of 128"});
  for (const char *other :
       {R"(["linear_attention", "full_attention"])", R"(["chunked_attention", "full_attention"])"})
    CHECK_THAT(refusal(config(other, "")), Catch::Contains("is not known of qwen3"));
}

TEST_CASE("qwen2: from layer 0 on is legal, and which layers must be said") {
  auto config = [](const char *from) {
    return fmt::format(R"({{"model_type": "qwen2", "head_dim": 128, "num_attention_heads": 8,
      "num_hidden_layers": 2, "num_key_value_heads": 8, "sliding_window": 64,
      "use_sliding_window": true{}}})",
                       from);
  };
  CHECK(shapesOf(plan(config(R"(, "max_window_layers": 0)"))) ==
        Names{"qwen2 window 64: bf16 8 / 8 of 128"});
  CHECK_THAT(refusal(config("")), Catch::Contains("max_window_layers is missing"));
}

TEST_CASE("Switches that change a family's attention are obeyed or not covered, never ignored") {
  auto config = [](const char *type, const char *more) {
    return fmt::format(R"({{"model_type": "{}", "head_dim": 128, "num_attention_heads": 8,
      "num_hidden_layers": 6, "num_key_value_heads": 8, "n_layer": 6{}}})",
                       type, more);
  };
  for (const char *off : {R"(, "is_causal": false)", R"(, "use_bidirectional_attention": true)"}) {
    const ModelPlan both = plan(config("qwen3", off));
    REQUIRE(shapesOf(both) == Names{"qwen3 full: bf16 8 / 8 of 128"});
    CHECK(modelOf(both.variants[0]).mask < 0);
    CHECK(missingOf(both).empty()); // an encoder does not decode
  }
  const ModelPlan embedding = plan(
      config("gemma3_text", R"(, "sliding_window": 512, "use_bidirectional_attention": true)"));
  CHECK(shapesOf(embedding) == Names{"gemma3_text full: bf16 8 / 8 of 128"});
  REQUIRE(missingOf(embedding) == Names{"gemma3_text window 512"});
  CHECK(embedding.notCovered[0].layers);
  const ModelPlan byLayer = plan(config("gpt2", R"(, "scale_attn_by_inverse_layer_idx": true)"));
  CHECK(byLayer.variants.empty());
  CHECK_THAT(byLayer.notCovered.at(0).reason, Catch::StartsWith("scale_attn_by_inverse_layer_idx"));
  const ModelPlan unscaled = plan(config("gpt2", R"(, "scale_attn_weights": false)"));
  REQUIRE(unscaled.variants.size() == 1);
  CHECK(modelOf(unscaled.variants[0]).scale.value_or(0) == Approx(1));
}

TEST_CASE("Sizes under a config's older names are found") {
  CHECK(shapesOf(plan(R"({"model_type": "bloom", "n_embed": 1024, "num_attention_heads": 16,
    "n_layer": 24, "torch_dtype": "float16"})")) ==
        Names{"bloom full: fp16 16 / 16 of 64 slope[heads]"});
  CHECK_THAT(refusal(R"({"model_type": "bloom", "hidden_size": 1024, "n_layer": 2})"),
             Catch::Contains("n_head (or num_attention_heads) is missing"));
}

TEST_CASE("A rank count that does not fit names the nearest that do") {
  auto config = R"({"model_type": "qwen2", "head_dim": 128, "num_attention_heads": 28,
    "num_hidden_layers": 2, "num_key_value_heads": 4})";
  CHECK_THAT(refusal(config, {.tensorParallel = 8}), Catch::EndsWith("nearest legal: 4, 28"));
  CHECK_THAT(refusal(config, {.tensorParallel = 3}), Catch::EndsWith("nearest legal: 2, 4"));
  CHECK_THAT(refusal(config, {.tensorParallel = 500}), Catch::EndsWith("nearest legal: 28"));
}

TEST_CASE("bloom: as many kv heads as query heads, and a tensor of slopes") {
  CHECK(shapesOf(plan(R"({"model_type": "bloom", "hidden_size": 4096, "n_head": 32, "n_layer": 30,
    "torch_dtype": "float16"})")) == Names{"bloom full: fp16 32 / 32 of 128 slope[heads]"});
}

TEST_CASE("phi3: a head dim that no kernel has is not covered, another one is") {
  auto config = [](int hidden, int heads, int kvHeads) {
    return fmt::format(R"({{"model_type": "phi3", "hidden_size": {}, "num_attention_heads": {},
      "num_hidden_layers": 40, "num_key_value_heads": {}, "sliding_window": 2047, "torch_dtype": "bfloat16"}})",
                       hidden, heads, kvHeads);
  };
  CHECK(shapesOf(plan(config(5120, 40, 10))) == Names{"phi3 window 2047: bf16 40 / 10 of 128"});
  CHECK(missingOf(plan(config(3072, 32, 32))) == Names{"phi3"});
}

TEST_CASE("llama4: chunks on three layers of four; text and images are two stacks") {
  const ModelPlan made = plan(R"({"model_type": "llama4", "torch_dtype": "bfloat16",
    "text_config": {"model_type": "llama4_text", "hidden_size": 5120, "head_dim": 128,
      "num_attention_heads": 40, "num_key_value_heads": 8, "num_hidden_layers": 48, "attention_chunk_size": 8192},
    "vision_config": {"model_type": "siglip_vision_model", "hidden_size": 1024, "num_attention_heads": 16,
      "num_hidden_layers": 24}})");
  REQUIRE(shapesOf(made) == Names{"llama4_text chunk 8192: bf16 40 / 8 of 128",
                                  "llama4_text full: bf16 40 / 8 of 128",
                                  "siglip_vision_model full: bf16 16 / 16 of 64"});
  CHECK_THAT(made.variants[0].reason, Catch::Contains("36 of 48 layers"));
  CHECK(modelOf(made.variants[2]).mask < 0);
}

TEST_CASE("llama4: which layers have chunks, by list or interval") {
  auto config = [](const char *more) {
    return fmt::format(R"({{"model_type": "llama4_text", "head_dim": 128, "num_attention_heads": 8,
      "num_hidden_layers": 4, "num_key_value_heads": 8, "attention_chunk_size": 64{}}})",
                       more);
  };
  for (const auto &[more, layers] : {std::pair{R"(, "no_rope_layers": [1, 0, 0, 0])", "1 of 4"},
                                     {R"(, "no_rope_layers": [])", "3 of 4"},
                                     {R"(, "no_rope_layer_interval": 2)", "2 of 4"}})
    CHECK_THAT(plan(config(more)).variants.at(0).reason, Catch::StartsWith(layers));
  CHECK_THAT(refusal(config(R"(, "no_rope_layers": [1])")), Catch::Contains("no_rope_layers"));
}

TEST_CASE("An encoder of unknown family leaves the text model's plan; a text model does not") {
  const char *text = R"("hidden_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2)";
  const ModelPlan nested = plan(fmt::format(
      R"({{"text_config": {{"model_type": "llama", {}}}, "vision_config": {{"model_type": "v"}}}})",
      text));
  CHECK(shapesOf(nested) == Names{"llama full: bf16 8 / 8 of 128"});
  CHECK(missingOf(nested) == Names{"llama decode", "vision_config"});
  CHECK(nested.notCovered[1].layers);
  const ModelPlan flat = plan(
      fmt::format(R"({{"model_type": "llama", {}, "audio_config": {{"model_type": "a"}}}})", text));
  CHECK(shapesOf(flat) == Names{"llama full: bf16 8 / 8 of 128"});
  CHECK(missingOf(flat) == Names{"llama decode", "audio_config"});
  CHECK_THAT(refusal(R"({"text_config": {"model_type": "t"}, "vision_config": {}})"),
             Catch::Contains("text_config: model_type \"t\" is not known"));
  CHECK(missingOf(plan(R"({"text_config": {"model_type": "gemma3_text", "head_dim": 128,
    "num_attention_heads": 8, "num_hidden_layers": 1}, "vision_config": {"model_type": "v"}})")) ==
        Names{"gemma3_text images", "gemma3_text decode", "vision_config"});
}

TEST_CASE("Every family of the table plans, with every variant's spec legal") {
  for (std::string_view family : knownFamilies()) {
    INFO(family);
    const ModelPlan made = plan(fmt::format(
        R"({{"model_type": "{}", "hidden_size": 2048, "n_embd": 2048, "num_attention_heads": 16, "n_head": 16,
          "num_hidden_layers": 12, "n_layer": 12, "num_key_value_heads": 16, "sliding_window": 512,
          "attention_chunk_size": 512, "use_sliding_window": true, "max_window_layers": 6,
          "attn_logit_softcapping": 30.0, "query_pre_attn_scalar": 128}})",
        family));
    CHECK(made.variants.size() + made.notCovered.size() > 0);
    for (const Variant &variant : made.variants)
      CHECK(modelOf(variant).problem.numQHeads == 16);
  }
}

TEST_CASE("What is wrong in a config is named by its key") {
  struct Case {
    const char *config, *says;
  };
  const Case cases[] = {
      {"[]", "no JSON object"},
      {"{", "no JSON object"},
      {R"({"model_type": "unheard_of"})", "unheard_of"},
      {R"({})", "model_type"},
      {R"({"model_type": "llama", "hidden_size": 4096, "num_hidden_layers": 2})",
       "num_attention_heads"},
      {R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32})",
       "num_hidden_layers"},
      {R"({"model_type": "llama", "hidden_size": 4096, "num_attention_heads": 0, "num_hidden_layers": 2})",
       "num_attention_heads"},
      {R"({"model_type": "llama", "hidden_size": 4097, "num_attention_heads": 32, "num_hidden_layers": 2})",
       "hidden_size"},
      {R"({"model_type": "gpt_oss", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 2,
         "sliding_window": 128, "layer_types": ["full_attention"]})",
       "layer_types"},
      {R"({"model_type": "gpt_oss", "head_dim": 64, "num_attention_heads": 8, "num_hidden_layers": 1,
         "sliding_window": 128, "layer_types": ["linear_attention"]})",
       "linear_attention"},
      {R"({"model_type": "gemma2", "head_dim": 128, "num_attention_heads": 8, "num_hidden_layers": 1,
         "query_pre_attn_scalar": "144"})",
       "query_pre_attn_scalar"},
  };
  for (const Case &wrong : cases) {
    INFO(wrong.config);
    CHECK_THAT(refusal(wrong.config),
               Catch::StartsWith("config.json: ") && Catch::Contains(wrong.says));
  }
}

TEST_CASE("A plan's list reads back as its variants, with what is missing as comments") {
  const ModelPlan made = plan(llama, {.pageSize = 16});
  const std::string text = planText(made, "# heading\n");
  CHECK_THAT(text,
             Catch::StartsWith("# heading\n") && Catch::Contains("# not covered: llama paged: "));
  auto items = parseList(text, "l.toml");
  REQUIRE(items);
  auto kernels = expand(*items, "l.toml");
  REQUIRE(kernels);
  REQUIRE(kernels->size() == made.variants.size());
  const auto &set = made.variants[0].set;
  CHECK((*kernels)[0].spec == made.variants[0].spec);
  CHECK((*kernels)[0].parameters == std::map<std::string, std::string>(set.begin(), set.end()));
}
