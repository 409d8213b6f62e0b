// The compact text of a layout, for tests, IR and explain: each output lists, low to high, which
// input bits it is the XOR of. "row=(r0,r1,l5,r2,r3) col=(l0..l4)"; see LinearLayout::parse.
#include "compiler/layout/LinearLayout.h"
#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <fmt/format.h>

namespace attune::layout {

namespace {

/// Inputs that are written as one letter.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> shortNames = {
    {{"l", "lane"}, {"r", "register"}, {"s", "step"}, {"w", "wave"}}};

std::string shortName(const std::string &name) {
  for (auto &[letter, full] : shortNames)
    if (full == name)
      return std::string(letter);
  return name;
}

std::string fullName(std::string_view name) {
  for (auto &[letter, full] : shortNames)
    if (letter == name)
      return std::string(full);
  return std::string(name);
}

/// One input bit as text names it.
struct BitName {
  std::string dim; ///< short
  int bit = 0;
  std::string str() const { return fmt::format("{}{}", dim, bit); }
};

std::vector<BitName> namesOfInputBits(const std::vector<Dim> &ins) {
  std::vector<BitName> names;
  for (const Dim &d : ins)
    for (int i = 0; i < d.bits; ++i)
      names.push_back({shortName(d.name), i});
  return names;
}

/// "(a,b,c)", three or more counting bits as "l0..l4". An entry is the set of input bits it is the
/// XOR of.
std::string printGroup(const std::string &name, const gf2::Columns &entries,
                       const std::vector<BitName> &names) {
  auto single = [&](size_t i) { return i < entries.size() && std::has_single_bit(entries[i]); };
  auto bitOf = [&](size_t i) -> const BitName & { return names[std::countr_zero(entries[i])]; };
  auto follows = [&](size_t i) {
    return single(i) && single(i - 1) && bitOf(i).dim == bitOf(i - 1).dim &&
           bitOf(i).bit == bitOf(i - 1).bit + 1;
  };
  std::vector<std::string> items;
  for (size_t i = 0; i < entries.size(); ++i) {
    size_t last = i;
    while (single(i) && follows(last + 1))
      ++last;
    if (last >= i + 2) {
      items.push_back(fmt::format("{}..{}", bitOf(i).str(), bitOf(last).str()));
      i = last;
      continue;
    }
    std::vector<std::string> addends;
    for (uint64_t rest = entries[i]; rest; rest &= rest - 1)
      addends.push_back(names[std::countr_zero(rest)].str());
    items.push_back(addends.empty() ? "0" : fmt::format("{}", fmt::join(addends, "^")));
  }
  return fmt::format("{}=({})", name, fmt::join(items, ","));
}

class Parser {
public:
  explicit Parser(std::string_view text) : text_(text) {}

  Result<LinearLayout> run() {
    while (fault_.empty() && !atEnd())
      group();
    if (!fault_.empty())
      return Error{ErrorCode::InvalidArgument, fmt::format("layout text '{}': {}", text_, fault_)};
    return build();
  }

private:
  using Entry = std::vector<BitName>; // dims in full
  struct Group {
    std::string name;
    std::vector<Entry> entries;
  };

  void skipSpace() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_])))
      ++pos_;
  }
  bool atEnd() {
    skipSpace();
    return pos_ == text_.size();
  }
  bool take(std::string_view token) {
    skipSpace();
    if (text_.substr(pos_, token.size()) != token)
      return false;
    pos_ += token.size();
    return true;
  }
  void fail(std::string_view what) {
    if (fault_.empty())
      fault_ = fmt::format("expected {} at column {}", what, pos_ + 1);
  }
  void expect(std::string_view token) {
    if (!take(token))
      fail(fmt::format("'{}'", token));
  }

  /// Letters, underscores and inner digits; a bit's number is split off by `bit`.
  std::string word() {
    skipSpace();
    size_t begin = pos_;
    while (pos_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[pos_])) || text_[pos_] == '_'))
      ++pos_;
    return std::string(text_.substr(begin, pos_ - begin));
  }

  BitName bit() {
    std::string w = word();
    size_t digits = w.size();
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(w[digits - 1])))
      --digits;
    if (digits == 0 || digits == w.size() || w.size() - digits > 2) {
      fail("an input bit such as l3");
      return {};
    }
    return {fullName(std::string_view(w).substr(0, digits)), std::stoi(w.substr(digits))};
  }

  /// One item: "0", "l0..l4" (several entries) or "r0^l1".
  void item(std::vector<Entry> &entries) {
    if (take("0"))
      return entries.push_back({});
    Entry entry = {bit()};
    if (take("..")) {
      BitName last = bit();
      if (last.dim != entry[0].dim || last.bit < entry[0].bit)
        return fail("a rising range of one input");
      for (int i = entry[0].bit; i <= last.bit; ++i)
        entries.push_back({{last.dim, i}});
      return;
    }
    while (fault_.empty() && take("^"))
      entry.push_back(bit());
    entries.push_back(std::move(entry));
  }

  void group() {
    Group g{word(), {}};
    if (g.name.empty())
      return fail("an output name");
    for (const Group &other : groups_)
      if (other.name == g.name)
        return fail("an output that was not given before");
    expect("="), expect("(");
    if (fault_.empty() && !take(")")) {
      do
        item(g.entries);
      while (fault_.empty() && take(","));
      expect(")");
    }
    groups_.push_back(std::move(g));
  }

  /// Inputs are as wide as their highest bit named, in the order register, lane, wave, then as they
  /// come.
  std::vector<Dim> inputs() const {
    std::vector<Dim> ins = {{"register", 0}, {"lane", 0}, {"wave", 0}};
    for (const Group &g : groups_)
      for (const Entry &e : g.entries)
        for (const BitName &b : e) {
          auto it =
              std::find_if(ins.begin(), ins.end(), [&](const Dim &d) { return d.name == b.dim; });
          if (it == ins.end())
            it = ins.insert(ins.end(), Dim{b.dim, 0});
          it->bits = std::max(it->bits, b.bit + 1);
        }
    std::erase_if(ins, [](const Dim &d) { return d.bits == 0; });
    return ins;
  }

  Result<LinearLayout> build() const {
    std::vector<Dim> ins = inputs(), outs;
    int inBits = 0, outBits = 0;
    for (const Dim &d : ins)
      inBits += d.bits;
    gf2::Columns columns(std::min(inBits, 64), 0);
    for (const Group &g : groups_) {
      if (g.name == "free")
        continue;
      outs.push_back({g.name, int(g.entries.size())});
      for (const Entry &e : g.entries) {
        for (const BitName &b : e) {
          int offset = 0;
          for (const Dim &d : ins) {
            if (d.name == b.dim)
              break;
            offset += d.bits;
          }
          if (offset + b.bit < 63 && outBits < 63)
            columns[offset + b.bit] ^= uint64_t(1) << outBits;
        }
        ++outBits;
      }
    }
    if (inBits > 63 || outBits > 63)
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("layout text '{}': {} input and {} output bits, the limit is 63",
                               text_, inBits, outBits)};
    return LinearLayout(std::move(ins), std::move(outs), std::move(columns));
  }

  std::string_view text_;
  size_t pos_ = 0;
  std::string fault_;
  std::vector<Group> groups_;
};

} // namespace

std::string LinearLayout::str() const {
  const std::vector<BitName> names = namesOfInputBits(ins_);
  const gf2::Columns rows = gf2::transpose(columns_, outBits());
  std::vector<std::string> groups;
  auto row = rows.begin();
  for (const Dim &d : outs_) {
    groups.push_back(printGroup(d.name, gf2::Columns(row, row + d.bits), names));
    row += d.bits;
  }
  gf2::Columns unused;
  for (size_t i = 0; i < columns_.size(); ++i)
    if (!columns_[i])
      unused.push_back(uint64_t(1) << i);
  if (!unused.empty())
    groups.push_back(printGroup("free", unused, names));
  return fmt::format("{}", fmt::join(groups, " "));
}

Result<LinearLayout> LinearLayout::parse(std::string_view text) { return Parser(text).run(); }

} // namespace attune::layout
