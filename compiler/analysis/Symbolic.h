// Integer expressions of the mask analysis, in a form where equal ones look equal.
//
// A Sum is a constant plus terms, each a whole factor times a Symbol: a variable (k, q, ...), a
// value that is the same for the whole workgroup, or floor division, min or max of Sums. Terms are
// kept sorted by a text key and cancel:
//   (q - w) - (q - 5)  is  5 - w          4 * (k / 4) stays 4 * floor(k / 4)
// No Sum ever overflows by itself; magnitudes are checked where they are read from the IR
// (MaskFormula.cpp).
//
// `provesLe(a, b)` is a small sound prover: true means a <= b for every value of the variables;
// false means nothing. It knows q0 <= q1, kv_len >= 0 and x - n < n * floor(x / n) <= x.
#pragma once
#include "compiler/analysis/MaskBounds.h"
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace attune::analysis {

struct Symbol;

class Sum {
public:
  struct Term {
    std::shared_ptr<const Symbol> symbol;
    int64_t factor = 0;
  };

  Sum(int64_t constant = 0) : constant_(constant) {}
  static Sum of(std::shared_ptr<const Symbol>, int64_t factor = 1);

  int64_t constant() const { return constant_; }
  const std::map<std::string, Term> &terms() const { return terms_; }
  bool isConstant() const { return terms_.empty(); }
  /// The symbol if this is 1 * symbol + 0, else null.
  const Symbol *asSymbol() const;
  std::string key() const;

  Sum &operator+=(const Sum &);
  friend Sum operator+(Sum a, const Sum &b) { return a += b; }
  friend Sum operator-(Sum a, const Sum &b) { return a += b * -1; }
  friend Sum operator*(const Sum &, int64_t factor);
  friend bool operator==(const Sum &a, const Sum &b) { return a.key() == b.key(); }

private:
  int64_t constant_ = 0;
  std::map<std::string, Term> terms_; // by key of the symbol; no factor is 0
};

struct Symbol {
  enum Kind { Q, Q0, Q1, K, KvLen, Uniform, Opaque, FloorDiv, Min, Max };
  Kind kind;
  mlir::Value value;         ///< Uniform, Opaque: the value of the region
  std::vector<Sum> operands; ///< FloorDiv: one; Min, Max: two or more, sorted
  int64_t divisor = 1;       ///< FloorDiv: > 0
  std::string key;
};

/// Q, Q0, Q1, K or KvLen.
Sum variable(Symbol::Kind);
/// A value of the region, taken as it is: Uniform if it is the same for every q and k, else Opaque.
Sum valueSymbol(mlir::Value, bool uniform);
Sum floorDiv(const Sum &, int64_t divisor);
/// Without operands that another makes superfluous.
Sum minOf(std::vector<Sum>);
Sum maxOf(std::vector<Sum>);

/// No limit (2^30 - 1) if x >= 0, else -1: as an upper end it hides everything. Positions stay
/// below 2^30.
Sum gate(const Sum &x);
inline constexpr int64_t kNoLimit = int64_t(1) << 30;

bool contains(const Sum &, Symbol::Kind);
bool provesLe(const Sum &a, const Sum &b);

/// How a Sum changes when q grows.
enum class Slope { Flat, Rising, Falling, Mixed };
Slope slopeInQ(const Sum &);

/// The least (or greatest) value while q runs from `first` to `last`; tight unless the slope is
/// mixed.
Sum leastInQ(const Sum &, const Sum &first, const Sum &last);
Sum greatestInQ(const Sum &, const Sum &first, const Sum &last);

/// Replaces the symbol with this key wherever it stands, inside other symbols too.
Sum replace(const Sum &, const std::string &key, const Sum &with);
/// Replaces it as a term of the sum only. For bounds: where max(a, b) stands, a is no more; but a
/// max inside another symbol may count the other way.
Sum replaceTerm(const Sum &, const std::string &key, const Sum &with);

Bound toBound(const Sum &);

} // namespace attune::analysis
