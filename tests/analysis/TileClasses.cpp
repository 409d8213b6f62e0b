#include "tests/analysis/TileClasses.h"
#include "compiler/analysis/ValueText.h"
#include "mlir/IR/BuiltinOps.h"

namespace attune::test {
using namespace mlir;

Analysed::Analysed(MLIRContext &context, Mask m)
    : mask(std::move(m)), module(ModuleOp::create(UnknownLoc::get(&context))) {
  bounds = analysis::analyzeMask(buildKernel(*module, mask, origin));
}

int64_t Analysed::value(const analysis::Bound &bound, const World &w, const QBlock &block) const {
  auto uniform = [&](Value v) {
    if (auto it = origin.find(v); it != origin.end())
      return evaluate(*it->second, w, 0, 0);
    // An argument that the mask names only by way of another one (q_len by way of ctx).
    assert(cast<BlockArgument>(v).getArgNumber() + 1 == static_cast<unsigned>(attn::BodyArg::Ctx));
    return w.ctx();
  };
  return analysis::evaluate(bound, block.q0, block.q1, w.kvLen, uniform);
}

TileClass Analysed::classify(const World &w, const QBlock &block, int64_t firstKey) const {
  int64_t lastKey = firstKey + block.tile - 1;
  TileClass result = TileClass::Empty;
  for (const analysis::VisibleInterval &i : bounds.intervals) {
    int64_t anyLo = value(i.anyLo, w, block), anyHi = value(i.anyHi, w, block);
    if (value(i.allLo, w, block) <= firstKey && lastKey <= value(i.allHi, w, block))
      return TileClass::Full;
    if (std::max(anyLo, firstKey) <= std::min(anyHi, lastKey))
      result = TileClass::Partial;
  }
  return result;
}

TileClass bruteForce(const Node &mask, const World &w, const QBlock &block, int64_t firstKey) {
  bool any = false, all = firstKey + block.tile <= w.kvLen;
  for (int64_t q = block.q0; q <= block.q1; ++q)
    for (int64_t k = firstKey; k < std::min(firstKey + block.tile, w.kvLen); ++k)
      if (evaluate(mask, w, q, k))
        any = true;
      else
        all = false;
  return all ? TileClass::Full : any ? TileClass::Partial : TileClass::Empty;
}

std::string Analysed::str(const World &w, const QBlock &block) const {
  attn::KernelOp kernel = *module.get()->getRegion(0).getOps<attn::KernelOp>().begin();
  std::string text = analysis::valueText(kernel.maskBody()->getTerminator()->getOperand(0));
  for (const analysis::VisibleInterval &i : bounds.intervals)
    for (const analysis::Bound *bound : {&i.anyLo, &i.anyHi, &i.allLo, &i.allHi})
      text += "\n  " + bound->str() + " = " + std::to_string(value(*bound, w, block));
  text += bounds.exact ? "\n  exact" : "\n  not exact: " + bounds.unanalysed;
  auto add = [&](const char *name, int64_t n) {
    text += std::string(" ") + name + "=" + std::to_string(n);
  };
  text += "\n ";
  add("q0", block.q0), add("q1", block.q1), add("tile", block.tile), add("kv_len", w.kvLen),
      add("q_len", w.qLen);
  add("b", w.b), add("h", w.h), add("w0", w.scalars[0]), add("w1", w.scalars[1]),
      add("lim", w.perBatch[w.b]);
  return text;
}

} // namespace attune::test
