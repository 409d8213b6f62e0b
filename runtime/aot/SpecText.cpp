#include "runtime/aot/SpecText.h"
#include <fmt/format.h>

namespace attune::aot {

std::string specName(const SpecFeatures &f) {
  std::string name = f.causal ? "prefill" : "encoder";
  for (auto [has, part] : {std::pair(f.window, "_window"),
                           {f.chunk, "_chunk"},
                           {f.sink, "_sink"},
                           {f.alibi, "_alibi"},
                           {f.softcap, "_softcap"},
                           {f.scale, "_scale"}})
    if (has)
      name += part;
  return name;
}

std::string specText(const SpecFeatures &f) {
  std::string parameters = "dtype: float = bf16, num_q_heads: int = 32, num_kv_heads: int = 8,\n"
                           "          head_dim: int = 128";
  std::string fields;
  if (f.sink)
    fields += "  sink  : f32[heads]\n";
  if (f.alibi)
    fields += "  tensor slope : f32[heads]\n";
  if (f.scale) {
    parameters += ", scale_dim: f32 = 128.0";
    fields += "  scale = 1 / sqrt(scale_dim)\n";
  }
  if (f.softcap)
    parameters += ", cap: f32 = 50.0";
  if (f.softcap || f.alibi)
    fields += fmt::format("  score = {}{}\n", f.softcap ? "softcap(s, cap)" : "s",
                          f.alibi ? " + alibi(slope)" : "");
  std::string mask = f.causal ? "causal" : "";
  if (f.window) {
    parameters += ", width: int = 4096";
    mask = "window(width)";
  } else if (f.chunk) {
    parameters += ", length: int = 8192";
    mask = "causal && chunk(length)";
  }
  if (!mask.empty())
    fields += fmt::format("  mask  = {}\n", mask);
  return fmt::format("// Written by attune aot plan.\n"
                     "attention {}({}) {{\n"
                     "  q, kv : dtype[tokens, num_q_heads / num_kv_heads, head_dim]\n"
                     "  out   : dtype\n{}}}\n",
                     specName(f), parameters, fields);
}

} // namespace attune::aot
