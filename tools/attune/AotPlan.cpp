// attune aot plan and attune aot coverage.
#include "compiler/schedule/Limits.h"
#include "compiler/spec/Spec.h"
#include "compiler/target/Arch.h"
#include "runtime/aot/Plan.h"
#include "runtime/bundle/Bundle.h"
#include "runtime/compile/KernelKey.h"
#include "runtime/launch/File.h"
#include "tools/attune/Aot.h"
#include "tools/attune/AotJobs.h"
#include "tools/attune/CommandLine.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::tool {

namespace {

Result<aot::ModelPlan> planOf(const AotModel &model) {
  auto bytes = readFile(model.config);
  if (!bytes)
    return bytes.error();
  aot::Limits limits;
  for (int dim : schedule::supportedHeadDims())
    limits.headDims.push_back(dim);
  for (DType type : schedule::supportedDTypes())
    limits.dtypes.emplace_back(nameOf(type));
  return aot::planModel({reinterpret_cast<const char *>(bytes->data()), bytes->size()},
                        model.config,
                        {.tensorParallel = model.tensorParallel,
                         .pageSize = model.pageSize,
                         .specDecode = model.specDecode,
                         .kvDtype = model.kvDtype,
                         .dtype = model.dtype},
                        limits);
}

/// The options of `model` as they were given.
std::string optionsText(const AotModel &model) {
  std::string text = fmt::format("--model {}", model.config);
  if (model.tensorParallel != 1)
    text += fmt::format(" --tp {}", model.tensorParallel);
  if (model.pageSize != 0)
    text += fmt::format(" --page-size {}", model.pageSize);
  if (!model.kvDtype.empty())
    text += fmt::format(" --kv-dtype {}", model.kvDtype);
  if (!model.dtype.empty())
    text += fmt::format(" --dtype {}", model.dtype);
  if (model.specDecode != 0)
    text += fmt::format(" --spec-decode {}", model.specDecode);
  return text;
}

std::map<std::string, std::string> parametersOf(const aot::Variant &variant) {
  return {variant.set.begin(), variant.set.end()};
}

Result<void> writeText(const std::string &path, const std::string &text) {
  return writeFile(path, {reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

/// Written files are ours to replace; another file of that name is not.
Result<void> writeSpec(const std::string &path, const std::string &text) {
  const std::string firstLine = text.substr(0, text.find('\n') + 1);
  auto old = readFile(path);
  if (old && !std::string(old->begin(), old->end()).starts_with(firstLine))
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("{}: exists and was not written by attune aot plan; move it, or name "
                             "another folder",
                             path)};
  return writeText(path, text);
}

void printVariants(const aot::ModelPlan &plan) {
  for (const aot::Variant &variant : plan.variants)
    fmt::print("{}\n    {}: {}\n", variant.name, aotLabel(variant.spec, parametersOf(variant), {}),
               variant.reason);
}

std::string notCoveredText(const aot::ModelPlan &plan) {
  std::string text;
  for (const aot::NotCovered &missing : plan.notCovered)
    text += fmt::format("not covered: {}: {}\n", missing.name, missing.reason);
  return text;
}

/// Can the model be served with these kernels and the ones that are in the bundle? Decoding and the
/// like run on the prefill kernels; layers that no kernel computes do not.
bool serves(const aot::ModelPlan &plan, const std::vector<bool> &covered) {
  return std::find(covered.begin(), covered.end(), false) == covered.end() &&
         std::none_of(plan.notCovered.begin(), plan.notCovered.end(),
                      [](const aot::NotCovered &missing) { return missing.layers; });
}

nlohmann::ordered_json variantJson(const aot::Variant &variant) {
  return {{"variant", variant.name}, {"spec", variant.spec}, {"set", parametersOf(variant)}};
}

nlohmann::ordered_json notCoveredJson(const aot::ModelPlan &plan) {
  auto all = nlohmann::ordered_json::array();
  for (const aot::NotCovered &one : plan.notCovered)
    all.push_back(
        {{"variant", one.name}, {"reason", one.reason}, {"layers_without_kernel", one.layers}});
  return all;
}

std::string planJson(const AotPlan &args, const aot::ModelPlan &plan) {
  auto variants = nlohmann::ordered_json::array();
  for (const aot::Variant &variant : plan.variants) {
    variants.push_back(variantJson(variant));
    variants.back()["reason"] = variant.reason;
  }
  return nlohmann::ordered_json({{"ok", !plan.variants.empty()},
                                 {"variants", variants},
                                 {"not_covered", notCoveredJson(plan)},
                                 {"output", args.output}})
             .dump(2) +
         "\n";
}

/// Is a kernel of this variant in the bundle, whoever built it?
Result<bool> inBundle(const bundle::Bundle &bundle, const aot::Variant &variant,
                      const std::string &arch) {
  auto model = spec::parseSpec(
      variant.text,
      {.fileName = variant.spec, .parameters = parametersOf(variant), .attention = {}});
  if (!model)
    return model.error();
  auto key = kernelKey(*model, arch, {}, {"any", "any"}, parametersOf(variant));
  if (!key)
    return key.error();
  auto fields = cache::parseKey(key->text());
  if (!fields)
    return fields.error();
  return bundle.findAnyBuild(*fields).has_value();
}

std::string coverageJson(const aot::ModelPlan &plan, const std::vector<bool> &covered) {
  auto variants = nlohmann::ordered_json::array();
  for (size_t i = 0; i < plan.variants.size(); ++i) {
    variants.push_back(variantJson(plan.variants[i]));
    variants.back()["in_bundle"] = bool(covered[i]);
  }
  return nlohmann::ordered_json({{"ok", serves(plan, covered)},
                                 {"variants", variants},
                                 {"not_covered", notCoveredJson(plan)}})
             .dump(2) +
         "\n";
}

void printCoverage(const AotCoverage &args, const aot::ModelPlan &plan,
                   const std::vector<bool> &covered) {
  size_t width = 0;
  for (const aot::Variant &variant : plan.variants)
    width = std::max(width, variant.name.size());
  for (size_t i = 0; i < plan.variants.size(); ++i)
    fmt::print("{:{}}  {:9}  {}\n", plan.variants[i].name, width,
               covered[i] ? "in bundle" : "MISSING",
               aotLabel(plan.variants[i].spec, parametersOf(plan.variants[i]), {}));
  fmt::print("{}", notCoveredText(plan));
  if (std::find(covered.begin(), covered.end(), false) != covered.end())
    fmt::print("\nto add what is missing:\n"
               "  attune aot plan {} -o plan/LIST.toml\n"
               "  attune aot plan/LIST.toml --arch {} -o plan/kernels.attune\n"
               "  attune aot merge {} plan/kernels.attune -o {}\n",
               optionsText(args.model), args.arch, args.bundle, args.bundle);
}

} // namespace

int aotPlanCommand(const AotPlan &args) {
  auto plan = planOf(args.model);
  if (!plan)
    return fail(plan.error());
  if (args.json)
    fmt::print("{}", planJson(args, *plan));
  if (plan->variants.empty())
    return fail({ErrorCode::Unsupported,
                 fmt::format("{}{}: no layer of this model has a kernel; nothing is written",
                             notCoveredText(*plan), args.model.config)});
  const auto folder = std::filesystem::path(args.output).parent_path();
  std::error_code failed;
  if (!folder.empty())
    std::filesystem::create_directories(folder, failed);
  for (const aot::Variant &variant : plan->variants)
    if (auto ok = writeSpec((folder / variant.spec).string(), variant.text); !ok)
      return fail(ok.error());
  const std::string heading =
      fmt::format("# Written by attune aot plan {}\n", optionsText(args.model));
  if (auto ok = writeText(args.output, aot::planText(*plan, heading)); !ok)
    return fail(ok.error());
  if (args.json)
    return exitOk;
  printVariants(*plan);
  fmt::print("{}{} variants -> {}\n", notCoveredText(*plan), plan->variants.size(), args.output);
  return exitOk;
}

int aotCoverageCommand(const AotCoverage &args) {
  if (auto known = target::archByName(args.arch); !known)
    return fail({known.error().code, fmt::format("--arch: {}", known.error().message), ""});
  auto plan = planOf(args.model);
  if (!plan)
    return fail(plan.error());
  auto bundle = bundle::Bundle::open(args.bundle);
  if (!bundle)
    return fail(bundle.error());
  std::vector<bool> covered;
  for (const aot::Variant &variant : plan->variants) {
    auto found = inBundle(*bundle, variant, args.arch);
    if (!found)
      return fail(found.error());
    covered.push_back(*found);
  }
  if (args.json)
    fmt::print("{}", coverageJson(*plan, covered));
  else
    printCoverage(args, *plan, covered);
  return serves(*plan, covered) ? exitOk : exitFailed;
}

} // namespace attune::tool
