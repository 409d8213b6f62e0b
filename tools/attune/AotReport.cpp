// The columns are one list: a number that should be seen is added here.
#include "tools/attune/AotReport.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace attune::tool {

namespace {

struct Column {
  const char *title, *key;
  bool whole;
  double (*value)(const AotRow &);
};
constexpr Column columns[] = {
    {"code", "code_bytes", true, [](const AotRow &r) { return double(r.codeBytes); }},
    {"vgpr", "vgpr", true, [](const AotRow &r) { return double(r.sidecar.kernel.resources.vgpr); }},
    {"lds", "lds_bytes", true,
     [](const AotRow &r) { return double(r.sidecar.kernel.resources.ldsBytes); }},
    {"spills", "spills", true,
     [](const AotRow &r) {
       const Resources &used = r.sidecar.kernel.resources;
       return double(used.vgprSpills + used.sgprSpills);
     }},
    {"ms", "compile_ms", false, [](const AotRow &r) { return r.sidecar.compileMs; }},
};

size_t labelWidth(const std::vector<AotRow> &rows) {
  size_t width = 6;
  for (const AotRow &row : rows)
    width = std::max(width, row.label.size());
  return std::min<size_t>(width, 100);
}

/// Kernels that failed for one reason are told of together.
std::string failuresText(const std::vector<AotRow> &rows) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const AotRow &row : rows) {
    if (!row.error)
      continue;
    auto same = std::find_if(reasons.begin(), reasons.end(),
                             [&](const auto &r) { return r.first == row.error->message; });
    if (same == reasons.end())
      same = reasons.insert(reasons.end(), {row.error->message, {}});
    same->second.push_back(fmt::format("failed: {} ({})\n", row.label, row.origin));
  }
  std::string text;
  for (const auto &[message, kernels] : reasons)
    text += fmt::format("\n{}  {}\n", fmt::join(kernels, ""), message);
  return text;
}

std::string totalText(const std::vector<AotRow> &rows, const AotTotal &total) {
  uint64_t code = 0, reused = 0, failed = 0;
  for (const AotRow &row : rows) {
    code += row.codeBytes;
    reused += row.reused;
    failed += row.error.has_value();
  }
  std::string text = fmt::format("{} kernels", rows.size());
  if (reused)
    text += fmt::format(" ({} kept from before)", reused);
  if (failed)
    return text + fmt::format(", {} failed; {} is not written\n", failed, total.path);
  return text + fmt::format(", {} code objects, {} bytes of code -> {}, {} bytes\n", total.objects,
                            code, total.path, total.bytes);
}

} // namespace

std::string aotAsText(const std::vector<AotRow> &rows, const AotTotal &total) {
  const size_t width = labelWidth(rows);
  std::string text = fmt::format("{:{}}  {:8}  {:6}", "kernel", width, "key", "arch");
  for (const Column &column : columns)
    text += fmt::format("  {:>7}", column.title);
  text += "\n";
  for (const AotRow &row : rows) {
    text += fmt::format("{:{}}  {:.8}  {:6}", row.label, width, row.digest, row.arch);
    for (const Column &column : columns)
      text +=
          row.error ? fmt::format("  {:>7}", "-") : fmt::format("  {:>7.0f}", column.value(row));
    text += row.error ? "  failed\n" : row.reused ? "  kept\n" : "\n";
  }
  return text + failuresText(rows) + totalText(rows, total);
}

std::string aotAsJson(const std::vector<AotRow> &rows, const AotTotal &total) {
  using Json = nlohmann::ordered_json;
  Json kernels = Json::array();
  bool ok = true;
  for (const AotRow &row : rows) {
    Json kernel = {{"kernel", row.label}, {"key", row.digest}, {"arch", row.arch}};
    if (row.error) {
      ok = false;
      kernel["error"] = row.error->message;
    } else {
      kernel["kept"] = row.reused;
      for (const Column &column : columns)
        if (column.whole)
          kernel[column.key] = int64_t(column.value(row));
        else
          kernel[column.key] = column.value(row);
    }
    kernels.push_back(std::move(kernel));
  }
  Json all = {{"ok", ok}, {"kernels", std::move(kernels)}, {"output", total.path}};
  if (ok) {
    all["bytes"] = total.bytes;
    all["code_objects"] = total.objects;
  }
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace attune::tool
