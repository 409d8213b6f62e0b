// A layout is a linear map over GF(2) between named bit fields.
//
// The inputs say where a value sits (register, lane, wave, step ...), the outputs which element of
// the tile it is (row, col, key ...). All sizes are powers of two, so a coordinate is a few bits,
// and the map is given by the image of each input bit alone; the image of a sum (XOR) is the sum of
// the images. Every MFMA operand and accumulator of gfx950, every vector load, transposing LDS read
// and XOR swizzle is such a map, so questions about data movement become composing, inverting and
// comparing small matrices.
//
//   LinearLayout acc = *LinearLayout::parse("row=(r0,r1,l5,r2,r3) col=(l0..l4)");   // 32x32
//   accumulator acc.at("row", {{"register", 4}, {"lane", 32}})  ->  12
//
// Fields are packed low to high in the order of the dims. Misuse of names and sizes is a bug of the
// caller and asserts; what depends on data (parse, inverse) returns a Result.
#pragma once
#include "compiler/layout/Gf2.h"
#include "runtime/abi/Result.h"
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune::layout {

/// A named bit field.
struct Dim {
  std::string name;
  int bits = 0;
  bool operator==(const Dim &) const = default;
};

using Coord = std::pair<std::string_view, uint32_t>;

class LinearLayout {
public:
  /// The map of nothing to nothing; the unit of `product`.
  LinearLayout() = default;
  /// `columns[i]` is the packed image of packed input bit i. Inputs of no bits are dropped.
  LinearLayout(std::vector<Dim> ins, std::vector<Dim> outs, gf2::Columns columns);

  /// `in` counts through `out`.
  static LinearLayout identity(std::string in, std::string out, int bits);
  /// `in` changes nothing: all of its values hold the same element of `out` (which has no bits
  /// yet).
  static LinearLayout broadcast(std::string in, std::string out, int bits);
  /// Reads what str() prints: "row=(r0,r1^l0,l5) col=(l0..l4) free=(w0)". r, l, w, s stand for
  /// register, lane, wave, step; other inputs are spelled out ("block0"). `^` adds bits, `0` is an
  /// output bit that never changes, `free` lists input bits that move nothing.
  static Result<LinearLayout> parse(std::string_view text);
  std::string str() const;

  const std::vector<Dim> &ins() const { return ins_; }
  const std::vector<Dim> &outs() const { return outs_; }
  const gf2::Columns &columns() const { return columns_; }
  int inBits() const { return int(columns_.size()); }
  int outBits() const;
  int inBits(std::string_view name) const;  ///< 0 if there is no such input
  int outBits(std::string_view name) const; ///< 0 if there is no such output
  int inSize(std::string_view name) const { return 1 << inBits(name); }
  int outSize(std::string_view name) const { return 1 << outBits(name); }

  /// Packed output of a packed input.
  uint64_t operator()(uint64_t in) const { return gf2::apply(columns_, in); }
  /// One output field for the given inputs; inputs not named are 0.
  uint32_t at(std::string_view out, std::initializer_list<Coord> in) const;
  uint64_t packIn(std::initializer_list<Coord> in) const;
  uint32_t outField(uint64_t packed, std::string_view out) const;
  uint32_t inField(uint64_t packed, std::string_view in) const;
  /// The part of input `in`'s bit that lands in output `out`.
  uint32_t basis(std::string_view in, int bit, std::string_view out) const;

  bool isInjective() const { return gf2::rank(columns_) == inBits(); }
  bool isSurjective() const { return gf2::rank(columns_) == outBits(); }
  bool isBijective() const { return inBits() == outBits() && isInjective(); }
  /// Same fields, whatever their order, and same images.
  bool operator==(const LinearLayout &) const;

  /// This map, then `outer`, whose inputs are this map's outputs (by name).
  LinearLayout then(const LinearLayout &outer) const;
  /// Outputs back to inputs; an error unless bijective.
  Result<LinearLayout> inverse() const;
  /// Both maps side by side. A field that both have gets the bits of `high` above its own.
  LinearLayout product(const LinearLayout &high) const;
  /// Only these fields, in this order: other inputs stay 0, other outputs are not looked at.
  LinearLayout sublayout(const std::vector<std::string> &ins,
                         const std::vector<std::string> &outs) const;

  LinearLayout renameIn(std::string_view from, std::string to) const;
  LinearLayout renameOut(std::string_view from, std::string to) const;
  /// Exchanges the names of two outputs: the layout of the transposed tile.
  LinearLayout transposeOuts(std::string_view a, std::string_view b) const;
  /// Bit i of input `in` becomes what bit order[i] was.
  LinearLayout permuteIn(std::string_view in, const std::vector<int> &order) const;
  /// Cuts an input into several, low bits first. The parts must add up.
  LinearLayout splitIn(std::string_view in, const std::vector<Dim> &parts) const;
  /// Makes one input of several, the first lowest; the inverse of splitIn. It takes the place of
  /// the first.
  LinearLayout joinIns(const std::vector<std::string> &parts, std::string to) const;

private:
  std::vector<Dim> ins_, outs_;
  gf2::Columns columns_;
};

/// One step of computing a linear map on an integer with shifts and masks: XOR over all terms of
/// ((x & mask) << shift), a negative shift going right.
struct BitTerm {
  uint32_t mask = 0;
  int shift = 0;
  bool operator==(const BitTerm &) const = default;
};

/// The terms that take input `in` to output `out`, by ascending shift: what lowering emits for a
/// lane's address.
std::vector<BitTerm> bitTerms(const LinearLayout &, std::string_view in, std::string_view out);

} // namespace attune::layout
