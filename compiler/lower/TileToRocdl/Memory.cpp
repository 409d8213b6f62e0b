// Global memory: views as buffer descriptors, fragments to and from them, captured tensors.
//
// Every access goes through a buffer descriptor whose size is exact, so a row that must not be
// touched is simply out of range: the hardware returns zeros or drops the store, per lane, with no
// branch. Base addresses are 64 bits wide, offsets within a view 32 (planLaunch has checked the
// span).
#include "compiler/lower/TileToRocdl/Lowering.h"

namespace attune {
using namespace mlir;
using layout::LinearLayout;

namespace {

/// Word 3 of a raw buffer descriptor: 32-bit data format, no swizzle (the value CK and LLVM use on
/// gfx9).
constexpr int32_t kRawBuffer = 0x27000;

/// One element or vector at a byte offset, 0 out of range.
Value bufferLoad(OpBuilder &rw, Location loc, Type type, Value rsrc, Value offset) {
  Value zero = RocdlBuilder{rw, loc}.i32(0);
  return ROCDL::RawPtrBufferLoadOp::create(rw, loc, type, rsrc, offset, zero, zero, ArrayAttr(),
                                           ArrayAttr(), ArrayAttr());
}

Value makeRsrc(OpBuilder &rw, Location loc, Value ptr, Value byteOffset, Value byteCount) {
  RocdlBuilder b{rw, loc};
  Type global = LLVM::LLVMPointerType::get(rw.getContext(), 1),
       rsrc = LLVM::LLVMPointerType::get(rw.getContext(), 8);
  Value base =
      LLVM::GEPOp::create(rw, loc, global, rw.getI8Type(), ptr, ArrayRef<LLVM::GEPArg>{byteOffset});
  Value noStride = LLVM::ConstantOp::create(rw, loc, rw.getI16Type(), rw.getI16IntegerAttr(0));
  return ROCDL::MakeBufferRsrcOp::create(rw, loc, rsrc, base, noStride, byteCount,
                                         b.i32(kRawBuffer));
}

struct ViewPattern : TilePattern<tile::ViewOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ViewOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::ViewType>(op.getView().getType());
    Location loc = op.getLoc();
    RocdlBuilder b{rw, loc};
    int64_t size = tile::elementBytes(type.getElementType());
    auto wide = [&](Value v) {
      return LLVM::SExtOp::create(rw, loc, rw.getI64Type(), v).getResult();
    };
    Value first = adaptor.getFirst()[0], end = adaptor.getEnd()[0], stride = adaptor.getStride()[0];
    Value strideBytes = b.mul(stride, b.i64(size));
    Value base = b.mul(adaptor.getOffset()[0], b.i64(size));
    base = b.add(base, b.mul(wide(first), strideBytes));
    // Up to the last byte of row end - 1, nothing if there is no row.
    Value end64 = wide(end), first64 = wide(first);
    Value rows = LLVM::SubOp::create(rw, loc, end64, first64);
    Value bytes = b.mul(b.add(rows, b.i64(-1)), strideBytes);
    bytes = b.add(bytes, b.i64(type.getCols() * size));
    Value any = LLVM::ICmpOp::create(rw, loc, LLVM::ICmpPredicate::sgt, rows, b.i64(0));
    bytes = LLVM::SelectOp::create(rw, loc, any, bytes, b.i64(0));
    Value stride32 = LLVM::TruncOp::create(rw, loc, rw.getI32Type(), strideBytes);
    Value rsrc = makeRsrc(rw, loc, adaptor.getPtr()[0], base, bytes);
    rw.replaceOpWithMultiple(op, {SmallVector<Value>{rsrc, stride32, b.mul(first, stride32)}});
    return success();
  }
};

/// Byte offset in a view of the element that a lane holds in register 0, for fragments that are the
/// view's transpose.
Value laneOffset(const RocdlBuilder &b, Value lane, const LinearLayout &l, const LoweredView &view,
                 Value row0, int64_t size) {
  Value row = b.add(row0, b.apply(l, "lane", lane, "col"));
  Value col = b.apply(l, "lane", lane, "row");
  col = b.mul(col, b.i32(size));
  return LLVM::SubOp::create(b.b, b.loc, b.add(b.mul(row, view.strideBytes), col), view.firstBytes);
}

/// How many registers from 0 on are neighbours along the fragment's rows.
int64_t runLength(const LinearLayout &l) {
  int bits = 0;
  while (bits < l.inBits("register") && l.basis("register", bits, "row") == 1u << bits &&
         !l.basis("register", bits, "col"))
    ++bits;
  return int64_t(1) << bits;
}

struct LoadPattern : TilePattern<tile::LoadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LoadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getFrag().getType());
    const LinearLayout &layout = type.layout();
    Grouping g = Grouping::of(type);
    int64_t size = tile::elementBytes(type.getElementType());
    if (g.size * size != 16 || runLength(layout) < g.size)
      return rw.notifyMatchFailure(op, "loads 16 neighbouring bytes at a time");
    RocdlBuilder b{rw, op.getLoc()};
    LoweredView view = loweredView(adaptor.getView());
    Value lane = laneOffset(b, b.lane(), layout, view, adaptor.getRow()[0], size);
    auto words = VectorType::get(4, rw.getI32Type()),
         vector = VectorType::get(g.size, type.getElementType());
    SmallVector<Value> results;
    for (int64_t i = 0; i < g.groups; ++i) {
      uint32_t r = uint32_t(i * g.size);
      Value offset = b.addConst(lane, (op.getCol() + layout.at("row", {{"register", r}})) * size);
      if (uint32_t col = layout.at("col", {{"register", r}}))
        offset = b.add(offset, b.mul(b.i32(col), view.strideBytes));
      Value raw = bufferLoad(rw, op.getLoc(), words, view.rsrc, offset);
      results.push_back(LLVM::BitcastOp::create(rw, op.getLoc(), vector, raw));
    }
    rw.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct StorePattern : TilePattern<tile::StoreOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::StoreOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getFrag().getType());
    const LinearLayout &layout = type.layout();
    int64_t size = tile::elementBytes(type.getElementType());
    int64_t run = std::min(runLength(layout), 16 / size);
    Location loc = op.getLoc();
    RocdlBuilder b{rw, loc};
    LoweredView view = loweredView(adaptor.getView());
    Value lane = b.countedLane(), zero = b.i32(0);
    Value first = firstCopyOnly(b, lane, layout,
                                laneOffset(b, lane, layout, view, adaptor.getRow()[0], size));
    SmallVector<Value> values = b.elements(adaptor.getFrag());
    for (int64_t r = 0; r < int64_t(values.size()); r += run) {
      Value offset = b.addConst(first, layout.at("row", {{"register", uint32_t(r)}}) * size);
      if (uint32_t col = layout.at("col", {{"register", uint32_t(r)}}))
        offset = b.add(offset, b.mul(b.i32(col), view.strideBytes));
      ROCDL::RawPtrBufferStoreOp::create(rw, loc, packed(b, ArrayRef(values).slice(r, run), size),
                                         view.rsrc, offset, zero, zero, ArrayAttr(), ArrayAttr(),
                                         ArrayAttr());
    }
    rw.eraseOp(op);
    return success();
  }

  /// Lanes that hold a copy of another lane's element get an offset that no buffer reaches.
  static Value firstCopyOnly(const RocdlBuilder &b, Value lane, const LinearLayout &layout,
                             Value offset) {
    int64_t copies = 0;
    for (int i = 0; i < layout.inBits("lane"); ++i)
      if (!layout.basis("lane", i, "row") && !layout.basis("lane", i, "col"))
        copies |= int64_t(1) << i;
    if (!copies)
      return offset;
    Value bits = LLVM::AndOp::create(b.b, b.loc, lane, b.i32(copies));
    Value isCopy = LLVM::ICmpOp::create(b.b, b.loc, LLVM::ICmpPredicate::ne, bits, b.i32(0));
    return LLVM::SelectOp::create(b.b, b.loc, isCopy, b.i32(-1), offset);
  }

  static Value packed(const RocdlBuilder &b, ArrayRef<Value> values, int64_t size) {
    if (values.size() == 1)
      return values[0];
    auto vector = VectorType::get(int64_t(values.size()), values[0].getType());
    Value v = LLVM::PoisonOp::create(b.b, b.loc, vector);
    for (auto [i, value] : llvm::enumerate(values))
      v = LLVM::InsertElementOp::create(b.b, b.loc, v, value, b.i32(int64_t(i)));
    int64_t words = int64_t(values.size()) * size / 4;
    if (words < 1)
      return v;
    Type word = b.b.getI32Type();
    return LLVM::BitcastOp::create(b.b, b.loc,
                                   words == 1 ? word : Type(VectorType::get(words, word)), v);
  }
};

struct FetchPattern : TilePattern<tile::FetchOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::FetchOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    Location loc = op.getLoc();
    RocdlBuilder b{rw, loc};
    Type element = op.getElement();
    int64_t size = std::max<int64_t>(1, tile::elementBytes(element)); // a bool takes a byte
    Value base = adaptor.getBase()[0];
    // An index that a condition elsewhere makes harmless may put the base before the tensor or
    // behind it: then nothing is in range.
    Value elements = adaptor.getElements()[0];
    Value inside = LLVM::ICmpOp::create(rw, loc, LLVM::ICmpPredicate::ult, base, elements);
    Value left = LLVM::SubOp::create(rw, loc, elements, base);
    Value bytes = b.mul(left, b.i64(size));
    bytes = LLVM::SelectOp::create(rw, loc, inside, bytes, b.i64(0));
    Value rsrc = makeRsrc(rw, loc, adaptor.getPtr()[0], b.mul(base, b.i64(size)), bytes);
    Value offset = b.mul(adaptor.getOffset()[0], b.i32(size));
    // i64 elements are documented to fit in 32 bits; the low half is the value.
    Type raw = element.isInteger(1)    ? rw.getI8Type()
               : element.isInteger(64) ? Type(rw.getI32Type())
                                       : element;
    if (raw.isUnsignedInteger())
      raw = rw.getIntegerType(raw.getIntOrFloatBitWidth());
    Value v = bufferLoad(rw, loc, raw, rsrc, offset);
    v = widened(b, v, element, op.getIsUnsigned());
    if (op.getUniform())
      v = uniform(b, v);
    rw.replaceOp(op, v);
    return success();
  }

  static Value widened(const RocdlBuilder &b, Value v, Type element, bool isUnsigned) {
    if (element.isInteger(1))
      return LLVM::ICmpOp::create(
          b.b, b.loc, LLVM::ICmpPredicate::ne, v,
          LLVM::ConstantOp::create(b.b, b.loc, v.getType(), b.b.getI8IntegerAttr(0)));
    if (isa<FloatType>(element))
      return element.isF32() ? v
                             : LLVM::FPExtOp::create(b.b, b.loc, b.b.getF32Type(), v).getResult();
    if (v.getType().isInteger(32))
      return v;
    if (isUnsigned)
      return LLVM::ZExtOp::create(b.b, b.loc, b.b.getI32Type(), v);
    return LLVM::SExtOp::create(b.b, b.loc, b.b.getI32Type(), v);
  }

  /// All lanes read the same element; say so, or everything derived from it would sit in vector
  /// registers.
  static Value uniform(const RocdlBuilder &b, Value v) {
    if (!v.getType().isInteger(1))
      return ROCDL::ReadfirstlaneOp::create(b.b, b.loc, v.getType(), v);
    Value wide = LLVM::ZExtOp::create(b.b, b.loc, b.b.getI32Type(), v);
    wide = ROCDL::ReadfirstlaneOp::create(b.b, b.loc, wide.getType(), wide);
    return LLVM::ICmpOp::create(b.b, b.loc, LLVM::ICmpPredicate::ne, wide, b.i32(0));
  }
};

struct LoadScalarPattern : TilePattern<tile::LoadScalarOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::LoadScalarOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    Type type = op.getValue().getType();
    Value index = LLVM::SExtOp::create(rw, op.getLoc(), rw.getI64Type(), adaptor.getIndex()[0]);
    Value ptr = adaptor.getPtr()[0];
    ptr = LLVM::GEPOp::create(rw, op.getLoc(), ptr.getType(), type, ptr,
                              ArrayRef<LLVM::GEPArg>{index});
    auto load = LLVM::LoadOp::create(rw, op.getLoc(), type, ptr, /*alignment=*/4);
    load.setInvariant(true);
    rw.replaceOp(op, load);
    return success();
  }
};

struct AtHandPattern : TilePattern<tile::AtHandOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::AtHandOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    // Assembly of no instructions that claims to use the values, in scalar registers.
    SmallVector<Value> values;
    for (ValueRange each : adaptor.getValues())
      llvm::append_range(values, each);
    SmallVector<StringRef> constraints(values.size(), "s");
    LLVM::InlineAsmOp::create(rw, op.getLoc(), /*resultTypes=*/TypeRange(), values,
                              /*asm_string=*/"", llvm::join(constraints, ","),
                              /*has_side_effects=*/true, /*is_align_stack=*/false,
                              LLVM::TailCallKind::None, /*asm_dialect=*/LLVM::AsmDialectAttr(),
                              /*operand_attrs=*/ArrayAttr());
    rw.eraseOp(op);
    return success();
  }
};

} // namespace

void populateMemoryPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                            const LdsContext &lds) {
  patterns
      .add<AtHandPattern, FetchPattern, LoadPattern, LoadScalarPattern, StorePattern, ViewPattern>(
          types, patterns.getContext(), lds);
}

} // namespace attune
