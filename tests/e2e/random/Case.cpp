#include "tests/e2e/random/Case.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace attune::e2e::random {

namespace {

constexpr int64_t qEdges[] = {0,  1,  1,   2,   7,   31,  32,  33,  63,
                              64, 65, 100, 127, 128, 129, 255, 256, 257};
constexpr int64_t kvEdges[] = {0,   1,   2,   31,  32,  33,  63,  64, 65,
                               127, 128, 129, 191, 193, 300, 448, 500};
constexpr std::pair<int, int> headPairs[] = {{1, 1}, {2, 2},  {4, 2},  {3, 1},  {6, 2}, {5, 1},
                                             {7, 1}, {14, 2}, {71, 1}, {15, 5}, {8, 1}, {3, 3}};
constexpr int dims[] = {32, 64, 64, 128, 128};
/// What a case may cost: multiply-adds of q . k and p . v, about a second of one core.
constexpr int64_t mostWork = 12'000'000;

void drawProblem(Rng &rng, Case &c) {
  c.dtype = rng.oneIn(2) ? DType::BF16 : DType::F16;
  c.outDtype = rng.oneIn(2) ? c.dtype : rng.pick(std::vector{DType::BF16, DType::F16, DType::F32});
  c.dtypeIsParam = rng.oneIn(3);
  c.dense = rng.oneIn(2);
  std::tie(c.qHeads, c.kvHeads) = rng.pick(headPairs);
  c.dim = rng.pick(dims);
  c.vDim = rng.oneIn(2) ? c.dim : rng.pick(dims);
  c.sink = rng.oneIn(4);
  c.lse = rng.pick(std::vector<std::string>{"natural", "natural", "base2", ""});
  if (rng.oneIn(4)) {
    c.schedule = fmt::format("waves = {}", 1 << rng.below(4));
    if (rng.oneIn(2))
      c.schedule += fmt::format(", kv_tile = {}", 32 << rng.below(3));
  }
}

void drawShapes(Rng &rng, Case &c) {
  int64_t sequences = rng.oneIn(8) ? 4 : rng.between(1, 2), perKey = (c.dim + c.vDim) * c.qHeads;
  int64_t left = mostWork;
  for (int64_t b = 0; b < sequences; ++b) {
    if (c.dense && b) {
      c.qLens.push_back(c.qLens[0]), c.kvLens.push_back(c.kvLens[0]);
      continue;
    }
    int64_t q = rng.oneIn(3) ? rng.below(258) : rng.pick(qEdges);
    int64_t kv = rng.oneIn(3) ? rng.below(501) : rng.pick(kvEdges);
    if (rng.oneIn(4))
      kv = q;
    while (std::max<int64_t>(q, 32) * kv * perKey * (c.dense ? sequences : 1) > left && q > 33)
      q /= 2;
    while (std::max<int64_t>(q, 32) * kv * perKey * (c.dense ? sequences : 1) > left && kv > 1)
      kv /= 2;
    left -= std::max<int64_t>(q, 32) * kv * perKey;
    c.qLens.push_back(q), c.kvLens.push_back(kv);
  }
}

void drawScale(Rng &rng, Case &c) {
  switch (rng.below(6)) {
  case 0:
    c.scale = fmt::format("{:.4f}", rng.uniform(0.5, 1.5) / std::sqrt(c.dim));
    break;
  case 1:
    c.scalars.push_back({"temperature", true, static_cast<float>(rng.uniform(0.3, 1.2))});
    c.scale = "temperature / sqrt(dim)";
    break;
  case 2:
    c.params.push_back({"inverse_scale", "f32", fmt::format("{:.3f}", 1.1 * std::sqrt(c.dim)), {}});
    c.scale = "1.0 / inverse_scale";
    break;
  default:
    break;
  }
}

bool isWordPart(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

bool hasWord(const std::string &text, const std::string &word) {
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if ((at == 0 || !isWordPart(text[at - 1])) &&
        (at + word.size() == text.size() || !isWordPart(text[at + word.size()])))
      return true;
  return false;
}

} // namespace

bool Case::uses(const std::string &name) const {
  return (score && hasWord(score->text(), name)) || (mask && hasWord(mask->text(), name)) ||
         hasWord(scale, name);
}

std::map<std::string, std::string> Case::sets() const {
  std::map<std::string, std::string> all;
  if (dtypeIsParam)
    all["dtype"] = nameOf(dtype);
  for (const ParamDecl &p : params)
    if (p.given && uses(p.name))
      all[p.name] = *p.given;
  return all;
}

std::string Case::text() const {
  std::string s = "import \"masks.attn\"\n";
  for (const FunctionDecl &f : functionPool())
    if (uses(f.name))
      s += f.text + "\n";
  std::vector<std::string> parameters;
  if (dtypeIsParam)
    parameters.push_back(fmt::format("dtype: float = {}", dtype == DType::F16 ? "bf16" : "fp16"));
  for (const ParamDecl &p : params)
    if (uses(p.name))
      parameters.push_back(fmt::format("{}: {} = {}", p.name, p.type, p.defaultText));
  s += fmt::format("attention random_{}({}) {{\n", seed, fmt::join(parameters, ", "));
  std::string type(dtypeIsParam ? "dtype" : nameOf(dtype)), store = dense ? "batch, seq" : "tokens";
  auto operand = [&](std::string_view name, int heads, int columns) {
    return fmt::format("  {} : {}[{}, heads = {}, dim = {}]\n", name, type, store, heads, columns);
  };
  s += operand("q", qHeads, dim) + operand("k", kvHeads, dim) + operand("v", kvHeads, vDim);
  s += fmt::format("  out : {}\n", nameOf(outDtype));
  for (const TensorDecl &t : tensors)
    if (uses(t.name))
      s += "  " + t.text() + "\n";
  for (const ScalarDecl &x : scalars)
    if (uses(x.name))
      s += fmt::format("  scalar {} : {}\n", x.name, x.real ? "f32" : "i32");
  if (!scale.empty())
    s += "  scale = " + scale + "\n";
  if (score)
    s += "  score = " + score->text() + "\n";
  if (mask)
    s += "  mask = " + mask->text() + "\n";
  if (sink)
    s += "  sink : f32[heads]\n";
  if (!lse.empty())
    s += "  lse : f32 " + lse + "\n";
  if (!schedule.empty())
    s += "  schedule { " + schedule + " }\n";
  return s + "}\n";
}

std::string Case::describe() const {
  std::string s = text() + fmt::format("// seed {}; q_lens {}; kv_lens {}", seed,
                                       fmt::join(qLens, ","), fmt::join(kvLens, ","));
  for (const auto &[name, value] : sets())
    s += fmt::format("; --set {}={}", name, value);
  for (const ScalarDecl &x : scalars)
    if (uses(x.name))
      s += fmt::format("; --scalar {}={}", x.name, x.value);
  for (auto [on, name] :
       {std::pair{huge, "huge"}, {strided, "strided"}, {slack, "slack"}, {poisoned, "poisoned"}})
    if (on)
      s += fmt::format("; {}", name);
  return s + fmt::format("; arrival {}, schedule {}\n", int(policy.arrival), int(policy.schedule));
}

Case makeCase(uint64_t seed) {
  Rng rng(seed);
  Case c;
  c.seed = seed;
  drawProblem(rng, c);
  drawShapes(rng, c);
  c.huge = rng.oneIn(6);
  c.strided = rng.oneIn(2);
  c.slack = rng.oneIn(2);
  c.poisoned = rng.oneIn(2);
  Facts facts{c.qHeads, c.kvHeads, int(c.qLens.size()), 0, 0, c.huge, false};
  for (size_t b = 0; b < c.qLens.size(); ++b) {
    facts.longestQ = std::max(facts.longestQ, c.qLens[b]);
    facts.longestKv = std::max(facts.longestKv, c.kvLens[b]);
    facts.shortKv |= c.kvLens[b] < c.qLens[b];
  }
  if (!c.huge)
    drawScale(rng, c);
  Generator generator(rng, facts);
  if (!rng.oneIn(6))
    c.mask = generator.mask();
  if (!rng.oneIn(5))
    c.score = generator.score();
  auto append = [](auto &to, auto &from) { to.insert(to.end(), from.begin(), from.end()); };
  append(c.tensors, generator.tensors);
  append(c.scalars, generator.scalars);
  append(c.params, generator.params);
  c.policy.threads = 1;
  c.policy.seed = seed;
  c.policy.arrival = rng.pick(std::vector{sim::Arrival::Instant, sim::Arrival::Latest});
  c.policy.schedule = rng.pick(std::vector{sim::Schedule::ToBarrier, sim::Schedule::Reverse,
                                           sim::Schedule::Random, sim::Schedule::InTurn});
  return c;
}

} // namespace attune::e2e::random
