// attune-compile-bench DIR [--runs N] [--limit-ms MS]: how long a warm compile of every spec in DIR
// takes.
//
// Warm: the process has compiled the spec once, so that libraries are loaded and first-use set-up
// is done. The figure is the median of N compiles, from a parsed spec to a code object, in
// processor time of the one thread that compiles: on an idle machine that is the wall time (printed
// beside it), on a busy one it still says what a compile costs. Fails if a spec does not compile,
// if a kernel has scratch or spills, or if a median is over the limit; a compiler that is fast by
// giving up is not fast.
#include "CLI/CLI.hpp"
#include "compiler/include/attune/Compiler.h"
#include "compiler/spec/Spec.h"
#include "fmt/format.h"
#include <algorithm>
#include <ctime>
#include <filesystem>

using namespace attune;

namespace {

struct Row {
  double coldMs = 0, medianMs = 0, wallMs = 0; ///< cold and median in processor time
  Resources resources;
};

double processorMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

Result<Row> measure(Compiler &compiler, const std::string &file, int runs) {
  Result<spec::Model> model = spec::parseSpecFile(file, {});
  if (!model)
    return model.error();
  Row row;
  std::vector<double> times, walls;
  for (int run = 0; run <= runs; ++run) {
    const double start = processorMs();
    Result<KernelImage> image = compiler.compile(*model);
    const double spent = processorMs() - start;
    if (!image)
      return image.error();
    row.resources = image->sidecar.kernel.resources;
    if (run == 0) {
      row.coldMs = spent;
      continue;
    }
    times.push_back(spent);
    walls.push_back(image->sidecar.compileMs);
  }
  row.medianMs = medianOf(times);
  row.wallMs = medianOf(walls);
  return row;
}

/// Prints one line; true if the spec is within all limits.
bool report(const std::string &name, const Result<Row> &row, double limitMs) {
  if (!row) {
    fmt::print("{:<20} {}\n", name, row.error().message);
    return false;
  }
  const Resources &used = row->resources;
  const bool spills = used.scratchBytes != 0 || used.vgprSpills != 0 || used.sgprSpills != 0;
  const bool slow = row->medianMs > limitMs;
  fmt::print("{:<20} {:>9.1f} {:>9.1f} {:>9.1f} {:>6} {:>6} {:>8} {:>5}{}{}\n", name, row->coldMs,
             row->medianMs, row->wallMs, used.vgpr + used.agpr, used.sgpr, used.ldsBytes,
             used.occupancy, spills ? "  SPILLS" : "", slow ? "  SLOW" : "");
  return !spills && !slow;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app("compile times of every spec of a folder");
  std::string folder;
  int runs = 20;
  double limitMs = 250;
  app.add_option("folder", folder, "folder of .attn files")->required();
  app.add_option("--runs", runs, "compiles of each spec")->check(CLI::PositiveNumber);
  app.add_option("--limit-ms", limitMs, "the longest median allowed");
  CLI11_PARSE(app, argc, argv);

  Result<Compiler> compiler = Compiler::create();
  if (!compiler) {
    fmt::print("{}\n", compiler.error().message);
    return 1;
  }
  std::error_code why;
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(folder, why))
    if (entry.path().extension() == ".attn")
      files.push_back(entry.path());
  if (files.empty()) {
    fmt::print("no .attn file in {}\n", folder);
    return 1;
  }
  std::sort(files.begin(), files.end());

  fmt::print("{:<20} {:>9} {:>9} {:>9} {:>6} {:>6} {:>8} {:>5}\n", "spec", "first ms", "median ms",
             "wall ms", "vgpr", "sgpr", "lds", "waves");
  bool good = true;
  for (const std::filesystem::path &file : files)
    good &= report(file.stem().string(), measure(*compiler, file.string(), runs), limitMs);
  return good ? 0 : 1;
}
