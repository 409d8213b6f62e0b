// C++ face of the tile dialect (Tile.td): types, ops, and what their layouts mean.
#pragma once
#include "compiler/layout/LinearLayout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "compiler/dialect/tile/TileDialect.h.inc"
#include "compiler/dialect/tile/TileEnums.h.inc"

namespace attune::tile::detail {
struct FragTypeStorage; // TileTypes.cpp
}

#define GET_TYPEDEF_CLASSES
#include "compiler/dialect/tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/dialect/tile/Tile.h.inc"

namespace attune::tile {

/// Lanes of a wave, bytes of the chunk that an LDS swizzle moves and that one lane's DMA brings.
inline constexpr int64_t kLanes = 64, kChunkBytes = 16;

/// Bytes of one element of a fragment, view or LDS tile.
int64_t elementBytes(mlir::Type type);

/// The map from (register, lane) to the contraction index of an operand: columns of A, rows of B.
layout::LinearLayout contractionOf(FragType operand, bool isA);

} // namespace attune::tile
