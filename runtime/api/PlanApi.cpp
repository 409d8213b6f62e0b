// attune.h: plans and runs. attune_run is the one function that is called for every layer of every
// step: what it does is here at a glance.
#include "runtime/api/Handles.h"
#include <array>
#include <fmt/format.h>

using namespace attune;
using namespace attune::api;

namespace {

/// Addresses of a run are gathered on its stack.
constexpr size_t mostPointers = 64;

constexpr std::pair<attune_dtype, DType> dtypes[] = {
    {ATTUNE_BF16, DType::BF16}, {ATTUNE_FP16, DType::F16}, {ATTUNE_F32, DType::F32},
    {ATTUNE_I32, DType::I32},   {ATTUNE_I64, DType::I64},  {ATTUNE_I16, DType::I16},
    {ATTUNE_I8, DType::I8},     {ATTUNE_U8, DType::U8},    {ATTUNE_BOOL, DType::Bool}};

attune_status readTensor(const std::string &name, const attune_tensor &from, TensorView &to) {
  if (from.rank < 1 || from.rank > ATTUNE_MAX_RANK)
    return fail(ATTUNE_INVALID_ARGUMENT, fmt::format("{}: rank must be between 1 and {}, got {}",
                                                     name, ATTUNE_MAX_RANK, from.rank));
  const auto *known = std::find_if(std::begin(dtypes), std::end(dtypes),
                                   [&](const auto &d) { return d.first == from.dtype; });
  if (known == std::end(dtypes))
    return fail(ATTUNE_INVALID_ARGUMENT,
                fmt::format("{}: dtype must be one of attune_dtype, got {}", name, from.dtype));
  to.dtype = known->second;
  to.shape.assign(from.shape, from.shape + from.rank);
  to.strides.assign(from.strides, from.strides + from.rank);
  for (int d = 0; d < from.rank; ++d)
    if (from.shape[d] < 0)
      return fail(ATTUNE_INVALID_ARGUMENT, fmt::format("{}: dimension {} must be 0 or more, got {}",
                                                       name, d, from.shape[d]));
  return ATTUNE_OK;
}

attune_status readCall(const ProblemShape &problem, const attune_shapes &from,
                       AttentionCall &call) {
  for (auto [name, tensor, view] : {std::tuple{"q", &from.q, &call.q},
                                    {"k", &from.k, &call.k},
                                    {"v", &from.v, &call.v},
                                    {"out", &from.out, &call.out}})
    if (auto status = readTensor(name, *tensor, *view))
      return status;
  for (auto [name, tensor, view] :
       {std::tuple{"lse", &from.lse, &call.lse}, {"sink", &from.sink, &call.sink}})
    if (tensor->rank != 0)
      if (auto status = readTensor(name, *tensor, view->emplace()))
        return status;
  call.batch = from.batch;
  call.maxQLen = from.max_q_len;
  if (!from.tensors && !problem.tensors.empty())
    return nullArgument("attune_shapes.tensors");
  if (!from.scalars && !problem.scalars.empty())
    return nullArgument("attune_shapes.scalars");
  for (size_t i = 0; i < problem.tensors.size(); ++i) {
    const std::string &name = problem.tensors[i].name;
    if (auto status = readTensor("tensor " + name, from.tensors[i], call.tensors[name]))
      return status;
  }
  for (size_t i = 0; i < problem.scalars.size(); ++i)
    call.scalars[problem.scalars[i].name] = from.scalars[i];
  return ATTUNE_OK;
}

attune_status createPlan(const KernelPtr &kernel, const attune_shapes &shapes, attune_plan **plan) {
  AttentionCall call;
  if (auto status = readCall(kernel->sidecar().problem, shapes, call))
    return status;
  Result<CallPlan> made = planCall(kernel->sidecar(), std::move(call));
  if (!made)
    return fail(made.error());
  if (made->names.size() > mostPointers)
    return fail(ATTUNE_UNSUPPORTED,
                fmt::format("the spec reads {} tensors; a run passes at most {}",
                            made->names.size() - FirstTensor, mostPointers - FirstTensor));
  auto handle = std::make_unique<attune_plan>();
  handle->kernel = kernel;
  handle->plan = std::move(*made);
  handle->validWhile = handle->plan.validWhile();
  *plan = handle.release();
  return ATTUNE_OK;
}

} // namespace

attune_tensor attune_packed(attune_dtype dtype, int32_t rank, const int64_t *shape) {
  attune_tensor tensor{};
  tensor.dtype = dtype;
  tensor.rank = rank;
  if (!shape || rank < 0 || rank > ATTUNE_MAX_RANK)
    return tensor;
  int64_t stride = 1;
  for (int d = rank - 1; d >= 0; --d) {
    tensor.shape[d] = shape[d];
    tensor.strides[d] = stride;
    // An absurd shape is refused where it is used; here it must only not overflow.
    if (__builtin_mul_overflow(stride, std::max<int64_t>(shape[d], 1), &stride))
      stride = INT64_MAX;
  }
  return tensor;
}

attune_status attune_plan_create(const attune_kernel *kernel, const attune_shapes *shapes,
                                 attune_plan **plan) {
  return guarded([&] {
    if (!kernel || !shapes || !plan)
      return nullArgument(!kernel ? "kernel" : !shapes ? "shapes" : "plan");
    *plan = nullptr;
    attune_shapes given{};
    if (auto status = readStruct(shapes, "attune_shapes", given))
      return status;
    return createPlan(kernel->kernel, given, plan);
  });
}

void attune_plan_destroy(attune_plan *plan) { delete plan; }

attune_status attune_plan_get_info(const attune_plan *plan, attune_plan_info *info) {
  return guarded([&] {
    if (!plan || !info)
      return nullArgument(plan ? "info" : "plan");
    const CallPlan &p = plan->plan;
    attune_plan_info known{};
    std::copy(std::begin(p.dims.grid), std::end(p.dims.grid), known.grid);
    std::copy(std::begin(p.dims.block), std::end(p.dims.block), known.block);
    known.workspace_bytes = 0; // planCall refuses kernels that need some
    known.empty = p.empty;
    known.num_splits = 1;
    known.valid_while = plan->validWhile.c_str();
    known.batch = p.bounds.batch;
    known.max_q_len = p.bounds.maxQLen;
    known.q_tokens = p.bounds.qTokens;
    known.kv_tokens = p.bounds.kvTokens;
    return writeStruct(known, "attune_plan_info", info);
  });
}

attune_status attune_run(const attune_plan *plan, const attune_pointers *pointers, void *stream) {
  return guarded([&] {
    if (!plan || !pointers)
      return nullArgument(plan ? "pointers" : "plan");
    attune_pointers given;
    if (auto status = readStruct(pointers, "attune_pointers", given))
      return status;
    const CallPlan &p = plan->plan;
    const size_t tensors = p.names.size() - FirstTensor;
    if (tensors && !given.tensors)
      return nullArgument("attune_pointers.tensors");
    std::array<DevicePtr, mostPointers> addresses;
    addresses[Q] = given.q;
    addresses[K] = given.k;
    addresses[V] = given.v;
    addresses[Out] = given.out;
    addresses[Lse] = given.lse;
    addresses[Sink] = given.sink;
    addresses[CuSeqlensQ] = given.cu_seqlens_q;
    addresses[CuSeqlensK] = given.cu_seqlens_k;
    std::copy_n(given.tensors, tensors, addresses.begin() + FirstTensor);

    std::array<uint8_t, mostKernargBytes> bytes;
    const std::span kernarg(bytes.data(), p.kernarg.size());
    const RunBounds bounds{given.batch, given.max_q_len, given.q_tokens, given.kv_tokens};
    if (Result<void> ok = bindCall(p, {addresses.data(), p.names.size()}, bounds, kernarg); !ok)
      return fail(ok.error());
    if (p.empty)
      return ATTUNE_OK;
    const Kernel &kernel = *plan->kernel;
    Result<void> launched = kernel.device().launch(kernel.handle(), p.dims, kernarg, stream);
    return launched ? ATTUNE_OK : fail(launched.error());
  });
}
