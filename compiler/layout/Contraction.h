// A contraction's order is free as long as both operands agree; this is what makes P = softmax(S)
// need no movement.
//
// S^T = K Q^T leaves keys on accumulator rows. O^T = V^T P^T contracts over keys and wants P^T as
// its B operand. Both have the query on the same lanes, so the accumulator registers already *are*
// B operands, of a contraction that runs over the keys in another order. contractionOrder finds
// that order; transposingReadSource then tells each lane what to read so that V^T arrives as the A
// operand of the same order.
#pragma once
#include "compiler/layout/LinearLayout.h"

namespace attune::layout {

struct ContractionOrder {
  /// (k, step) -> row of the accumulator: which row index k of contraction step `step` stands for.
  LinearLayout rowOf;
  /// log2 of the elements a lane gives to one step: accumulator register r is element r mod 2^bits
  /// of step r >> bits.
  int elementBits = 0;
  int steps() const { return rowOf.inSize("step"); }
};

/// The order in which `accumulator` ((register, lane) -> (row, col); more registers than one
/// instruction's for a tile of several) is operand `b` ((register, lane) -> (k, col)). An error
/// names the lane bit that would have to move.
Result<ContractionOrder> contractionOrder(const LinearLayout &accumulator, const LinearLayout &b);

/// What ds_read_b64_tr_b{16,8,4} does, (register, lane) -> (element, lane): the lane whose 64 bits,
/// and the element of them, that ends up in this register. Within 16 lanes, lane i gets element i %
/// n of lane (16 * register + i) / n, where n is the number of elements in 64 bits.
LinearLayout transposingRead(int bitsPerElement);

/// Where each lane must read so that transposing reads give the fragment `wanted`, (register, lane,
/// ...) -> (...). The 64 bits of a lane run along output `along`. Registers beyond one read's
/// become the input "read"; the result is (lane, read, ...) -> the coordinates of the first element
/// of each lane's 64 bits.
Result<LinearLayout> transposingReadSource(const LinearLayout &wanted, std::string_view along,
                                           int bitsPerElement);

} // namespace attune::layout
