// Registration of the attn dialect, and its attributes: their text form, their checks.
#include "compiler/dialect/attn/AttnDialect.h"
#include "compiler/dialect/attn/AttnOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace attune::attn {

/// `, nondecreasing` or nothing.
static ParseResult parseNondecreasing(AsmParser &parser, bool &nondecreasing) {
  nondecreasing = succeeded(parser.parseOptionalComma());
  return nondecreasing ? parser.parseKeyword("nondecreasing") : success();
}
static void printNondecreasing(AsmPrinter &printer, bool nondecreasing) {
  if (nondecreasing)
    printer << ", nondecreasing";
}

} // namespace attune::attn

#include "compiler/dialect/attn/AttnAttrInterfaces.cpp.inc"
#include "compiler/dialect/attn/AttnDialect.cpp.inc"
#include "compiler/dialect/attn/AttnEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/attn/AttnAttrs.cpp.inc"

namespace attune::attn {

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "compiler/dialect/attn/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/attn/AttnOps.cpp.inc"
      >();
}

Type typeOf(MLIRContext *context, DType dtype) {
  Builder b(context);
  switch (dtype) {
  case DType::F32:
    return b.getF32Type();
  case DType::F16:
    return b.getF16Type();
  case DType::BF16:
    return b.getBF16Type();
  case DType::U8:
    return b.getIntegerType(8, /*isSigned=*/false);
  case DType::Bool:
    return b.getI1Type();
  default:
    return b.getIntegerType(8 * sizeOf(dtype));
  }
}

std::optional<DType> dtypeOf(Type type) {
  for (DType t : {DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                  DType::I8, DType::U8, DType::Bool})
    if (typeOf(type.getContext(), t) == type)
      return t;
  return std::nullopt;
}

Storage StorageKindAttr::abiStorage() const {
  return getValue() == StorageKind::Dense ? Storage::Dense : Storage::Varlen;
}

Type CaptureAttr::readType() const {
  Builder b(getContext());
  if (isa<FloatType>(getElementType()))
    return b.getF32Type();
  return getElementType().isInteger(1) ? b.getI1Type() : b.getI32Type();
}

static bool isDimension(StringRef dim) {
  uint64_t number;
  if (!dim.getAsInteger(10, number))
    return number > 0;
  return llvm::StringSwitch<bool>(dim)
      .Cases({"heads", "kv_heads", "batch", "tokens", "q", "k"}, true)
      .Default(false);
}

LogicalResult CaptureAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                  Type elementType, ArrayRef<StringAttr> dims, bool nondecreasing) {
  if (name.empty())
    return emitError() << "a captured tensor needs a name";
  if (!dtypeOf(elementType))
    return emitError() << "captured tensor '" << name << "' has element type " << elementType
                       << "; it can be f32, f16, bf16, i64, i32, i16, i8, ui8 or i1";
  for (StringAttr dim : dims)
    if (!isDimension(dim.getValue()))
      return emitError() << "captured tensor '" << name << "' has a dimension " << dim
                         << "; it can be heads, kv_heads, batch, tokens, q, k or a positive number";
  bool hasPosition =
      llvm::any_of(dims, [](StringAttr d) { return d == "tokens" || d == "q" || d == "k"; });
  if (nondecreasing && !hasPosition)
    return emitError() << "captured tensor '" << name
                       << "' is nondecreasing but has no dimension tokens, q or k to grow along";
  return success();
}

LogicalResult ScalarAttr::verify(function_ref<InFlightDiagnostic()> emitError, StringRef name,
                                 Type type) {
  if (name.empty())
    return emitError() << "a scalar needs a name";
  if (!type.isF32() && !type.isInteger(32))
    return emitError() << "scalar '" << name << "' has type " << type << "; it can be f32 or i32";
  return success();
}

} // namespace attune::attn
