#include "tools/attune/Findings.h"
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::tool {

using nlohmann::ordered_json;

namespace {
constexpr size_t kShown = 20;
}

std::string findingsText(const std::vector<sim::strict::Finding> &findings) {
  if (findings.empty())
    return "strict  clean\n";
  return fmt::format("strict  {} finding{}\n{}", findings.size(), findings.size() == 1 ? "" : "s",
                     sim::strict::text(findings, kShown, "        ", "; --json has all"));
}

ordered_json findingsJson(const std::vector<sim::strict::Finding> &findings) {
  ordered_json rows = ordered_json::array();
  for (const sim::strict::Finding &f : findings) {
    ordered_json row{{"kind", sim::strict::name(f.kind)},
                     {"kernel", f.kernel},
                     {"workgroup", f.workgroup},
                     {"wave", f.wave},
                     {"lane", f.lane},
                     {"pc", f.pc},
                     {"instruction", f.instruction},
                     {"subject", f.subject},
                     {"count", f.count},
                     {"message", f.message}};
    if (f.otherWave >= 0)
      row["conflicts_with"] = {{"workgroup", f.otherWorkgroup},
                               {"wave", f.otherWave},
                               {"pc", f.otherPc},
                               {"instruction", f.other}};
    if (f.required)
      row["wait_states"] = {{"required", f.required}, {"found", f.found}};
    rows.push_back(std::move(row));
  }
  return rows;
}

} // namespace attune::tool
