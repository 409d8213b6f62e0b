// What every schedule starts from: the kernel's arguments by name, which sequence, head and q block
// this workgroup has, and where that sequence's rows lie in memory.
#pragma once
#include "compiler/dialect/attn/AttnOps.h"
#include "compiler/lower/AttnToTile/TileBuilder.h"
#include "compiler/schedule/Plan.h"

namespace attune {

/// One of q, k, v, out, lse: row 0 of the sequence and head at hand, and the distance of its rows.
struct RowSource {
  mlir::Value ptr;    ///< !llvm.ptr<1>
  mlir::Value stride; ///< i64, elements from one row to the next
  int64_t cols = 0;
  mlir::Type element;
};

/// All i32 unless said otherwise, all the same for the workgroup (except waveRow: the same for the
/// wave).
struct KernelFrame {
  tile::KernelOp kernel;
  mlir::Value batch, head, kvHead, qBlock;
  mlir::Value qLen, kvLen, ctx;
  mlir::Value blockRow; ///< first query row of the workgroup, within the sequence
  mlir::Value waveRow;  ///< first query row of this wave, within the workgroup
  mlir::Value qStart,
      kvStart; ///< i64: rows of the sequences before this one (varlen), batch * len (dense)
  RowSource q, k, v, out, lse;

  mlir::Value arg(llvm::StringRef name) { return kernel.arg(name); }
};

/// Creates the tile.kernel with its argument list (runtime/abi/KernelImage.h) and leaves the
/// builder inside its body.
tile::KernelOp createKernel(mlir::OpBuilder &, attn::KernelOp, const schedule::Plan &);

/// Emits the decoding of the workgroup id and the lengths.
KernelFrame emitFrame(const TileBuilder &, tile::KernelOp, attn::KernelOp, const schedule::Plan &);

/// Emits the positions of the rows, once it is known that the q block has any.
void emitRowSources(const TileBuilder &, KernelFrame &, attn::KernelOp);

} // namespace attune
