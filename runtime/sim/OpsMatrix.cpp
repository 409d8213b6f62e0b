// MFMA and SMFMAC instructions: which registers and which shape. The arithmetic is in Matrix.h.
//
// The mnemonic says the shape: v_mfma_f32_32x32x16_bf16 is 32 x 32 x 16 with bf16 operands and f32
// sums, _2b_ counts blocks. Shapes are read from the mnemonics of the table once. EXEC and MODE do
// not matter to these instructions.
#include "runtime/sim/Matrix.h"
#include "runtime/sim/Ops.h"
#include <array>
#include <vector>

namespace attune::sim {
namespace {

struct MatrixOp {
  MfmaShape dense;
  SmfmacShape sparse;
};

MatType typeNamed(std::string_view s) {
  constexpr std::pair<std::string_view, MatType> kNames[] = {
      {"bf16", MatType::Bf16}, {"bf8", MatType::Bf8}, {"f16", MatType::F16}, {"f32", MatType::F32},
      {"f64", MatType::F64},   {"fp8", MatType::Fp8}, {"i32", MatType::I32}, {"i8", MatType::I8}};
  for (auto [name, type] : kNames)
    if (name == s)
      return type;
  return MatType::F32;
}

std::vector<std::string_view> split(std::string_view s, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    size_t at = s.find(by);
    parts.push_back(s.substr(0, at));
    if (at == s.npos)
      return parts;
    s.remove_prefix(at + 1);
  }
}

uint8_t number(std::string_view s) {
  int n = 0;
  for (char c : s)
    if (c >= '0' && c <= '9')
      n = 10 * n + (c - '0');
  return uint8_t(n);
}

/// v, mfma | smfmac, sums, MxNxK, [blocks], type of A, [type of B]
MatrixOp parse(std::string_view mnemonic) {
  std::vector<std::string_view> part = split(mnemonic, '_');
  std::vector<std::string_view> size = split(part[3], 'x');
  size_t next = 4;
  uint8_t blocks = 1;
  if (part[4].back() == 'b')
    blocks = number(part[next++]);
  MatType a = typeNamed(part[next]), b = typeNamed(part.back()), acc = typeNamed(part[2]);
  MatrixOp op;
  op.dense = {.m = number(size[0]),
              .n = number(size[1]),
              .k = number(size[2]),
              .blocks = blocks,
              .a = a,
              .b = b,
              .acc = acc};
  op.sparse = {.m = number(size[0]), .k = number(size[2]), .a = a, .b = b, .acc = acc};
  return op;
}

const MatrixOp &matrixOp(const Inst &i) {
  static const std::vector<MatrixOp> ops = [] {
    std::vector<MatrixOp> all(kOpcodeCount);
    for (uint32_t n = 0; n < kOpcodeCount; ++n)
      if (kOpcodes[n].run == matrixDense || kOpcodes[n].run == matrixSparse)
        all[n] = parse(kOpcodes[n].mnemonic);
    return all;
  }();
  return ops[i.opcode];
}

ConstLanes rows(Wave &w, const Operand &o) { return &w.row(o); }

/// C: registers, or a constant that every element starts from.
MfmaC accumulator(Wave &w, const Inst &i, bool wide) {
  const Operand &o = i.src[2];
  if (o.kind == OperandKind::Vgpr || o.kind == OperandKind::Agpr)
    return {.regs = rows(w, o)};
  if (!wide)
    return {.constant = scalar32(w, i, o)};
  uint64_t value = scalar64(w, i, o);
  return {.constant = uint32_t(value), .constantHigh = uint32_t(value >> 32)};
}

} // namespace

void matrixDense(Wave &w, const Inst &i) {
  const MfmaShape &shape = matrixOp(i).dense;
  DefaultFloatMode guard(w);
  mfma(shape, &w.row(i.dst), rows(w, i.src[0]), rows(w, i.src[1]),
       accumulator(w, i, shape.acc == MatType::F64),
       {.cbsz = i.abs, .abid = i.opSel, .blgp = i.neg});
}

void matrixSparse(Wave &w, const Inst &i) {
  DefaultFloatMode guard(w);
  smfmac(matrixOp(i).sparse, &w.row(i.dst), rows(w, i.src[0]), rows(w, i.src[1]), w.row(i.src[2]),
         i.abs, i.opSel);
}

void matrixF8f6f4(Wave &w, const Inst &i) {
  unsigned m = i.dst.dwords == 4 ? 16 : 32;
  MfmaShape shape = f8f6f4Shape(m, i.abs, i.neg);
  DefaultFloatMode guard(w);
  if (!(i.flags & Scaled)) {
    mfma(shape, &w.row(i.dst), rows(w, i.src[0]), rows(w, i.src[1]), accumulator(w, i, false));
    return;
  }
  uint64_t mask = kAllLanes;
  alignas(64) LaneRow buffer[2][2];
  SourceRows a = fetchSource(w, i, 3, Width::B32, buffer[0], mask);
  SourceRows b = fetchSource(w, i, 4, Width::B32, buffer[1], mask);
  mfmaScaled(shape, &w.row(i.dst), rows(w, i.src[0]), rows(w, i.src[1]), accumulator(w, i, false),
             {.a = a.lo, .b = b.lo, .aByte = uint8_t(i.ext & 3), .bByte = uint8_t(i.ext >> 2 & 3)});
}

} // namespace attune::sim
