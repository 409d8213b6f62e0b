#include "runtime/launch/CallPlan.h"
#include "runtime/launch/CallCheck.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace attune {
namespace {

/// Stands in for every address while the shapes are checked; meets every alignment.
constexpr DevicePtr anywhere = 1 << 20;

/// What a pointer argument points at.
struct Target {
  uint16_t alignment = 1;
  bool needed = true;
};

Target targetOf(const TensorView &view, int64_t alignment = 0) {
  return {uint16_t(alignment ? alignment : sizeOf(view.dtype)), view.hasElements()};
}

std::vector<Target> targetsOf(const ProblemShape &problem, const AttentionCall &call) {
  const Target rows = {uint16_t(limits::rowAlignment), true}, none{1, false};
  std::vector<Target> targets;
  for (const TensorView *view : {&call.q, &call.k, &call.v, &call.out})
    targets.push_back(targetOf(*view, rows.alignment));
  targets.push_back(call.lse ? targetOf(*call.lse) : none);
  targets.push_back(call.sink ? targetOf(*call.sink) : none);
  const bool lengths = problem.qStorage == Storage::Varlen;
  for (int i = 0; i < 2; ++i)
    targets.push_back(lengths ? Target{uint16_t(sizeOf(DType::I32)), call.batch > 0} : none);
  for (const CapturedTensor &tensor : problem.tensors)
    targets.push_back(targetOf(call.tensors.at(tensor.name)));
  return targets;
}

std::vector<std::string> namesOf(const ProblemShape &problem) {
  std::vector<std::string> names{"q",           "k", "v", "out", "lse", "sink", "cu_seqlens_q",
                                 "cu_seqlens_k"};
  for (const CapturedTensor &tensor : problem.tensors)
    names.push_back("tensor." + tensor.name);
  return names;
}

/// One number of a run against the plan's. `exact`: it may not be less either.
Result<void> checkBound(const char *name, int64_t value, int64_t planned, bool exact) {
  if (value == 0 || value == planned || (!exact && value > 0 && value < planned))
    return {};
  return Error{ErrorCode::InvalidArgument,
               fmt::format("{}: this run has {}, outside its plan, which is valid for {}{}; make a "
                           "plan for it",
                           name, value, exact ? "" : "at most ", planned)};
}

Result<void> checkBounds(const CallPlan &plan, const RunBounds &run) {
  for (auto [name, value, planned, exact] :
       {std::tuple{"batch", run.batch, plan.bounds.batch, true},
        {"max_q_len", run.maxQLen, plan.bounds.maxQLen, plan.dense},
        {"q_tokens", run.qTokens, plan.bounds.qTokens, plan.dense},
        {"kv_tokens", run.kvTokens, plan.bounds.kvTokens, plan.dense}})
    if (Result<void> ok = checkBound(name, value, planned, exact); !ok)
      return ok;
  return {};
}

} // namespace

std::string CallPlan::validWhile() const {
  if (dense)
    return fmt::format(
        "batch == {}, q_len == {}, kv tokens == {}, all shapes and strides as planned",
        bounds.batch, bounds.maxQLen, bounds.kvTokens);
  return fmt::format("batch == {}, every q_len <= {}, q tokens <= {}, kv tokens <= {}, all strides "
                     "as planned",
                     bounds.batch, bounds.maxQLen, bounds.qTokens, bounds.kvTokens);
}

Result<CallPlan> planCall(const Sidecar &sidecar, AttentionCall call) {
  const ProblemShape &problem = sidecar.problem;
  for (TensorView *view : {&call.q, &call.k, &call.v, &call.out})
    view->data = anywhere;
  for (std::optional<TensorView> *view : {&call.lse, &call.sink})
    if (*view)
      (*view)->data = anywhere;
  for (auto &[name, view] : call.tensors)
    view.data = anywhere;
  CallPlan plan;
  plan.dense = problem.qStorage == Storage::Dense;
  call.cuSeqlensQ = call.cuSeqlensK = plan.dense ? 0 : anywhere;

  if (sidecar.kernel.workspaceBytes != 0)
    return Error{ErrorCode::Unsupported,
                 fmt::format("kernel {}: needs {} bytes of workspace; this version passes none",
                             sidecar.kernel.name, sidecar.kernel.workspaceBytes)};
  Result<LaunchPlan> launch = planLaunch(sidecar, call);
  if (!launch)
    return launch.error();
  if (launch->kernarg.size() > mostKernargBytes)
    return Error{ErrorCode::Unsupported,
                 fmt::format("kernel {}: {} bytes of arguments, more than {}", sidecar.kernel.name,
                             launch->kernarg.size(), mostKernargBytes)};
  plan.dims = launch->dims;
  plan.kernarg = std::move(launch->kernarg);
  plan.empty = launch->empty;
  plan.names = namesOf(problem);
  const std::vector<int64_t> &q = call.q.shape, &k = call.k.shape;
  plan.bounds = plan.dense ? RunBounds{q[0], q[1], q[0] * q[1], k[0] * k[1]}
                           : RunBounds{call.batch, call.maxQLen, q[0], k[0]};

  const std::vector<Target> targets = targetsOf(problem, call);
  for (const KernelArg &arg : sidecar.kernel.args) {
    if (arg.kind != "ptr")
      continue;
    const auto name = std::find(plan.names.begin(), plan.names.end(), arg.name);
    if (name == plan.names.end())
      return Error{ErrorCode::Internal, fmt::format("kernel {}: nobody knows its pointer {}",
                                                    sidecar.kernel.name, arg.name)};
    const auto pointer = uint16_t(name - plan.names.begin());
    plan.holes.push_back(
        {arg.offset, pointer, targets[pointer].alignment, targets[pointer].needed});
    std::memset(plan.kernarg.data() + arg.offset, 0, sizeof(DevicePtr));
  }
  return plan;
}

Result<void> bindCall(const CallPlan &plan, std::span<const DevicePtr> pointers,
                      const RunBounds &run, std::span<uint8_t> kernarg) {
  if (Result<void> ok = checkBounds(plan, run); !ok)
    return ok;
  if (pointers.size() != plan.names.size() || kernarg.size() != plan.kernarg.size())
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a run takes {} addresses and {} bytes of arguments, got {} and {}",
                             plan.names.size(), plan.kernarg.size(), pointers.size(),
                             kernarg.size())};
  std::memcpy(kernarg.data(), plan.kernarg.data(), kernarg.size());
  for (const CallPlan::Hole &hole : plan.holes) {
    const DevicePtr address = pointers[hole.pointer];
    if (hole.needed && (address == 0 || address % hole.alignment != 0))
      return Error{ErrorCode::InvalidArgument,
                   address == 0
                       ? fmt::format("{}: no memory given (null pointer)", plan.names[hole.pointer])
                       : fmt::format("{}: its address must be a multiple of {} bytes, got {:#x}",
                                     plan.names[hole.pointer], hole.alignment, address)};
    std::memcpy(kernarg.data() + hole.offset, &address, sizeof address);
  }
  return {};
}

} // namespace attune
