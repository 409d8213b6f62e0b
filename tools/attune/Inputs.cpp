// Works out lengths first, then fills each call from the given tensors and the generator.
#include "tools/attune/Inputs.h"
#include "runtime/abi/HostMemory.h"
#include "runtime/launch/Npz.h"
#include "tools/attune/Draw.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numeric>

namespace attune::tool {

namespace {

constexpr int64_t defaultLength = 256;
constexpr size_t lengthsShown = 8;

Error invalid(std::string message) { return {ErrorCode::InvalidArgument, std::move(message)}; }

std::string lensText(const std::vector<int64_t> &lens) {
  if (lens.size() <= lengthsShown)
    return fmt::format("{}", fmt::join(lens, ","));
  std::vector<int64_t> first(lens.begin(), lens.begin() + lengthsShown);
  return fmt::format("{},... ({} sequences)", fmt::join(first, ","), lens.size());
}

/// [0, l0, l0 + l1, ...]
HostTensor cumulative(const std::vector<int64_t> &lens) {
  HostTensor cu = HostTensor::packed(DType::I32, {static_cast<int64_t>(lens.size()) + 1});
  int64_t total = 0;
  for (size_t b = 0; b < lens.size(); ++b) {
    total += lens[b];
    cu.set({static_cast<int64_t>(b) + 1}, static_cast<double>(total));
  }
  return cu;
}

class JobBuilder {
public:
  JobBuilder(const ProblemShape &problem, const spec::Model *model, const RunArgs &args)
      : problem_(problem), args_(args), dense_(problem.qStorage == Storage::Dense) {
    if (!model)
      return;
    findSlopes(*model);
    for (const spec::Tensor &tensor : model->tensors)
      if (tensor.nondecreasing)
        nondecreasing_.insert(tensor.info.name);
  }

  Result<Jobs> build() {
    if (!args_.inputs.empty())
      if (auto ok = loadGiven(); !ok)
        return ok.error();
    auto lens = findLens();
    if (!lens)
      return lens.error();
    if (auto ok = prepareScalars(*lens); !ok)
      return ok.error();
    if (auto ok = checkMemory(*lens); !ok)
      return ok.error();
    if (auto ok = checkValues(*lens); !ok)
      return ok.error();
    bool equal = allEqual(lens->q) && allEqual(lens->kv);
    if (dense_ && !equal) {
      if (!given_.empty())
        return invalid("dense storage has one q_len and one kv_len in a call; with --inputs give "
                       "equal lengths");
      result_.notes.push_back(fmt::format(
          "dense storage: {} sequences of unequal lengths run one by one", lens->q.size()));
      for (size_t b = 0; b < lens->q.size(); ++b)
        addJob({{lens->q[b]}, {lens->kv[b]}}, args_.seed + b);
    } else {
      addJob(*lens, args_.seed);
    }
    return std::move(result_);
  }

private:
  static bool allEqual(const std::vector<int64_t> &lens) {
    return std::adjacent_find(lens.begin(), lens.end(), std::not_equal_to<>()) == lens.end();
  }

  void findSlopes(const spec::Model &model) {
    for (const spec::Expr &e : model.exprs)
      if (e.kind == spec::ExprKind::Call && e.builtin && e.name == "alibi")
        slopes_.insert(
            model.tensors[static_cast<size_t>(model.exprs[static_cast<size_t>(e.args[0])].i)]
                .info.name);
  }

  /// The type that the spec wants of a tensor by its name; nothing for a name it does not know.
  std::optional<DType> typeOf(const std::string &name) const {
    if (name == "q" || name == "k" || name == "v")
      return problem_.dtype;
    if (!dense_ && (name == "cu_seqlens_q" || name == "cu_seqlens_k"))
      return DType::I32;
    if (problem_.hasSink && name == "sink")
      return DType::F32;
    for (const CapturedTensor &t : problem_.tensors)
      if (t.name == name)
        return t.dtype;
    return std::nullopt;
  }

  std::string knownNames() const {
    std::vector<std::string> names{"q", "k", "v"};
    if (!dense_)
      names.insert(names.end(), {"cu_seqlens_q", "cu_seqlens_k"});
    if (problem_.hasSink)
      names.push_back("sink");
    for (const CapturedTensor &t : problem_.tensors)
      names.push_back(t.name);
    return fmt::format("{}", fmt::join(names, ", "));
  }

  Result<void> loadGiven() {
    auto tensors = readTensors(args_.inputs);
    if (!tensors)
      return tensors.error();
    for (auto &[name, tensor] : *tensors) {
      auto wanted = typeOf(name);
      if (!wanted)
        return invalid(
            fmt::format("--inputs: the spec has no tensor {}; it has {}", name, knownNames()));
      if (auto ok = convertGiven(name, tensor, *wanted); !ok)
        return ok;
    }
    given_ = std::move(*tensors);
    return {};
  }

  /// numpy's defaults are float32 and int64, so those convert; anything else must have the spec's
  /// own type.
  Result<void> convertGiven(const std::string &name, HostTensor &tensor, DType wanted) {
    if (tensor.dtype == wanted)
      return {};
    bool floats = tensor.dtype == DType::F32 && isFloat(wanted);
    bool integers = (tensor.dtype == DType::I64 || tensor.dtype == DType::I32) && !isFloat(wanted);
    if (!floats && !integers)
      return invalid(fmt::format("--inputs: {} must be {} (or {}), got {}", name, nameOf(wanted),
                                 isFloat(wanted) ? "f32" : "i64", nameOf(tensor.dtype)));
    HostTensor to = converted(tensor, wanted);
    if (integers && converted(to, tensor.dtype).storage != tensor.storage)
      return invalid(
          fmt::format("--inputs: {} has values that do not fit {}", name, nameOf(wanted)));
    if (floats)
      result_.notes.push_back(fmt::format("{}: rounded from f32 to {}", name, nameOf(wanted)));
    tensor = std::move(to);
    return {};
  }

  const HostTensor *given(const std::string &name) const {
    auto found = given_.find(name);
    return found == given_.end() ? nullptr : &found->second;
  }

  /// One side of the call, query or key.
  struct Side {
    const char *listOption, *cuName, *tensorName;
    const std::optional<Lengths> &list;
    const std::optional<int64_t> &equal;
  };
  using MaybeLens = std::optional<std::vector<int64_t>>;

  /// Lengths by options, else by cu_seqlens, else by the tensor itself; two that both speak must
  /// not differ.
  Result<MaybeLens> lensOf(const Side &side) const {
    MaybeLens asked = side.list;
    if (!asked && side.equal)
      asked = std::vector<int64_t>(static_cast<size_t>(args_.batch.value_or(1)), *side.equal);
    if (const HostTensor *cu = given(side.cuName)) {
      if (asked)
        return invalid(fmt::format("{}: --inputs has {} already", side.listOption, side.cuName));
      if (cu->shape.size() != 1 || cu->shape[0] < 1)
        return invalid(fmt::format("--inputs: {} must be i32[batch + 1], got {}", side.cuName,
                                   describe(cu->dtype, cu->shape)));
      std::vector<int64_t> lens;
      for (int64_t b = 0; b + 1 < cu->shape[0]; ++b)
        lens.push_back(static_cast<int64_t>(cu->get({b + 1}) - cu->get({b})));
      return MaybeLens(lens);
    }
    const HostTensor *tensor = given(side.tensorName);
    if (asked || !tensor || tensor->shape.size() != (dense_ ? 4u : 3u))
      return asked;
    if (!dense_)
      return MaybeLens(std::vector<int64_t>{tensor->shape[0]});
    return MaybeLens(std::vector<int64_t>(static_cast<size_t>(tensor->shape[0]), tensor->shape[1]));
  }

  Result<Lens> findLens() const {
    auto q = lensOf({"--q-lens", "cu_seqlens_q", "q", args_.qLens, args_.qLen});
    if (!q)
      return q.error();
    auto kv = lensOf({"--kv-lens", "cu_seqlens_k", "k", args_.kvLens, args_.kvLen});
    if (!kv)
      return kv.error();
    std::vector<int64_t> standard(static_cast<size_t>(args_.batch.value_or(1)), defaultLength);
    Lens lens;
    lens.q = q->value_or(kv->value_or(standard));
    lens.kv = kv->value_or(lens.q);
    if (lens.q.size() != lens.kv.size())
      return invalid(fmt::format("{} query lengths but {} key lengths; each sequence needs both",
                                 lens.q.size(), lens.kv.size()));
    for (auto [name, side] : {std::pair{"q", &lens.q}, {"k", &lens.kv}, {"v", &lens.kv}})
      if (auto ok = checkGivenLens(name, *side); !ok)
        return ok.error();
    return lens;
  }

  /// A given tensor must hold what the lengths say; the ranks and heads are checked where all calls
  /// are.
  Result<void> checkGivenLens(const char *name, const std::vector<int64_t> &lens) const {
    const HostTensor *tensor = given(name);
    if (!tensor || tensor->shape.size() != (dense_ ? 4u : 3u))
      return {};
    int64_t total = std::accumulate(lens.begin(), lens.end(), int64_t(0));
    Shape wanted{static_cast<int64_t>(lens.size()), lens.empty() ? tensor->shape[1] : lens[0]};
    bool fits = dense_ ? Shape(tensor->shape.begin(), tensor->shape.begin() + 2) == wanted
                       : tensor->shape[0] >= total;
    if (!fits)
      return invalid(fmt::format("--inputs: {} is {}, but the lengths are {}", name,
                                 describe(tensor->dtype, tensor->shape), lensText(lens)));
    return {};
  }

  Result<void> prepareScalars(const Lens &lens) {
    for (const auto &[name, value] : args_.scalars) {
      auto same = [&name = name](const CapturedScalar &s) { return s.name == name; };
      if (std::none_of(problem_.scalars.begin(), problem_.scalars.end(), same))
        return invalid(fmt::format("--scalar {}: the spec has no such scalar", name));
    }
    scalars_ = args_.scalars;
    for (const CapturedScalar &s : problem_.scalars)
      if (!scalars_.contains(s.name)) {
        double value = s.dtype == DType::F32 ? 1 : static_cast<double>(lens.longestKv() / 2);
        scalars_[s.name] = value;
        result_.notes.push_back(
            fmt::format("scalar {} = {} (--scalar {}=... to set it)", s.name, value, s.name));
      }
    return {};
  }

  /// Lengths that are a slip of the hand should not end in a machine without memory.
  Result<void> checkMemory(const Lens &lens) const {
    const auto total = [](const std::vector<int64_t> &all) {
      return std::accumulate(all.begin(), all.end(), 0.0);
    };
    const ProblemShape &p = problem_;
    double bytes =
        total(lens.q) * p.numQHeads *
            (p.headDim * double(sizeOf(p.dtype)) + p.vHeadDim * double(sizeOf(p.outDtype))) +
        total(lens.kv) * p.numKvHeads * (p.headDim + p.vHeadDim) * double(sizeOf(p.dtype));
    for (const CapturedTensor &t : p.tensors) {
      double elements = 1;
      for (const std::string &dim : t.dims)
        elements *= double(extentOf(dim, p, lens));
      bytes += elements * double(sizeOf(t.dtype));
    }
    const double machine = double(hostMemoryBytes());
    if (bytes <= machine)
      return {};
    constexpr double gib = 1 << 30;
    return invalid(fmt::format("q {}  kv {}: the call's tensors take {:.1f} GiB, this machine has "
                               "{:.1f}; give shorter lengths",
                               lensText(lens.q), lensText(lens.kv), bytes / gib, machine / gib));
  }

  /// What a kernel counts on and cannot check.
  Result<void> checkValues(const Lens &lens) const {
    for (const CapturedTensor &info : problem_.tensors) {
      const HostTensor *tensor = given(info.name);
      if (tensor && info.dtype == DType::I64)
        if (auto ok = checkFitsI32(info.name, *tensor); !ok)
          return ok;
      if (tensor && tensor->shape.size() == 1 && nondecreasing_.contains(info.name))
        if (auto ok = checkNeverFalls(info.name, *tensor, lens.kv); !ok)
          return ok;
    }
    return {};
  }

  static Result<void> checkFitsI32(const std::string &name, const HostTensor &tensor) {
    std::optional<double> outside;
    forEachIndex(tensor.shape, [&](Index index) {
      const double value = tensor.get(index);
      if (value < std::numeric_limits<int32_t>::min() ||
          value > std::numeric_limits<int32_t>::max())
        outside = value;
    });
    if (!outside)
      return {};
    return invalid(
        fmt::format("--inputs: {} has the value {:.0f}; kernels read i64 as i32, -2^31 to "
                    "2^31 - 1",
                    name, *outside));
  }

  static Result<void> checkNeverFalls(const std::string &name, const HostTensor &tensor,
                                      const std::vector<int64_t> &lens) {
    int64_t first = 0;
    for (size_t b = 0; b < lens.size(); first += lens[b++])
      for (int64_t k = 1; k < lens[b] && first + k < tensor.shape[0]; ++k)
        if (const double before = tensor.get({first + k - 1}), here = tensor.get({first + k});
            here < before)
          return invalid(
              fmt::format("--inputs: {} falls from {} to {} at key {} of sequence {}; the "
                          "spec promises that it is nondecreasing",
                          name, before, here, k, b));
    return {};
  }

  HostTensor rows(const char *name, const std::vector<int64_t> &lens, int64_t heads,
                  int64_t columns, uint64_t seed) const {
    if (const HostTensor *tensor = given(name))
      return *tensor;
    Shape shape{static_cast<int64_t>(lens.size()), lens.empty() ? 0 : lens[0], heads, columns};
    if (!dense_)
      shape = {std::accumulate(lens.begin(), lens.end(), int64_t(0)), heads, columns};
    return drawNormal(problem_.dtype, shape, Random(seed, name));
  }

  void addJob(const Lens &lens, uint64_t seed) {
    HostCall call;
    call.q = rows("q", lens.q, problem_.numQHeads, problem_.headDim, seed);
    call.k = rows("k", lens.kv, problem_.numKvHeads, problem_.headDim, seed);
    call.v = rows("v", lens.kv, problem_.numKvHeads, problem_.vHeadDim, seed);
    if (!dense_) {
      call.cuSeqlensQ = given("cu_seqlens_q") ? *given("cu_seqlens_q") : cumulative(lens.q);
      call.cuSeqlensK = given("cu_seqlens_k") ? *given("cu_seqlens_k") : cumulative(lens.kv);
    }
    if (problem_.hasSink)
      call.sink = given("sink")
                      ? *given("sink")
                      : drawNormal(DType::F32, {problem_.numQHeads}, Random(seed, "sink"));
    for (const CapturedTensor &info : problem_.tensors)
      call.tensors[info.name] =
          given(info.name) ? *given(info.name) : drawCaptured(info, problem_, lens, slopes_, seed);
    call.scalars = scalars_;
    result_.jobs.push_back(
        {std::move(call), fmt::format("q {}  kv {}", lensText(lens.q), lensText(lens.kv))});
  }

  const ProblemShape &problem_;
  const RunArgs &args_;
  bool dense_;
  std::set<std::string> slopes_, nondecreasing_;
  TensorMap given_;
  std::map<std::string, double> scalars_;
  Jobs result_;
};

} // namespace

Result<Jobs> prepareJobs(const ProblemShape &problem, const spec::Model *model,
                         const RunArgs &args) {
  return JobBuilder(problem, model, args).build();
}

} // namespace attune::tool
