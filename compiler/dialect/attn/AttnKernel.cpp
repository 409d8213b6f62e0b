// Building an attn.kernel from a problem, and reading the problem back.
#include "compiler/dialect/attn/AttnOps.h"
#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace attune::attn {

static_assert(std::size(kBodyArgNames) == kNumScoreArgs && kNumMaskArgs + 1 == kNumScoreArgs);

static Lse lseOf(LseKind kind) {
  switch (kind) {
  case LseKind::None:
    return Lse::None;
  case LseKind::Natural:
    return Lse::Natural;
  case LseKind::Base2:
    return Lse::Base2;
  }
  llvm_unreachable("all kinds are listed");
}

static LseKind abiLse(Lse lse) {
  switch (lse) {
  case Lse::None:
    return LseKind::None;
  case Lse::Natural:
    return LseKind::Natural;
  case Lse::Base2:
    return LseKind::Base2;
  }
  llvm_unreachable("all kinds are listed");
}

static StorageKindAttr storageKindAttr(MLIRContext *context, Storage storage) {
  return StorageKindAttr::get(context,
                              storage == Storage::Dense ? StorageKind::Dense : StorageKind::Varlen);
}

void KernelOp::build(OpBuilder &b, OperationState &state, const ProblemShape &problem, double scale,
                     ArrayRef<CaptureAttr> captures) {
  MLIRContext *context = b.getContext();
  auto &p = state.getOrAddProperties<Properties>();
  p.sym_name = b.getStringAttr(problem.specName);
  p.num_q_heads = b.getI64IntegerAttr(problem.numQHeads);
  p.num_kv_heads = b.getI64IntegerAttr(problem.numKvHeads);
  p.head_dim = b.getI64IntegerAttr(problem.headDim);
  p.v_head_dim = b.getI64IntegerAttr(problem.vHeadDim);
  p.dtype = TypeAttr::get(typeOf(context, problem.dtype));
  p.out_dtype = TypeAttr::get(typeOf(context, problem.outDtype));
  p.q_storage = storageKindAttr(context, problem.qStorage);
  p.kv_storage = storageKindAttr(context, problem.kvStorage);
  p.scale = b.getF64FloatAttr(scale);
  p.lse = LseAttr::get(context, lseOf(problem.lse));
  if (problem.hasSink)
    p.has_sink = b.getUnitAttr();
  if (!captures.empty())
    p.captures = b.getArrayAttr(SmallVector<Attribute>(captures.begin(), captures.end()));
  SmallVector<Attribute> scalars;
  for (const CapturedScalar &s : problem.scalars)
    scalars.push_back(ScalarAttr::get(context, s.name, typeOf(context, s.dtype)));
  if (!scalars.empty())
    p.scalars = b.getArrayAttr(scalars);
  state.addRegion();
  state.addRegion();
}

ProblemShape KernelOp::problem() {
  ProblemShape p;
  p.specName = getSymName().str();
  p.qStorage = getQStorageAttr().abiStorage();
  p.kvStorage = getKvStorage().abiStorage();
  p.dtype = *dtypeOf(getDtype());
  p.outDtype = *dtypeOf(getOutDtype());
  p.numQHeads = static_cast<int>(getNumQHeads());
  p.numKvHeads = static_cast<int>(getNumKvHeads());
  p.headDim = static_cast<int>(getHeadDim());
  p.vHeadDim = static_cast<int>(getVHeadDim());
  p.lse = abiLse(getLse());
  p.hasSink = getHasSink();
  if (ArrayAttr captures = getCapturesAttr())
    for (auto c : captures.getAsRange<CaptureAttr>()) {
      CapturedTensor &tensor = p.tensors.emplace_back();
      tensor.name = c.getName().str();
      tensor.dtype = *dtypeOf(c.getElementType());
      for (StringAttr dim : c.getDims())
        tensor.dims.push_back(dim.str());
    }
  if (ArrayAttr scalars = getScalarsAttr())
    for (auto s : scalars.getAsRange<ScalarAttr>())
      p.scalars.push_back({s.getName().str(), *dtypeOf(s.getType())});
  return p;
}

Block *KernelOp::scoreBody() { return getScore().empty() ? nullptr : &getScore().front(); }
Block *KernelOp::maskBody() { return getMask().empty() ? nullptr : &getMask().front(); }

static Block *addBody(KernelOp kernel, Region &region, bool hasLogit) {
  assert(region.empty() && "the region has a body already");
  Block &block = region.emplaceBlock();
  Builder b(kernel.getContext());
  if (hasLogit)
    block.addArgument(b.getF32Type(), kernel.getLoc());
  for (unsigned i = 0; i < kNumMaskArgs; ++i)
    block.addArgument(b.getI32Type(), kernel.getLoc());
  return &block;
}

Block *KernelOp::addScoreBody() { return addBody(*this, getScore(), /*hasLogit=*/true); }
Block *KernelOp::addMaskBody() { return addBody(*this, getMask(), /*hasLogit=*/false); }

template <class AttrT> static AttrT findByName(ArrayAttr list, StringRef name) {
  if (list)
    for (auto attr : list.getAsRange<AttrT>())
      if (attr.getName() == name)
        return attr;
  return nullptr;
}

CaptureAttr KernelOp::capture(StringRef name) {
  return findByName<CaptureAttr>(getCapturesAttr(), name);
}
ScalarAttr KernelOp::scalar(StringRef name) {
  return findByName<ScalarAttr>(getScalarsAttr(), name);
}

std::vector<std::pair<std::string, std::string>> KernelOp::scheduleKnobs() {
  std::vector<std::pair<std::string, std::string>> knobs;
  if (DictionaryAttr schedule = getScheduleAttr())
    for (NamedAttribute knob : schedule) // a dictionary is sorted by name
      knobs.emplace_back(knob.getName().str(), cast<StringAttr>(knob.getValue()).str());
  return knobs;
}

} // namespace attune::attn
