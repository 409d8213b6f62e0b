// Builds a spec's Model by hand, so that the oracle is tested without the compiler's parser.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/launch/HostRun.h"
#include <functional>

namespace attune::oracle {

class ModelBuilder {
public:
  ModelBuilder(int qHeads, int kvHeads, int dim, Storage storage = Storage::Dense) {
    spec::Model &m = model;
    m.problem.specName = "test";
    m.problem.qStorage = m.problem.kvStorage = storage;
    m.problem.numQHeads = qHeads;
    m.problem.numKvHeads = kvHeads;
    m.problem.headDim = m.problem.vHeadDim = dim;
    m.problem.lse = LseKind::Natural;
  }

  spec::ExprId add(spec::ExprKind kind, spec::ScalarType type,
                   std::vector<spec::ExprId> args = {}) {
    spec::Expr e{kind, type, 0, 0, {}, std::move(args), -1, false, {}};
    model.exprs.push_back(e);
    return static_cast<spec::ExprId>(model.exprs.size()) - 1;
  }
  spec::ExprId constI(int64_t v) {
    spec::ExprId id = add(spec::ExprKind::ConstI, spec::ScalarType::I32);
    model.exprs.back().i = v;
    return id;
  }
  spec::ExprId constF(double v) {
    spec::ExprId id = add(spec::ExprKind::ConstF, spec::ScalarType::F32);
    model.exprs.back().f = v;
    return id;
  }
  spec::ExprId index(spec::IndexName name) {
    bool score = name == spec::IndexName::Score;
    spec::ExprId id =
        add(spec::ExprKind::Index, score ? spec::ScalarType::F32 : spec::ScalarType::I32);
    model.exprs.back().i = static_cast<int64_t>(name);
    return id;
  }
  /// A built-in with no expansion: the oracle must not want one.
  spec::ExprId builtin(std::string name, std::vector<spec::ExprId> args = {},
                       spec::ScalarType type = spec::ScalarType::Bool) {
    spec::ExprId id = add(spec::ExprKind::Call, type, std::move(args));
    model.exprs.back().name = std::move(name);
    model.exprs.back().builtin = true;
    return id;
  }
  /// A captured tensor; returns its number.
  int64_t tensor(std::string name, DType dtype, std::vector<std::string> dims) {
    CapturedTensor info{std::move(name), dtype, std::move(dims)};
    model.problem.tensors.push_back(info);
    model.tensors.push_back({info, false, {}});
    return static_cast<int64_t>(model.tensors.size()) - 1;
  }
  /// With no indices: the tensor itself, as an argument of a built-in.
  spec::ExprId read(int64_t tensor, std::vector<spec::ExprId> indices, spec::ScalarType type) {
    spec::ExprId id = add(spec::ExprKind::Read, type, std::move(indices));
    model.exprs.back().i = tensor;
    return id;
  }
  spec::ExprId op(spec::ExprKind kind, spec::ScalarType type, spec::ExprId a, spec::ExprId b) {
    return add(kind, type, {a, b});
  }
  spec::ExprId both(spec::ExprId a, spec::ExprId b) {
    return op(spec::ExprKind::And, spec::ScalarType::Bool, a, b);
  }

  /// Packed zeros of the shapes that this problem asks for (dense), V filled by `value(position,
  /// head)`.
  HostCall dense(int64_t batch, int64_t qLen, int64_t kvLen,
                 const std::function<double(int64_t, int64_t)> &value) const {
    const ProblemShape &p = model.problem;
    HostCall call;
    call.q = HostTensor::packed(p.dtype, {batch, qLen, p.numQHeads, p.headDim});
    call.k = HostTensor::packed(p.dtype, {batch, kvLen, p.numKvHeads, p.headDim});
    call.v = HostTensor::packed(p.dtype, {batch, kvLen, p.numKvHeads, p.vHeadDim});
    forEachIndex(call.v.shape, [&](Index i) { call.v.set(i, value(i[1], i[2])); });
    return call;
  }

  spec::Model model;
};

inline HostTensor ints(const std::vector<int64_t> &values) {
  HostTensor t = HostTensor::packed(DType::I32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i)
    t.set({static_cast<int64_t>(i)}, static_cast<double>(values[i]));
  return t;
}

} // namespace attune::oracle
