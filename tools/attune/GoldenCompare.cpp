// Compares records and texts; decides what is a breach and which cause explains what.
#include "tools/attune/GoldenCompare.h"
#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace attune::tool {

namespace {

enum class Worse { More, Fewer };
struct BudgetRow {
  std::string_view name;
  Worse worse;
  int slackPercent;
};
constexpr BudgetRow budget[] = {
#define ATTUNE_BUDGET(name, worse, slackPercent) {name, Worse::worse, slackPercent},
#include "tools/attune/Budget.def"
};

constexpr const char *none = "-";

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size())
    return std::nullopt;
  return value;
}

/// The keys of both sides, each once, in the order in which they come.
std::vector<std::string> keysOf(const Fields &kept, const Fields &now) {
  std::vector<std::string> keys;
  for (const Fields *side : {&now, &kept})
    for (const auto &[key, value] : *side)
      if (std::find(keys.begin(), keys.end(), key) == keys.end())
        keys.push_back(key);
  return keys;
}

void addAmounts(std::vector<Amount> &amounts, const std::string &prefix, const Fields &kept,
                const Fields &now) {
  for (const std::string &key : keysOf(kept, now))
    amounts.push_back({prefix + key, fieldOr(kept, key, none), fieldOr(now, key, none)});
}

std::string total(const Fields &classes) {
  int64_t sum = 0;
  for (const auto &[name, count] : classes)
    sum += number(count).value_or(0);
  return std::to_string(sum);
}

std::vector<Breach> breachesOf(const std::vector<Amount> &amounts) {
  std::vector<Breach> breaches;
  for (const Amount &amount : amounts)
    for (const BudgetRow &row : budget) {
      auto kept = number(amount.kept), now = number(amount.now);
      if (amount.name != row.name || !kept || !now)
        continue;
      bool worse = row.worse == Worse::More ? *now * 100 > *kept * (100 + row.slackPercent)
                                            : *now * 100 < *kept * (100 - row.slackPercent);
      if (worse)
        breaches.push_back({amount.name, *kept, *now, row.slackPercent});
    }
  return breaches;
}

void describeMove(Change &change, const Described &kept, const Described &now) {
  for (const std::string &stage : keysOf(kept.golden.stages, now.golden.stages))
    if (fieldOr(kept.golden.stages, stage, none) != fieldOr(now.golden.stages, stage, none))
      change.stages.push_back(stage);
  if (!change.stages.empty()) {
    const std::string &first = change.stages.front();
    // Without either text there is no line to show; a text is never empty.
    std::string before = fieldOr(kept.texts, first, ""), after = fieldOr(now.texts, first, "");
    if (!before.empty() && !after.empty())
      change.line = firstChange(before, after);
  }
  addAmounts(change.amounts, "", kept.golden.resources, now.golden.resources);
  change.amounts.push_back({"instructions", total(kept.golden.classes), total(now.golden.classes)});
  addAmounts(change.amounts, "instructions.", kept.golden.classes, now.golden.classes);
  addAmounts(change.origins, "", kept.golden.origin, now.golden.origin);
  std::erase_if(change.origins, [](const Amount &a) { return !a.moved(); });
  change.breaches = breachesOf(change.amounts);
}

} // namespace

std::string_view verdictName(Verdict verdict) {
  switch (verdict) {
  case Verdict::Same:
    return "same";
  case Verdict::Moved:
    return "moved";
  case Verdict::NoGolden:
    return "no golden";
  case Verdict::NoSpec:
    return "no spec";
  case Verdict::NoText:
    return "no text";
  case Verdict::Refused:
    return "refused";
  }
  return "";
}

std::string Breach::str() const {
  std::string text = fmt::format("{} {} -> {}", name, kept, now);
  return slackPercent ? text + fmt::format(", more than {} %", slackPercent) : text;
}

Change compare(const std::string &spec, const Entry &entry) {
  Change change;
  change.spec = spec;
  change.refusal = entry.refusal;
  if (entry.kept)
    change.keptLlvm = entry.kept->golden.llvm();
  if (entry.now)
    change.nowLlvm = entry.now->golden.llvm();
  if (!entry.refusal.empty()) {
    change.verdict = Verdict::Refused;
  } else if (!entry.kept) {
    change.verdict = Verdict::NoGolden;
  } else if (!entry.now) {
    change.verdict = Verdict::NoSpec;
  } else {
    describeMove(change, *entry.kept, *entry.now);
    if (entry.kept->golden != entry.now->golden)
      change.verdict = Verdict::Moved;
    else if (entry.kept->texts != entry.now->texts)
      change.verdict = Verdict::NoText;
  }
  return change;
}

std::vector<Change> compareAll(const Entries &entries) {
  std::vector<Change> changes;
  for (const auto &[spec, entry] : entries)
    changes.push_back(compare(spec, entry));
  return changes;
}

std::string_view causeOf(const Change &change) {
  bool spec = change.verdict == Verdict::NoGolden || change.verdict == Verdict::NoSpec ||
              (!change.stages.empty() && change.stages.front() == "spec");
  return spec ? "spec" : change.llvmMoved() ? "llvm" : "compiler";
}

Result<void> checkCause(std::string_view cause, const std::vector<Change> &changes) {
  std::string others;
  for (const Change &change : changes) {
    if (change.verdict == Verdict::Same || causeOf(change) == cause)
      continue;
    std::string moved = change.stages.empty()
                            ? std::string(verdictName(change.verdict))
                            : fmt::format("{} moved", fmt::join(change.stages, ", "));
    std::string llvm = change.llvmMoved()
                           ? fmt::format("LLVM {} -> {}", change.keptLlvm, change.nowLlvm)
                           : "the same LLVM";
    others += fmt::format("\n  {}: {}, {}: cause {}", change.spec, moved, llvm, causeOf(change));
  }
  if (others.empty())
    return {};
  return Error{
      ErrorCode::InvalidArgument,
      fmt::format("golden bless: cause {} does not explain what moved:{}\nBless each cause "
                  "for itself; --spec NAME picks the specs.",
                  cause, others)};
}

} // namespace attune::tool
