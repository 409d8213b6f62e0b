// The attn dialect, its enums and its attributes. AttnOps.h adds the ops; most users want that one.
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/DialectImplementation.h"
#include "runtime/abi/KernelImage.h"

#include "compiler/dialect/attn/AttnDialect.h.inc"
#include "compiler/dialect/attn/AttnEnums.h.inc"

#include "compiler/dialect/attn/AttnAttrInterfaces.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/dialect/attn/AttnAttrs.h.inc"

namespace attune::attn {

/// The element type of a tensor in memory (ui8 is U8, i1 is Bool), and back.
mlir::Type typeOf(mlir::MLIRContext *, DType);
std::optional<DType> dtypeOf(mlir::Type);

/// The arguments of score and mask, in order. A mask starts at B: it has no logit.
enum class BodyArg : unsigned { S, B, H, HK, Q, K, QI, Ctx, QLen, KvLen };
inline constexpr llvm::StringLiteral kBodyArgNames[] = {"s", "b",  "h",   "hk",    "q",
                                                        "k", "qi", "ctx", "q_len", "kv_len"};
inline constexpr unsigned kNumScoreArgs = 10, kNumMaskArgs = 9;

} // namespace attune::attn
