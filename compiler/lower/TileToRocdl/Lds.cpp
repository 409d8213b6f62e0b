// LDS: reads by row and transposed, waits and barriers.
//
// An address is (lane part XOR flip) + offset: the lane part is computed once, `flip` and `offset`
// are constants of one read (layout::LdsLayout is linear when unpadded). `offset` touches no bit
// the lane part can set, so it becomes the instruction's immediate; only the few distinct flips
// cost an instruction.
#include "compiler/layout/Contraction.h"
#include "compiler/layout/LdsLayout.h"
#include "compiler/lower/TileToRocdl/Lowering.h"

namespace attune {
using namespace mlir;
using layout::LinearLayout;

namespace {

layout::LdsLayout ldsLayout(tile::LdsType t) {
  layout::LdsLayout l;
  l.rowBytes = int(t.getCols() * tile::elementBytes(t.getElementType()));
  l.rowPitch = int(t.getPitch());
  l.chunkXor.assign(t.getSwizzle().begin(), t.getSwizzle().end());
  return l;
}

/// Addresses of one fragment's reads from an LDS tile.
class LdsReads {
public:
  /// `lane` maps (lane, ...) to (row, byte) of the LDS tile, from position (row0, byte0) on.
  LdsReads(const RocdlBuilder &b, const LdsContext &lds, tile::LdsType type, Value tileBase,
           Value buffer, LinearLayout lanes, uint32_t row0, uint32_t byte0)
      : b_(b), lds_(lds), lanes_(std::move(lanes)), layout_(ldsLayout(type)), row0_(row0),
        byte0_(byte0) {
    toByte_ = lanes_.then(layout_.map(int(type.getRows())));
    for (int i = 0; i < toByte_.inBits("lane"); ++i)
      laneMask_ |= toByte_.basis("lane", i, "lds");
    Value bufferBase = b.add(tileBase, b.mul(buffer, b.i32(type.bufferBytes())));
    base_ = b.add(bufferBase, b.apply(toByte_, "lane", b.lane(), "lds"));
  }

  /// The pointer of the read whose first element is `extra` (row, byte) further than the lane's
  /// own.
  Value pointer(uint32_t row, uint32_t byte) const {
    uint32_t constant = layout_.address(row0_ + row, byte0_ + byte);
    uint32_t flip = constant & laneMask_, offset = constant & ~laneMask_;
    Value address =
        flip ? LLVM::XOrOp::create(b_.b, b_.loc, base_, b_.i32(flip)).getResult() : base_;
    Value ptr = b_.ldsPtr(lds_, address);
    if (!offset)
      return ptr;
    return LLVM::GEPOp::create(b_.b, b_.loc, ptr.getType(), b_.b.getI8Type(), ptr,
                               ArrayRef<LLVM::GEPArg>{int32_t(offset)});
  }

private:
  const RocdlBuilder &b_;
  const LdsContext &lds_;
  LinearLayout lanes_, toByte_;
  layout::LdsLayout layout_;
  uint32_t row0_, byte0_, laneMask_ = 0;
  Value base_;
};

/// Lanes of a layout over (row, col) as a map to (row, byte) of the tile; `swap` if the fragment is
/// the transpose.
LinearLayout lanesToTile(const LinearLayout &l, bool swap, int rowBits, int byteBits) {
  std::vector<uint64_t> columns;
  for (int i = 0; i < l.inBits("lane"); ++i) {
    uint64_t row = l.basis("lane", i, swap ? "col" : "row"),
             col = l.basis("lane", i, swap ? "row" : "col");
    columns.push_back(row | col * 2 << rowBits);
  }
  return LinearLayout({{"lane", l.inBits("lane")}}, {{"row", rowBits}, {"byte", byteBits}},
                      columns);
}

int log2Of(int64_t v) { return int(llvm::Log2_64(uint64_t(v))); }

struct ReadPattern : TilePattern<tile::ReadOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ReadOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getFrag().getType());
    auto tileType = cast<tile::LdsType>(op.getLds().getType());
    const LinearLayout &layout = type.layout();
    Grouping g = Grouping::of(type);
    if (g.size != 8)
      return rw.notifyMatchFailure(op, "reads 16 bytes at a time");
    for (int i = 0; i < 3; ++i)
      if (layout.basis("register", i, "col") != 1u << i)
        return rw.notifyMatchFailure(op, "a lane's eight elements must be neighbours of one row");
    RocdlBuilder b{rw, op.getLoc()};
    LdsReads reads(
        b, lds, tileType, adaptor.getLds()[0], adaptor.getBuffer()[0],
        lanesToTile(layout, false, log2Of(tileType.getRows()), log2Of(tileType.getPitch())),
        op.getRow(), op.getCol() * 2);
    auto vector = VectorType::get(8, type.getElementType());
    SmallVector<Value> results;
    for (int64_t i = 0; i < g.groups; ++i) {
      uint32_t r = uint32_t(i * 8);
      Value ptr = reads.pointer(layout.at("row", {{"register", r}}),
                                layout.at("col", {{"register", r}}) * 2);
      auto load = LLVM::LoadOp::create(rw, op.getLoc(), vector, ptr, /*alignment=*/16);
      load.setNoaliasScopesAttr(lds.dmaScope);
      results.push_back(load);
    }
    rw.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct ReadTrPattern : TilePattern<tile::ReadTrOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::ReadTrOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto type = cast<tile::FragType>(op.getFrag().getType());
    auto tileType = cast<tile::LdsType>(op.getLds().getType());
    // Memory runs along the fragment's rows; each transposing read gives four registers.
    Result<LinearLayout> source = layout::transposingReadSource(type.layout(), "row", 16);
    if (!source)
      return rw.notifyMatchFailure(op, source.error().message);
    RocdlBuilder b{rw, op.getLoc()};
    LdsReads reads(
        b, lds, tileType, adaptor.getLds()[0], adaptor.getBuffer()[0],
        lanesToTile(*source, true, log2Of(tileType.getRows()), log2Of(tileType.getPitch())),
        op.getRow(), op.getCol() * 2);
    auto quad = VectorType::get(4, type.getElementType()),
         eight = VectorType::get(8, type.getElementType());
    auto read = [&](uint32_t n) -> Value {
      Value ptr =
          reads.pointer(source->at("col", {{"read", n}}), source->at("row", {{"read", n}}) * 2);
      auto r = ROCDL::ds_read_tr16_b64::create(rw, op.getLoc(), quad, ptr);
      r.setNoaliasScopesAttr(lds.dmaScope);
      return r.getRes();
    };
    SmallVector<Value> results;
    for (int64_t i = 0; i < Grouping::of(type).groups; ++i) {
      Value low = read(uint32_t(2 * i)), high = read(uint32_t(2 * i + 1));
      results.push_back(LLVM::ShuffleVectorOp::create(rw, op.getLoc(), eight, low, high,
                                                      ArrayRef<int32_t>{0, 1, 2, 3, 4, 5, 6, 7}));
    }
    rw.replaceOpWithMultiple(op, {results});
    return success();
  }
};

struct DmaPattern : TilePattern<tile::DmaOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::DmaOp op, OneToNOpAdaptor adaptor,
                                ConversionPatternRewriter &rw) const override {
    auto tileType = cast<tile::LdsType>(op.getLds().getType());
    int64_t waves = op->getParentOfType<LLVM::LLVMFuncOp>()
                        ->getAttrOfType<IntegerAttr>("attune.waves")
                        .getInt();
    int64_t instructions = tileType.bufferBytes() / (waves * tile::kLanes * tile::kChunkBytes);
    if (!llvm::isPowerOf2_64(waves) || !llvm::isPowerOf2_64(instructions))
      return rw.notifyMatchFailure(op, "waves and instructions per wave must be powers of two");
    // LDS byte = 1024 * (wave + waves * instruction) + 16 * lane; what belongs there is the inverse
    // of the LDS layout.
    Result<LinearLayout> inverse = ldsLayout(tileType).map(int(tileType.getRows())).inverse();
    if (!inverse)
      return rw.notifyMatchFailure(op, inverse.error().message);
    LinearLayout source =
        LinearLayout::identity("byte0", "lds", 4)
            .product(LinearLayout::identity("lane", "lds", 6))
            .product(LinearLayout::identity("wave", "lds", log2Of(waves)))
            .product(LinearLayout::identity("instruction", "lds", log2Of(instructions)))
            .then(*inverse);
    RocdlBuilder b{rw, op.getLoc()};
    LoweredView view = loweredView(adaptor.getView());
    Value lane = b.lane(), wave = lds.wave;
    auto placeOf = [&](StringRef out) -> Value {
      Value ofLane = b.apply(source, "lane", lane, out),
            ofWave = b.apply(source, "wave", wave, out);
      return LLVM::XOrOp::create(rw, op.getLoc(), ofLane, ofWave);
    };
    Value row = placeOf("row"), byte = placeOf("byte");
    Value bufferBase =
        b.add(adaptor.getLds()[0], b.mul(adaptor.getBuffer()[0], b.i32(tileType.bufferBytes())));
    Value waveBase = b.add(bufferBase, b.mul(wave, b.i32(1024)));
    Value zero = b.i32(0), size = b.i32(tile::kChunkBytes);
    const int64_t ofPart = instructions / int64_t(op.getParts().value_or(1));
    const int64_t begin = ofPart * int64_t(op.getPart().value_or(0));
    for (int64_t n = begin; n < begin + ofPart; ++n) {
      const uint32_t i = uint32_t(n);
      auto flip = [&](Value v, uint32_t c) {
        return c ? LLVM::XOrOp::create(rw, op.getLoc(), v, b.i32(c)).getResult() : v;
      };
      Value from = flip(row, source.at("row", {{"instruction", i}}));
      Value offset = b.mul(from, view.strideBytes);
      offset = b.add(offset, flip(byte, source.at("byte", {{"instruction", i}})));
      offset = LLVM::SubOp::create(rw, op.getLoc(), offset, view.firstBytes);
      if (ValueRange gap = op.getGap(); !gap.empty())
        offset = outsideGap(b, from, adaptor.getGap()[0][0], adaptor.getGap()[1][0], offset);
      Value to = b.ldsPtr(lds, b.addConst(waveBase, int64_t(1024) * waves * i));
      ROCDL::RawPtrBufferLoadLdsOp::create(
          rw, op.getLoc(), view.rsrc, to, size, offset, zero, zero, zero,
          /*alias_scopes=*/lds.dmaScope, /*noalias_scopes=*/ArrayAttr(),
          /*tbaa=*/ArrayAttr());
    }
    rw.eraseOp(op);
    return success();
  }

  /// `offset`, or one that no view reaches for a row of the gap.
  static Value outsideGap(const RocdlBuilder &b, Value row, Value first, Value count,
                          Value offset) {
    Value inGap = LLVM::ICmpOp::create(b.b, b.loc, LLVM::ICmpPredicate::ult,
                                       LLVM::SubOp::create(b.b, b.loc, row, first), count);
    return LLVM::SelectOp::create(b.b, b.loc, inGap, b.i32(-1), offset);
  }
};

/// s_waitcnt of gfx9: vmcnt in bits 3:0 and 15:14, expcnt 6:4, lgkmcnt 11:8; all ones: do not wait.
int32_t waitcnt(std::optional<int64_t> vm, bool lgkm) {
  int64_t v = vm.value_or(63);
  return int32_t((v & 15) | (v >> 4) << 14 | 7 << 4 | (lgkm ? 0 : 15) << 8);
}

struct WaitPattern : TilePattern<tile::WaitOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WaitOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rw) const override {
    std::optional<int64_t> vm;
    if (auto n = op.getVmcnt())
      vm = *n;
    rw.replaceOpWithNewOp<ROCDL::SWaitcntOp>(op, waitcnt(vm, op.getLds()));
    return success();
  }
};

struct BarrierPattern : TilePattern<tile::BarrierOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::BarrierOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rw) const override {
    rw.replaceOpWithNewOp<ROCDL::SBarrierOp>(op);
    return success();
  }
};

struct KeepOrderPattern : TilePattern<tile::KeepOrderOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::KeepOrderOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rw) const override {
    // llvm.amdgcn.sched.barrier: ALU, MFMA and DS instructions may cross, VMEM may not. If nothing
    // could, the conversion of what was loaded would wait for it right here, before the DMA.
    rw.replaceOpWithNewOp<ROCDL::SchedBarrier>(op, op.getAll() ? kNothingAcross : 0x48e);
    return success();
  }
};

} // namespace

void populateLdsPatterns(RewritePatternSet &patterns, const TypeConverter &types,
                         const LdsContext &lds) {
  patterns
      .add<BarrierPattern, DmaPattern, KeepOrderPattern, ReadPattern, ReadTrPattern, WaitPattern>(
          types, patterns.getContext(), lds);
}

} // namespace attune
