#include "compiler/lower/AttnToTile/KernelFrame.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace attune {
using namespace mlir;

namespace {

/// The argument list under construction; the order here is the ABI.
struct ArgList {
  MLIRContext *ctx;
  SmallVector<Attribute> names;
  SmallVector<Type> types;

  void add(const Twine &name, Type type) {
    names.push_back(StringAttr::get(ctx, name));
    types.push_back(type);
  }
  void ptr(const Twine &name) { add(name, LLVM::LLVMPointerType::get(ctx, /*addressSpace=*/1)); }
  void i64(const Twine &name) { add(name, IntegerType::get(ctx, 64)); }
  void i32(const Twine &name) { add(name, IntegerType::get(ctx, 32)); }
  void f32(const Twine &name) { add(name, Float32Type::get(ctx)); }
};

/// 8-byte arguments first, so that nothing needs padding.
ArgList kernelArgs(attn::KernelOp op) {
  ProblemShape p = op.problem();
  ArgList args{op.getContext(), {}, {}};
  for (StringRef name : {"q", "k", "v", "out"})
    args.ptr(name);
  if (p.lse != LseKind::None)
    args.ptr("lse");
  if (p.hasSink)
    args.ptr("sink");
  if (p.qStorage == Storage::Varlen)
    args.ptr("cu_seqlens_q");
  if (p.kvStorage == Storage::Varlen)
    args.ptr("cu_seqlens_k");
  for (const CapturedTensor &t : p.tensors)
    args.ptr("tensor." + t.name);
  for (auto [name, storage] :
       {std::pair("q", p.qStorage), {"k", p.kvStorage}, {"v", p.kvStorage}, {"out", p.qStorage}}) {
    if (storage == Storage::Dense)
      args.i64(Twine(name) + "_stride_batch");
    args.i64(Twine(name) + "_stride_token");
    args.i64(Twine(name) + "_stride_head");
  }
  if (p.lse != LseKind::None) {
    if (p.qStorage == Storage::Dense)
      args.i64("lse_stride_batch");
    args.i64("lse_stride_head");
    args.i64("lse_stride_row");
  }
  for (const CapturedTensor &t : p.tensors) {
    for (size_t i = 0; i < t.dims.size(); ++i)
      args.i64("tensor." + t.name + ".stride." + Twine(i));
    args.i64("tensor." + t.name + ".elements");
  }
  args.i32("batch");
  args.i32("num_q_blocks");
  if (p.qStorage == Storage::Dense)
    args.i32("q_len");
  if (p.kvStorage == Storage::Dense)
    args.i32("kv_len");
  for (const CapturedScalar &s : p.scalars) {
    if (s.dtype == DType::F32)
      args.f32("scalar." + s.name);
    else
      args.i32("scalar." + s.name);
  }
  return args;
}

/// As many of the kernel's arguments as scalar registers are sure to be free for: of 102 that a
/// wave has, all that a kernel begins with besides takes fewer than 30.
ValueRange firstArguments(tile::KernelOp kernel) {
  constexpr unsigned kDwords = 72;
  auto args = kernel.getBody().getArguments();
  unsigned dwords = 0;
  auto fits = [&](BlockArgument arg) {
    dwords += isa<LLVM::LLVMPointerType>(arg.getType()) || arg.getType().isInteger(64) ? 2 : 1;
    return dwords <= kDwords;
  };
  return args.take_while(fits);
}

/// First row of this workgroup's sequence, on one side (q or kv), and that of the next.
struct Rows {
  Value begin, end;
};
Rows rowsOf(const TileBuilder &t, KernelFrame &f, StringRef cuName) {
  Value cu = f.arg(cuName);
  Value begin = tile::LoadScalarOp::create(t.b, t.loc, t.b.getI32Type(), cu, f.batch);
  Value end =
      tile::LoadScalarOp::create(t.b, t.loc, t.b.getI32Type(), cu, t.add(f.batch, t.i32(1)));
  return {begin, end};
}

/// The workgroup's sequence on both sides. A kernel begins with two trips to memory: one for its
/// arguments, one for all that they point to.
void emitSequences(const TileBuilder &t, KernelFrame &f, const ProblemShape &p) {
  std::optional<Rows> q, kv;
  SmallVector<Value> read;
  auto readRows = [&](std::optional<Rows> &rows, Storage storage, StringRef cuName) {
    if (storage == Storage::Dense)
      return;
    rows = rowsOf(t, f, cuName);
    read.append({rows->begin, rows->end});
  };
  readRows(q, p.qStorage, "cu_seqlens_q");
  readRows(kv, p.kvStorage, "cu_seqlens_k");
  if (!read.empty())
    tile::AtHandOp::create(t.b, t.loc, read);
  auto set = [&](Value &length, Value &start, const std::optional<Rows> &rows, StringRef lenName) {
    if (rows) {
      length = t.sub(rows->end, rows->begin);
      start = t.widen(rows->begin);
      return;
    }
    length = f.arg(lenName);
    Value batch = t.widen(f.batch);
    start = t.mul(batch, t.widen(length));
  };
  set(f.qLen, f.qStart, q, "q_len");
  set(f.kvLen, f.kvStart, kv, "kv_len");
}

} // namespace

tile::KernelOp createKernel(OpBuilder &b, attn::KernelOp op, const schedule::Plan &plan) {
  ArgList args = kernelArgs(op);
  auto kernel = tile::KernelOp::create(b, op.getLoc(), op.getSymName(), b.getArrayAttr(args.names),
                                       plan.waves, plan.wavesPerEu, plan.blockM());
  Block *body = b.createBlock(&kernel.getBody());
  for (Type type : args.types)
    body->addArgument(type, op.getLoc());
  return kernel;
}

KernelFrame emitFrame(const TileBuilder &t, tile::KernelOp kernel, attn::KernelOp op,
                      const schedule::Plan &plan) {
  ProblemShape p = op.problem();
  KernelFrame f;
  f.kernel = kernel;
  tile::AtHandOp::create(t.b, t.loc, firstArguments(kernel));
  // GridFormula: sequence fastest, then head, then q block from the last to the first, so that the
  // heavy q blocks of a causal mask start first and heads that share K and V run at the same time.
  Value id = tile::WorkgroupIdOp::create(t.b, t.loc, t.b.getI32Type());
  Value batchCount = f.arg("batch");
  f.batch = t.remU(id, batchCount);
  Value rest = t.divU(id, batchCount);
  f.head = t.remU(rest, t.i32(p.numQHeads));
  Value lastBlock = t.sub(f.arg("num_q_blocks"), t.i32(1));
  f.qBlock = t.sub(lastBlock, t.divU(rest, t.i32(p.numQHeads)));
  f.kvHead = t.divU(f.head, t.i32(p.numQHeads / p.numKvHeads));

  emitSequences(t, f, p);
  f.ctx = t.sub(f.kvLen, f.qLen);
  f.blockRow = t.mul(f.qBlock, t.i32(plan.blockM()));
  Value wave = tile::WaveIdOp::create(t.b, t.loc, t.b.getI32Type());
  f.waveRow = t.mul(wave, t.i32(plan.qPerWave));
  return f;
}

void emitRowSources(const TileBuilder &t, KernelFrame &f, attn::KernelOp op) {
  ProblemShape p = op.problem();
  auto source = [&](const std::string &name, StringRef rowStride, Storage storage, Value start,
                    Value head, int64_t cols, Type element) {
    RowSource r;
    r.stride = f.arg((name + rowStride).str());
    r.cols = cols;
    r.element = element;
    Value first = storage == Storage::Dense ? t.mul(t.widen(f.batch), f.arg(name + "_stride_batch"))
                                            : t.mul(start, r.stride);
    Value offset = t.add(first, t.mul(t.widen(head), f.arg(name + "_stride_head")));
    Value base = f.arg(name);
    r.ptr = LLVM::GEPOp::create(t.b, t.loc, base.getType(), element, base,
                                ArrayRef<LLVM::GEPArg>{offset});
    return r;
  };
  f.q = source("q", "_stride_token", p.qStorage, f.qStart, f.head, p.headDim, op.getDtype());
  f.k = source("k", "_stride_token", p.kvStorage, f.kvStart, f.kvHead, p.headDim, op.getDtype());
  f.v = source("v", "_stride_token", p.kvStorage, f.kvStart, f.kvHead, p.vHeadDim, op.getDtype());
  f.out =
      source("out", "_stride_token", p.qStorage, f.qStart, f.head, p.vHeadDim, op.getOutDtype());
  if (p.lse != LseKind::None)
    f.lse = source("lse", "_stride_row", p.qStorage, f.qStart, f.head, 1, t.b.getF32Type());
}

} // namespace attune
