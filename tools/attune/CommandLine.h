// The command line of `attune` as plain data; CommandLine.cpp and AotOptions.cpp are
// the only files that see CLI11.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/sim/timing/Params.h"
#include "tools/attune/Aot.h"
#include "tools/attune/Exec.h"
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace attune::tool {

/// Exit codes of every command.
enum Exit { exitOk = 0, exitFailed = 1, exitRefused = 2 };

/// What to compile: a spec (.attn), an attn.kernel (.mlir) or, for `run`, a compiled kernel
/// (.hsaco).
struct SpecArgs {
  std::string path;
  std::string attention; ///< of a file with several; empty: the first
  std::string arch;
  std::map<std::string, std::string> parameters;          ///< --set
  std::vector<std::pair<std::string, std::string>> knobs; ///< --knob
};

struct CompileArgs {
  SpecArgs spec;
  std::string emit; ///< a stage; empty: compile, save if there is an output, report
  std::string output;
};

using Lengths = std::vector<int64_t>;

struct RunArgs {
  SpecArgs spec;
  std::optional<Lengths> qLens, kvLens;
  std::optional<int64_t> batch, qLen, kvLen;
  std::string inputs, output;
  std::map<std::string, double> scalars;
  uint64_t seed = 1;
  int threads = 0;
  sim::RunOptions policy; ///< of arrival and schedule
  bool check = false, strict = false, json = false;
  bool noCache = false;
};

/// A spec with a call, or a code object with a launch file.
struct ProfileArgs {
  RunArgs call;
  std::string launch, trace, html;
  uint64_t workgroups = 0; ///< of the launch to be timed; 0: as many as run
  uint32_t sharers = 0;    ///< workgroups of an XCD that touch the same lines; 0: counted
  uint32_t xcds = 0;       ///< that touch the same lines; 0: each its own
  sim::TimingParams params;
  bool noLines = false;
  size_t top = 12;
};

struct ExplainArgs {
  SpecArgs spec;
};

struct GoldenArgs {
  bool bless = false, json = false;
  std::string specs, folder, arch;
  std::vector<std::string> only; ///< specs by name; empty: all
  int threads = 0;
  std::string cause, reason; ///< bless
};

struct CacheArgs {
  std::string action;    ///< ls, show, verify, gc, clear, warm
  std::string directory; ///< empty: the environment's
  std::string digest;    ///< show: the beginning of one
  std::string limit;     ///< gc: a size; empty: the environment's
  bool json = false;
  std::vector<std::string> specs; ///< warm: specs and lists
  std::string attention, arch;
  std::map<std::string, std::string> parameters;
  std::vector<std::pair<std::string, std::string>> knobs;
};

struct CommandLine {
  std::optional<CompileArgs> compile;
  std::optional<RunArgs> run;
  std::optional<ExecArgs> exec;
  std::optional<ProfileArgs> profile;
  std::optional<ExplainArgs> explain;
  std::optional<GoldenArgs> golden;
  std::optional<CacheArgs> cache;
  std::optional<AotArgs> aot;
  int exitCode = exitOk; ///< when no command is set: help was shown, or the usage was wrong
};

/// Splits each NAME=VALUE. Throws CLI::ParseError, with the option's name, for what is not of that
/// form and for a name that stands there twice; `what` says what the names are of.
std::vector<std::pair<std::string, std::string>>
namesAndValues(const std::string &option, const std::vector<std::string> &texts, const char *what);

/// Parses; prints help or what is wrong.
CommandLine parseCommandLine(int argc, const char *const *argv);

int compileCommand(const CompileArgs &);
int runCommand(const RunArgs &);
int execCommand(const ExecArgs &);
int profileCommand(const ProfileArgs &);
int explainCommand(const ExplainArgs &);
int goldenCommand(const GoldenArgs &);
int cacheCommand(const CacheArgs &);

/// Prints an error; the exit code that its kind stands for.
int fail(const Error &);

} // namespace attune::tool
