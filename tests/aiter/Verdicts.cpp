#include "tests/aiter/Verdicts.h"
#include <algorithm>
#include <string_view>

namespace aitertest {
namespace {

enum class Place { Any, Same, Across, Own };

struct Verdict {
  std::string_view name, kind;
  Place place;
  std::string_view instruction, other, families;
};

constexpr Verdict kVerdicts[] = {
#define AITER_VERDICT(name, kind, place, instruction, other, families, rule, why)                  \
  {name, kind, Place::place, instruction, other, families},
#include "tests/aiter/Verdicts.def"
#undef AITER_VERDICT
};
static_assert(std::ranges::is_sorted(kVerdicts, {}, &Verdict::name));

/// Does fn hold for one of the words of a list?
template <class Fn> bool anyWord(std::string_view list, Fn fn) {
  while (!list.empty()) {
    size_t end = std::min(list.find(' '), list.size());
    if (fn(list.substr(0, end)))
      return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

bool startsWithOne(std::string_view mnemonic, std::string_view list) {
  return list.empty() ? mnemonic.empty()
                      : anyWord(list, [&](auto start) { return mnemonic.starts_with(start); });
}

Place placeOf(const attune::sim::strict::Finding &f) {
  if (!f.subject.starts_with("LDS ") || f.other.empty())
    return Place::Any;
  if (f.message.find("no barrier in between") != f.message.npos)
    return Place::Same;
  return f.wave == uint32_t(f.otherWave) ? Place::Own : Place::Across;
}

Verdicts *living = nullptr;

} // namespace

std::string verdictOn(const std::string &file, const attune::sim::strict::Finding &f) {
  std::string_view family = std::string_view(file).substr(0, file.find('/'));
  for (const Verdict &v : kVerdicts)
    if (v.kind == name(f.kind) && v.place == placeOf(f) &&
        startsWithOne(f.instruction, v.instruction) && startsWithOne(f.other, v.other) &&
        anyWord(v.families, [&](auto one) { return one == family; }))
      return std::string(v.name);
  return "";
}

Verdicts::Verdicts() { living = this; }
Verdicts::~Verdicts() { living = nullptr; }
Verdicts *Verdicts::current() { return living; }

void Verdicts::judge(const std::string &file, const attune::sim::strict::Finding &f) {
  std::string verdict = verdictOn(file, f);
  if (verdict.empty())
    unjudged_.push_back(file + " " + text(f));
  else
    sites_.insert({file, verdict, f.pc, f.otherPc});
}

std::vector<std::string> Verdicts::neverFound() const {
  std::vector<std::string> missing;
  for (const Verdict &v : kVerdicts)
    if (std::ranges::none_of(sites_, [&](const Site &s) { return s.verdict == v.name; }))
      missing.emplace_back(v.name);
  return missing;
}

bool Verdicts::found(const std::string &file, const std::string &verdict, uint32_t pc,
                     uint32_t otherPc) const {
  return std::ranges::any_of(sites_, [&](const Site &s) {
    return s.file == file && s.verdict == verdict && (!pc || (s.pc == pc && s.otherPc == otherPc));
  });
}

} // namespace aitertest
