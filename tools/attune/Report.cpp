// Formats a run's report. JSON has no infinities, so those values are the strings "inf", "-inf" and
// "nan".
#include "tools/attune/Report.h"
#include "runtime/launch/HostTensor.h"
#include "tools/attune/Findings.h"
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::tool {

using nlohmann::ordered_json;
using oracle::Comparison;

namespace {

/// Comparisons of all calls with the tensor's name.
struct Named {
  const char *tensor;
  const CallReport *call;
  const Comparison *comparison;
};

std::vector<Named> comparisons(const RunReport &r) {
  std::vector<Named> all;
  for (const CallReport &c : r.calls) {
    if (c.out)
      all.push_back({"out", &c, &*c.out});
    if (c.lse)
      all.push_back({"lse", &c, &*c.lse});
  }
  return all;
}

double share(const Comparison &c) {
  return c.worst.error == 0 ? 0 : c.worst.error / c.worst.allowed;
}

/// The comparison that used most of its tolerance.
const Named *worstOf(const std::vector<Named> &all) {
  const Named *worst = nullptr;
  for (const Named &n : all)
    if (!n.comparison->worst.index.empty() &&
        (!worst || share(*n.comparison) > share(*worst->comparison)))
      worst = &n;
  return worst;
}

ordered_json number(double x) {
  if (std::isfinite(x))
    return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

ordered_json worstJson(const Named &n) {
  const oracle::Worst &w = n.comparison->worst;
  return {{"tensor", n.tensor},
          {"call", n.call->label},
          {"index", w.index},
          {"expected", number(w.expected)},
          {"actual", number(w.actual)},
          {"error", number(w.error)},
          {"allowed", number(w.allowed)}};
}

ordered_json kernelJson(const Sidecar &s) {
  const Resources &r = s.kernel.resources;
  return {{"name", s.kernel.name},
          {"arch", s.arch},
          {"plan", s.plan},
          {"vgpr", r.vgpr},
          {"agpr", r.agpr},
          {"sgpr", r.sgpr},
          {"lds_bytes", r.ldsBytes},
          {"scratch_bytes", r.scratchBytes},
          {"vgpr_spills", r.vgprSpills},
          {"sgpr_spills", r.sgprSpills},
          {"occupancy", r.occupancy},
          {"block_m", s.kernel.grid.blockM},
          {"workgroup_threads", s.kernel.grid.workgroupThreads}};
}

/// The largest errors of one tensor over all calls; null if it was not compared.
void addErrors(ordered_json &json, const std::vector<Named> &all, std::string_view tensor,
               const std::string &prefix) {
  double maxAbs = 0, maxRel = 0;
  int64_t wrong = 0;
  const Comparison *any = nullptr;
  for (const Named &n : all) {
    if (n.tensor != tensor)
      continue;
    any = n.comparison;
    maxAbs = std::max(maxAbs, n.comparison->maxAbs);
    maxRel = std::max(maxRel, n.comparison->maxRel);
    wrong += n.comparison->wrong;
  }
  json[prefix + "max_abs_err"] = any ? number(maxAbs) : ordered_json();
  json[prefix + "max_rel_err"] = any ? number(maxRel) : ordered_json();
  json[prefix + "tolerance"] = any ? ordered_json(any->tolerance.str()) : ordered_json();
  json[prefix + "wrong_elements"] = any ? ordered_json(wrong) : ordered_json();
}

std::string comparisonText(const Named &n) {
  const Comparison &c = *n.comparison;
  std::string text = fmt::format("check   {}  max abs {:.3g}  max rel {:.3g}  allowed {}", n.tensor,
                                 c.maxAbs, c.maxRel, c.tolerance.str());
  if (c.wrong)
    text += fmt::format("\n        {} of {} elements are wrong", c.wrong, c.compared);
  const oracle::Worst &w = c.worst;
  if (w.index.empty())
    return text + "  (no elements)\n";
  return text +
         fmt::format(
             "\n        worst at {}: {:.6g}, must be {:.6g}, off by {:.3g} of {:.3g} allowed\n",
             shapeText(w.index), w.actual, w.expected, w.error, w.allowed);
}

bool agrees(const RunReport &r) {
  for (const Named &n : comparisons(r))
    if (!n.comparison->ok)
      return false;
  return true;
}

} // namespace

std::string cacheText(const CacheUse &use) {
  switch (use.result) {
  case CacheResult::Off:
    return fmt::format("off: {}", use.reason);
  case CacheResult::Miss:
    return use.kept ? fmt::format("miss: compiled, and kept as {} in {}", use.digest, use.directory)
                    : "miss: compiled, and not kept";
  case CacheResult::Hit:
    break;
  }
  if (use.from == "base")
    return fmt::format("hit: {} in a directory of ATTUNE_CACHE_BASE", use.digest);
  std::string how = use.from == "store"     ? ", from the shared store"
                    : use.from == "process" ? ", by another process just now"
                                            : "";
  return fmt::format("hit: {} in {}{}", use.digest, use.directory, how);
}

ordered_json cacheJson(const CacheUse &use) {
  switch (use.result) {
  case CacheResult::Off:
    return {{"result", "off"}, {"reason", use.reason}};
  case CacheResult::Miss:
    return {{"result", "miss"},
            {"kept", use.kept},
            {"digest", use.digest},
            {"directory", use.directory}};
  case CacheResult::Hit:
    break;
  }
  return {
      {"result", "hit"}, {"from", use.from}, {"digest", use.digest}, {"directory", use.directory}};
}

bool RunReport::ok() const { return agrees(*this) && (!findings || findings->empty()); }

std::string resourcesText(const Resources &r) {
  std::string text =
      fmt::format("vgpr {}  agpr {}  sgpr {}  lds {} B  scratch {} B  occupancy {} waves/SIMD",
                  r.vgpr, r.agpr, r.sgpr, r.ldsBytes, r.scratchBytes, r.occupancy);
  if (r.vgprSpills || r.sgprSpills)
    text += fmt::format("  spills {} vgpr {} sgpr", r.vgprSpills, r.sgprSpills);
  return text;
}

std::string asText(const RunReport &r) {
  std::string text;
  for (const Sidecar &s : r.kernels)
    text += fmt::format("kernel  {}  {}{}\n        {}\n        {}\n", s.kernel.name, s.arch,
                        s.compileMs ? fmt::format(", compiled in {:.0f} ms", s.compileMs) : "",
                        s.plan, resourcesText(s.kernel.resources));
  text += fmt::format("cache   {}\n", cacheText(r.cache));
  for (const std::string &note : r.notes)
    text += fmt::format("note    {}\n", note);
  for (const CallReport &c : r.calls) {
    text += fmt::format("run     {}  {:.0f} ms on the simulator\n", c.label, c.runMs);
    for (const Named &n : comparisons(r))
      if (n.call == &c)
        text += comparisonText(n);
  }
  if (r.findings)
    text += findingsText(*r.findings);
  if (r.checked)
    text += agrees(r) ? "ok: agrees with the float64 oracle\n"
                      : "FAILED: differs from the float64 oracle\n";
  return text;
}

std::string asJson(const RunReport &r) {
  std::vector<Named> all = comparisons(r);
  ordered_json json{{"ok", r.ok()}, {"spec", r.spec}, {"checked", r.checked}, {"seed", r.seed}};
  addErrors(json, all, "out", "");
  addErrors(json, all, "lse", "lse_");
  const Named *worst = worstOf(all);
  json["worst"] = worst ? worstJson(*worst) : ordered_json();
  json["compile_ms"] = r.kernels.empty() ? 0 : r.kernels[0].compileMs;
  json["cache"] = cacheJson(r.cache);
  json["kernels"] = ordered_json::array();
  for (const Sidecar &s : r.kernels)
    json["kernels"].push_back(kernelJson(s));
  json["calls"] = ordered_json::array();
  for (const CallReport &c : r.calls)
    json["calls"].push_back({{"lengths", c.label}, {"run_ms", c.runMs}, {"check_ms", c.checkMs}});
  json["notes"] = r.notes;
  if (r.findings)
    json["strict"] = findingsJson(*r.findings);
  return json.dump(2) + "\n";
}

std::string errorAsJson(const Error &error) {
  return ordered_json{{"ok", false}, {"error", error.message}}.dump(
             2, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

} // namespace attune::tool
