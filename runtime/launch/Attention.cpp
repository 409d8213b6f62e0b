// Plans a launch: trust in the sidecar first, then the call's tensors, then the grid, then the
// argument bytes.
#include "runtime/launch/Attention.h"
#include "runtime/launch/CallCheck.h"
#include "runtime/launch/HostTensor.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>

namespace attune {

namespace {

struct ArgKind {
  std::string_view name;
  uint32_t size;
};
constexpr ArgKind argKinds[] = {{"f32", 4}, {"i32", 4}, {"i64", 8}, {"ptr", 8}};

Error badSidecar(const KernelReport &kernel, std::string what) {
  return {ErrorCode::InvalidArgument,
          fmt::format("kernel {}: {}; its sidecar does not describe its code object", kernel.name,
                      what)};
}

/// The argument list must be well formed and the one that the code object was built with.
Result<void> checkSidecar(const KernelReport &kernel) {
  if (abiFingerprint(kernel.args) != kernel.abiFingerprint)
    return badSidecar(kernel, "ABI fingerprint mismatch");
  uint32_t end = 0;
  for (const KernelArg &arg : kernel.args) {
    auto kind = std::find_if(std::begin(argKinds), std::end(argKinds),
                             [&](const ArgKind &k) { return k.name == arg.kind; });
    if (kind == std::end(argKinds) || kind->size != arg.size)
      return badSidecar(
          kernel, fmt::format("argument {} has kind {} and size {}", arg.name, arg.kind, arg.size));
    if (arg.offset % arg.size != 0 || arg.offset < end ||
        arg.offset + arg.size > kernel.kernargBytes)
      return badSidecar(kernel, fmt::format("argument {} lies at {} of {} bytes", arg.name,
                                            arg.offset, kernel.kernargBytes));
    end = arg.offset + arg.size;
  }
  if (kernel.grid.blockM <= 0 || kernel.grid.workgroupThreads <= 0)
    return badSidecar(kernel, "the grid formula is empty");
  if (kernel.grid.blockM > limits::tileRows)
    return badSidecar(kernel, fmt::format("its q blocks have {} rows, more than {}",
                                          kernel.grid.blockM, limits::tileRows));
  return {};
}

/// Values by argument name. What a kernel does not ask for stays unused; what it asks for and is
/// not here is an error.
class Values {
public:
  void pointer(std::string name, DevicePtr value) { add(std::move(name), "ptr", value); }
  void i64(std::string name, int64_t value) {
    add(std::move(name), "i64", static_cast<uint64_t>(value));
  }
  void i32(std::string name, int64_t value) {
    add(std::move(name), "i32", static_cast<uint32_t>(value));
  }
  void f32(std::string name, double value) {
    add(std::move(name), "f32", std::bit_cast<uint32_t>(static_cast<float>(value)));
  }

  /// Strides of the dimensions of q, k, v, out or lse, by their names.
  void strides(const std::string &tensor, const TensorView &view,
               const std::vector<std::string_view> &names) {
    for (size_t d = 0; d < names.size(); ++d)
      i64(fmt::format("{}_stride_{}", tensor, names[d]), view.strides[d]);
  }

  Result<std::vector<uint8_t>> pack(const KernelReport &kernel) const {
    std::vector<uint8_t> bytes(kernel.kernargBytes, 0);
    for (const KernelArg &arg : kernel.args) {
      auto value = values_.find(arg.name);
      if (value == values_.end())
        return badSidecar(
            kernel, fmt::format("it wants an argument {}, which its own problem lacks", arg.name));
      if (value->second.kind != arg.kind)
        return badSidecar(kernel, fmt::format("argument {} has kind {}, must be {}", arg.name,
                                              arg.kind, value->second.kind));
      std::memcpy(bytes.data() + arg.offset, &value->second.bits, arg.size);
    }
    return bytes;
  }

private:
  struct Value {
    std::string_view kind;
    uint64_t bits;
  };
  void add(std::string name, std::string_view kind, uint64_t bits) {
    values_[std::move(name)] = {kind, bits};
  }
  std::map<std::string, Value> values_;
};

void addTensors(Values &values, const ProblemShape &problem, const AttentionCall &call) {
  bool dense = problem.qStorage == Storage::Dense;
  std::vector<std::string_view> rows{"token", "head"}, lseRows{"head", "row"};
  if (dense) {
    rows.insert(rows.begin(), "batch");
    lseRows.insert(lseRows.begin(), "batch");
  }
  for (auto [name, view] :
       {std::pair{"q", &call.q}, {"k", &call.k}, {"v", &call.v}, {"out", &call.out}}) {
    values.pointer(name, view->data);
    values.strides(name, *view, rows);
  }
  if (call.lse) {
    values.pointer("lse", call.lse->data);
    values.strides("lse", *call.lse, lseRows);
  }
  if (call.sink)
    values.pointer("sink", call.sink->data);
  if (!dense) {
    values.pointer("cu_seqlens_q", call.cuSeqlensQ);
    values.pointer("cu_seqlens_k", call.cuSeqlensK);
  }
}

void addCaptured(Values &values, const ProblemShape &problem, const AttentionCall &call) {
  for (const auto &[name, view] : call.tensors) {
    std::string prefix = "tensor." + name;
    values.pointer(prefix, view.data);
    for (size_t d = 0; d < view.strides.size(); ++d)
      values.i64(fmt::format("{}.stride.{}", prefix, d), view.strides[d]);
    values.i64(prefix + ".elements", reachableElements(view.shape, view.strides));
  }
  for (const CapturedScalar &info : problem.scalars) {
    double value = call.scalars.at(info.name);
    if (info.dtype == DType::F32)
      values.f32("scalar." + info.name, value);
    else
      values.i32("scalar." + info.name, static_cast<int64_t>(value));
  }
}

} // namespace

bool TensorView::hasElements() const {
  return std::none_of(shape.begin(), shape.end(), [](int64_t n) { return n == 0; });
}

TensorView TensorView::packed(DevicePtr data, DType dtype, std::vector<int64_t> shape) {
  TensorView view{data, dtype, std::move(shape), {}};
  view.strides = packedStrides(view.shape);
  return view;
}

Result<LaunchPlan> planLaunch(const Sidecar &sidecar, const AttentionCall &call) {
  const KernelReport &kernel = sidecar.kernel;
  const ProblemShape &problem = sidecar.problem;
  if (auto ok = checkSidecar(kernel); !ok)
    return ok.error();
  auto shape = checkCall(problem, call);
  if (!shape)
    return shape.error();

  int64_t numQBlocks = (shape->maxQLen + kernel.grid.blockM - 1) / kernel.grid.blockM;
  LaunchPlan plan;
  plan.empty = shape->batch == 0 || numQBlocks == 0;
  // 2^30 rows, 2^30 sequences and any number of heads multiply past 64 bits.
  __int128 workgroups = static_cast<__int128>(numQBlocks) * problem.numQHeads * shape->batch;
  if (workgroups * kernel.grid.workgroupThreads > limits::threads)
    return Error{
        ErrorCode::Unsupported,
        fmt::format("the launch needs {} q blocks x {} heads x {} sequences of {} threads; "
                    "a launch holds fewer than 2^32 threads, so split the batch",
                    numQBlocks, problem.numQHeads, shape->batch, kernel.grid.workgroupThreads)};
  plan.dims.grid[0] = static_cast<uint32_t>(workgroups);
  plan.dims.block[0] = static_cast<uint32_t>(kernel.grid.workgroupThreads);

  Values values;
  addTensors(values, problem, call);
  addCaptured(values, problem, call);
  values.i32("batch", shape->batch);
  values.i32("num_q_blocks", numQBlocks);
  if (problem.qStorage == Storage::Dense) {
    values.i32("q_len", shape->maxQLen);
    values.i32("kv_len", shape->kvLen);
  }
  auto kernarg = values.pack(kernel);
  if (!kernarg)
    return kernarg.error();
  plan.kernarg = std::move(*kernarg);
  return plan;
}

} // namespace attune
