// The instructions of a kernel as strict mode sees them: their facts, worked out when they are
// first met, and the registers they touch as bits, so that one test tells whether any of these is
// worth a look.
#pragma once
#include "runtime/sim/Machine.h"
#include "runtime/sim/strict/Facts.h"
#include <vector>

namespace attune::sim::strict {

/// Words of a set of registers, a bit for each cell, and one more whose bits are always set.
inline constexpr unsigned kCellWords = (kCells + 63) / 64, kAlways = kCellWords;

/// The registers that an instruction reads or writes, as bits of at most four words of a set.
/// Instructions that touch more, or that do something to every register's state (s_waitcnt), have a
/// bit of the word that is always set.
struct Touch {
  uint64_t mask[4] = {1, 0, 0, 0};
  uint8_t word[4] = {kAlways, 0, 0, 0};
};

class Program {
public:
  explicit Program(const Dispatch &);
  size_t size() const { return facts_.size(); }
  size_t indexOf(const Inst &i) const { return size_t(&i - code_); }
  const Inst &at(size_t index) const { return code_[index]; }
  const Facts &factsAt(const Inst &i) {
    const Facts &f = facts_[indexOf(i)];
    return f.known ? f : learn(i);
  }
  /// "Always" until factsAt has been called.
  const Touch &touchAt(const Inst &i) const { return touches_[indexOf(i)]; }

private:
  const Facts &learn(const Inst &);

  const Inst *code_;
  uint64_t textBase_;
  uint32_t accumOffset_;
  std::vector<Facts> facts_;
  std::vector<Touch> touches_;
};

} // namespace attune::sim::strict
