// A builder with the few words that schedules use: i32 arithmetic, constants, tile.map with a
// lambda as its body.
#pragma once
#include "compiler/dialect/tile/TileOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

namespace attune {

struct TileBuilder {
  mlir::OpBuilder &b;
  mlir::Location loc;

  mlir::Value i32(int64_t v) const {
    return mlir::arith::ConstantIntOp::create(b, loc, b.getI32Type(), v);
  }
  mlir::Value i64(int64_t v) const {
    return mlir::arith::ConstantIntOp::create(b, loc, b.getI64Type(), v);
  }
  mlir::Value f32(double v) const {
    return mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(v)));
  }
  mlir::Value negInf() const {
    return mlir::arith::ConstantOp::create(
        b, loc,
        b.getFloatAttr(b.getF32Type(),
                       llvm::APFloat::getInf(llvm::APFloat::IEEEsingle(), /*Negative=*/true)));
  }

  // Integers: both operands i32 or both i64.
  mlir::Value add(mlir::Value x, mlir::Value y) const {
    return mlir::arith::AddIOp::create(b, loc, x, y);
  }
  mlir::Value sub(mlir::Value x, mlir::Value y) const {
    return mlir::arith::SubIOp::create(b, loc, x, y);
  }
  mlir::Value mul(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MulIOp::create(b, loc, x, y);
  }
  mlir::Value divU(mlir::Value x, mlir::Value y) const {
    return mlir::arith::DivUIOp::create(b, loc, x, y);
  }
  mlir::Value remU(mlir::Value x, mlir::Value y) const {
    return mlir::arith::RemUIOp::create(b, loc, x, y);
  }
  mlir::Value minS(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MinSIOp::create(b, loc, x, y);
  }
  mlir::Value maxS(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MaxSIOp::create(b, loc, x, y);
  }
  mlir::Value shrS(mlir::Value x, int64_t n) const {
    return mlir::arith::ShRSIOp::create(b, loc, x, i32(n));
  }
  mlir::Value widen(mlir::Value x) const {
    return mlir::arith::ExtSIOp::create(b, loc, b.getI64Type(), x);
  }
  mlir::Value narrow(mlir::Value x) const {
    return mlir::arith::TruncIOp::create(b, loc, b.getI32Type(), x);
  }
  mlir::Value cmp(mlir::arith::CmpIPredicate p, mlir::Value x, mlir::Value y) const {
    return mlir::arith::CmpIOp::create(b, loc, p, x, y);
  }
  mlir::Value select(mlir::Value c, mlir::Value x, mlir::Value y) const {
    return mlir::arith::SelectOp::create(b, loc, c, x, y);
  }

  // f32.
  mlir::Value addF(mlir::Value x, mlir::Value y) const {
    return mlir::arith::AddFOp::create(b, loc, x, y);
  }
  mlir::Value subF(mlir::Value x, mlir::Value y) const {
    return mlir::arith::SubFOp::create(b, loc, x, y);
  }
  mlir::Value mulF(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MulFOp::create(b, loc, x, y);
  }
  mlir::Value fma(mlir::Value x, mlir::Value y, mlir::Value z) const {
    return mlir::math::FmaOp::create(b, loc, x, y, z);
  }
  mlir::Value maxF(mlir::Value x, mlir::Value y) const {
    return mlir::arith::MaxNumFOp::create(b, loc, x, y);
  }
  mlir::Value exp2(mlir::Value x) const { return mlir::math::Exp2Op::create(b, loc, x); }
  mlir::Value log2(mlir::Value x) const { return mlir::math::Log2Op::create(b, loc, x); }

  mlir::Value splat(tile::FragType type, mlir::Value v) const {
    return tile::SplatOp::create(b, loc, type, v);
  }

  using Branch = llvm::function_ref<mlir::Value(const TileBuilder &)>;

  /// scf.if with one result.
  mlir::Value choose(mlir::Value condition, Branch yes, Branch no) const {
    auto op = mlir::scf::IfOp::create(
        b, loc, condition, [&](auto &, auto) { yield(yes(*this)); },
        [&](auto &, auto) { yield(no(*this)); });
    return op.getResult(0);
  }
  void yield(mlir::ValueRange values) const { mlir::scf::YieldOp::create(b, loc, values); }

  /// scf.for by ones over [begin, end) that carries a `State`: a type with values() and from().
  template <class State, class Body>
  State loop(mlir::Value begin, mlir::Value end, const State &initial, Body body) const {
    auto op = mlir::scf::ForOp::create(b, loc, begin, end, i32(1), initial.values());
    mlir::OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(op.getBody());
    yield(body(*this, op.getInductionVar(), State::from(op.getRegionIterArgs())).values());
    return State::from(op.getResults());
  }

  using MapBody = llvm::function_ref<mlir::Value(const TileBuilder &, mlir::ValueRange elements,
                                                 mlir::Value row, mlir::Value col)>;

  /// tile.map: `body` gets one element of each input and the coordinates, and returns the element
  /// of the result.
  mlir::Value map(tile::FragType result, mlir::ValueRange inputs, MapBody body) const {
    auto op = tile::MapOp::create(b, loc, result, inputs);
    mlir::Block *block = b.createBlock(&op.getBody());
    for (mlir::Value in : inputs)
      block->addArgument(llvm::cast<tile::FragType>(in.getType()).getElementType(), loc);
    mlir::Value row = block->addArgument(b.getI32Type(), loc),
                col = block->addArgument(b.getI32Type(), loc);
    mlir::Value y = body(*this, block->getArguments().take_front(inputs.size()), row, col);
    tile::YieldOp::create(b, loc, y);
    b.setInsertionPointAfter(op);
    return op.getResult();
  }
};

} // namespace attune
