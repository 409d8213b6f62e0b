// Reads config.json by the rows of Families.def.
#include "runtime/aot/Family.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace attune::aot {

namespace {

using Json = nlohmann::json;

/// A size may stand under either of two names: Hugging Face's configs read both.
struct Key {
  const char *name, *alias = nullptr;
};
struct Names {
  Key qHeads, kvHeads, hidden, layers;
};
/// No name for kv heads: there are as many as query heads.
constexpr Names Bloom = {{"n_head", "num_attention_heads"},
                         {nullptr},
                         {"hidden_size", "n_embed"},
                         {"n_layer", "num_hidden_layers"}};
constexpr Names Gpt2 = {{"n_head", "num_attention_heads"},
                        {nullptr},
                        {"n_embd", "hidden_size"},
                        {"n_layer", "num_hidden_layers"}};
constexpr Names Usual = {
    {"num_attention_heads"}, {"num_key_value_heads"}, {"hidden_size"}, {"num_hidden_layers"}};

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
  Softcap = 8,       ///< attn_logit_softcapping
  QueryScalar = 16,  ///< query_pre_attn_scalar
  Chunked = 32,      ///< local layers have attention_chunk_size, not sliding_window
  Latent = 64,       ///< MLA: k and v are projections of one cached vector
  ImageBlocks = 128, ///< rows of one image see each other in both directions
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
  std::optional<int64_t> integer(std::string_view key, int64_t least = 1) {
    const Json *value = find(key);
    if (!value)
      return std::nullopt;
    if (value->is_number_integer() && *value >= least && *value <= int64_t(1) << 31)
      return value->get<int64_t>();
    wrong(key, fmt::format("must be a whole number, {} or more, is {}", least, value->dump()));
    return std::nullopt;
  }
  const char *nameOf(Key key) const { return !find(key.name) && key.alias ? key.alias : key.name; }
  int64_t needed(Key key) {
    auto value = integer(nameOf(key));
    if (!value)
      wrong(key.name, key.alias ? fmt::format("(or {}) is missing", key.alias) : "is missing");
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
  /// Absent, or no boolean: nothing.
  std::optional<bool> flag(std::string_view key) const {
    const Json *value = find(key);
    return value && value->is_boolean() ? std::optional(value->get<bool>()) : std::nullopt;
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

/// Element `layer` of a list that has one for each layer.
const Json *ofLayer(Config &config, const char *key, const Json &list, int64_t layer,
                    int64_t layers) {
  if (list.is_array() && int64_t(list.size()) == layers)
    return &list[size_t(layer)];
  config.wrong(key, fmt::format("must be a list with an element for each of {} layers", layers));
  return nullptr;
}

/// By layer_types.
bool isListedLocal(Config &config, const Family &family, const Json &types, int64_t layer,
                   int64_t layers) {
  const Json *type = ofLayer(config, "layer_types", types, layer, layers);
  const char *local = family.features & Chunked ? "chunked_attention" : "sliding_attention";
  if (type && *type != local && *type != "full_attention")
    config.wrong("layer_types", fmt::format("{} is not known of {}; full_attention and {} are",
                                            type->dump(), family.type, local));
  return type && *type == local;
}

/// By the family's habit, for a config without layer_types.
bool isUsuallyLocal(Config &config, const Family &family, int64_t layer, int64_t layers) {
  switch (family.locality) {
  case Locality::None:
    return false;
  case Locality::All:
    return true;
  case Locality::FromMaxWindowLayers: {
    if (!config.flag("use_sliding_window").value_or(false))
      return false;
    const auto from = config.integer("max_window_layers", 0);
    if (!from)
      config.wrong("max_window_layers", "is missing, and use_sliding_window is true");
    return from && layer >= *from;
  }
  case Locality::Periodic: {
    const bool chunked = family.features & Chunked;
    const Json *rope = chunked ? config.find("no_rope_layers") : nullptr;
    if (rope && !rope->empty()) {
      const Json *one = ofLayer(config, "no_rope_layers", *rope, layer, layers);
      return one && *one != 0;
    }
    const char *period = chunked ? "no_rope_layer_interval" : "sliding_window_pattern";
    return (layer + 1) % config.integer(period).value_or(family.period) != 0;
  }
  }
  return false;
}

std::vector<LayerGroup> groupsOf(Config &config, const Family &family, int64_t layers) {
  const bool chunked = family.features & Chunked;
  const char *key = chunked ? "attention_chunk_size" : "sliding_window";
  const Json *types = config.find("layer_types");
  const bool off = !config.flag("use_sliding_window").value_or(true);
  const auto reach = off ? std::nullopt : config.integer(key);
  LayerGroup local, full{"full", 0, {}, {}};
  if (reach)
    local.name = fmt::format("{} {}", chunked ? "chunk" : "window", *reach);
  (chunked ? local.chunk : local.window) = reach;
  for (int64_t layer = 0; layer < layers && !config.error(); ++layer) {
    const bool isLocal = types ? isListedLocal(config, family, *types, layer, layers)
                               : isUsuallyLocal(config, family, layer, layers);
    if (isLocal && types && !reach && !off)
      config.wrong(key, fmt::format("is missing, and layer {} of layer_types needs it", layer));
    ++(reach && isLocal ? local : full).layers;
  }
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

int64_t headDimOf(Config &config, const Names &names, int64_t numQHeads) {
  if (auto headDim = config.integer("head_dim"))
    return *headDim;
  const int64_t hidden = config.needed(names.hidden);
  if (hidden % numQHeads != 0)
    config.wrong(config.nameOf(names.hidden), fmt::format("{} is no multiple of {} = {}", hidden,
                                                          config.nameOf(names.qHeads), numQHeads));
  return hidden / numQHeads;
}

/// Switches of a config that make its attention another one than its family's usual.
void readSwitches(const Config &config, Stack &stack) {
  if (!config.flag("is_causal").value_or(true) ||
      config.flag("use_bidirectional_attention").value_or(false))
    stack.causal = false;
  if (!config.flag("scale_attn_weights").value_or(true))
    stack.scaleDim = 1;
  if (config.flag("scale_attn_by_inverse_layer_idx").value_or(false))
    stack.lacks = "scale_attn_by_inverse_layer_idx: each layer divides its logits by its own "
                  "number; write a spec with a scalar in its scale by hand";
}

Stack stackOf(Config &config, const Family &family) {
  const Names &names = *family.names;
  Stack stack;
  stack.family = family.type;
  stack.numQHeads = config.needed(names.qHeads);
  stack.numKvHeads = names.kvHeads.name
                         ? config.integer(names.kvHeads.name).value_or(stack.numQHeads)
                         : stack.numQHeads;
  stack.headDim = headDimOf(config, names, stack.numQHeads);
  stack.dtype = dtypeOf(config);
  stack.causal = family.features & Causal;
  stack.sink = family.features & Sink;
  stack.alibi = family.features & Alibi;
  if (family.features & Latent)
    stack.lacks = "MLA: k and v are projections of one cached vector; the language has no latent "
                  "storage yet";
  if (family.features & Softcap)
    stack.softcap = config.number("attn_logit_softcapping");
  if (family.features & QueryScalar)
    stack.scaleDim = config.number("query_pre_attn_scalar");
  readSwitches(config, stack);
  stack.groups = groupsOf(config, family, config.needed(names.layers));
  return stack;
}

const Family *familyOf(const Config &config) {
  const std::string type = config.text("model_type");
  const auto family = std::find_if(std::begin(families), std::end(families),
                                   [&](const Family &f) { return f.type == type; });
  return family == std::end(families) ? nullptr : family;
}

std::string unknownFamily(const Config &config) {
  return fmt::format("model_type \"{}\" is not known; known are {}. A new family is a row of "
                     "runtime/aot/Families.def; a list of kernels can also be written by hand "
                     "(docs/aot.md)",
                     config.text("model_type"), fmt::join(knownFamilies(), ", "));
}

Result<Stack> readStack(const Json &json, const std::string &path, const std::string &dtype,
                        bool hasImages) {
  Config config(json, path);
  const Family *family = familyOf(config);
  if (!family)
    return Error{ErrorCode::Unsupported, fmt::format("{}: {}", path, unknownFamily(config))};
  Stack stack = stackOf(config, *family);
  stack.imageBlocks = hasImages && (family->features & ImageBlocks);
  if (stack.dtype.empty())
    stack.dtype = dtype;
  if (config.error())
    return *config.error();
  return stack;
}

constexpr const char *textPart = "text_config";
constexpr const char *parts[] = {textPart, "vision_config", "audio_config"};

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
  const auto has = [&](const char *part) {
    const Json *inner = outer.find(part);
    return inner && inner->is_object();
  };
  const bool hasImages = has("vision_config");
  std::vector<Stack> stacks;
  // Without a text_config the text model's keys stand outside.
  if (!has(textPart)) {
    auto stack = readStack(root, fileName, "", hasImages);
    if (!stack)
      return stack.error();
    stacks.push_back(std::move(*stack));
  }
  for (const char *part : parts) {
    if (!has(part))
      continue;
    const std::string path = fmt::format("{}: {}", fileName, part);
    const Config inner(*outer.find(part), path);
    if (part != textPart && !familyOf(inner)) {
      Stack unknown;
      unknown.family = part;
      unknown.lacks = unknownFamily(inner);
      stacks.push_back(std::move(unknown));
      continue;
    }
    auto stack = readStack(*outer.find(part), path, dtypeOf(outer), hasImages);
    if (!stack)
      return stack.error();
    stacks.push_back(std::move(*stack));
  }
  return stacks;
}

} // namespace attune::aot
