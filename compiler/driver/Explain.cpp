// `explain`: what was decided about a spec and why, as lines for people.
#include "compiler/analysis/MaskBounds.h"
#include "compiler/driver/Session.h"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace attune {
namespace {

const char *nameOf(Storage storage) { return storage == Storage::Dense ? "dense" : "varlen"; }

const char *nameOf(LseKind lse) {
  switch (lse) {
  case LseKind::None:
    return "none";
  case LseKind::Natural:
    return "natural";
  case LseKind::Base2:
    return "base 2";
  }
  return "";
}

std::string problemLines(const ProblemShape &p) {
  std::string text = fmt::format("attention {}\n", p.specName);
  text += fmt::format("  q        {} {}, {} heads of {}\n", nameOf(p.dtype), nameOf(p.qStorage),
                      p.numQHeads, p.headDim);
  text += fmt::format("  k, v     {} {}, {} heads of {} and {}; {} query heads share one\n",
                      nameOf(p.dtype), nameOf(p.kvStorage), p.numKvHeads, p.headDim, p.vHeadDim,
                      p.numQHeads / p.numKvHeads);
  text += fmt::format("  out      {}, lse {}, sink {}\n", nameOf(p.outDtype), nameOf(p.lse),
                      p.hasSink ? "per head" : "none");
  for (const CapturedTensor &tensor : p.tensors)
    text += fmt::format("  tensor   {}: {}[{}]\n", tensor.name, nameOf(tensor.dtype),
                        fmt::join(tensor.dims, ", "));
  for (const CapturedScalar &scalar : p.scalars)
    text += fmt::format("  scalar   {}: {}\n", scalar.name, nameOf(scalar.dtype));
  return text;
}

/// "lo .. hi", or "none" if that is known to be empty for every block.
std::string rangeText(const analysis::Bound &lo, const analysis::Bound &hi) {
  using Bound = analysis::Bound;
  if (lo.kind == Bound::Const && hi.kind == Bound::Const && lo.value > hi.value)
    return "none";
  return fmt::format("{} .. {}", lo.str(), hi.str());
}

/// Which keys a block of query rows q0..q1 meets.
std::string maskLines(attn::KernelOp kernel) {
  const analysis::MaskBounds bounds = analysis::analyzeMask(kernel);
  std::string text = "mask, for query rows q0..q1\n";
  for (const analysis::VisibleInterval &interval : bounds.intervals) {
    text += fmt::format("  visited  keys {}\n", rangeText(interval.anyLo, interval.anyHi));
    text += fmt::format("  no mask  keys {}\n", rangeText(interval.allLo, interval.allHi));
  }
  text += bounds.exact
              ? std::string("  exact    no tile outside is visited, none inside is masked\n")
              : fmt::format("  bounded  tiles may be visited for nothing: {} is only known "
                            "key by key\n",
                            bounds.unanalysed);
  return text;
}

std::string planLines(const schedule::Plan &plan) {
  std::string text = fmt::format("plan\n  {}\n", plan.str());
  for (const auto &[knob, reason] : plan.reasons)
    text += fmt::format("  {:<12} {}\n", knob, reason);
  return text;
}

std::string kernelLines(const Sidecar &sidecar, const target::Arch &arch) {
  const KernelReport &kernel = sidecar.kernel;
  const Resources &used = kernel.resources;
  std::string text = fmt::format("kernel {} on {}\n", kernel.name, sidecar.arch);
  text +=
      fmt::format("  grid     one workgroup of {} threads per {} query rows, head and sequence\n",
                  kernel.grid.workgroupThreads, kernel.grid.blockM);
  text +=
      fmt::format("  limits   LDS {} of {} bytes; VGPR {} + {} of {}; SGPR {}; {} waves per SIMD "
                  "of {}\n",
                  used.ldsBytes, arch.ldsBytes, used.vgpr, used.agpr, arch.vgprs, used.sgpr,
                  used.occupancy, arch.maxWavesPerSimd);
  text += fmt::format("  scratch  {} bytes, {} + {} registers spilled\n", used.scratchBytes,
                      used.vgprSpills, used.sgprSpills);
  text += fmt::format("  abi      {} bytes, fingerprint {}\n", kernel.kernargBytes,
                      kernel.abiFingerprint);
  for (const KernelArg &arg : kernel.args)
    text += fmt::format("  {:>6}   {:<4} {}\n", arg.offset, arg.kind, arg.name);
  return text;
}

Explanation refused(const std::string &text, const Error &error) {
  return {text + fmt::format("refused\n  {}\n", error.message), true};
}

} // namespace

Result<Explanation> explain(Session &session, llvm::function_ref<Result<Settled>()> settle) {
  std::string text = problemLines(session.problem()) + maskLines(session.kernel());
  if (Result<void> planned = session.plan(); !planned) {
    if (planned.error().code != ErrorCode::Unsupported)
      return planned.error();
    return refused(text, planned.error());
  }
  Result<Settled> settled = settle();
  if (!settled) {
    if (settled.error().code != ErrorCode::Unsupported)
      return settled.error();
    return refused(text + planLines(session.chosenPlan()), settled.error());
  }
  text += planLines(settled->walk.plan) + kernelLines(settled->walk.sidecar, session.arch());
  if (settled->oneWave)
    text += "note\n  waves_per_eu is 1 because registers would spill to memory at 2\n";
  return Explanation{text};
}

} // namespace attune
