// What makes an attn.kernel legal. Each message names the part, what it is and what it can be.
#include "compiler/dialect/attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace attune::attn {

/// Captures and scalars share one name space, as in the spec.
static LogicalResult verifyNames(KernelOp kernel) {
  llvm::StringSet<> seen;
  auto add = [&](StringRef name) -> LogicalResult {
    if (seen.insert(name).second)
      return success();
    return kernel.emitOpError() << "declares '" << name << "' twice";
  };
  if (ArrayAttr captures = kernel.getCapturesAttr())
    for (auto c : captures.getAsRange<CaptureAttr>())
      if (failed(add(c.getName())))
        return failure();
  if (ArrayAttr scalars = kernel.getScalarsAttr())
    for (auto s : scalars.getAsRange<ScalarAttr>())
      if (failed(add(s.getName())))
        return failure();
  return success();
}

LogicalResult KernelOp::verify() {
  if (getNumQHeads() % getNumKvHeads() != 0)
    return emitOpError() << "has " << getNumQHeads() << " query heads over " << getNumKvHeads()
                         << " kv heads; the first must be a multiple of the second";
  auto isTensorType = [](Type t) { return t.isF32() || t.isF16() || t.isBF16(); };
  if (!isTensorType(getDtype()))
    return emitOpError() << "computes on " << getDtype() << "; q, k and v can be f32, f16 or bf16";
  if (!isTensorType(getOutDtype()))
    return emitOpError() << "writes " << getOutDtype() << "; out can be f32, f16 or bf16";
  if (!getScale().isFinite())
    return emitOpError() << "has a scale that is not finite";
  if (DictionaryAttr schedule = getScheduleAttr())
    for (NamedAttribute knob : schedule)
      if (!isa<StringAttr>(knob.getValue()))
        return emitOpError() << "has a schedule knob " << knob.getName()
                             << " that is no string; write " << knob.getName() << " = \"value\"";
  return verifyNames(*this);
}

//===-- regions
//------------------------------------------------------------------------------------------===//

static LogicalResult verifyRead(KernelOp kernel, ReadOp read) {
  CaptureAttr capture = kernel.capture(read.getTensor());
  if (!capture)
    return read.emitOpError() << "reads '" << read.getTensor()
                              << "', which the kernel does not capture";
  if (read.getIndices().size() != capture.getDims().size())
    return read.emitOpError() << "gives " << read.getIndices().size() << " indices to '"
                              << read.getTensor() << "', which has " << capture.getDims().size()
                              << " dimensions";
  if (read.getType() != capture.readType())
    return read.emitOpError() << "reads '" << read.getTensor() << "' as " << read.getType()
                              << "; elements of " << capture.getElementType() << " read as "
                              << capture.readType();
  return success();
}

static LogicalResult verifyScalar(KernelOp kernel, ScalarOp op) {
  ScalarAttr scalar = kernel.scalar(op.getScalar());
  if (!scalar)
    return op.emitOpError() << "reads '" << op.getScalar()
                            << "', which the kernel does not declare";
  if (op.getType() != scalar.getType())
    return op.emitOpError() << "reads '" << op.getScalar() << "' as " << op.getType()
                            << "; it is declared " << scalar.getType();
  return success();
}

/// A body is a pure scalar function: every schedule may run it per element, twice, or not at all.
static LogicalResult verifyBodyOp(KernelOp kernel, Operation &op) {
  if (auto read = dyn_cast<ReadOp>(op))
    return verifyRead(kernel, read);
  if (auto scalar = dyn_cast<ScalarOp>(op))
    return verifyScalar(kernel, scalar);
  if (isa<YieldOp>(op))
    return success();
  if (!isa_and_nonnull<arith::ArithDialect, math::MathDialect>(op.getDialect()))
    return op.emitOpError() << "cannot stand in a score or mask region; those hold arith, math, "
                               "attn.read and attn.scalar";
  for (Type t : op.getResultTypes())
    if (!t.isF32() && !t.isInteger(32) && !t.isInteger(1))
      return op.emitOpError() << "gives " << t
                              << " in a score or mask region; values there are f32, i32 or i1";
  return success();
}

static LogicalResult verifyArguments(KernelOp kernel, StringRef name, Region &region,
                                     bool hasLogit) {
  unsigned expected = hasLogit ? kNumScoreArgs : kNumMaskArgs;
  if (region.getNumArguments() != expected)
    return kernel.emitOpError() << "has a " << name << " region with " << region.getNumArguments()
                                << " arguments; it takes " << expected;
  for (BlockArgument arg : region.getArguments()) {
    bool isLogit = hasLogit && arg.getArgNumber() == 0;
    if (isLogit ? !arg.getType().isF32() : !arg.getType().isInteger(32))
      return kernel.emitOpError() << "has a " << name << " region whose argument "
                                  << kBodyArgNames[arg.getArgNumber() + !hasLogit] << " is "
                                  << arg.getType() << "; it must be " << (isLogit ? "f32" : "i32");
  }
  return success();
}

static LogicalResult verifyBody(KernelOp kernel, StringRef name, Region &region, bool hasLogit,
                                Type result) {
  if (region.empty())
    return success();
  if (failed(verifyArguments(kernel, name, region, hasLogit)))
    return failure();
  auto yield = dyn_cast<YieldOp>(region.front().getTerminator());
  if (!yield)
    return kernel.emitOpError() << "has a " << name << " region that does not end in attn.yield";
  if (yield.getValue().getType() != result)
    return yield.emitOpError() << "gives " << yield.getValue().getType() << " to the " << name
                               << " region; a " << name << " is " << result;
  for (Operation &op : region.front())
    if (failed(verifyBodyOp(kernel, op)))
      return failure();
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  Builder b(getContext());
  if (failed(verifyBody(*this, "score", getScore(), /*hasLogit=*/true, b.getF32Type())))
    return failure();
  return verifyBody(*this, "mask", getMask(), /*hasLogit=*/false, b.getI1Type());
}

} // namespace attune::attn
