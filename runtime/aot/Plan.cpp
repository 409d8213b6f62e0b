// Which variants, which parameters, and what is missing.
#include "runtime/aot/Plan.h"
#include "runtime/aot/Family.h"
#include "runtime/aot/SpecText.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune::aot {

namespace {

/// A float as a spec's literal.
std::string literal(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".e") == text.npos ? text + ".0" : text;
}

template <class T> bool contains(const std::vector<T> &all, const T &one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

class Planner {
public:
  Planner(const Serving &serving, const Limits &limits) : serving_(serving), limits_(limits) {}

  Result<ModelPlan> plan(const std::vector<Stack> &stacks) {
    for (const Stack &stack : stacks)
      if (auto ok = addStack(stack); !ok)
        return ok.error();
    return std::move(plan_);
  }

private:
  struct Heads {
    int64_t q, kv;
  };

  static bool canShare(int64_t ranks, const Stack &stack) {
    return ranks >= 1 && stack.numQHeads % ranks == 0 &&
           (stack.numKvHeads % ranks == 0 || ranks % stack.numKvHeads == 0);
  }

  /// Of one rank. Fewer kv heads than ranks are repeated.
  Result<Heads> headsOfRank(const Stack &stack) const {
    const int64_t ranks = serving_.tensorParallel;
    if (canShare(ranks, stack))
      return Heads{stack.numQHeads / ranks, std::max<int64_t>(1, stack.numKvHeads / ranks)};
    std::vector<int64_t> nearest;
    for (int64_t step : {-1, 1}) {
      int64_t other = std::min(ranks, stack.numQHeads + 1) + step;
      while (other >= 1 && other <= stack.numQHeads && !canShare(other, stack))
        other += step;
      if (canShare(other, stack))
        nearest.push_back(other);
    }
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("--tp {}: {} has {} query heads and {} kv heads, which {} ranks can "
                             "neither share nor repeat evenly; nearest legal: {}",
                             ranks, stack.family, stack.numQHeads, stack.numKvHeads, ranks,
                             fmt::join(nearest, ", "))};
  }

  std::string dtypeOf(const Stack &stack) const {
    if (!serving_.dtype.empty())
      return serving_.dtype;
    return stack.dtype.empty() || stack.dtype == "float32" ? "bf16" : stack.dtype;
  }

  void notCovered(const std::string &name, std::string reason) {
    plan_.notCovered.push_back({name, std::move(reason)});
  }
  void noKernel(const std::string &name, std::string reason) {
    plan_.notCovered.push_back({name, std::move(reason), true});
  }

  Result<void> addStack(const Stack &stack) {
    if (!stack.lacks.empty()) {
      noKernel(stack.family, stack.lacks);
      return {};
    }
    const std::string dtype = dtypeOf(stack);
    if (!contains(limits_.dtypes, dtype)) {
      noKernel(stack.family, fmt::format("q, k and v of type {}; kernels exist for {}", dtype,
                                         fmt::join(limits_.dtypes, " and ")));
      return {};
    }
    if (!contains(limits_.headDims, int(stack.headDim))) {
      noKernel(stack.family, fmt::format("head_dim {}; kernels exist for {}", stack.headDim,
                                         fmt::join(limits_.headDims, ", ")));
      return {};
    }
    auto heads = headsOfRank(stack);
    if (!heads)
      return heads.error();
    for (const LayerGroup &group : stack.groups)
      addVariant(stack, group, *heads, dtype);
    if (stack.causal)
      addMissing(stack, dtype);
    return {};
  }

  void addVariant(const Stack &stack, const LayerGroup &group, Heads heads,
                  const std::string &dtype) {
    const SpecFeatures features{.causal = stack.causal,
                                .window = group.window.has_value(),
                                .chunk = group.chunk.has_value(),
                                .sink = stack.sink,
                                .alibi = stack.alibi,
                                .softcap = stack.softcap.has_value(),
                                .scale = stack.scaleDim.has_value()};
    Variant variant;
    variant.name = fmt::format("{} {}", stack.family, group.name);
    if (!stack.causal && (group.window || group.chunk)) {
      noKernel(variant.name, "bidirectional layers with a window or chunk: a family's exact limits "
                             "differ; write the spec by hand (window(left, right))");
      return;
    }
    variant.spec = specName(features) + ".attn";
    variant.text = specText(features);
    variant.set = {{"dtype", dtype},
                   {"num_q_heads", fmt::format("{}", heads.q)},
                   {"num_kv_heads", fmt::format("{}", heads.kv)},
                   {"head_dim", fmt::format("{}", stack.headDim)}};
    if (stack.scaleDim)
      variant.set.emplace_back("scale_dim", literal(*stack.scaleDim));
    if (stack.softcap)
      variant.set.emplace_back("cap", literal(*stack.softcap));
    if (group.window)
      variant.set.emplace_back("width", fmt::format("{}", *group.window));
    if (group.chunk)
      variant.set.emplace_back("length", fmt::format("{}", *group.chunk));
    variant.reason = fmt::format(
        "{} of {} layers of {}: {}, {} over {} heads of {}{}{}", group.layers, layersOf(stack),
        stack.family, stack.causal ? "whole prompts, packed" : "bidirectional, packed",
        stack.numQHeads, stack.numKvHeads, stack.headDim,
        serving_.tensorParallel > 1 ? fmt::format(" on {} ranks", serving_.tensorParallel) : "",
        stack.dtype == "float32" && serving_.dtype.empty()
            ? "; the config says float32, kernels compute in bf16"
            : "");
    plan_.variants.push_back(std::move(variant));
  }

  static int64_t layersOf(const Stack &stack) {
    int64_t layers = 0;
    for (const LayerGroup &group : stack.groups)
      layers += group.layers;
    return layers;
  }

  /// What serving such a stack needs besides, and this version lacks.
  void addMissing(const Stack &stack, const std::string &dtype) {
    if (stack.imageBlocks)
      notCovered(stack.family + " images",
                 "rows of one image see each other in both directions; these variants are causal, "
                 "which serves prompts without images");
    if (!serving_.kvDtype.empty() && serving_.kvDtype != dtype)
      notCovered(
          stack.family + " kv cache",
          fmt::format("keys and values of type {} under queries of type {}: k and v have q's "
                      "type today",
                      serving_.kvDtype, dtype));
    if (serving_.pageSize > 0)
      notCovered(stack.family + " paged",
                 fmt::format("a KV cache in pages of {} tokens: storage is contiguous today, which "
                             "serves prompts before they are cached",
                             serving_.pageSize));
    notCovered(stack.family + " decode",
               "one query row per sequence: the prefill kernel computes it rightly, but a kernel "
               "that splits the keys over workgroups is not built yet");
    if (serving_.specDecode > 0)
      notCovered(stack.family + " speculative decode",
                 fmt::format("{} query rows per sequence: as decode", serving_.specDecode + 1));
  }

  const Serving &serving_;
  const Limits &limits_;
  ModelPlan plan_;
};

} // namespace

Result<ModelPlan> planModel(std::string_view configJson, const std::string &fileName,
                            const Serving &serving, const Limits &limits) {
  if (serving.tensorParallel < 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("--tp {}: at least one rank", serving.tensorParallel)};
  auto stacks = readConfig(configJson, fileName);
  if (!stacks)
    return stacks.error();
  return Planner(serving, limits).plan(*stacks);
}

std::string planText(const ModelPlan &plan, std::string_view heading) {
  std::string comment(heading);
  for (const NotCovered &missing : plan.notCovered)
    comment += fmt::format("# not covered: {}: {}\n", missing.name, missing.reason);
  std::vector<ListItem> items;
  for (const Variant &variant : plan.variants) {
    ListItem item{variant.spec, "", variant.reason, {}, {}, 0};
    for (const auto &[name, value] : variant.set)
      item.set.emplace_back(name, std::vector{value});
    items.push_back(std::move(item));
  }
  return listText(items, comment);
}

} // namespace attune::aot
