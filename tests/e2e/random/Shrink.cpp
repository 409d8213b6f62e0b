// Shrinking: every step makes a case smaller in one way; a step that still fails in the same kind
// is kept, and then all are tried again.
#include "tests/e2e/random/Run.h"
#include <functional>

namespace attune::e2e::random {

namespace {

/// Every expression with one node replaced by an argument of its own type, or by a literal.
void smaller(const Node &whole, const std::function<void(Node)> &yield) {
  for (const Node &arg : whole.args)
    if (arg.type == whole.type)
      yield(arg);
  static const char *const literals[] = {"0.5", "1", "true"};
  if (whole.count() > 1)
    yield({whole.type, literals[static_cast<int>(whole.type)], {}, 0, 0, 0, false});
  for (size_t i = 0; i < whole.args.size(); ++i)
    smaller(whole.args[i], [&](Node part) {
      Node copy = whole;
      copy.args[i] = std::move(part);
      yield(std::move(copy));
    });
}

std::vector<Case> steps(const Case &c) {
  std::vector<Case> all;
  auto with = [&](auto change) {
    Case next = c;
    change(next);
    all.push_back(std::move(next));
  };
  if (c.score)
    with([](Case &n) { n.score.reset(); });
  if (c.mask)
    with([](Case &n) { n.mask.reset(); });
  for (bool Case::*flag : {&Case::strided, &Case::slack, &Case::poisoned, &Case::huge, &Case::sink,
                           &Case::dtypeIsParam})
    if (c.*flag)
      with([&](Case &n) { n.*flag = false; });
  for (std::string Case::*field : {&Case::scale, &Case::schedule})
    if (!(c.*field).empty())
      with([&](Case &n) { (n.*field).clear(); });
  if (c.qLens.size() > 1)
    for (size_t b = 0; b < c.qLens.size(); ++b)
      with([&](Case &n) {
        n.qLens.erase(n.qLens.begin() + static_cast<int64_t>(b));
        n.kvLens.erase(n.kvLens.begin() + static_cast<int64_t>(b));
      });
  if (c.qHeads > 1)
    with([](Case &n) { n.qHeads = n.kvHeads = 1; });
  for (std::vector<int64_t> Case::*lens : {&Case::qLens, &Case::kvLens})
    if (c.qLens.size() == 1)
      for (int64_t less : {(c.*lens)[0] / 2, (c.*lens)[0] - 1})
        if (less >= 0 && less < (c.*lens)[0])
          with([&](Case &n) { (n.*lens)[0] = less; });
  for (std::optional<Node> Case::*field : {&Case::score, &Case::mask})
    if (c.*field)
      smaller(*(c.*field), [&](Node part) { with([&](Case &n) { n.*field = part; }); });
  return all;
}

} // namespace

Case shrink(Compiler &compiler, Case failing, const std::string &kind, int attempts) {
  for (bool progress = true; progress && attempts > 0;) {
    progress = false;
    for (Case &next : steps(failing)) {
      if (--attempts <= 0)
        break;
      Outcome outcome = runCase(compiler, next);
      if (outcome.verdict == Verdict::Wrong && outcome.kind == kind) {
        failing = std::move(next);
        progress = true;
        break;
      }
    }
  }
  return failing;
}

} // namespace attune::e2e::random
