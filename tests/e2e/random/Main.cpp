// e2e_random: long runs of the random-spec differential test, and its failures made small.
#include "tests/e2e/random/Run.h"
#include <CLI/CLI.hpp>
#include <chrono>
#include <fmt/format.h>
#include <iostream>

using namespace attune;
using namespace attune::e2e::random;

namespace {

struct Settings {
  uint64_t seed = 1;
  int count = 100, seconds = 0, attempts = 300;
  std::string save;
  bool print = false, quiet = false, keepGoing = false;
};

/// Runs one seed; false if it failed.
bool runSeed(Compiler &compiler, uint64_t seed, const Settings &settings,
             std::map<std::string, int> &tally) {
  Case c = makeCase(seed);
  if (settings.print)
    std::cout << c.describe() << std::flush;
  auto begin = std::chrono::steady_clock::now();
  Outcome outcome = runCase(compiler, c);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const char *names[] = {"right", "refused", "WRONG"};
  std::string name = names[static_cast<int>(outcome.verdict)];
  ++tally[name + (outcome.kind.empty() ? "" : " (" + outcome.kind + ")")];
  if (outcome.scratchBytes)
    ++tally["with scratch"];
  if (!settings.quiet || outcome.verdict == Verdict::Wrong)
    std::cout << fmt::format(
        "seed {}: {} {:.2f} s{}\n", seed, name, seconds,
        outcome.scratchBytes ? fmt::format(", {} bytes of scratch", outcome.scratchBytes) : "");
  if (outcome.verdict != Verdict::Wrong)
    return true;
  std::cout << c.describe() << outcome.kind << ": " << outcome.message << "\n" << std::flush;
  if (settings.attempts > 0) {
    Case less = shrink(compiler, c, outcome.kind, settings.attempts);
    c = less;
    std::cout << "shrunk to\n" << less.describe() << runCase(compiler, less).message << "\n\n";
  }
  if (!settings.save.empty()) {
    auto command = saveCase(c, settings.save);
    std::cout << (command ? *command : command.error().message) << "\n";
  }
  std::cout << std::flush;
  return false;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app(
      "Random specs, shapes and tensors: compiled, run on the simulator with strict mode on, "
      "compared with the float64 oracle.\nA failure is shown with its seed and made small. "
      "Exit code 1: something failed.");
  Settings s;
  app.add_option("--seed", s.seed, "The first seed; a seed decides everything about its case")
      ->capture_default_str();
  app.add_option("--count", s.count, "How many seeds")->capture_default_str();
  app.add_option("--seconds", s.seconds, "Stop after this long (0: after count)")
      ->capture_default_str();
  app.add_option("--shrink", s.attempts, "Most attempts to make a failure small (0: none)")
      ->capture_default_str();
  app.add_option("--save", s.save,
                 "A folder for failures as files of attune run (strides are lost)");
  app.add_flag("--print", s.print, "Show each case before it runs");
  app.add_flag("--quiet", s.quiet, "Show failures only");
  app.add_flag("--keep-going", s.keepGoing, "Go on after a failure");
  CLI11_PARSE(app, argc, argv);

  auto compiler = Compiler::create();
  if (!compiler) {
    std::cerr << compiler.error().message << "\n";
    return 1;
  }
  std::map<std::string, int> tally;
  auto begin = std::chrono::steady_clock::now();
  bool ok = true;
  for (int i = 0; i < s.count && (ok || s.keepGoing); ++i) {
    if (s.seconds && std::chrono::steady_clock::now() - begin > std::chrono::seconds(s.seconds))
      break;
    ok &= runSeed(*compiler, s.seed + static_cast<uint64_t>(i), s, tally);
  }
  for (const auto &[name, n] : tally)
    std::cout << fmt::format("{:6} {}\n", n, name);
  return ok ? 0 : 1;
}
