// The pass from tile to the ROCDL and LLVM dialects: types, the kernel function with its LDS and
// its ABI, and the list of patterns, upstream's for scalars and branches among them: one conversion
// takes every op of the tile phase away. Loops are branches before it, while a fragment is one
// value and the kernel some hundred ops; afterwards it has thousands.
#include "compiler/lower/Lower.h"
#include "compiler/lower/TileToRocdl/Lowering.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Dialect/Arith/Transforms/Passes.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Pass/Pass.h"

namespace attune {
using namespace mlir;

Grouping Grouping::of(tile::FragType t) {
  int64_t registers = t.registers(), most = tile::elementBytes(t.getElementType()) == 4 ? 16 : 8;
  int64_t size = std::min(registers, most);
  return {registers / size, size};
}

Value RocdlBuilder::lane() const {
  Value id = ROCDL::ThreadIdXOp::create(b, loc, b.getI32Type());
  return LLVM::AndOp::create(b, loc, id, i32(63));
}

Value RocdlBuilder::countedLane() const {
  Value all = i32(-1), none = i32(0);
  Value low = ROCDL::MbcntLoOp::create(b, loc, b.getI32Type(), all, none, ArrayAttr(), ArrayAttr());
  return ROCDL::MbcntHiOp::create(b, loc, b.getI32Type(), i32(-1), low, ArrayAttr(), ArrayAttr());
}

Value RocdlBuilder::wave() const {
  Value id = ROCDL::ThreadIdXOp::create(b, loc, b.getI32Type());
  return ROCDL::ReadfirstlaneOp::create(b, loc, b.getI32Type(),
                                        LLVM::LShrOp::create(b, loc, id, i32(6)));
}

Value RocdlBuilder::apply(const layout::LinearLayout &l, StringRef name, Value in,
                          StringRef out) const {
  Value sum;
  for (const layout::BitTerm &term : bitTerms(l, name, out)) {
    Value v = LLVM::AndOp::create(b, loc, in, i32(term.mask));
    if (term.shift > 0)
      v = LLVM::ShlOp::create(b, loc, v, i32(term.shift));
    else if (term.shift < 0)
      v = LLVM::LShrOp::create(b, loc, v, i32(-term.shift));
    sum = sum ? LLVM::XOrOp::create(b, loc, sum, v).getResult() : v;
  }
  return sum ? sum : i32(0);
}

Value RocdlBuilder::ldsPtr(const LdsContext &lds, Value byte) const {
  Type ptr = LLVM::LLVMPointerType::get(b.getContext(), 3);
  Value base = LLVM::AddressOfOp::create(b, loc, ptr, lds.global);
  return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{byte});
}

Value RocdlBuilder::permlaneSwap(int laneBit, Value first, Value second) const {
  Type i32 = b.getI32Type(), pair = LLVM::LLVMStructType::getLiteral(b.getContext(), {i32, i32});
  return laneBit == 5
             ? ROCDL::Permlane32SwapOp::create(b, loc, pair, first, second, false, false).getRes()
             : ROCDL::Permlane16SwapOp::create(b, loc, pair, first, second, false, false).getRes();
}

SmallVector<Value> RocdlBuilder::elements(ValueRange groups) const {
  SmallVector<Value> all;
  for (Value group : groups) {
    auto vector = dyn_cast<VectorType>(group.getType());
    if (!vector) {
      all.push_back(group);
      continue;
    }
    for (int64_t i = 0; i < vector.getNumElements(); ++i)
      all.push_back(LLVM::ExtractElementOp::create(b, loc, group, i32(i)));
  }
  return all;
}

Value RocdlBuilder::joined(ArrayRef<Value> elements) const {
  // Halves joined by shuffles: LLVM takes quadratic time over a chain of insertions.
  if (elements.size() == 1)
    return elements[0];
  if (elements.size() == 2) {
    Value v = LLVM::PoisonOp::create(b, loc, VectorType::get(2, elements[0].getType()));
    v = LLVM::InsertElementOp::create(b, loc, v, elements[0], i32(0));
    return LLVM::InsertElementOp::create(b, loc, v, elements[1], i32(1));
  }
  size_t half = elements.size() / 2;
  SmallVector<int32_t> inOrder = llvm::to_vector(llvm::seq<int32_t>(0, int32_t(elements.size())));
  Value front = joined(elements.take_front(half)), back = joined(elements.drop_front(half));
  return LLVM::ShuffleVectorOp::create(b, loc, front, back, inOrder);
}

SmallVector<Value> RocdlBuilder::groups(tile::FragType type, ArrayRef<Value> elements) const {
  Grouping g = Grouping::of(type);
  if (g.size == 1)
    return llvm::to_vector(elements);
  SmallVector<Value> all;
  for (int64_t i = 0; i < g.groups; ++i)
    all.push_back(joined(elements.slice(i * g.size, g.size)));
  return all;
}

namespace {

void addConversions(TypeConverter &types) {
  types.addConversion([](tile::FragType t,
                         SmallVectorImpl<Type> &out) -> std::optional<LogicalResult> {
    Grouping g = Grouping::of(t);
    if (t.getElementType().isInteger(
            1)) { // flags: 16-bit masks, two to a register, as the operands they clear
      out.append(g.groups, VectorType::get(g.size / 2, IntegerType::get(t.getContext(), 32)));
      return success();
    }
    Type one = g.size == 1 ? t.getElementType() : Type(VectorType::get(g.size, t.getElementType()));
    out.append(g.groups, one);
    return success();
  });
  types.addConversion(
      [](tile::ViewType t, SmallVectorImpl<Type> &out) -> std::optional<LogicalResult> {
        Type i32 = IntegerType::get(t.getContext(), 32);
        out.append({LLVM::LLVMPointerType::get(t.getContext(), 8), i32, i32});
        return success();
      });
  types.addConversion([](tile::LdsType t) -> Type { return IntegerType::get(t.getContext(), 32); });
}

struct WorkgroupIdPattern : TilePattern<tile::WorkgroupIdOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WorkgroupIdOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rw) const override {
    rw.replaceOpWithNewOp<ROCDL::BlockIdXOp>(op, rw.getI32Type());
    return success();
  }
};

struct WaveIdPattern : TilePattern<tile::WaveIdOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::WaveIdOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rw) const override {
    rw.replaceOp(op, lds.wave);
    return success();
  }
};

/// Offsets were given to the allocs when the kernel was opened (assignLds).
struct AllocPattern : TilePattern<tile::AllocOp> {
  using TilePattern::TilePattern;
  LogicalResult matchAndRewrite(tile::AllocOp op, OneToNOpAdaptor,
                                ConversionPatternRewriter &rw) const override {
    rw.replaceOp(
        op, RocdlBuilder{rw, op.getLoc()}.i32(op->getAttrOfType<IntegerAttr>("offset").getInt()));
    return success();
  }
};

/// Places the allocs one after another, each at a multiple of its own row pitch and of 1 KiB, and
/// makes the global.
LdsContext assignLds(tile::KernelOp kernel, OpBuilder &b) {
  int64_t bytes = 0;
  kernel.walk([&](tile::AllocOp alloc) {
    auto type = cast<tile::LdsType>(alloc.getLds().getType());
    bytes = llvm::alignTo(bytes, std::max<int64_t>(1024, type.getPitch()));
    alloc->setAttr("offset", b.getI64IntegerAttr(bytes));
    bytes += type.bytes();
  });
  LdsContext lds;
  auto array = LLVM::LLVMArrayType::get(b.getI8Type(), bytes);
  auto global = LLVM::GlobalOp::create(
      b, kernel.getLoc(), array, /*isConstant=*/false, LLVM::Linkage::Internal,
      (kernel.getSymName() + "_lds").str(), Attribute(), /*alignment=*/1024, /*addrSpace=*/3);
  lds.global = FlatSymbolRefAttr::get(global.getSymNameAttr());
  auto domain = LLVM::AliasScopeDomainAttr::get(b.getContext());
  lds.dmaScope = b.getArrayAttr({LLVM::AliasScopeAttr::get(domain)});
  return lds;
}

/// name, kind, offset and size of each argument, as runtime/abi/KernelImage.h has them: natural
/// alignment in order.
ArrayAttr abiOf(tile::KernelOp kernel, OpBuilder &b) {
  SmallVector<Attribute> args;
  int64_t offset = 0;
  for (auto [name, value] : llvm::zip(kernel.getArgNames(), kernel.getBody().getArguments())) {
    Type type = value.getType();
    bool wide = isa<LLVM::LLVMPointerType>(type) || type.isInteger(64);
    int64_t size = wide ? 8 : 4;
    offset = llvm::alignTo(offset, size);
    StringRef kind = isa<LLVM::LLVMPointerType>(type) ? "ptr"
                     : type.isInteger(64)             ? "i64"
                     : type.isF32()                   ? "f32"
                                                      : "i32";
    args.push_back(b.getDictionaryAttr({b.getNamedAttr("name", name),
                                        b.getNamedAttr("kind", b.getStringAttr(kind)),
                                        b.getNamedAttr("offset", b.getI64IntegerAttr(offset)),
                                        b.getNamedAttr("size", b.getI64IntegerAttr(size))}));
    offset += size;
  }
  return b.getArrayAttr(args);
}

/// Moves the body into an llvm.func; the tile ops in it are rewritten afterwards.
LLVM::LLVMFuncOp openKernel(tile::KernelOp kernel, OpBuilder &b) {
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                          llvm::to_vector(kernel.getBody().getArgumentTypes()));
  auto func = LLVM::LLVMFuncOp::create(b, kernel.getLoc(), kernel.getSymName(), type,
                                       LLVM::Linkage::External, /*dsoLocal=*/false,
                                       LLVM::CConv::AMDGPU_KERNEL);
  int64_t threads = kernel.getWaves() * tile::kLanes;
  std::string size = std::to_string(threads) + "," + std::to_string(threads);
  func->setAttr("rocdl.kernel", b.getUnitAttr());
  func->setAttr("rocdl.flat_work_group_size", b.getStringAttr(size));
  func->setAttr("rocdl.waves_per_eu", b.getI32IntegerAttr(kernel.getWavesPerEu()));
  func->setAttr("attune.abi", abiOf(kernel, b));
  func->setAttr("attune.waves", b.getI64IntegerAttr(kernel.getWaves()));
  func->setAttr("attune.block_m", b.getI64IntegerAttr(kernel.getBlockM()));
  // Without IEEE mode the maximum of two floats is one instruction instead of three (no quieting of
  // signalling NaNs).
  func.setPassthroughAttr(b.getArrayAttr({b.getStrArrayAttr({"amdgpu-ieee", "false"})}));
  func.getBody().takeBody(kernel.getBody());
  Operation *end = func.getBody().front().getTerminator();
  OpBuilder at(end);
  LLVM::ReturnOp::create(at, end->getLoc(), ValueRange());
  end->erase();
  return func;
}

struct TileToRocdl : PassWrapper<TileToRocdl, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(TileToRocdl)
  StringRef getArgument() const final { return "tile-to-rocdl"; }
  StringRef getDescription() const final {
    return "rewrite tile kernels as LLVM functions with ROCDL intrinsics";
  }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, cf::ControlFlowDialect, math::MathDialect, scf::SCFDialect,
                    LLVM::LLVMDialect, ROCDL::ROCDLDialect>();
  }

  void runOnOperation() final {
    SmallVector<tile::KernelOp> kernels(getOperation().getOps<tile::KernelOp>());
    for (tile::KernelOp kernel : kernels) {
      OpBuilder b(kernel);
      LdsContext lds = assignLds(kernel, b);
      LLVM::LLVMFuncOp func = openKernel(kernel, b);
      kernel.erase();
      b.setInsertionPointToStart(&func.getBody().front());
      lds.wave = RocdlBuilder{b, func.getLoc()}.wave();
      if (failed(convert(func, lds)))
        return signalPassFailure();
      func->removeAttr("attune.waves");
    }
  }

  LogicalResult convert(LLVM::LLVMFuncOp func, const LdsContext &lds) {
    if (failed(lowerLoops(func)))
      return failure();
    MLIRContext *ctx = &getContext();
    LLVMTypeConverter types(ctx);
    addConversions(types);
    RewritePatternSet list(ctx);
    populateComputePatterns(list, types, lds);
    populateConvertPatterns(list, types, lds);
    populateLdsPatterns(list, types, lds);
    populateMapPatterns(list, types, lds);
    populateMemoryPatterns(list, types, lds);
    populateMathPatterns(list); // before the library forms: a higher benefit
    list.add<AllocPattern, WaveIdPattern, WorkgroupIdPattern>(types, ctx, lds);
    arith::populateCeilFloorDivExpandOpsPatterns(list);
    arith::populateArithToLLVMConversionPatterns(types, list);
    cf::populateControlFlowToLLVMConversionPatterns(types, list);
    populateMathToLLVMConversionPatterns(types, list);
    ub::populateUBToLLVMConversionPatterns(types, list);
    const FrozenRewritePatternSet patterns(std::move(list));
    if (failed(lowerMapBodies(func, patterns)))
      return failure();
    ConversionTarget target(*ctx);
    target.addLegalDialect<LLVM::LLVMDialect, ROCDL::ROCDLDialect>();
    return applyFullConversion(func, target, patterns);
  }

  static LogicalResult lowerLoops(LLVM::LLVMFuncOp func) {
    RewritePatternSet patterns(func.getContext());
    populateSCFToControlFlowConversionPatterns(patterns);
    ConversionTarget target(*func.getContext());
    target.addIllegalDialect<scf::SCFDialect>();
    target.markUnknownOpDynamicallyLegal([](Operation *) { return true; });
    return applyPartialConversion(func, target, std::move(patterns));
  }
};

} // namespace

std::unique_ptr<Pass> createTileToRocdlPass() { return std::make_unique<TileToRocdl>(); }

} // namespace attune
