// What the pattern files of the tile lowering share.
//
// A fragment becomes a list of vectors, one per run of registers that instructions take together:
// 16 f32 are one MFMA accumulator, 8 16-bit elements one operand, a single register is a scalar. So
// an SSA value of the LLVM dialect is what the register allocator will keep in consecutive
// registers, and no vector is larger than an instruction needs. A view becomes its buffer
// descriptor, its row stride and the offset of its first valid row, in bytes. An LDS tile becomes
// the byte offset of its first buffer in the kernel's one LDS global.
#pragma once
#include "compiler/dialect/tile/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"
#include "mlir/Transforms/DialectConversion.h"

namespace attune {

/// How a fragment's registers are grouped.
struct Grouping {
  int64_t groups = 0, size = 0; ///< size 1: scalars
  static Grouping of(tile::FragType);
};

/// A view after lowering.
struct LoweredView {
  mlir::Value rsrc;        ///< !llvm.ptr<8>
  mlir::Value strideBytes; ///< i32
  mlir::Value
      firstBytes; ///< i32: bytes from row 0 to the first valid row, where the descriptor starts
};

/// The name of the kernel's LDS global and the two alias scopes that keep LLVM from waiting for
/// every DMA before every LDS read: the tile verifier has proved the waits (docs/adr/007).
struct LdsContext {
  mlir::FlatSymbolRefAttr global;
  mlir::ArrayAttr dmaScope;
  /// The wave's number, from the start of the kernel: LLVM takes what is made of it out of loops,
  /// which it may not do with the instruction that reads it.
  mlir::Value wave;
};

/// Helper around a rewriter: constants, lane numbers, linear maps of the lane.
struct RocdlBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int64_t v) const {
    return mlir::LLVM::ConstantOp::create(b, loc, b.getI32Type(), b.getI32IntegerAttr(int32_t(v)));
  }
  mlir::Value i64(int64_t v) const {
    return mlir::LLVM::ConstantOp::create(b, loc, b.getI64Type(), b.getI64IntegerAttr(v));
  }
  mlir::Value add(mlir::Value x, mlir::Value y) const {
    return mlir::LLVM::AddOp::create(b, loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) const {
    return mlir::LLVM::MulOp::create(b, loc, x, y);
  }
  /// x + c, without an op for c = 0.
  mlir::Value addConst(mlir::Value x, int64_t c) const { return c ? add(x, i32(c)) : x; }
  mlir::Value lane() const; ///< 0..63
  /// The same by counting lanes, so that LLVM does not keep addresses made from lane() alive from
  /// the start of the kernel to its end.
  mlir::Value countedLane() const;
  mlir::Value wave() const; ///< the same in all lanes
  /// The part of output `out` that `in` (an i32 holding input `name`) gives.
  mlir::Value apply(const layout::LinearLayout &, llvm::StringRef name, mlir::Value in,
                    llvm::StringRef out) const;
  /// A pointer into the LDS global.
  mlir::Value ldsPtr(const LdsContext &, mlir::Value byte) const;
  /// Two registers (i32) as a struct, after their lanes changed places: those with lane bit
  /// `laneBit` (5 or 4) set of the first against those without it of the second.
  mlir::Value permlaneSwap(int laneBit, mlir::Value first, mlir::Value second) const;
  /// A vector of a power of two of elements (one: the scalar itself).
  mlir::Value joined(llvm::ArrayRef<mlir::Value> elements) const;
  /// vector <-> elements
  llvm::SmallVector<mlir::Value> elements(mlir::ValueRange groups) const;
  llvm::SmallVector<mlir::Value> groups(tile::FragType, llvm::ArrayRef<mlir::Value> elements) const;
};

/// Base class of the patterns, with access to the kernel's LDS.
template <class Op> struct TilePattern : mlir::OpConversionPattern<Op> {
  using OneToNOpAdaptor = typename mlir::OpConversionPattern<Op>::OneToNOpAdaptor;
  TilePattern(const mlir::TypeConverter &types, mlir::MLIRContext *ctx, const LdsContext &lds)
      : mlir::OpConversionPattern<Op>(types, ctx), lds(lds) {}
  const LdsContext &lds;
};

/// Operand of llvm.amdgcn.sched.barrier: nothing crosses, so it also bounds a scheduling region.
constexpr int32_t kNothingAcross = 0;

inline LoweredView loweredView(mlir::ValueRange parts) { return {parts[0], parts[1], parts[2]}; }

void populateComputePatterns(mlir::RewritePatternSet &, const mlir::TypeConverter &,
                             const LdsContext &);
void populateConvertPatterns(mlir::RewritePatternSet &, const mlir::TypeConverter &,
                             const LdsContext &);
void populateMapPatterns(mlir::RewritePatternSet &, const mlir::TypeConverter &,
                         const LdsContext &);
void populateMemoryPatterns(mlir::RewritePatternSet &, const mlir::TypeConverter &,
                            const LdsContext &);
void populateLdsPatterns(mlir::RewritePatternSet &, const mlir::TypeConverter &,
                         const LdsContext &);
/// Better than the library's forms of the same ops.
void populateMathPatterns(mlir::RewritePatternSet &);

/// Whether a map is float arithmetic that asks for no coordinates, to be done on whole register
/// groups: fewer operations for LLVM to look at, and packed instructions for the asking.
bool takesWholeGroups(tile::MapOp);
/// Turns the regions of all other maps of a kernel into LLVM ops, with what is the same for every
/// element taken out.
mlir::LogicalResult lowerMapBodies(mlir::Operation *kernel, const mlir::FrozenRewritePatternSet &);

} // namespace attune
