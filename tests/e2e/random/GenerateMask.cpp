// Masks: the patterns that people write, by name and by hand, combined at random.
#include "tests/e2e/random/Generator.h"
#include <fmt/format.h>

namespace attune::e2e::random {

Node Generator::pattern() {
  int64_t reach = facts_.longestKv + 2;
  switch (rng_.below(14)) {
  case 0:
  case 1:
    return makeBool("causal");
  case 2:
  case 3:
    return makeBool("window($)", {rng_.oneIn(9) ? literal(int64_t(2147483647)) : length(1, reach)});
  case 4:
    return makeBool("window($, $)", {length(0, reach), rng_.oneIn(9) ? literal(int64_t(2147483647))
                                                                     : length(0, reach)});
  case 5:
    return makeBool("prefix($)", {length(0, reach)});
  case 6:
    return makeBool("chunk($)", {length(1, reach)});
  case 7:
    return makeBool("(causal || prefix($))", {length(0, reach)});
  case 8:
    if (facts_.shortKv || tensors.size() >= 4)
      return makeBool("causal");
    tensors.push_back({fresh("doc"), DType::I32, {"tokens"}, rng_.oneIn(2)});
    return makeBool(fmt::format("document({})", tensors.back().name));
  case 9:
    return makeBool("far_from($, $)", {length(0, 90), length(0, 90)});
  case 10:
    return makeBool("stripes($, $)", {integer(0), length(1, 20)});
  case 11:
    return libraryMask();
  case 12:
    return guarded();
  default:
    return comparison(1);
  }
}

Node Generator::libraryMask() {
  switch (rng_.below(6)) {
  case 0:
    return makeBool("dilated_window($, $)", {length(1, 60), length(1, 9)});
  case 1:
    return makeBool("global_window($, $)", {length(0, 40), length(0, 80)});
  case 2:
    return makeBool("attention_sink($, $)", {length(0, 40), length(1, 200)});
  case 3:
    return makeBool("natten_1d($)", {length(0, 60)});
  case 4:
    return makeBool("natten_2d($, $)", {length(1, 40), length(0, 6)});
  default:
    return makeBool("block_causal($)", {length(1, 140)});
  }
}

/// A read that is inside its tensor only where the other side of && or a select asks for it.
Node Generator::guarded() {
  if (tensors.size() >= 4)
    return makeBool("causal");
  int64_t n = rng_.between(1, 60);
  bool byKey = rng_.oneIn(2);
  std::string name = fresh("g");
  tensors.push_back(
      {name, byKey ? DType::I32 : DType::F32, {byKey ? std::to_string(n) : "tokens"}, false});
  switch (rng_.below(byKey ? 3 : 2)) {
  case 0:
    return byKey ? makeBool(fmt::format("(k < {} && {}[k] % 3 != 0)", n, name))
                 : makeBool(fmt::format("(q >= 0 && {}[q] > -0.5)", name));
  case 1:
    return byKey ? makeBool(fmt::format("(q < 0 || q >= {} || {}[q] > 10)", n, name))
                 : makeBool(fmt::format("(ctx >= 0 && ctx < kv_len && {}[ctx] > -1.5)", name));
  default:
    return makeBool(fmt::format("(select(ctx >= 0 && ctx < {}, {}[ctx], k) % 2 == 0)", n, name));
  }
}

Node Generator::mask() {
  if (rng_.oneIn(3)) {
    Node rest = condition(int(rng_.below(3)));
    causal_ = true;
    return makeBool("(causal && $)", {rest});
  }
  return condition(int(rng_.between(0, 3)));
}

} // namespace attune::e2e::random
