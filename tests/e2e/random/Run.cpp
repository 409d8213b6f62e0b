#include "tests/e2e/random/Run.h"
#include "compiler/spec/Spec.h"
#include "runtime/device/SimDevice.h"
#include "runtime/launch/HostRun.h"
#include "runtime/launch/Npz.h"
#include "runtime/sim/strict/Strict.h"
#include "tests/oracle/Compare.h"
#include "tests/oracle/Eval.h"
#include "tests/oracle/Oracle.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <limits>
#include <numeric>

namespace attune::e2e::random {

namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
/// The logits of N(0, 1) vectors grow by the square of this.
constexpr double hugeFactor = 16;
constexpr int64_t slackTokens = 3, slackRows = 40; ///< rows beyond the longest q_len

int64_t sum(const std::vector<int64_t> &v) {
  return std::accumulate(v.begin(), v.end(), int64_t(0));
}

/// Draws the tensors of one case.
class Caller {
public:
  Caller(const Case &c, const spec::Model &model)
      : case_(c), model_(model), rng_(c.seed ^ 0x5eed) {}

  HostCall call();
  HostRunOptions options(const HostCall &);

private:
  /// Any order of the dimensions but the last `fixed`, gaps between them, multiples of `align`.
  Shape strides(const Shape &shape, int fixed, int64_t align);
  HostTensor blank(DType dtype, const Shape &shape, int fixed, int64_t align);
  HostTensor operand(const std::vector<int64_t> &lens, int64_t heads, int64_t columns, double size);
  HostTensor bounds(const std::vector<int64_t> &lens);
  HostTensor captured(const CapturedTensor &, bool ascending);
  double element(DType dtype);
  int64_t extent(const std::string &dim);
  int64_t slack() const { return case_.slack && !case_.dense ? slackTokens : 0; }
  void poisonUnseen(HostCall &);

  const Case &case_;
  const spec::Model &model_;
  Rng rng_;
};

Shape Caller::strides(const Shape &shape, int fixed, int64_t align) {
  if (!case_.strided)
    return packedStrides(shape);
  std::vector<size_t> order(shape.size() - static_cast<size_t>(fixed));
  std::iota(order.begin(), order.end(), size_t(0));
  for (size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[static_cast<size_t>(rng_.below(static_cast<int64_t>(i)))]);
  Shape result(shape.size(), 1);
  int64_t reach = fixed ? shape.back() : 1;
  for (size_t d : order) {
    int64_t stride = reach + align * rng_.below(4);
    result[d] = (stride + align - 1) / align * align;
    reach = result[d] * std::max<int64_t>(shape[d], 1);
  }
  return result;
}

HostTensor Caller::blank(DType dtype, const Shape &shape, int fixed, int64_t align) {
  int64_t pad = case_.strided ? 16 : 0;
  return HostTensor::strided(dtype, shape, strides(shape, fixed, align), pad, pad);
}

/// q, k or v; tokens outside of every sequence stay NaN.
HostTensor Caller::operand(const std::vector<int64_t> &lens, int64_t heads, int64_t columns,
                           double size) {
  Shape shape{sum(lens) + 2 * slack(), heads, columns};
  if (case_.dense)
    shape = {static_cast<int64_t>(lens.size()), lens[0], heads, columns};
  HostTensor t = blank(case_.dtype, shape, 1, 8);
  if (case_.strided && !case_.poisoned && rng_.oneIn(5)) // all heads share one
    t.strides[shape.size() - 2] = 0;
  int64_t last = sum(lens) + slack();
  forEachIndex(shape, [&](Index i) {
    if (case_.dense || (i[0] >= slack() && i[0] < last))
      t.set(i, size * rng_.normal());
  });
  return t;
}

HostTensor Caller::bounds(const std::vector<int64_t> &lens) {
  HostTensor cu = HostTensor::packed(DType::I32, {static_cast<int64_t>(lens.size()) + 1});
  int64_t at = slack();
  cu.set({0}, static_cast<double>(at));
  for (size_t b = 0; b < lens.size(); ++b)
    cu.set({static_cast<int64_t>(b) + 1}, static_cast<double>(at += lens[b]));
  return cu;
}

int64_t Caller::extent(const std::string &dim) {
  const ProblemShape &p = model_.problem;
  if (dim == "batch")
    return static_cast<int64_t>(case_.qLens.size());
  if (dim == "heads")
    return p.numQHeads;
  if (dim == "kv_heads")
    return p.numKvHeads;
  if (dim == "tokens")
    return sum(case_.kvLens) + 2 * slack();
  if (dim == "q")
    return *std::max_element(case_.qLens.begin(), case_.qLens.end()) + (slack() ? slackRows : 0);
  if (dim == "k")
    return *std::max_element(case_.kvLens.begin(), case_.kvLens.end()) + slack();
  return std::stoll(dim);
}

double Caller::element(DType dtype) {
  switch (dtype) {
  case DType::Bool:
    return static_cast<double>(rng_.below(2));
  case DType::U8:
    return static_cast<double>(rng_.below(201));
  case DType::F32:
  case DType::F16:
  case DType::BF16:
    return rng_.uniform(-1.99, 1.99);
  default:
    return static_cast<double>(rng_.between(-20, 100));
  }
}

HostTensor Caller::captured(const CapturedTensor &info, bool ascending) {
  Shape shape;
  for (const std::string &dim : info.dims)
    shape.push_back(extent(dim));
  HostTensor t = blank(info.dtype, shape, 0, 1);
  if (case_.strided && !shape.empty() && rng_.oneIn(6)) // one row for all
    t.strides[static_cast<size_t>(rng_.below(static_cast<int64_t>(shape.size())))] = 0;
  double last = -3;
  forEachIndex(shape, [&](Index i) {
    if (ascending)
      t.set(i, last += static_cast<double>(rng_.oneIn(9)));
    else if (info.name.starts_with("hide") && rng_.oneIn(6))
      t.set(i, -std::numeric_limits<double>::infinity());
    else
      t.set(i, element(info.dtype));
  });
  return t;
}

HostCall Caller::call() {
  const ProblemShape &p = model_.problem;
  double size = case_.huge ? hugeFactor : 1;
  HostCall call{.q = operand(case_.qLens, p.numQHeads, p.headDim, size),
                .k = operand(case_.kvLens, p.numKvHeads, p.headDim, size),
                .v = operand(case_.kvLens, p.numKvHeads, p.vHeadDim, 1),
                .sink = {},
                .cuSeqlensQ = {},
                .cuSeqlensK = {},
                .tensors = {},
                .scalars = {}};
  if (!case_.dense) {
    call.cuSeqlensQ = bounds(case_.qLens);
    call.cuSeqlensK = bounds(case_.kvLens);
  }
  if (p.hasSink) {
    call.sink = HostTensor::packed(DType::F32, {p.numQHeads});
    for (int64_t h = 0; h < p.numQHeads; ++h) // none at all, and one that takes everything, too
      call.sink->set({h}, rng_.oneIn(8)   ? -std::numeric_limits<double>::infinity()
                          : rng_.oneIn(8) ? 100
                                          : rng_.normal());
  }
  for (const spec::Tensor &t : model_.tensors)
    call.tensors[t.info.name] = captured(t.info, t.nondecreasing);
  for (const CapturedScalar &s : p.scalars)
    for (const ScalarDecl &declared : case_.scalars)
      if (declared.name == s.name)
        call.scalars[s.name] = declared.value;
  if (case_.poisoned)
    poisonUnseen(call);
  return call;
}

/// NaN in the keys and values that no row of their sequence sees.
void Caller::poisonUnseen(HostCall &call) {
  const ProblemShape &p = model_.problem;
  auto sequences = sequencesOf(p, call);
  if (!sequences)
    return;
  oracle::Evaluator evaluator(model_, call);
  int64_t ratio = p.numQHeads / p.numKvHeads;
  for (size_t b = 0; b < sequences->size(); ++b) {
    const SequenceBounds &bounds = (*sequences)[b];
    std::vector<int64_t> keys(static_cast<size_t>(bounds.kvLen));
    std::iota(keys.begin(), keys.end(), int64_t(0));
    for (int64_t hk = 0; hk < p.numKvHeads; ++hk) {
      std::vector<bool> seen(keys.size(), model_.mask < 0 && bounds.qLen > 0);
      for (int64_t h = hk * ratio; model_.mask >= 0 && !keys.empty() && h < (hk + 1) * ratio; ++h)
        for (int64_t qi = 0; qi < bounds.qLen; ++qi) {
          auto visible = evaluator.evaluate(model_.mask,
                                            {static_cast<int64_t>(b), h, hk, qi, bounds}, keys, {});
          for (size_t k = 0; k < keys.size(); ++k)
            seen[k] = seen[k] || !visible || visible->i[k];
        }
      for (int64_t k : keys)
        for (HostTensor *t : {&call.k, &call.v})
          for (int64_t d = 0; !seen[static_cast<size_t>(k)] && d < t->shape.back(); ++d)
            if (case_.dense)
              t->set({static_cast<int64_t>(b), k, hk, d}, nan);
            else
              t->set({bounds.kStart + k, hk, d}, nan);
    }
  }
}

HostRunOptions Caller::options(const HostCall &call) {
  HostRunOptions options;
  options.guards = true;
  if (case_.strided) {
    Shape out = call.q.shape;
    out.back() = model_.problem.vHeadDim;
    options.outStrides = strides(out, 1, 8);
    Shape lse{call.q.shape[call.q.shape.size() - 2], call.q.shape[call.q.shape.size() - 3]};
    if (case_.dense)
      lse.insert(lse.begin(), call.q.shape[0]);
    options.lseStrides = strides(lse, 0, 1);
  }
  if (case_.slack && !case_.dense)
    options.maxQLen = *std::max_element(case_.qLens.begin(), case_.qLens.end()) + slackRows;
  return options;
}

Outcome wrong(std::string kind, std::string message) {
  return {Verdict::Wrong, std::move(kind), std::move(message)};
}

/// What chance may write and the language refuses, rightly: constants that decide everything.
constexpr std::string_view refusedByChance[] = {
    "does not use s", "for every pair", "has no effect",
    "is never read",  "overflow",       "rounds down here",
};

/// A refusal must say where and what else to choose; then it is no fault. (A text that is in no
/// file has no line to show once it is parsed.)
Outcome refusal(std::string kind, const Error &error) {
  auto says = [&](std::string_view part) { return error.message.find(part) != std::string::npos; };
  bool wish = error.code == ErrorCode::Unsupported && (says("nearest legal") || says("supported"));
  bool chance = error.code == ErrorCode::InvalidSpec && says("^") &&
                std::any_of(std::begin(refusedByChance), std::end(refusedByChance), says);
  if (says("random.attn:") && says(": error: ") && (wish || chance))
    return {Verdict::Refused, std::move(kind), error.message};
  return wrong(std::move(kind), error.message);
}

std::string difference(const oracle::Comparison &c) {
  return fmt::format("{} of {} wrong; at {}: {} instead of {}, allowed {}", c.wrong, c.compared,
                     shapeText(c.worst.index), c.worst.actual, c.worst.expected, c.tolerance.str());
}

Outcome judge(const spec::Model &model, const HostCall &call, const HostResult &result) {
  auto want = oracle::attention(model, call, {.threads = 1});
  if (!want)
    return wrong("oracle", want.error().message);
  const ProblemShape &p = model.problem;
  auto out =
      oracle::compare(want->out, result.out,
                      oracle::outTolerance(p.dtype, p.outDtype, oracle::rootMeanSquare(call.v)));
  if (!out.ok)
    return wrong("out", difference(out));
  if (result.lse)
    if (auto lse = oracle::compare(want->lse, *result.lse, oracle::lseTolerance(p.lse)); !lse.ok)
      return wrong("lse", difference(lse));
  return {};
}

Result<spec::Model> parse(const Case &c) {
  return spec::parseSpec(c.text(),
                         {.fileName = "random.attn", .parameters = c.sets(), .attention = {}});
}

} // namespace

Outcome runCase(Compiler &compiler, const Case &c) {
  auto model = parse(c);
  if (!model)
    return refusal("parse", model.error());
  auto image = compiler.compile(*model);
  if (!image)
    return refusal("compile", image.error());
  sim::strict::StrictChecker checker;
  auto device = makeSimDevice(checker.watch(c.policy));
  auto loaded = LoadedKernel::load(*device, *image);
  if (!loaded)
    return wrong("load", loaded.error().message);
  Caller caller(c, *model);
  HostCall call = caller.call();
  auto result = loaded->run(call, caller.options(call));
  if (!result)
    return wrong("launch", result.error().message);
  if (std::string findings = checker.text(); !findings.empty())
    return wrong("strict", findings);
  Outcome outcome = judge(*model, call, *result);
  outcome.scratchBytes = image->sidecar.kernel.resources.scratchBytes;
  return outcome;
}

Result<std::string> saveCase(const Case &c, const std::string &folder) {
  auto model = parse(c);
  if (!model)
    return model.error();
  HostCall call = Caller(c, *model).call();
  TensorMap tensors{{"q", call.q}, {"k", call.k}, {"v", call.v}};
  tensors.insert(call.tensors.begin(), call.tensors.end());
  for (auto [name, tensor] : {std::pair{"sink", &call.sink},
                              {"cu_seqlens_q", &call.cuSeqlensQ},
                              {"cu_seqlens_k", &call.cuSeqlensK}})
    if (*tensor)
      tensors[name] = **tensor;
  std::string name = fmt::format("{}/random_{}", folder, c.seed);
  std::ofstream(name + ".attn") << c.text();
  if (auto ok = writeNpz(name + ".npz", tensors); !ok)
    return ok.error();
  std::string command = fmt::format("attune run {0}.attn --inputs {0}.npz --check --strict", name);
  for (const auto &[parameter, value] : c.sets())
    command += fmt::format(" --set {}={}", parameter, value);
  for (const auto &[scalar, value] : call.scalars)
    command += fmt::format(" --scalar {}={}", scalar, value);
  return command;
}

} // namespace attune::e2e::random
