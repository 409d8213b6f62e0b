// A TimingReport for people and as JSON.
#include "runtime/sim/timing/TimingReport.h"
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace attune::sim {
namespace {

constexpr const char *kNames[kStalls] = {
    "dependency",  "mfma result", "valu busy",   "mfma busy", "mfma read window", "packed",
    "memory port", "lds queue",   "vmem queue",  "vmcnt",     "lgkmcnt",          "barrier",
    "nop",         "branch",      "scalar port", "stores"};

std::vector<const InstReport *> byStall(const TimingReport &r) {
  std::vector<const InstReport *> all;
  for (const InstReport &i : r.instructionReports)
    all.push_back(&i);
  std::sort(all.begin(), all.end(), [](const InstReport *a, const InstReport *b) {
    return a->stallClk != b->stallClk ? a->stallClk > b->stallClk : a->pc < b->pc;
  });
  return all;
}

std::string stallList(const std::array<uint64_t, kStalls> &stalls, uint64_t least) {
  std::string text;
  for (size_t s = 0; s < kStalls; ++s)
    if (stalls[s] > least)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", kNames[s], stalls[s]);
  return text;
}

nlohmann::ordered_json stallJson(const std::array<uint64_t, kStalls> &stalls) {
  nlohmann::ordered_json j = nlohmann::ordered_json::object();
  for (size_t s = 0; s < kStalls; ++s)
    if (stalls[s])
      j[kNames[s]] = stalls[s];
  return j;
}

} // namespace

const char *stallName(Stall s) { return kNames[size_t(s)]; }

std::string timingText(const TimingReport &r, size_t hottest) {
  std::string text = fmt::format(
      "kernel {}: {} workgroups of {} waves; {} resident on a CU (bound by {}), {} replayed\n"
      "  CU        {} clk, {} instructions, matrix unit busy {:.1f} %\n",
      r.kernel, r.workgroups, r.occupancy.wavesPerWorkgroup, r.occupancy.workgroupsPerCu,
      r.occupancy.limit, r.replayedWorkgroups, r.clk, r.instructions, 100 * r.matrixBusy);
  if (r.loop.found)
    text += fmt::format("  loop      {:#x}..{:#x}: {:.0f} clk an iteration, {} iterations, matrix "
                        "unit busy {:.1f} %\n",
                        r.loop.headPc, r.loop.branchPc, r.loop.clk, r.loop.iterations,
                        100 * r.loop.matrixBusy);
  text +=
      fmt::format("  memory    {:.0f} B ({:.1f} B/clk), L1 hits {:.0f} %, L2 hits {:.0f} %; LDS "
                  "{:.0f} B ({:.1f} B/clk)\n",
                  r.vmemBytes, r.vmemBytes / double(r.clk), 100 * r.l1HitRate, 100 * r.l2HitRate,
                  r.ldsBytes, r.ldsBytes / double(r.clk));
  text += fmt::format("  launch    {} clk, matrix units busy {:.1f} %; at {:.0f} MHz (clock model) "
                      "{:.1f} us, {:.1f} TFLOPS, {:.2f} TB/s\n",
                      r.kernelClk, 100 * r.chipBusy, r.clockMhz, 1e6 * r.seconds, r.tflops,
                      1e-12 * r.bytesPerSecond);
  if (r.flops > 0)
    text += fmt::format("  roofline  matrix unit {:.0f} TFLOPS at that clock, memory {}\n",
                        r.matrixPeakTflops,
                        r.memoryPeakTflops > 0 ? fmt::format("{:.0f} TFLOPS", r.memoryPeakTflops)
                                               : std::string("no bound"));
  text += fmt::format("  stalls    {}\n", stallList(r.stalls, 0));
  std::vector<const InstReport *> all = byStall(r);
  for (size_t n = 0; n < std::min(hottest, all.size()) && all[n]->stallClk; ++n)
    text += fmt::format("  {:#8x}  {:<28} x{:<8} stalled {:<9} {}\n", all[n]->pc, all[n]->mnemonic,
                        all[n]->executed, all[n]->stallClk,
                        stallList(all[n]->stalls, all[n]->stallClk / 10));
  return text;
}

std::string timingJson(const TimingReport &r) {
  nlohmann::ordered_json j;
  j["kernel"] = r.kernel;
  j["workgroups"] = r.workgroups;
  j["occupancy"] = {{"wavesPerWorkgroup", r.occupancy.wavesPerWorkgroup},
                    {"workgroupsPerCu", r.occupancy.workgroupsPerCu},
                    {"wavesPerSimd", r.occupancy.wavesPerSimd},
                    {"limit", r.occupancy.limit},
                    {"replayed", r.replayedWorkgroups}};
  j["clk"] = r.clk;
  j["instructions"] = r.instructions;
  j["matrixBusy"] = r.matrixBusy;
  if (r.loop.found)
    j["loop"] = {{"headPc", r.loop.headPc},
                 {"branchPc", r.loop.branchPc},
                 {"iterations", r.loop.iterations},
                 {"clkPerIteration", r.loop.clk},
                 {"matrixBusy", r.loop.matrixBusy}};
  j["memory"] = {{"vmemBytes", r.vmemBytes},
                 {"ldsBytes", r.ldsBytes},
                 {"l1HitRate", r.l1HitRate},
                 {"l2HitRate", r.l2HitRate}};
  j["launch"] = {{"clk", r.kernelClk},     {"matrixBusy", r.chipBusy},
                 {"clockMhz", r.clockMhz}, {"seconds", r.seconds},
                 {"flops", r.flops},       {"tflops", r.tflops},
                 {"bytes", r.bytes},       {"bytesPerSecond", r.bytesPerSecond}};
  j["roofline"] = {{"matrixTflops", r.matrixPeakTflops}, {"memoryTflops", r.memoryPeakTflops}};
  j["stalls"] = stallJson(r.stalls);
  j["ldsBankDwords"] = r.bankDwords;
  for (const InstReport &i : r.instructionReports) {
    nlohmann::ordered_json row = {{"pc", i.pc}, {"mnemonic", i.mnemonic}, {"executed", i.executed}};
    row["stallClk"] = i.stallClk;
    row["stalls"] = stallJson(i.stalls);
    if (i.ldsClk) {
      row["ldsClk"] = i.ldsClk;
      row["ldsFreeClk"] = i.ldsFreeClk;
    }
    j["instructionReports"].push_back(std::move(row));
  }
  return j.dump(2);
}

} // namespace attune::sim
