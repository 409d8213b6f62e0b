// Field bookkeeping around the matrices of Gf2.h.
#include "compiler/layout/LinearLayout.h"
#include <algorithm>
#include <bit>
#include <cassert>
#include <fmt/format.h>
#include <map>

namespace attune::layout {

namespace {

/// Where a field lies in a packed integer.
struct Field {
  int offset = 0, bits = 0;
  uint64_t mask() const { return (uint64_t(1) << bits) - 1; }
  uint64_t get(uint64_t packed) const { return packed >> offset & mask(); }
};

int totalBits(const std::vector<Dim> &dims) {
  int bits = 0;
  for (const Dim &d : dims)
    bits += d.bits;
  return bits;
}

bool has(const std::vector<Dim> &dims, std::string_view name) {
  return std::any_of(dims.begin(), dims.end(), [&](const Dim &d) { return d.name == name; });
}

/// A field that is not there has no bits.
Field fieldOf(const std::vector<Dim> &dims, std::string_view name) {
  int offset = 0;
  for (const Dim &d : dims) {
    if (d.name == name)
      return {offset, d.bits};
    offset += d.bits;
  }
  return {offset, 0};
}

/// Repacks a value of the fields `from` as fields `to`, matching names; fields that `to` lacks are
/// dropped.
uint64_t repack(uint64_t packed, const std::vector<Dim> &from, const std::vector<Dim> &to) {
  uint64_t result = 0;
  int offset = 0;
  for (const Dim &d : to) {
    result |= fieldOf(from, d.name).get(packed) << offset;
    offset += d.bits;
  }
  return result;
}

std::vector<Dim> select(const std::vector<Dim> &dims, const std::vector<std::string> &names) {
  std::vector<Dim> chosen;
  for (const std::string &name : names)
    chosen.push_back({name, fieldOf(dims, name).bits});
  return chosen;
}

void rename(std::vector<Dim> &dims, std::string_view from, std::string to) {
  for (Dim &d : dims)
    if (d.name == from) {
      d.name = std::move(to);
      return;
    }
}

/// The fields of `low` followed by the new ones of `high`, shared ones as wide as both together.
std::vector<Dim> stack(const std::vector<Dim> &low, const std::vector<Dim> &high) {
  std::vector<Dim> dims = low;
  for (const Dim &h : high) {
    auto it =
        std::find_if(dims.begin(), dims.end(), [&](const Dim &d) { return d.name == h.name; });
    if (it == dims.end())
      dims.push_back(h);
    else
      it->bits += h.bits;
  }
  return dims;
}

/// Places a value of fields `part` into fields `whole`, each above the `below` bits its field
/// already has.
uint64_t place(uint64_t packed, const std::vector<Dim> &part, const std::vector<Dim> &whole,
               const std::vector<Dim> &below) {
  uint64_t result = 0;
  for (const Dim &d : part)
    result |= fieldOf(part, d.name).get(packed)
              << (fieldOf(whole, d.name).offset + fieldOf(below, d.name).bits);
  return result;
}

} // namespace

LinearLayout::LinearLayout(std::vector<Dim> ins, std::vector<Dim> outs, gf2::Columns columns)
    : ins_(std::move(ins)), outs_(std::move(outs)), columns_(std::move(columns)) {
  std::erase_if(ins_, [](const Dim &d) { return d.bits == 0; });
  assert(int(columns_.size()) == totalBits(ins_) && totalBits(outs_) < 64 &&
         "fields and columns disagree");
}

LinearLayout LinearLayout::identity(std::string in, std::string out, int bits) {
  gf2::Columns columns;
  for (int i = 0; i < bits; ++i)
    columns.push_back(uint64_t(1) << i);
  return {{{std::move(in), bits}}, {{std::move(out), bits}}, std::move(columns)};
}

LinearLayout LinearLayout::broadcast(std::string in, std::string out, int bits) {
  return {{{std::move(in), bits}}, {{std::move(out), 0}}, gf2::Columns(bits, 0)};
}

int LinearLayout::outBits() const { return totalBits(outs_); }
int LinearLayout::inBits(std::string_view name) const { return fieldOf(ins_, name).bits; }
int LinearLayout::outBits(std::string_view name) const { return fieldOf(outs_, name).bits; }

uint64_t LinearLayout::packIn(std::initializer_list<Coord> in) const {
  uint64_t packed = 0;
  for (auto &[name, value] : in) {
    Field f = fieldOf(ins_, name);
    assert(value <= f.mask() && "coordinate outside its field");
    packed |= uint64_t(value) << f.offset;
  }
  return packed;
}

uint32_t LinearLayout::outField(uint64_t packed, std::string_view out) const {
  return uint32_t(fieldOf(outs_, out).get(packed));
}

uint32_t LinearLayout::inField(uint64_t packed, std::string_view in) const {
  return uint32_t(fieldOf(ins_, in).get(packed));
}

uint32_t LinearLayout::at(std::string_view out, std::initializer_list<Coord> in) const {
  return outField((*this)(packIn(in)), out);
}

uint32_t LinearLayout::basis(std::string_view in, int bit, std::string_view out) const {
  Field f = fieldOf(ins_, in);
  assert(bit < f.bits && "no such input bit");
  return outField(columns_[f.offset + bit], out);
}

bool LinearLayout::operator==(const LinearLayout &other) const {
  auto sameFields = [](const std::vector<Dim> &a, const std::vector<Dim> &b) {
    return std::is_permutation(a.begin(), a.end(), b.begin(), b.end());
  };
  if (!sameFields(ins_, other.ins_) || !sameFields(outs_, other.outs_))
    return false;
  for (int i = 0; i < inBits(); ++i) {
    uint64_t theirs = other(repack(uint64_t(1) << i, ins_, other.ins_));
    if (repack(theirs, other.outs_, outs_) != columns_[i])
      return false;
  }
  return true;
}

LinearLayout LinearLayout::then(const LinearLayout &outer) const {
  for ([[maybe_unused]] const Dim &d : outs_)
    assert(outer.inBits(d.name) == d.bits && "the outer map lacks this field");
  assert(outer.inBits() == outBits() && "the outer map wants more fields");
  gf2::Columns columns;
  for (uint64_t column : columns_)
    columns.push_back(outer(repack(column, outs_, outer.ins_)));
  return {ins_, outer.outs_, std::move(columns)};
}

Result<LinearLayout> LinearLayout::inverse() const {
  if (inBits() != outBits())
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("layout {} has {} input and {} output bits and can't be inverted",
                             str(), inBits(), outBits())};
  auto columns = gf2::inverse(columns_);
  if (!columns)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("layout {} has rank {} of {} and can't be inverted", str(),
                             gf2::rank(columns_), inBits())};
  return LinearLayout(outs_, ins_, std::move(*columns));
}

LinearLayout LinearLayout::product(const LinearLayout &high) const {
  std::vector<Dim> ins = stack(ins_, high.ins_), outs = stack(outs_, high.outs_);
  gf2::Columns columns(totalBits(ins), 0);
  for (int i = 0; i < inBits(); ++i) {
    uint64_t bit = place(uint64_t(1) << i, ins_, ins, {});
    columns[std::countr_zero(bit)] = place(columns_[i], outs_, outs, {});
  }
  for (int i = 0; i < high.inBits(); ++i) {
    uint64_t bit = place(uint64_t(1) << i, high.ins_, ins, ins_);
    columns[std::countr_zero(bit)] = place(high.columns_[i], high.outs_, outs, outs_);
  }
  return {std::move(ins), std::move(outs), std::move(columns)};
}

LinearLayout LinearLayout::sublayout(const std::vector<std::string> &ins,
                                     const std::vector<std::string> &outs) const {
  std::vector<Dim> newIns = select(ins_, ins), newOuts = select(outs_, outs);
  gf2::Columns columns;
  for (int i = 0, n = totalBits(newIns); i < n; ++i)
    columns.push_back(repack((*this)(repack(uint64_t(1) << i, newIns, ins_)), outs_, newOuts));
  return {std::move(newIns), std::move(newOuts), std::move(columns)};
}

LinearLayout LinearLayout::renameIn(std::string_view from, std::string to) const {
  assert(!has(ins_, to) && "renaming would merge two fields");
  LinearLayout copy = *this;
  rename(copy.ins_, from, std::move(to));
  return copy;
}

LinearLayout LinearLayout::renameOut(std::string_view from, std::string to) const {
  assert(!has(outs_, to) && "renaming would merge two fields");
  LinearLayout copy = *this;
  rename(copy.outs_, from, std::move(to));
  return copy;
}

LinearLayout LinearLayout::transposeOuts(std::string_view a, std::string_view b) const {
  LinearLayout copy = *this;
  for (Dim &d : copy.outs_) {
    if (d.name == a)
      d.name = b;
    else if (d.name == b)
      d.name = a;
  }
  return copy;
}

LinearLayout LinearLayout::permuteIn(std::string_view in, const std::vector<int> &order) const {
  Field f = fieldOf(ins_, in);
  assert(int(order.size()) == f.bits && "an order names every bit once");
  LinearLayout copy = *this;
  for (int i = 0; i < f.bits; ++i)
    copy.columns_[f.offset + i] = columns_[f.offset + order[i]];
  return copy;
}

LinearLayout LinearLayout::splitIn(std::string_view in, const std::vector<Dim> &parts) const {
  assert(totalBits(parts) == inBits(in) && "the parts don't add up");
  std::vector<Dim> ins;
  for (const Dim &d : ins_) {
    if (d.name == in)
      ins.insert(ins.end(), parts.begin(), parts.end());
    else
      ins.push_back(d);
  }
  return {std::move(ins), outs_, columns_};
}

LinearLayout LinearLayout::joinIns(const std::vector<std::string> &parts, std::string to) const {
  std::vector<std::string> order;
  for (const Dim &d : ins_)
    if (std::find(parts.begin(), parts.end(), d.name) == parts.end())
      order.push_back(d.name);
  const auto first = std::find_if(ins_.begin(), ins_.end(), [&](const Dim &d) {
    return std::find(parts.begin(), parts.end(), d.name) != parts.end();
  });
  const size_t before = std::min<size_t>(first - ins_.begin(), order.size());
  order.insert(order.begin() + before, parts.begin(), parts.end());
  LinearLayout sorted = sublayout(order, [&] {
    std::vector<std::string> names;
    for (const Dim &d : outs_)
      names.push_back(d.name);
    return names;
  }());
  std::vector<Dim> ins;
  int joined = 0;
  for (const std::string &p : parts)
    joined += inBits(p);
  for (size_t i = 0; i < order.size(); ++i) {
    if (i == before)
      ins.push_back({to, joined});
    if (i < before || i >= before + parts.size())
      ins.push_back({order[i], inBits(order[i])});
  }
  return {std::move(ins), outs_, sorted.columns_};
}

std::vector<BitTerm> bitTerms(const LinearLayout &layout, std::string_view in,
                              std::string_view out) {
  std::map<int, uint32_t> maskOfShift;
  for (int i = 0; i < layout.inBits(in); ++i)
    for (uint32_t image = layout.basis(in, i, out); image; image &= image - 1)
      maskOfShift[std::countr_zero(image) - i] |= uint32_t(1) << i;
  std::vector<BitTerm> terms;
  for (auto &[shift, mask] : maskOfShift)
    terms.push_back({mask, shift});
  return terms;
}

} // namespace attune::layout
