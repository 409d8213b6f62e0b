// The kernel op, its captures and its two regions; ExprEmitter makes the ops inside.
#include "compiler/lower/SpecToAttn.h"
#include "compiler/dialect/attn/AttnOps.h"
#include "compiler/lower/ExprEmitter.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attune {
using namespace mlir;

namespace {

Location locationOf(MLIRContext &context, const spec::Model &model,
                    const spec::SourceRange &range) {
  return FileLineColLoc::get(&context, model.fileName, range.line, range.column);
}

/// Where the attention is written; the head of the file if the Model was made by hand.
Location kernelLocation(MLIRContext &context, const spec::Model &model) {
  auto place = model.places.find("attention");
  bool known = place != model.places.end();
  return locationOf(context, model, known ? place->second : spec::SourceRange{1, 1, 0});
}

double scaleOf(const spec::Model &model) {
  if (model.normal.scale >= 0)
    return 1; // the score region multiplies
  return model.scale.value_or(1 / std::sqrt(static_cast<double>(model.problem.headDim)));
}

SmallVector<attn::CaptureAttr> capturesOf(MLIRContext &context, const spec::Model &model) {
  SmallVector<attn::CaptureAttr> captures;
  for (const spec::Tensor &tensor : model.tensors) {
    SmallVector<StringAttr> dims;
    for (const std::string &dim : tensor.info.dims)
      dims.push_back(StringAttr::get(&context, dim));
    captures.push_back(attn::CaptureAttr::get(&context, tensor.info.name,
                                              attn::typeOf(&context, tensor.info.dtype), dims,
                                              tensor.nondecreasing));
  }
  return captures;
}

void addScore(attn::KernelOp kernel, const spec::Model &model) {
  if (model.normal.score < 0 && model.normal.scale < 0)
    return;
  Block *body = kernel.addScoreBody();
  OpBuilder b = OpBuilder::atBlockEnd(body);
  ExprEmitter emitter(b, kernel, model, body);
  if (model.normal.scale >= 0) {
    Value scale = emitter.emit(model.normal.scale);
    emitter.setLogit(arith::MulFOp::create(b, scale.getLoc(), emitter.logit(), scale));
  }
  Value score = model.normal.score >= 0 ? emitter.emit(model.normal.score) : emitter.logit();
  attn::YieldOp::create(b, score.getLoc(), score);
}

void addMask(attn::KernelOp kernel, const spec::Model &model) {
  if (model.normal.mask < 0)
    return;
  Block *body = kernel.addMaskBody();
  OpBuilder b = OpBuilder::atBlockEnd(body);
  ExprEmitter emitter(b, kernel, model, body);
  Value visible = emitter.emit(model.normal.mask);
  attn::YieldOp::create(b, visible.getLoc(), visible);
}

} // namespace

OwningOpRef<ModuleOp> buildAttn(MLIRContext &context, const spec::Model &model) {
  Location loc = kernelLocation(context, model);
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  OpBuilder b = OpBuilder::atBlockEnd(module->getBody());
  auto kernel =
      attn::KernelOp::create(b, loc, model.problem, scaleOf(model), capturesOf(context, model));
  if (!model.schedule.empty()) {
    SmallVector<NamedAttribute> knobs;
    for (const auto &[name, value] : model.schedule)
      knobs.push_back(b.getNamedAttr(name, b.getStringAttr(value)));
    kernel.setScheduleAttr(b.getDictionaryAttr(knobs));
  }
  addScore(kernel, model);
  addMask(kernel, model);
  return module;
}

} // namespace attune
