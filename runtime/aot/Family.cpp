// Reads config.json by the rows of Families.def.
#include "runtime/aot/Family.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace attune::aot {

namespace {

using Json = nlohmann::json;

struct Names {
  const char *qHeads, *kvHeads, *hidden, *layers;
};
/// "" for kv heads: there are as many as query heads.
constexpr Names Bloom = {"n_head", "", "hidden_size", "n_layer"};
constexpr Names Gpt2 = {"n_head", "", "n_embd", "n_layer"};
constexpr Names Usual = {"num_attention_heads", "num_key_value_heads", "hidden_size",
                         "num_hidden_layers"};

enum class Locality {
  None,
  All,
  FromMaxWindowLayers, ///< layers from max_window_layers on, if use_sliding_window is true
  Periodic,
};

enum Feature : unsigned {
  Causal = 1,
  Alibi = 2,
  Sink = 4,
  Softcap = 8,      ///< attn_logit_softcapping
  QueryScalar = 16, ///< query_pre_attn_scalar
  Chunked = 32,     ///< local layers have attention_chunk_size, not sliding_window
  Latent = 64,      ///< MLA: k and v are projections of one cached vector
};

struct Family {
  std::string_view type;
  const Names *names;
  Locality locality;
  int64_t period;
  unsigned features;
};
constexpr Family families[] = {
#define FAMILY(type, names, locality, period, features)                                            \
  {#type, &names, Locality::locality, period, features},
#include "runtime/aot/Families.def"
};

/// A config object. The first key that is wrong is kept; reading goes on with nothing in its place.
class Config {
public:
  Config(const Json &json, std::string path) : json_(json), path_(std::move(path)) {}

  /// Null counts as absent, as in Hugging Face's configs.
  const Json *find(std::string_view key) const {
    const auto it = json_.find(std::string(key));
    return it == json_.end() || it->is_null() ? nullptr : &*it;
  }
  std::optional<int64_t> integer(std::string_view key) {
    const Json *value = find(key);
    if (!value)
      return std::nullopt;
    if (value->is_number_integer() && *value >= 1 && *value <= int64_t(1) << 31)
      return value->get<int64_t>();
    wrong(key, fmt::format("must be a whole number above 0, is {}", value->dump()));
    return std::nullopt;
  }
  int64_t needed(std::string_view key) {
    auto value = integer(key);
    if (!value)
      wrong(key, "is missing");
    return value.value_or(1);
  }
  std::optional<double> number(std::string_view key) {
    const Json *value = find(key);
    if (value && !value->is_number())
      wrong(key, fmt::format("must be a number, is {}", value->dump()));
    return value && value->is_number() ? std::optional(value->get<double>()) : std::nullopt;
  }
  std::string text(std::string_view key) const {
    const Json *value = find(key);
    return value && value->is_string() ? value->get<std::string>() : "";
  }
  bool isTrue(std::string_view key) const {
    const Json *value = find(key);
    return value && value->is_boolean() && value->get<bool>();
  }
  void wrong(std::string_view key, std::string_view what) {
    if (!error_)
      error_ = Error{ErrorCode::InvalidSpec, fmt::format("{}: {} {}", path_, key, what)};
  }
  const std::optional<Error> &error() const { return error_; }

private:
  const Json &json_;
  std::string path_;
  std::optional<Error> error_;
};

bool isLocal(Config &config, const Family &family, int64_t layer, int64_t layers) {
  if (const Json *types = config.find("layer_types")) {
    if (!types->is_array() || int64_t(types->size()) != layers ||
        !(*types)[size_t(layer)].is_string()) {
      config.wrong("layer_types", fmt::format("must be a list of {} texts", layers));
      return false;
    }
    const std::string type = (*types)[size_t(layer)];
    if (type == "full_attention")
      return false;
    if (type != "sliding_attention" && type != "chunked_attention")
      config.wrong("layer_types", fmt::format("\"{}\" is not known; full_attention, "
                                              "sliding_attention and chunked_attention are",
                                              type));
    return true;
  }
  switch (family.locality) {
  case Locality::None:
    return false;
  case Locality::All:
    return true;
  case Locality::FromMaxWindowLayers:
    return config.isTrue("use_sliding_window") &&
           layer >= config.integer("max_window_layers").value_or(0);
  case Locality::Periodic:
    return (layer + 1) % config.integer("sliding_window_pattern").value_or(family.period) != 0;
  }
  return false;
}

std::vector<LayerGroup> groupsOf(Config &config, const Family &family, int64_t layers) {
  const bool chunked = family.features & Chunked;
  const auto reach = config.integer(chunked ? "attention_chunk_size" : "sliding_window");
  LayerGroup local, full{"full", 0, {}, {}};
  if (reach)
    local.name = fmt::format("{} {}", chunked ? "chunk" : "window", *reach);
  (chunked ? local.chunk : local.window) = reach;
  for (int64_t layer = 0; layer < layers; ++layer)
    ++(reach && isLocal(config, family, layer, layers) ? local : full).layers;
  std::vector<LayerGroup> groups;
  for (LayerGroup *group : {&local, &full})
    if (group->layers > 0)
      groups.push_back(*group);
  return groups;
}

std::string dtypeOf(const Config &config) {
  std::string name = config.text("dtype");
  if (name.empty())
    name = config.text("torch_dtype");
  return name == "bfloat16" ? "bf16" : name == "float16" ? "fp16" : name;
}

Stack stackOf(Config &config, const Family &family) {
  const Names &names = *family.names;
  Stack stack;
  stack.family = family.type;
  stack.numQHeads = config.needed(names.qHeads);
  stack.numKvHeads =
      *names.kvHeads ? config.integer(names.kvHeads).value_or(stack.numQHeads) : stack.numQHeads;
  if (auto headDim = config.integer("head_dim")) {
    stack.headDim = *headDim;
  } else {
    const int64_t hidden = config.needed(names.hidden);
    stack.headDim = hidden / stack.numQHeads;
    if (hidden % stack.numQHeads != 0)
      config.wrong(names.hidden, fmt::format("{} is no multiple of {} = {}", hidden, names.qHeads,
                                             stack.numQHeads));
  }
  stack.dtype = dtypeOf(config);
  stack.causal = family.features & Causal;
  stack.sink = family.features & Sink;
  stack.alibi = family.features & Alibi;
  stack.latent = family.features & Latent;
  if (family.features & Softcap)
    stack.softcap = config.number("attn_logit_softcapping");
  if (family.features & QueryScalar)
    stack.scaleDim = config.number("query_pre_attn_scalar");
  stack.groups = groupsOf(config, family, config.needed(names.layers));
  return stack;
}

Result<Stack> readStack(const Json &json, const std::string &path, const std::string &dtype) {
  Config config(json, path);
  const std::string type = config.text("model_type");
  const auto family = std::find_if(std::begin(families), std::end(families),
                                   [&](const Family &f) { return f.type == type; });
  if (family == std::end(families))
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: model_type \"{}\" is not known; known are {}. A new family is a "
                             "row of runtime/aot/Families.def; a list of kernels can also be "
                             "written by hand (docs/aot.md)",
                             path, type, fmt::join(knownFamilies(), ", "))};
  Stack stack = stackOf(config, *family);
  if (stack.dtype.empty())
    stack.dtype = dtype;
  if (config.error())
    return *config.error();
  return stack;
}

} // namespace

std::vector<std::string_view> knownFamilies() {
  std::vector<std::string_view> names;
  for (const Family &family : families)
    names.push_back(family.type);
  return names;
}

Result<std::vector<Stack>> readConfig(std::string_view text, const std::string &fileName) {
  const Json root = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object())
    return Error{ErrorCode::InvalidSpec, fmt::format("{}: is no JSON object", fileName)};
  const Config outer(root, fileName);
  std::vector<Stack> stacks;
  for (const char *part : {"text_config", "vision_config"}) {
    const Json *inner = outer.find(part);
    if (!inner || !inner->is_object())
      continue;
    auto stack = readStack(*inner, fmt::format("{}: {}", fileName, part), dtypeOf(outer));
    if (!stack)
      return stack.error();
    stacks.push_back(std::move(*stack));
  }
  if (!stacks.empty())
    return stacks;
  auto stack = readStack(root, fileName, "");
  if (!stack)
    return stack.error();
  return std::vector{std::move(*stack)};
}

} // namespace attune::aot
