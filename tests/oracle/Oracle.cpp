// Attention in float64. Work is cut into blocks of query rows of one sequence; what a row sees is
// found once and used for all heads where the mask does not look at the head.
#include "tests/oracle/Oracle.h"
#include "tests/oracle/Eval.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <mutex>
#include <thread>

namespace attune::oracle {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int64_t rowsPerTask = 8;

/// q, k or v as rows of floats, [token][head][column]; exact for every type that a spec may use.
struct Rows {
  std::vector<float> data;
  int64_t heads = 0, columns = 0;
  const float *row(int64_t token, int64_t head) const {
    return data.data() + (token * heads + head) * columns;
  }
};

Rows rowsOf(const HostTensor &tensor) {
  size_t rank = tensor.shape.size();
  Rows rows{{}, tensor.shape[rank - 2], tensor.shape[rank - 1]};
  rows.data.reserve(static_cast<size_t>(tensor.elements()));
  forEachIndex(tensor.shape,
               [&](Index i) { rows.data.push_back(static_cast<float>(tensor.get(i))); });
  return rows;
}

/// Eight partial sums: exact enough in double in any order, and quick.
double dot(const float *a, const float *b, int64_t n) {
  double sum[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j)
      sum[j] += static_cast<double>(a[i + j]) * static_cast<double>(b[i + j]);
  for (; i < n; ++i)
    sum[0] += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]));
}

class Attention {
public:
  Attention(const spec::Model &model, const HostCall &call, std::vector<SequenceBounds> sequences)
      : model_(model), call_(call), evaluator_(model, call), sequences_(std::move(sequences)) {}

  Result<Answer> run(int threads);

private:
  struct Task {
    int64_t b, firstRow, lastRow;
  };

  Result<void> prepare();
  Result<void> runTask(const Task &);
  Result<std::vector<int64_t>> visibleKeys(const Row &) const;
  Result<void> attend(const Row &, const std::vector<int64_t> &keys);
  Result<std::vector<double>> scores(const Row &, const std::vector<int64_t> &keys) const;
  void store(const Row &, const std::vector<double> &o, double lse);

  const spec::Model &model_;
  const HostCall &call_;
  Evaluator evaluator_;
  std::vector<SequenceBounds> sequences_;
  Rows q_, k_, v_;
  double scale_ = 1;
  bool maskPerHead_ = false;
  Answer answer_;
};

Result<double> scaleOf(const spec::Model &model, const Evaluator &evaluator) {
  if (model.scaleExpr >= 0) {
    int64_t anyKey = 0;
    auto value = evaluator.evaluate(model.scaleExpr, {}, {&anyKey, 1}, {});
    if (!value)
      return value.error();
    return value->f[0];
  }
  return model.scale.value_or(1 / std::sqrt(static_cast<double>(model.problem.headDim)));
}

Result<void> Attention::prepare() {
  q_ = rowsOf(call_.q);
  k_ = rowsOf(call_.k);
  v_ = rowsOf(call_.v);
  auto scale = scaleOf(model_, evaluator_);
  if (!scale)
    return scale.error();
  scale_ = *scale;
  maskPerHead_ = model_.mask >= 0 && evaluator_.dependsOnHead(model_.mask);
  answer_.outShape = call_.q.shape;
  answer_.outShape.back() = model_.problem.vHeadDim;
  bool dense = call_.q.shape.size() == 4;
  answer_.lseShape = dense ? Shape{call_.q.shape[0], call_.q.shape[2], call_.q.shape[1]}
                           : Shape{call_.q.shape[1], call_.q.shape[0]};
  int64_t rows = 1;
  for (int64_t extent : answer_.lseShape)
    rows *= extent;
  double unset = std::numeric_limits<double>::quiet_NaN();
  answer_.lse.assign(static_cast<size_t>(rows), unset);
  answer_.out.assign(static_cast<size_t>(rows * model_.problem.vHeadDim), unset);
  return {};
}

Result<Answer> Attention::run(int threads) {
  if (auto ok = prepare(); !ok)
    return ok.error();
  std::vector<Task> tasks;
  for (size_t b = 0; b < sequences_.size(); ++b)
    for (int64_t row = 0; row < sequences_[b].qLen; row += rowsPerTask)
      tasks.push_back(
          {static_cast<int64_t>(b), row, std::min(row + rowsPerTask, sequences_[b].qLen)});

  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t failedTask = tasks.size();
  std::optional<Error> failure; // of the first task in order, whatever the threads did
  auto work = [&] {
    for (size_t t = next++; t < tasks.size(); t = next++) {
      auto ok = runTask(tasks[t]);
      std::lock_guard lock(mutex);
      if (!ok && t < failedTask) {
        failedTask = t;
        failure = ok.error();
      }
    }
  };
  size_t count = threads > 0 ? static_cast<size_t>(threads)
                             : std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> pool;
  for (size_t i = 1; i < std::min(count, tasks.size()); ++i)
    pool.emplace_back(work);
  work();
  for (std::thread &thread : pool)
    thread.join();
  if (failure)
    return *failure;
  return std::move(answer_);
}

Result<void> Attention::runTask(const Task &task) {
  const ProblemShape &p = model_.problem;
  for (int64_t qi = task.firstRow; qi < task.lastRow; ++qi) {
    std::vector<int64_t> keys;
    for (int64_t h = 0; h < p.numQHeads; ++h) {
      Row row{task.b, h, h / (p.numQHeads / p.numKvHeads), qi,
              sequences_[static_cast<size_t>(task.b)]};
      if (h == 0 || maskPerHead_) {
        auto visible = visibleKeys(row);
        if (!visible)
          return visible.error();
        keys = std::move(*visible);
      }
      if (auto ok = attend(row, keys); !ok)
        return ok;
    }
  }
  return {};
}

Result<std::vector<int64_t>> Attention::visibleKeys(const Row &row) const {
  std::vector<int64_t> keys(static_cast<size_t>(row.bounds.kvLen));
  for (size_t k = 0; k < keys.size(); ++k)
    keys[k] = static_cast<int64_t>(k);
  if (model_.mask < 0 || keys.empty())
    return keys;
  auto visible = evaluator_.evaluate(model_.mask, row, keys, {});
  if (!visible)
    return visible.error();
  std::erase_if(keys, [&](int64_t k) { return !visible->i[static_cast<size_t>(k)]; });
  return keys;
}

Result<std::vector<double>> Attention::scores(const Row &row,
                                              const std::vector<int64_t> &keys) const {
  std::vector<double> s(keys.size());
  const float *q = q_.row(row.bounds.qStart + row.qi, row.h);
  for (size_t i = 0; i < keys.size(); ++i)
    s[i] = scale_ * dot(q, k_.row(row.bounds.kStart + keys[i], row.hk), q_.columns);
  if (model_.score < 0 || keys.empty())
    return s;
  auto score = evaluator_.evaluate(model_.score, row, keys, s);
  if (!score)
    return score.error();
  return std::move(score->f);
}

Result<void> Attention::attend(const Row &row, const std::vector<int64_t> &keys) {
  auto weights = scores(row, keys);
  if (!weights)
    return weights.error();
  double sink = call_.sink ? call_.sink->get({row.h}) : -infinity;
  double top = sink;
  for (double s : *weights)
    top = std::max(top, s);
  std::vector<double> o(static_cast<size_t>(v_.columns), 0);
  if (top == -infinity) {
    store(row, o, -infinity);
    return {};
  }
  double sum = std::exp(sink - top);
  for (size_t i = 0; i < keys.size(); ++i) {
    double p = std::exp((*weights)[i] - top);
    sum += p;
    const float *v = v_.row(row.bounds.kStart + keys[i], row.hk);
    for (size_t d = 0; d < o.size(); ++d)
      o[d] += p * static_cast<double>(v[d]);
  }
  for (double &x : o)
    x /= sum;
  store(row, o, top + std::log(sum));
  return {};
}

void Attention::store(const Row &row, const std::vector<double> &o, double lse) {
  const ProblemShape &p = model_.problem;
  int64_t token = row.bounds.qStart + row.qi;
  std::copy(o.begin(), o.end(), answer_.out.begin() + (token * p.numQHeads + row.h) * p.vHeadDim);
  bool dense = answer_.lseShape.size() == 3;
  int64_t at = dense ? (row.b * p.numQHeads + row.h) * row.bounds.qLen + row.qi
                     : row.h * answer_.lseShape[1] + token;
  answer_.lse[static_cast<size_t>(at)] = p.lse == LseKind::Base2 ? lse / std::log(2.0) : lse;
}

/// The oracle indexes by these shapes, so they must hold.
Result<void> checkShapes(const ProblemShape &p, const HostCall &call) {
  struct Want {
    std::string_view name;
    const HostTensor &tensor;
    int64_t heads, columns;
  };
  size_t rank = p.qStorage == Storage::Dense ? 4 : 3;
  for (const Want &w :
       {Want{"q", call.q, p.numQHeads, p.headDim}, Want{"k", call.k, p.numKvHeads, p.headDim},
        Want{"v", call.v, p.numKvHeads, p.vHeadDim}}) {
    const Shape &shape = w.tensor.shape;
    if (shape.size() != rank || shape[rank - 2] != w.heads || shape[rank - 1] != w.columns)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("{}: must end in [{}, {}] with {} dimensions, got {}", w.name,
                               w.heads, w.columns, rank, describe(w.tensor.dtype, shape))};
  }
  auto tokens = [](const HostTensor &t) { return Shape(t.shape.begin(), t.shape.end() - 2); };
  if (tokens(call.k) != tokens(call.v) || (rank == 4 && call.q.shape[0] != call.k.shape[0]))
    return Error{ErrorCode::InvalidArgument, "q, k and v disagree on batch or length"};
  if (p.hasSink != call.sink.has_value() || (p.hasSink && call.sink->shape != Shape{p.numQHeads}))
    return Error{ErrorCode::InvalidArgument, "sink: missing, unwanted or not [num_q_heads]"};
  for (const CapturedTensor &t : p.tensors)
    if (auto found = call.tensors.find(t.name);
        found == call.tensors.end() || found->second.shape.size() != t.dims.size())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("tensor {}: missing or not of rank {}", t.name, t.dims.size())};
  for (const CapturedScalar &s : p.scalars)
    if (!call.scalars.contains(s.name))
      return Error{ErrorCode::InvalidArgument, fmt::format("scalar {}: missing", s.name)};
  return {};
}

} // namespace

Result<Answer> attention(const spec::Model &model, const HostCall &call, const Options &options) {
  if (auto ok = checkShapes(model.problem, call); !ok)
    return ok.error();
  auto sequences = sequencesOf(model.problem, call);
  if (!sequences)
    return sequences.error();
  return Attention(model, call, std::move(*sequences)).run(options.threads);
}

} // namespace attune::oracle
