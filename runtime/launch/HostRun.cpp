// Runs a call from host memory. Everything that can be wrong is checked before device memory is
// taken, and device memory is owned by one object that frees it on every way out.
#include "runtime/launch/HostRun.h"
#include "runtime/launch/Attention.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <utility>

namespace attune {

namespace {

/// Elements either side of out and lse when guards are on; a multiple of every alignment that a
/// view needs.
constexpr int64_t guardElements = 256;
constexpr uint8_t poison = 0xFF; // NaN in every float type

class DeviceMemory {
public:
  explicit DeviceMemory(Device &device) : device_(device) {}
  DeviceMemory(const DeviceMemory &) = delete;
  DeviceMemory &operator=(const DeviceMemory &) = delete;
  ~DeviceMemory() {
    for (DevicePtr p : owned_)
      device_.free(p);
  }

  /// The tensor's whole storage, spare bytes included; the view starts at its first element.
  Result<TensorView> copyIn(const HostTensor &tensor) {
    if (tensor.storage.empty())
      return TensorView{0, tensor.dtype, tensor.shape, tensor.strides};
    auto base = device_.alloc(tensor.storage.size());
    if (!base)
      return base.error();
    owned_.push_back(*base);
    if (auto ok = device_.copyIn(*base, tensor.storage.data(), tensor.storage.size()); !ok)
      return ok.error();
    DevicePtr first = *base + static_cast<uint64_t>(tensor.offset * sizeOf(tensor.dtype));
    return TensorView{first, tensor.dtype, tensor.shape, tensor.strides};
  }

  Result<void> copyOut(HostTensor &tensor, const TensorView &view) {
    if (tensor.storage.empty())
      return {};
    DevicePtr base = view.data - static_cast<uint64_t>(tensor.offset * sizeOf(tensor.dtype));
    return device_.copyOut(tensor.storage.data(), base, tensor.storage.size());
  }

private:
  Device &device_;
  std::vector<DevicePtr> owned_;
};

Shape outShape(const ProblemShape &problem, const HostTensor &q) {
  Shape shape = q.shape;
  if (!shape.empty())
    shape.back() = problem.vHeadDim;
  return shape;
}

/// q is [batch, q_len, heads, dim] or [tokens, heads, dim]; LSE is head-major.
Shape lseShape(const HostTensor &q) {
  if (q.shape.size() == 4)
    return {q.shape[0], q.shape[2], q.shape[1]};
  return {q.shape[1], q.shape[0]};
}

HostTensor poisoned(DType dtype, Shape shape, const std::optional<Shape> &strides, bool guards) {
  Shape layout = strides.value_or(packedStrides(shape));
  int64_t pad = guards ? guardElements : 0;
  return HostTensor::strided(dtype, std::move(shape), std::move(layout), pad, pad);
}

/// Blanks what the kernel may write in a copy; all that is left must still be poison.
Result<void> checkGuards(std::string_view name, const HostTensor &tensor) {
  std::vector<uint8_t> rest = tensor.storage;
  size_t size = sizeOf(tensor.dtype);
  forEachIndex(tensor.shape,
               [&](Index i) { std::memset(rest.data() + tensor.at(i) * size, poison, size); });
  auto touched = std::find_if(rest.begin(), rest.end(), [](uint8_t b) { return b != poison; });
  if (touched == rest.end())
    return {};
  int64_t byte = touched - rest.begin() - tensor.offset * static_cast<int64_t>(size);
  return Error{ErrorCode::Device,
               fmt::format("{}: the kernel wrote outside its elements, at byte {} from the first "
                           "element",
                           name, byte)};
}

Result<std::vector<SequenceBounds>> varlenBounds(const HostCall &call) {
  std::vector<SequenceBounds> sequences;
  struct Side {
    const char *name;
    const std::optional<HostTensor> &bounds;
    int64_t tokens;
    int64_t SequenceBounds::*start, SequenceBounds::*length;
  };
  for (const Side &side : {Side{"cu_seqlens_q", call.cuSeqlensQ, call.q.shape[0],
                                &SequenceBounds::qStart, &SequenceBounds::qLen},
                           Side{"cu_seqlens_k", call.cuSeqlensK, call.k.shape[0],
                                &SequenceBounds::kStart, &SequenceBounds::kvLen}}) {
    auto bad = [&](std::string what) {
      return Error{ErrorCode::InvalidArgument, fmt::format("{}: {}", side.name, what)};
    };
    if (!side.bounds)
      return bad("varlen storage needs it, but it is not given");
    const HostTensor &cu = *side.bounds;
    if (cu.dtype != DType::I32 || cu.shape.size() != 1 || cu.shape[0] < 1)
      return bad(fmt::format("must be i32[batch + 1], got {}", describe(cu.dtype, cu.shape)));
    size_t batch = static_cast<size_t>(cu.shape[0]) - 1;
    if (side.start == &SequenceBounds::qStart)
      sequences.resize(batch);
    else if (batch != sequences.size())
      return bad(fmt::format("has {} sequences, cu_seqlens_q has {}", batch, sequences.size()));
    auto at = [&](size_t i) {
      int64_t index = static_cast<int64_t>(i);
      return decodeInt(DType::I32, cu.address(Index(&index, 1)));
    };
    for (size_t b = 0; b < batch; ++b) {
      int64_t first = at(b), next = at(b + 1);
      if (first < 0 || next < first || next > side.tokens)
        return bad(fmt::format("element {} is {} and element {} is {}; they must not decrease and "
                               "stay between 0 and {} tokens",
                               b, first, b + 1, next, side.tokens));
      sequences[b].*side.start = first;
      sequences[b].*side.length = next - first;
    }
  }
  return sequences;
}

Error badRank(std::string_view name, const HostTensor &t, size_t rank) {
  return {ErrorCode::InvalidArgument, fmt::format("{}: must have {} dimensions, got {}", name, rank,
                                                  describe(t.dtype, t.shape))};
}

} // namespace

Result<std::vector<SequenceBounds>> sequencesOf(const ProblemShape &problem, const HostCall &call) {
  bool dense = problem.qStorage == Storage::Dense;
  size_t rank = dense ? 4 : 3;
  for (auto [name, tensor] : {std::pair{"q", &call.q}, {"k", &call.k}})
    if (tensor->shape.size() != rank)
      return badRank(name, *tensor, rank);
  if (!dense)
    return varlenBounds(call);
  std::vector<SequenceBounds> sequences;
  int64_t qLen = call.q.shape[1], kvLen = call.k.shape[1];
  for (int64_t b = 0; b < call.q.shape[0]; ++b)
    sequences.push_back({b * qLen, qLen, b * kvLen, kvLen});
  return sequences;
}

Result<LoadedKernel> LoadedKernel::load(Device &device, const KernelImage &image) {
  auto module = device.load(image.codeObject);
  if (!module)
    return module.error();
  auto kernel = device.kernel(*module, image.sidecar.kernel.name);
  if (!kernel) {
    device.unload(*module);
    return kernel.error();
  }
  return LoadedKernel(device, *module, *kernel, image.sidecar);
}

LoadedKernel::LoadedKernel(LoadedKernel &&other) noexcept
    : device_(std::exchange(other.device_, nullptr)), module_(other.module_),
      kernel_(other.kernel_), sidecar_(std::move(other.sidecar_)) {}

LoadedKernel &LoadedKernel::operator=(LoadedKernel &&other) noexcept {
  std::swap(device_, other.device_);
  std::swap(module_, other.module_);
  std::swap(kernel_, other.kernel_);
  std::swap(sidecar_, other.sidecar_);
  return *this;
}

LoadedKernel::~LoadedKernel() {
  if (device_)
    device_->unload(module_);
}

Result<HostResult> LoadedKernel::run(const HostCall &host, const HostRunOptions &options) const {
  const ProblemShape &problem = sidecar_.problem;
  auto sequences = sequencesOf(problem, host);
  if (!sequences)
    return sequences.error();

  HostResult result{
      poisoned(problem.outDtype, outShape(problem, host.q), options.outStrides, options.guards),
      {}};
  if (problem.lse != LseKind::None)
    result.lse = poisoned(DType::F32, lseShape(host.q), options.lseStrides, options.guards);

  DeviceMemory memory(*device_);
  AttentionCall call;
  std::vector<std::pair<const HostTensor *, TensorView *>> copies{
      {&host.q, &call.q}, {&host.k, &call.k}, {&host.v, &call.v}, {&result.out, &call.out}};
  if (result.lse)
    copies.push_back({&*result.lse, &call.lse.emplace()});
  if (host.sink)
    copies.push_back({&*host.sink, &call.sink.emplace()});
  for (const auto &[name, tensor] : host.tensors)
    copies.push_back({&tensor, &call.tensors[name]});
  TensorView cuQ, cuK;
  if (problem.qStorage == Storage::Varlen) {
    copies.push_back({&*host.cuSeqlensQ, &cuQ});
    copies.push_back({&*host.cuSeqlensK, &cuK});
  }
  for (auto [from, to] : copies) {
    auto view = memory.copyIn(*from);
    if (!view)
      return view.error();
    *to = std::move(*view);
  }
  call.cuSeqlensQ = cuQ.data;
  call.cuSeqlensK = cuK.data;
  call.scalars = host.scalars;
  if (problem.qStorage == Storage::Varlen) {
    call.batch = static_cast<int64_t>(sequences->size());
    for (const SequenceBounds &s : *sequences)
      call.maxQLen = std::max(call.maxQLen, s.qLen);
    if (options.maxQLen >= 0)
      call.maxQLen = options.maxQLen;
  }

  auto plan = planLaunch(sidecar_, call);
  if (!plan)
    return plan.error();
  if (!plan->empty)
    if (auto ok = device_->launch(kernel_, plan->dims, plan->kernarg); !ok)
      return ok.error();
  if (auto ok = memory.copyOut(result.out, call.out); !ok)
    return ok.error();
  if (result.lse)
    if (auto ok = memory.copyOut(*result.lse, *call.lse); !ok)
      return ok.error();
  if (options.guards) {
    if (auto ok = checkGuards("out", result.out); !ok)
      return ok.error();
    if (result.lse)
      if (auto ok = checkGuards("lse", *result.lse); !ok)
        return ok.error();
  }
  return result;
}

} // namespace attune
