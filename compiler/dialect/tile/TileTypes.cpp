// Spelling and checking of the tile types, and the dialect's registration.
#include "compiler/dialect/tile/TileOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include "compiler/dialect/tile/TileDialect.cpp.inc"
#include "compiler/dialect/tile/TileEnums.cpp.inc"

namespace attune::tile::detail {

struct FragTypeStorage : mlir::TypeStorage {
  using KeyTy = std::tuple<int64_t, int64_t, mlir::Type, llvm::StringRef>;

  explicit FragTypeStorage(const KeyTy &key) : layoutText(std::get<3>(key)) {
    std::tie(rows, cols, elementType, std::ignore) = key;
    if (Result<layout::LinearLayout> parsed = layout::LinearLayout::parse(layoutText.str()))
      layout = std::move(*parsed);
  }
  KeyTy getAsKey() const { return {rows, cols, elementType, layoutText}; }
  bool operator==(const KeyTy &key) const { return key == getAsKey(); }
  static llvm::hash_code hashKey(const KeyTy &key) { return llvm::hash_value(key); }
  static FragTypeStorage *construct(mlir::TypeStorageAllocator &allocator, KeyTy key) {
    std::get<3>(key) = allocator.copyInto(std::get<3>(key));
    return new (allocator.allocate<FragTypeStorage>()) FragTypeStorage(key);
  }

  int64_t rows, cols;
  mlir::Type elementType;
  llvm::StringRef layoutText;
  layout::LinearLayout layout; ///< of the text; of nothing if it is none, which verify() refuses
};

} // namespace attune::tile::detail

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tile/TileTypes.cpp.inc"

namespace attune::tile {
using namespace mlir;

void TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/dialect/tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/dialect/tile/Tile.cpp.inc"
      >();
}

int64_t elementBytes(Type type) { return type.getIntOrFloatBitWidth() / 8; }

//===----------------------------------------------------------------------===//
// !tile.frag
//===----------------------------------------------------------------------===//

int64_t FragType::getRows() const { return getImpl()->rows; }
int64_t FragType::getCols() const { return getImpl()->cols; }
Type FragType::getElementType() const { return getImpl()->elementType; }
StringRef FragType::getLayoutText() const { return getImpl()->layoutText; }

const layout::LinearLayout &FragType::layout() const { return getImpl()->layout; }

int64_t FragType::registers() const { return layout().inSize("register"); }

FragType FragType::get(Type elementType, const layout::LinearLayout &layout) {
  return get(elementType.getContext(), layout.outSize("row"), layout.outSize("col"), elementType,
             layout.str());
}

LogicalResult FragType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t rows,
                               int64_t cols, Type elementType, StringRef text) {
  if (!elementType.isF32() && !elementType.isBF16() && !elementType.isF16() &&
      !elementType.isInteger(1) && !elementType.isInteger(32))
    return emitError() << "a fragment holds f32, bf16, f16, i32 or i1, got " << elementType;
  Result<layout::LinearLayout> parsed = layout::LinearLayout::parse(text.str());
  if (!parsed)
    return emitError() << "layout \"" << text << "\": " << parsed.error().message;
  for (const layout::Dim &in : parsed->ins())
    if (in.name != "register" && in.name != "lane")
      return emitError() << "layout \"" << text << "\" uses " << in.name
                         << "; a fragment has registers (r) and lanes (l)";
  if (parsed->inBits("lane") != 6)
    return emitError() << "layout \"" << text << "\" names " << parsed->inBits("lane")
                       << " lane bits; a wave has 6 (list unused ones under free=)";
  if (parsed->outSize("row") != rows || parsed->outSize("col") != cols)
    return emitError() << "layout \"" << text << "\" covers " << parsed->outSize("row") << "x"
                       << parsed->outSize("col") << ", the type says " << rows << "x" << cols;
  if (!parsed->isSurjective())
    return emitError() << "layout \"" << text << "\" leaves elements without a place";
  return success();
}

Type FragType::parse(AsmParser &p) {
  SmallVector<int64_t> shape;
  Type element;
  std::string text;
  if (p.parseLess() || p.parseDimensionList(shape, /*allowDynamic=*/false) ||
      p.parseType(element) || p.parseComma() || p.parseString(&text) || p.parseGreater())
    return {};
  if (shape.size() != 2) {
    p.emitError(p.getNameLoc(), "a fragment has rows and columns, such as 64x32xf32");
    return {};
  }
  return p.getChecked<FragType>(p.getContext(), shape[0], shape[1], element, text);
}

void FragType::print(AsmPrinter &p) const {
  p << '<' << getRows() << 'x' << getCols() << 'x' << getElementType() << ", \"" << getLayoutText()
    << "\">";
}

//===----------------------------------------------------------------------===//
// !tile.lds
//===----------------------------------------------------------------------===//

LogicalResult LdsType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t buffers,
                              int64_t rows, int64_t cols, Type elementType, int64_t pitch,
                              ArrayRef<int64_t> swizzle) {
  if (buffers < 1 || rows < 1 || cols < 1)
    return emitError() << "an LDS tile needs at least one buffer, row and column";
  int64_t rowBytes = cols * elementBytes(elementType);
  if (pitch < rowBytes || pitch % kChunkBytes)
    return emitError() << "pitch " << pitch << " must be a multiple of 16 and hold a row of "
                       << rowBytes << " bytes";
  for (int64_t image : swizzle)
    if (image < 0 || image >= rowBytes / kChunkBytes)
      return emitError() << "swizzle image " << image << " is no chunk of a row; rows have "
                         << rowBytes / kChunkBytes;
  if (!swizzle.empty() && !llvm::isPowerOf2_64(pitch))
    return emitError() << "a swizzled tile needs a power-of-two pitch, got " << pitch;
  return success();
}

Type LdsType::parse(AsmParser &p) {
  int64_t buffers, pitch;
  SmallVector<int64_t> shape, swizzle;
  Type element;
  if (p.parseLess() || p.parseInteger(buffers) || p.parseKeyword("x") ||
      p.parseDimensionList(shape, /*allowDynamic=*/false) || p.parseType(element) ||
      p.parseComma() || p.parseKeyword("pitch") || p.parseEqual() || p.parseInteger(pitch))
    return {};
  if (succeeded(p.parseOptionalComma())) {
    auto one = [&] { return p.parseInteger(swizzle.emplace_back()); };
    if (p.parseKeyword("swizzle") || p.parseEqual() ||
        p.parseCommaSeparatedList(AsmParser::Delimiter::Square, one))
      return {};
  }
  if (p.parseGreater())
    return {};
  if (shape.size() != 2) {
    p.emitError(p.getNameLoc(), "an LDS tile has rows and columns, such as 2 x 64x128xbf16");
    return {};
  }
  return p.getChecked<LdsType>(p.getContext(), buffers, shape[0], shape[1], element, pitch,
                               swizzle);
}

void LdsType::print(AsmPrinter &p) const {
  p << '<' << getBuffers() << " x " << getRows() << 'x' << getCols() << 'x' << getElementType()
    << ", pitch = " << getPitch();
  if (!getSwizzle().empty()) {
    p << ", swizzle = [";
    llvm::interleaveComma(getSwizzle(), p);
    p << ']';
  }
  p << '>';
}

//===----------------------------------------------------------------------===//
// !tile.view
//===----------------------------------------------------------------------===//

LogicalResult ViewType::verify(function_ref<InFlightDiagnostic()> emitError, int64_t cols,
                               Type elementType) {
  if (cols < 1)
    return emitError() << "a view has at least one column";
  return success();
}

Type ViewType::parse(AsmParser &p) {
  SmallVector<int64_t> shape;
  Type element;
  if (p.parseLess() || p.parseDimensionList(shape, /*allowDynamic=*/false) ||
      p.parseType(element) || p.parseGreater())
    return {};
  if (shape.size() != 1) {
    p.emitError(p.getNameLoc(), "a view names the columns of a row, such as 128xbf16");
    return {};
  }
  return p.getChecked<ViewType>(p.getContext(), shape[0], element);
}

void ViewType::print(AsmPrinter &p) const {
  p << '<' << getCols() << 'x' << getElementType() << '>';
}

} // namespace attune::tile
