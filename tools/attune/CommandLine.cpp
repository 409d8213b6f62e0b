// Subcommands and options. Values that have a form of their own (name=value, lists of lengths) are
// parsed here, so that a wrong one is refused with the option's name before anything runs.
#include "tools/attune/CommandLine.h"
#include "compiler/include/attune/Compiler.h"
#include "runtime/include/attune/attune.h"
#include "tools/attune/AotOptions.h"
#include "tools/attune/WholeNumber.h"
#include <algorithm>

namespace attune::tool {

namespace {

constexpr int64_t mostSequences = 1'000'000;

constexpr auto footer = "Exit codes: 0 done and right, 1 a check failed or a kernel was stopped, 2 "
                        "wrong usage or a refused spec.";

/// Options that are text until the whole line is known.
struct Raw {
  std::vector<std::string> sets, knobs, scalars, params;
  std::optional<std::string> qLens, kvLens, policy;
};

template <class T> T number(const std::string &option, std::string_view text, const char *what) {
  T value{};
  auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size())
    throw CLI::ValidationError(option, fmt::format("'{}' is not {}", text, what));
  return value;
}

std::pair<std::string, std::string> nameAndValue(const std::string &option,
                                                 const std::string &text) {
  size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size())
    throw CLI::ValidationError(option, fmt::format("'{}' is not of the form name=value", text));
  return {text.substr(0, equals), text.substr(equals + 1)};
}

/// "5,300" as numbers; "" is a batch of no sequences.
std::optional<Lengths> lengths(const std::string &option, const std::optional<std::string> &text) {
  if (!text)
    return std::nullopt;
  Lengths values;
  for (size_t at = 0; at < text->size();) {
    size_t comma = std::min(text->find(',', at), text->size());
    auto item = std::string_view(*text).substr(at, comma - at);
    values.push_back(number<int64_t>(option, item, "a whole number; lengths look like 5,300"));
    if (values.back() < 0)
      throw CLI::ValidationError(option,
                                 fmt::format("a length must be 0 or more, got {}", values.back()));
    at = comma + 1;
  }
  return values;
}

void addSpec(CLI::App &app, SpecArgs &spec, Raw &raw, const std::string &kinds) {
  spec.arch = CompileOptions().arch;
  app.add_option("SPEC", spec.path, kinds)->required();
  app.add_option("--attention", spec.attention, "Which attention of the file (default: the first)");
  app.add_option("--arch", spec.arch, "Chip to compile for")->capture_default_str();
  app.add_option("--set", raw.sets, "name=value: a parameter of the spec (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--knob", raw.knobs, "name=value: a knob of the schedule (repeatable)")
      ->allow_extra_args(false);
}

void addCompile(CLI::App &root, CompileArgs &args, Raw &raw) {
  CLI::App *app = root.add_subcommand("compile", "Compile a spec and show or save a stage of it");
  addSpec(*app, args.spec, raw, "A spec (.attn) or an attn.kernel (.mlir)");
  app->add_option("--emit", args.emit, "Stop at a stage and print it")
      ->check(CLI::IsMember({"attn", "tile", "rocdl", "llvm", "isa", "object", "hsaco"}));
  app->add_option("-o,--output", args.output,
                  "File to write; without --emit or with hsaco: NAME.hsaco and NAME.json");
}

/// Lengths and tensors of a call.
void addCall(CLI::App &app, RunArgs &args, Raw &raw) {
  auto *qLens = app.add_option("--q-lens", raw.qLens, "Query length of each sequence: 5,300");
  auto *kvLens =
      app.add_option("--kv-lens", raw.kvLens, "Key length of each (default: as --q-lens)");
  app.add_option("--batch", args.batch, "Number of sequences of equal length (default 1)")
      ->excludes(qLens, kvLens)
      ->check(wholeNumber<int64_t>(0, mostSequences));
  app.add_option("--q-len", args.qLen, "Query length of every sequence (default 256)")
      ->excludes(qLens)
      ->check(wholeNumber<int64_t>(0));
  app.add_option("--kv-len", args.kvLen, "Key length of every sequence (default: as --q-len)")
      ->excludes(kvLens)
      ->check(wholeNumber<int64_t>(0));
  app.add_option(
      "--inputs", args.inputs,
      "A .npz or a folder of .npy: q, k, v, cu_seqlens_q, cu_seqlens_k, sink and the spec's "
      "tensors; bf16 as uint16. What is missing is drawn");
  app.add_option("--scalar", raw.scalars, "name=value: a run-time scalar of the spec (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--seed", args.seed, "Seed of drawn inputs")
      ->capture_default_str()
      ->check(wholeNumber<uint64_t>(0));
  app.add_option("--threads", args.threads,
                 "Host threads (0: all cores); results do not depend on it")
      ->check(wholeNumber<int>(0));
}

constexpr auto strictHelp =
    "Find missing waits, LDS races, wait states and undefined values (docs/strict.md)";

void addPolicy(CLI::App &app, Raw &raw) {
  app.add_option("--policy", raw.policy,
                 "arrival=instant|latest|typical,schedule=to-barrier|in-turn|reverse|random,"
                 "quantum=N,seed=N,lds-delay=N,"
                 "memory-delay=N: "
                 "which of the behaviours that hardware permits");
}

void addNoCache(CLI::App &app, bool &noCache) {
  app.add_flag("--no-cache", noCache,
               "Compile although a cache may have the kernel, and keep it nowhere (docs/cache.md)");
}

void addRun(CLI::App &root, RunArgs &args, Raw &raw) {
  CLI::App *app = root.add_subcommand(
      "run", "Compile a spec, run it on the gfx950 simulator, compare with float64");
  addSpec(*app, args.spec, raw,
          "A spec (.attn), an attn.kernel (.mlir) or a compiled kernel (.hsaco)");
  addCall(*app, args, raw);
  app->add_option("--out", args.output, "Save out and lse as .npz");
  addPolicy(*app, raw);
  app->add_flag("--strict", args.strict, strictHelp);
  addNoCache(*app, args.noCache);
  app->add_flag("--check", args.check, "Compare out and lse with the float64 oracle");
  app->add_flag("--json", args.json, "Print one JSON object");
}

void addExec(CLI::App &root, ExecArgs &args, Raw &raw) {
  CLI::App *app = root.add_subcommand("exec", "Run any gfx950 kernel as a launch file says");
  app->add_option("CODEOBJECT", args.codeObject, "An amdhsa code object (.hsaco, .co)")->required();
  app->add_option("--launch", args.launch, "Kernel, grid, arguments: JSON, see docs/exec.md")
      ->required();
  app->add_option("--threads", args.options.threads,
                  "Host threads (0: all cores); results do not depend on it")
      ->check(wholeNumber<int>(0));
  app->add_option("--budget", args.options.instructionBudget,
                  "Stop a wave after this many instructions (0: 2^31)")
      ->check(wholeNumber<uint64_t>(0));
  addPolicy(*app, raw);
  auto *strict = app->add_flag("--strict", args.strict, strictHelp);
  app->add_flag("--timing", args.timing,
                "Time it by the model of one compute unit (attune profile has more)")
      ->excludes(strict);
  app->add_option("--trace", args.trace,
                  "Write what each wave executed and when, by that model, for Perfetto or "
                  "chrome://tracing")
      ->excludes(strict);
  app->add_flag("--stats", args.stats, "Count instructions, MFMA and opcodes");
  app->add_flag("--json", args.json, "Print one JSON object");
}

void finishPolicy(sim::RunOptions &options, const Raw &raw) {
  if (!raw.policy)
    return;
  if (auto ok = parsePolicy(*raw.policy, options); !ok)
    throw CLI::ValidationError(ok.error().message);
}

void addProfile(CLI::App &root, ProfileArgs &args, Raw &raw) {
  CLI::App *app =
      root.add_subcommand("profile", "Time a kernel by a model of one gfx950 compute unit");
  addSpec(*app, args.call.spec, raw,
          "A spec (.attn), an attn.kernel (.mlir), a compiled kernel (.hsaco), or with --launch "
          "any code object");
  addCall(*app, args.call, raw);
  addNoCache(*app, args.call.noCache);
  app->add_flag("--no-lines", args.noLines,
                "Do not say which op of the tile dialect an instruction came from: that takes the "
                "compiler, even if a cache has the kernel");
  const std::vector<CLI::Option *> ofSpecs = app->get_options([](const CLI::Option *option) {
    return !option->get_positional() && !option->check_lname("threads") &&
           !option->check_lname("help");
  });
  auto *launch = app->add_option("--launch", args.launch,
                                 "Launch file of a code object: JSON, see docs/exec.md");
  for (CLI::Option *option : ofSpecs) // the file says all of it
    launch->excludes(option);
  app->add_option("--workgroups", args.workgroups,
                  "Workgroups of the launch to be timed (default: those that run)")
      ->check(wholeNumber<uint64_t>(0));
  app->add_option("--sharers", args.sharers,
                  "Workgroups of an XCD that touch the same lines, which decides their hits in L2 "
                  "(default: counted in those that run)")
      ->check(wholeNumber<uint32_t>(0));
  app->add_option("--xcds", args.xcds,
                  "XCDs that touch the same lines: what L2 lacks is then in the memory-side cache "
                  "once one of them has read it (default: each its own)")
      ->check(wholeNumber<uint32_t>(1, args.params.xcds));
  app->add_option("--param", raw.params,
                  "name=value: a number of the timing model in place of gfx950's, a row of "
                  "runtime/sim/timing/Gfx950Timing.def (repeatable)")
      ->allow_extra_args(false);
  app->add_option("--top", args.top, "Instructions to list")
      ->capture_default_str()
      ->check(wholeNumber<uint64_t>(0));
  app->add_option("--trace", args.trace, "Write a trace for Perfetto or chrome://tracing");
  app->add_option("--html", args.html,
                  "Write a page: timeline, stalls, roofline, LDS banks, instructions");
  app->add_flag("--json", args.call.json, "Print one JSON object");
}

void addExplain(CLI::App &root, ExplainArgs &args, Raw &raw) {
  CLI::App *app = root.add_subcommand("explain", "What the compiler decides about a spec, and why");
  addSpec(*app, args.spec, raw, "A spec (.attn) or an attn.kernel (.mlir)");
}

void addGolden(CLI::App &root, GoldenArgs &args) {
  args.arch = CompileOptions().arch;
  CLI::App *app = root.add_subcommand(
      "golden", "Text and hashes of every stage of every spec, kept in golden/");
  app->require_subcommand(1);
  CLI::App *check =
      app->add_subcommand("check", "Fail if a stage moved, or a spec or a golden file is alone");
  CLI::App *bless = app->add_subcommand("bless", "Accept what the compiler makes now");
  for (CLI::App *command : {check, bless}) {
    command->add_option("--specs", args.specs, "Folder of specs")->default_val("specs");
    command->add_option("--golden", args.folder, "Folder of golden files")->default_val("golden");
    command->add_option("--arch", args.arch, "Chip")->capture_default_str();
    command->add_option("--spec", args.only, "Only the spec of this name (repeatable)")
        ->allow_extra_args(false);
    command
        ->add_option("--threads", args.threads,
                     "Host threads (0: all cores); results do not depend on it")
        ->check(wholeNumber<int>(0));
  }
  check->add_flag("--json", args.json, "Print one JSON object");
  bless->add_option("--cause", args.cause, "What changed")
      ->required()
      ->check(CLI::IsMember({"spec", "compiler", "llvm"}));
  bless->add_option("--reason", args.reason, "Why the change is right, in a sentence")->required();
}

void finishSpec(SpecArgs &spec, const Raw &raw) {
  for (auto &&one : namesAndValues("--set", raw.sets, "parameter"))
    spec.parameters.insert(std::move(one));
  spec.knobs = namesAndValues("--knob", raw.knobs, "knob");
}

void addCache(CLI::App &root, CacheArgs &args, Raw &raw) {
  args.arch = CompileOptions().arch;
  CLI::App *app = root.add_subcommand("cache", "The directory of compiled kernels (docs/cache.md)");
  app->require_subcommand(1);
  const auto add = [&](const char *name, const char *help) {
    CLI::App *command = app->add_subcommand(name, help);
    command->add_option("--directory", args.directory,
                        "The directory (default: the environment's, ATTUNE_CACHE_DIR)");
    return command;
  };
  CLI::App *ls = add("ls", "List kernels, the most recently used first");
  CLI::App *show = add("show", "Key and sidecar of a kernel");
  show->add_option("DIGEST", args.digest, "The beginning of its digest")->required();
  CLI::App *verify = add("verify", "Check every byte of every kernel; exit code 1 if one is bad");
  CLI::App *gc = add("gc", "Remove the kernels that were unused longest, and leftovers");
  gc->add_option("--limit", args.limit, "Until the rest fits: 512M (default: ATTUNE_CACHE_LIMIT)");
  CLI::App *clear = add("clear", "Remove all kernels");
  CLI::App *warm = add("warm", "Compile what is not there yet");
  for (CLI::App *command : {ls, show, verify, gc, clear, warm})
    command->add_flag("--json", args.json, "Print one JSON object");
  warm->add_option("INPUTS", args.specs, "Lists of kernels (.toml, docs/aot.md) and specs (.attn)")
      ->required();
  warm->add_option("--attention", args.attention, "Which attention of a file (default: the first)");
  warm->add_option("--arch", args.arch, "Chip")->capture_default_str();
  warm->add_option("--set", raw.sets, "name=value: a parameter of the specs (repeatable)")
      ->allow_extra_args(false);
  warm->add_option("--knob", raw.knobs, "name=value: a knob of the schedule (repeatable)")
      ->allow_extra_args(false);
}

void finishRun(RunArgs &args, const Raw &raw) {
  finishSpec(args.spec, raw);
  args.qLens = lengths("--q-lens", raw.qLens);
  args.kvLens = lengths("--kv-lens", raw.kvLens);
  for (const auto &[name, value] : namesAndValues("--scalar", raw.scalars, "scalar"))
    args.scalars[name] = number<double>("--scalar", value, "a number");
}

void finishProfile(ProfileArgs &args, const Raw &raw) {
  finishRun(args.call, raw);
  for (const std::string &text : raw.params) {
    auto [name, value] = nameAndValue("--param", text);
    if (auto ok = sim::setTimingParam(args.params, name, value); !ok)
      throw CLI::ValidationError("--param", ok.error().message);
  }
}

} // namespace

std::vector<std::pair<std::string, std::string>>
namesAndValues(const std::string &option, const std::vector<std::string> &texts, const char *what) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const std::string &text : texts) {
    all.push_back(nameAndValue(option, text));
    const std::string &name = all.back().first;
    if (std::any_of(all.begin(), all.end() - 1, [&](const auto &one) { return one.first == name; }))
      throw CLI::ValidationError(option, fmt::format("'{}' sets its {} twice", text, what));
  }
  return all;
}

namespace {

/// A wrong command, which CLI11 calls a missing one.
void refuseUnknownCommand(const CLI::App &root, int argc, const char *const *argv) {
  const CLI::App *at = &root;
  for (int i = 1; i < argc && argv[i][0] != '-' && at->get_require_subcommand_min() > 0; ++i) {
    std::vector<std::string> names;
    const CLI::App *next = nullptr;
    for (const CLI::App *command : at->get_subcommands([](const CLI::App *) { return true; })) {
      names.push_back(command->get_name());
      if (command->get_name() == argv[i])
        next = command;
    }
    if (!next)
      throw CLI::ValidationError(
          fmt::format("no command is called '{}'; commands: {}", argv[i], fmt::join(names, ", ")));
    at = next;
  }
}

} // namespace

CommandLine parseCommandLine(int argc, const char *const *argv) {
  CLI::App app("attune: attention kernels for gfx950, compiled from a spec and run on any machine");
  app.require_subcommand(1);
  app.footer(footer);
  app.set_version_flag("--version",
                       fmt::format("attune {}.{}", ATTUNE_VERSION_MAJOR, ATTUNE_VERSION_MINOR));
  CompileArgs compile;
  RunArgs run;
  ExecArgs exec;
  ProfileArgs profile;
  ExplainArgs explain;
  GoldenArgs golden;
  CacheArgs cache;
  Raw raw;
  addCompile(app, compile, raw);
  addRun(app, run, raw);
  addExec(app, exec, raw);
  addProfile(app, profile, raw);
  addExplain(app, explain, raw);
  addGolden(app, golden);
  addCache(app, cache, raw);
  const AotOptions aot(app);
  CommandLine line;
  try {
    refuseUnknownCommand(app, argc, argv);
    app.parse(argc, argv);
    if (app.got_subcommand("compile")) {
      finishSpec(compile.spec, raw);
      line.compile = compile;
    } else if (app.got_subcommand("run")) {
      finishRun(run, raw);
      finishPolicy(run.policy, raw);
      line.run = run;
    } else if (app.got_subcommand("exec")) {
      finishPolicy(exec.options, raw);
      line.exec = exec;
    } else if (app.got_subcommand("profile")) {
      finishProfile(profile, raw);
      line.profile = profile;
    } else if (app.got_subcommand("explain")) {
      finishSpec(explain.spec, raw);
      line.explain = explain;
    } else if (app.got_subcommand("cache")) {
      SpecArgs spec;
      finishSpec(spec, raw);
      cache.parameters = spec.parameters;
      cache.knobs = spec.knobs;
      cache.action = app.get_subcommand("cache")->get_subcommands().front()->get_name();
      line.cache = cache;
    } else if (app.got_subcommand("aot")) {
      line.aot = aot.args();
    } else {
      golden.bless = app.get_subcommand("golden")->got_subcommand("bless");
      if (golden.bless && golden.reason.find_first_not_of(" \t\n") == std::string::npos)
        throw CLI::ValidationError("--reason", "say in a sentence why the change is right");
      line.golden = golden;
    }
  } catch (const CLI::ParseError &e) {
    line.exitCode = app.exit(e) == 0 ? exitOk : exitRefused;
  }
  return line;
}

} // namespace attune::tool
