// Choosing a Plan. One family so far, the transposed pipeline: S^T = K Q^T and O^T = V^T P^T on
// 32x32x16 MFMA, K and V by 16-byte LDS-DMA into swizzled tiles. Knobs that were given are taken as
// they are; the others are tried in the order of Knobs.def until everything fits. If nothing fits,
// the error is that of the first try.
#include "compiler/layout/Attention.h"
#include "compiler/schedule/Knobs.h"
#include "compiler/schedule/Limits.h"
#include "compiler/target/Mma.h"
#include <algorithm>
#include <fmt/format.h>
#include <optional>

namespace attune::schedule {

namespace {

constexpr int headDims[] = {32, 64, 128};
constexpr DType dtypes[] = {DType::BF16, DType::F16};
constexpr DType outDtypes[] = {DType::BF16, DType::F16, DType::F32};

/// Bytes that one LDS-DMA instruction of a wave moves, 16 a lane.
constexpr int dmaBytes = 64 * 16;
/// What the pipeline cannot do without.
constexpr uint32_t neededFeatures =
    target::LdsDmaB128 | target::PermlaneSwap | target::ReadTr16 | target::Bf16Cvt;

using Given = std::map<std::string_view, int>;

Error unsupported(std::string place, std::string message) {
  return {ErrorCode::Unsupported, std::move(message), std::move(place)};
}

Result<void> checkHeadDim(std::string place, std::string_view field, int value) {
  if (std::find(std::begin(headDims), std::end(headDims), value) != std::end(headDims))
    return {};
  // A smaller tensor can be padded with zeros to the next size; a greater one can't be cut.
  const auto next =
      std::find_if(std::begin(headDims), std::end(headDims), [&](int d) { return d >= value; });
  const bool pads = value > 0 && next != std::end(headDims);
  return unsupported(std::move(place), fmt::format("{} is {}; supported: {}; nearest legal: {}{}",
                                                   field, value, fmt::join(headDims, ", "),
                                                   pads ? *next : nearestLegal(headDims, value),
                                                   pads ? ", padded with zeros" : ""));
}

Result<void> checkDType(std::string place, std::string_view field, DType t,
                        std::span<const DType> legal) {
  if (std::find(legal.begin(), legal.end(), t) != legal.end())
    return {};
  std::vector<std::string_view> names;
  for (DType d : legal)
    names.push_back(nameOf(d));
  return unsupported(std::move(place),
                     fmt::format("{} is {}; supported: {}; nearest legal: {}", field, nameOf(t),
                                 fmt::join(names, ", "), names.front()));
}

Result<void> checkProblem(const ProblemShape &p, const target::Arch &arch) {
  for (Result<void> check : {checkDType("q", "dtype of q, k and v", p.dtype, dtypes),
                             checkDType("out", "dtype of out", p.outDtype, outDtypes),
                             checkHeadDim("dim", "head_dim", p.headDim),
                             checkHeadDim("v_dim", "v_head_dim", p.vHeadDim)})
    if (!check)
      return check;
  if (p.numKvHeads < 1 || p.numQHeads < 1 || p.numQHeads % p.numKvHeads)
    return unsupported(
        "heads",
        fmt::format("{} query heads over {} kv heads; the first must be a multiple of the second",
                    p.numQHeads, p.numKvHeads));
  return checkArch(arch);
}

/// Every wave must have a DMA instruction of its own in each tile, or it would wait for nothing.
Result<void> checkDma(const Plan &plan, const ProblemShape &p) {
  const int dim = std::min(p.headDim, p.vHeadDim), tileBytes = plan.kvTile * dim * sizeOf(p.dtype);
  const int instructions = tileBytes / dmaBytes;
  if (instructions % plan.waves == 0)
    return {};
  return unsupported("schedule.waves",
                     fmt::format("waves={} with kv_tile={}: a {} tile of {} bytes is {} DMA "
                                 "instructions of {} bytes, not a "
                                 "whole number for each wave; nearest legal: waves={}",
                                 plan.waves, plan.kvTile, dim == p.headDim ? "K" : "V", tileBytes,
                                 instructions, dmaBytes, instructions));
}

/// The largest legal kv_tile whose buffers fit, or 0.
int largestFittingTile(Plan plan, const ProblemShape &p, const target::Arch &arch) {
  int best = 0;
  for (const Knob &knob : allKnobs())
    if (knob.field == &Plan::kvTile)
      for (int tile : knob.legal) {
        plan.kvTile = tile;
        if (plan.ldsBytes(p) <= arch.ldsBytes)
          best = std::max(best, tile);
      }
  return best;
}

Result<void> checkPlan(const Plan &plan, const ProblemShape &p, const target::Arch &arch) {
  const int lds = plan.ldsBytes(p);
  if (lds > arch.ldsBytes)
    return unsupported(
        "schedule.kv_tile",
        fmt::format(
            "kv_tile={} with stages={} needs {} bytes of LDS; {} has {} a workgroup; nearest "
            "legal: kv_tile={}",
            plan.kvTile, plan.stages, lds, arch.name, arch.ldsBytes,
            largestFittingTile(plan, p, arch)));
  if (Result<void> dma = checkDma(plan, p); !dma)
    return dma;
  const int possible = arch.occupancy(0, 0, lds, plan.waves);
  if (plan.wavesPerEu > possible)
    return unsupported(
        "schedule.waves_per_eu",
        fmt::format("waves_per_eu={} with {} bytes of LDS for {} waves: {} holds {} a SIMD; "
                    "nearest legal: waves_per_eu={}",
                    plan.wavesPerEu, lds, plan.waves, arch.name, possible, possible));
  return {};
}

/// Sets the knobs from number `index` on, preferred values first, until the plan is legal. `fault`
/// keeps the first error.
bool complete(Plan &plan, size_t index, const Given &given, const ProblemShape &p,
              const target::Arch &arch, std::optional<Error> &fault) {
  if (index == allKnobs().size()) {
    Result<void> check = checkPlan(plan, p, arch);
    if (!check && !fault)
      fault = check.error();
    return bool(check);
  }
  const Knob &knob = allKnobs()[index];
  if (auto it = given.find(knob.name); it != given.end()) {
    plan.*knob.field = it->second;
    return complete(plan, index + 1, given, p, arch, fault);
  }
  for (int value : knob.legal) {
    plan.*knob.field = value;
    if (complete(plan, index + 1, given, p, arch, fault))
      return true;
  }
  return false;
}

void explainPlan(Plan &plan, const Given &given, const ProblemShape &p, const target::Arch &arch,
                 const layout::TileLayouts &tiles) {
  const int lds = plan.ldsBytes(p);
  for (const Knob &knob : allKnobs()) {
    const int value = plan.*knob.field;
    std::string why = given.count(knob.name) ? "given"
                      : value == knob.legal.front()
                          ? "default"
                          : fmt::format("{} does not fit", knob.legal.front());
    plan.reasons.emplace_back(knob.name, fmt::format("{} ({}): {}", value, why, knob.doc));
  }
  plan.reasons.emplace_back(
      "family", "transposed pipeline, S^T = K Q^T and O^T = V^T P^T on 32x32x16 MFMA: P stays in "
                "registers");
  plan.reasons.emplace_back(
      "lds",
      fmt::format("{} of {} bytes: {} stages of a {} x {} K tile and a {} x {} V tile", lds,
                  arch.ldsBytes, plan.stages, plan.kvTile, p.headDim, plan.kvTile, p.vHeadDim));
  plan.reasons.emplace_back("swizzle",
                            fmt::format("K {}; V {}; worst bank conflict {}", tiles.k.str(),
                                        tiles.v.str(), tiles.worstConflict));
}

} // namespace

Result<void> checkArch(const target::Arch &arch) {
  const auto missing = target::missingFeatures(arch, neededFeatures);
  if (missing.empty())
    return {};
  std::vector<std::string_view> able;
  for (const target::Arch &a : target::allArchs())
    if (target::missingFeatures(a, neededFeatures).empty())
      able.push_back(a.name);
  return unsupported("", fmt::format("arch {} lacks {}; supported: {}", arch.name,
                                     fmt::join(missing, ", "), fmt::join(able, ", ")));
}

std::span<const int> supportedHeadDims() { return headDims; }
std::span<const DType> supportedDTypes() { return dtypes; }

Result<Plan> choosePlan(const ProblemShape &problem, const target::Arch &arch,
                        const std::vector<std::pair<std::string, std::string>> &knobs) {
  Result<Given> given = readKnobs(knobs);
  if (!given)
    return given.error();
  if (Result<void> check = checkProblem(problem, arch); !check)
    return check.error();
  Plan plan;
  std::optional<Error> fault;
  if (!complete(plan, 0, *given, problem, arch, fault))
    return *fault;

  const layout::MmaShape mma = plan.mma();
  if (auto found = target::findMma(arch, problem.dtype, mma.m, mma.n, mma.k); !found)
    return found.error();
  auto tiles =
      layout::attentionTileLayouts(mma, plan.kvTile, problem.headDim, problem.vHeadDim, plan.waves);
  if (!tiles)
    return tiles.error();
  explainPlan(plan, *given, problem, arch, *tiles);
  return plan;
}

} // namespace attune::schedule
