// The checks of a call, tensor by tensor. Each error reads: tensor, dimension, what it must be,
// what it is.
#include "runtime/launch/CallCheck.h"
#include "runtime/launch/HostTensor.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace attune {

namespace {

/// One dimension of a tensor. `least` accepts more than `expected`.
struct Dim {
  std::string_view name;
  int64_t expected = 0;
  bool least = false;
};

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

Error wrongDim(std::string_view tensor, size_t d, std::string_view dim, std::string_view must,
               int64_t actual, const TensorView &view) {
  return invalid(fmt::format("{}: dimension {} ({}) must be {}, got {} (the tensor is {})", tensor,
                             d, dim, must, actual, describe(view.dtype, view.shape)));
}

Result<void> checkLength(std::string_view what, int64_t value) {
  if (value < 0 || value > limits::length)
    return invalid(fmt::format("{} must be between 0 and {}, got {}", what, limits::length, value));
  return {};
}

/// Largest element offset that the strides reach must be a byte address a 48-bit pointer can hold.
Result<void> checkReach(std::string_view name, const TensorView &view) {
  __int128 reach = 0;
  for (size_t d = 0; d < view.shape.size(); ++d)
    reach += static_cast<__int128>(std::max<int64_t>(view.shape[d] - 1, 0)) * view.strides[d];
  if (reach * sizeOf(view.dtype) >= static_cast<__int128>(1) << 47)
    return invalid(fmt::format("{}: shape {} with strides {} reaches past 2^47 bytes", name,
                               shapeText(view.shape), shapeText(view.strides)));
  return {};
}

Result<void> checkRankAndType(std::string_view name, const TensorView &view, DType dtype,
                              const std::vector<Dim> &dims) {
  if (view.dtype != dtype)
    return invalid(fmt::format("{}: element type must be {}, got {}", name, nameOf(dtype),
                               nameOf(view.dtype)));
  if (view.shape.size() != dims.size()) {
    std::vector<std::string_view> names;
    for (const Dim &dim : dims)
      names.push_back(dim.name);
    return invalid(fmt::format("{}: must have {} dimensions [{}], got {}", name, dims.size(),
                               fmt::join(names, ", "), describe(view.dtype, view.shape)));
  }
  if (view.strides.size() != view.shape.size())
    return invalid(fmt::format("{}: {} dimensions but {} strides", name, view.shape.size(),
                               view.strides.size()));
  return {};
}

/// Type, rank, extents, strides and pointer of one tensor.
Result<void> checkTensor(std::string_view name, const TensorView &view, DType dtype,
                         const std::vector<Dim> &dims) {
  if (auto ok = checkRankAndType(name, view, dtype, dims); !ok)
    return ok;
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t actual = view.shape[d], expected = dims[d].expected;
    if (dims[d].least ? actual < expected : actual != expected)
      return wrongDim(name, d, dims[d].name,
                      fmt::format("{}{}", dims[d].least ? "at least " : "", expected), actual,
                      view);
    if (view.strides[d] < 0)
      return invalid(fmt::format("{}: stride of dimension {} ({}) must be 0 or more, got {}; "
                                 "copy a reversed view first",
                                 name, d, dims[d].name, view.strides[d]));
  }
  if (view.data == 0 && view.hasElements())
    return invalid(fmt::format("{}: no memory given (null pointer)", name));
  return checkReach(name, view);
}

/// Rows of a tile are addressed from its first with 32 bits. `token` is the dimension that walks
/// over rows.
Result<void> checkTileSpan(std::string_view name, const TensorView &view, size_t token) {
  int64_t limit = limits::span32 / (limits::tileRows * sizeOf(view.dtype));
  if (view.shape[token] > 1 && view.strides[token] >= limit)
    return Error{ErrorCode::Unsupported,
                 fmt::format("{}: stride of dimension {} (token) must be below {} elements, so "
                             "that {} rows stay within 2^31 bytes, got {}",
                             name, token, limit, limits::tileRows, view.strides[token])};
  return {};
}

/// What vector loads and stores ask of q, k, v and out: dense rows, aligned.
Result<void> checkRows(std::string_view name, const TensorView &view, size_t token) {
  size_t last = view.shape.size() - 1;
  int64_t size = sizeOf(view.dtype);
  if (!view.hasElements())
    return {};
  if (view.strides[last] != 1)
    return invalid(fmt::format("{}: stride of dimension {} (the head's columns) must be 1, got {}",
                               name, last, view.strides[last]));
  if (view.data % limits::rowAlignment != 0)
    return invalid(fmt::format("{}: its address must be a multiple of {} bytes, got {:#x}", name,
                               limits::rowAlignment, view.data));
  for (size_t d = 0; d < last; ++d)
    if (view.shape[d] > 1 && view.strides[d] * size % limits::rowAlignment != 0)
      return invalid(fmt::format("{}: stride of dimension {} must be a multiple of {} elements "
                                 "({} bytes), got {}",
                                 name, d, limits::rowAlignment / size, limits::rowAlignment,
                                 view.strides[d]));
  return checkTileSpan(name, view, token);
}

/// Two elements of an output must never share memory: ordered by stride, each dimension must step
/// over all that the smaller ones reach.
Result<void> checkNoOverlap(std::string_view name, const TensorView &view) {
  if (!view.hasElements())
    return {};
  std::vector<size_t> order(view.shape.size());
  std::iota(order.begin(), order.end(), size_t(0));
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return view.strides[a] < view.strides[b]; });
  int64_t reach = 1;
  for (size_t d : order) {
    if (view.shape[d] == 1)
      continue;
    if (view.strides[d] < reach)
      return invalid(fmt::format("{}: rows of an output overlap: stride of dimension {} must be at "
                                 "least {}, got {}",
                                 name, d, reach, view.strides[d]));
    reach += (view.shape[d] - 1) * view.strides[d];
  }
  return {};
}

/// q, k, v, out, lse and sink of one storage.
class MainTensors {
public:
  MainTensors(const ProblemShape &problem, const AttentionCall &call)
      : problem_(problem), call_(call), dense_(problem.qStorage == Storage::Dense) {}

  Result<CallShape> check() {
    if (auto ok = bindLengths(); !ok)
      return ok.error();
    const ProblemShape &p = problem_;
    if (auto ok =
            rows("q", call_.q, p.dtype, "q_len", qRows_, "num_q_heads", p.numQHeads, p.headDim);
        !ok)
      return ok.error();
    if (auto ok =
            rows("k", call_.k, p.dtype, "kv_len", kvRows_, "num_kv_heads", p.numKvHeads, p.headDim);
        !ok)
      return ok.error();
    if (auto ok = rows("v", call_.v, p.dtype, "kv_len", kvRows_, "num_kv_heads", p.numKvHeads,
                       p.vHeadDim);
        !ok)
      return ok.error();
    if (auto ok = rows("out", call_.out, p.outDtype, "q_len", qRows_, "num_q_heads", p.numQHeads,
                       p.vHeadDim);
        !ok)
      return ok.error();
    if (auto ok = checkNoOverlap("out", call_.out); !ok)
      return ok.error();
    if (auto ok = lse(); !ok)
      return ok.error();
    if (auto ok = sink(); !ok)
      return ok.error();
    return shape_;
  }

private:
  std::string_view rowName(std::string_view denseName) const {
    return dense_ ? denseName : denseName == "q_len" ? "q tokens" : "kv tokens";
  }

  /// Lengths come from q and k; the other tensors must agree with those.
  Result<void> bindLengths() {
    size_t rank = dense_ ? 4 : 3;
    for (auto [name, view] : {std::pair{"q", &call_.q}, {"k", &call_.k}})
      if (view->shape.size() != rank)
        return invalid(fmt::format("{}: must have {} dimensions [{}], got {}", name, rank,
                                   dense_ ? "batch, length, heads, dim" : "tokens, heads, dim",
                                   describe(view->dtype, view->shape)));
    qRows_ = call_.q.shape[dense_ ? 1 : 0];
    kvRows_ = call_.k.shape[dense_ ? 1 : 0];
    if (auto ok = checkLength(fmt::format("q: {}", rowName("q_len")), qRows_); !ok)
      return ok;
    if (auto ok = checkLength(fmt::format("k: {}", rowName("kv_len")), kvRows_); !ok)
      return ok;
    return dense_ ? bindDense() : bindVarlen();
  }

  Result<void> bindDense() {
    shape_ = {call_.q.shape[0], qRows_, kvRows_};
    if (call_.cuSeqlensQ || call_.cuSeqlensK)
      return invalid("cu_seqlens: the kernel is built for dense storage, which has none");
    if (call_.batch != 0 && call_.batch != shape_.batch)
      return invalid(
          fmt::format("batch: {} given, but q has {} sequences", call_.batch, shape_.batch));
    if (call_.maxQLen != 0 && call_.maxQLen != qRows_)
      return invalid(fmt::format("max_q_len: {} given, but q has q_len {}", call_.maxQLen, qRows_));
    return checkLength("q: batch", shape_.batch);
  }

  Result<void> bindVarlen() {
    shape_ = {call_.batch, call_.maxQLen, 0};
    if (auto ok = checkLength("batch", call_.batch); !ok)
      return ok;
    if (auto ok = checkLength("max_q_len", call_.maxQLen); !ok)
      return ok;
    for (auto [name, data] :
         {std::pair{"cu_seqlens_q", call_.cuSeqlensQ}, {"cu_seqlens_k", call_.cuSeqlensK}}) {
      if (data == 0 && call_.batch > 0)
        return invalid(fmt::format("{}: no memory given (null pointer); varlen storage needs "
                                   "i32[batch + 1]",
                                   name));
      if (data % sizeOf(DType::I32) != 0)
        return invalid(fmt::format("{}: its address must be a multiple of 4 bytes", name));
    }
    return {};
  }

  Result<void> rows(std::string_view name, const TensorView &view, DType dtype,
                    std::string_view lengthName, int64_t length, std::string_view headsName,
                    int64_t heads, int64_t columns) {
    std::vector<Dim> dims{{rowName(lengthName), length}, {headsName, heads}, {"head_dim", columns}};
    if (name == "v" || name == "out")
      dims.back().name = "v_head_dim";
    if (dense_)
      dims.insert(dims.begin(), Dim{"batch", shape_.batch});
    if (auto ok = checkTensor(name, view, dtype, dims); !ok)
      return ok;
    return checkRows(name, view, dense_ ? 1 : 0);
  }

  Result<void> lse() {
    bool wanted = problem_.lse != LseKind::None;
    if (wanted != call_.lse.has_value())
      return invalid(wanted ? "lse: the kernel writes it, but no tensor is given"
                            : "lse: given, but the spec has no lse output");
    if (!wanted)
      return {};
    std::vector<Dim> dims{{"num_q_heads", problem_.numQHeads}, {rowName("q_len"), qRows_}};
    if (dense_)
      dims.insert(dims.begin(), Dim{"batch", shape_.batch});
    if (auto ok = checkTensor("lse", *call_.lse, DType::F32, dims); !ok)
      return ok;
    if (auto ok = checkTileSpan("lse", *call_.lse, dims.size() - 1); !ok)
      return ok;
    return checkNoOverlap("lse", *call_.lse);
  }

  Result<void> sink() {
    if (problem_.hasSink != call_.sink.has_value())
      return invalid(problem_.hasSink ? "sink: the spec has one, but no tensor is given"
                                      : "sink: given, but the spec has none");
    if (!problem_.hasSink)
      return {};
    if (auto ok =
            checkTensor("sink", *call_.sink, DType::F32, {{"num_q_heads", problem_.numQHeads}});
        !ok)
      return ok;
    // The kernel reads sink[h] with no stride of its own.
    if (call_.sink->strides[0] != 1 && problem_.numQHeads > 1)
      return invalid(fmt::format("sink: its stride must be 1, got {}", call_.sink->strides[0]));
    return {};
  }

  const ProblemShape &problem_;
  const AttentionCall &call_;
  bool dense_;
  CallShape shape_;
  int64_t qRows_ = 0, kvRows_ = 0;
};

/// What a named dimension of a captured tensor must be in this call. For varlen the longest kv is
/// not known here, so a `k` dimension is only known to hold something.
Dim expectedDim(std::string_view name, const ProblemShape &p, const AttentionCall &call,
                const CallShape &shape) {
  bool dense = p.kvStorage == Storage::Dense;
  if (name == "heads")
    return {name, p.numQHeads};
  if (name == "kv_heads")
    return {name, p.numKvHeads};
  if (name == "batch")
    return {name, shape.batch};
  if (name == "tokens")
    return {name, dense ? shape.batch * shape.kvLen : call.k.shape[0], true};
  if (name == "q")
    return {name, shape.maxQLen, true};
  if (name == "k")
    return {name, dense ? shape.kvLen : 0, true};
  return {name, std::strtoll(std::string(name).c_str(), nullptr, 10)};
}

Result<void> checkCaptured(const CapturedTensor &info, const ProblemShape &problem,
                           const AttentionCall &call, const CallShape &shape) {
  std::string name = "tensor " + info.name;
  auto found = call.tensors.find(info.name);
  if (found == call.tensors.end())
    return invalid(fmt::format("{}: the spec reads it, but it is not given", name));
  const TensorView &view = found->second;
  std::vector<Dim> dims;
  for (const std::string &dim : info.dims)
    dims.push_back(expectedDim(dim, problem, call, shape));
  if (auto ok = checkTensor(name, view, info.dtype, dims); !ok)
    return ok;
  int64_t bytes = reachableElements(view.shape, view.strides) * sizeOf(view.dtype);
  if (bytes >= limits::span32)
    return Error{
        ErrorCode::Unsupported,
        fmt::format("{}: spans {} bytes; captured tensors must stay below 2^31", name, bytes)};
  if (view.data % sizeOf(view.dtype) != 0)
    return invalid(
        fmt::format("{}: its address must be a multiple of {} bytes", name, sizeOf(view.dtype)));
  return {};
}

Result<void> checkScalar(const CapturedScalar &info, const AttentionCall &call) {
  auto found = call.scalars.find(info.name);
  if (found == call.scalars.end())
    return invalid(fmt::format("scalar {}: the spec reads it, but it is not given", info.name));
  double value = found->second;
  if (info.dtype == DType::F32)
    return {};
  if (value != std::floor(value) || value < -2147483648.0 || value > 2147483647.0)
    return invalid(fmt::format("scalar {}: must be a 32-bit integer, got {}", info.name, value));
  return {};
}

/// Something given that the spec never reads would be silently ignored; that is an error.
template <class Given, class Declared>
Result<void> checkNoneUnused(std::string_view kind, const Given &given, const Declared &declared) {
  for (const auto &[name, value] : given) {
    auto same = [&name = name](const auto &d) { return d.name == name; };
    if (std::none_of(declared.begin(), declared.end(), same))
      return invalid(fmt::format("{} {}: given, but the spec does not read it", kind, name));
  }
  return {};
}

} // namespace

Result<CallShape> checkCall(const ProblemShape &problem, const AttentionCall &call) {
  if (problem.qStorage != problem.kvStorage)
    return Error{ErrorCode::Unsupported, "q and k, v must both be dense or both be varlen"};
  auto shape = MainTensors(problem, call).check();
  if (!shape)
    return shape;
  for (const CapturedTensor &info : problem.tensors)
    if (auto ok = checkCaptured(info, problem, call, *shape); !ok)
      return ok.error();
  for (const CapturedScalar &info : problem.scalars)
    if (auto ok = checkScalar(info, call); !ok)
      return ok.error();
  if (auto ok = checkNoneUnused("tensor", call.tensors, problem.tensors); !ok)
    return ok.error();
  if (auto ok = checkNoneUnused("scalar", call.scalars, problem.scalars); !ok)
    return ok.error();
  return shape;
}

} // namespace attune
