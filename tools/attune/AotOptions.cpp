// attune aot [INPUTS] and its subcommands.
#include "tools/attune/AotOptions.h"
#include "tools/attune/CommandLine.h"
#include "tools/attune/WholeNumber.h"

namespace attune::tool {

struct AotOptions::Raw {
  CLI::App *app = nullptr;
  AotBuild build;
  AotMerge merge;
  AotShow show;
  AotVerify verify;
  AotPlan plan;
  AotCoverage coverage;
  std::vector<std::string> sets, knobs;
  std::string shard;
};

namespace {

const std::map<std::string, AotForm> forms = {{"bundle", AotForm::Bundle},
                                              {"c", AotForm::C},
                                              {"ninja", AotForm::Ninja},
                                              {"object", AotForm::Object}};

CLI::Option *addOutput(CLI::App &app, AotOutput &output, const std::vector<std::string> &names) {
  app.add_option_function<std::string>(
         "--emit", [&output](const std::string &name) { output.form = forms.at(name); },
         "bundle; c: an array; object: a relocatable file; ninja: a build file with one edge per "
         "kernel")
      ->check(CLI::IsMember(names));
  app.add_option("--symbol", output.symbol, "Name of the array in c and object")
      ->capture_default_str();
  return app.add_option("-o,--output", output.path, "File to write");
}

void addBuild(CLI::App &app, AotBuild &build, std::vector<std::string> &sets,
              std::vector<std::string> &knobs, std::string &shard) {
  app.add_option("INPUTS", build.inputs, "Lists of kernels (.toml) and specs (.attn)");
  app.add_option("--arch", build.archs, "Chips to compile for: gfx950. None is guessed")
      ->delimiter(',');
  app.add_option("-j,--jobs", build.jobs,
                 "Worker processes (default: as processors and memory allow)")
      ->check(wholeNumber<int>(1));
  addOutput(app, build.output, {"bundle", "c", "ninja", "object"});
  app.add_option("--work", build.work, "Folder of finished kernels (default: OUTPUT.work)");
  app.add_option("--worker-memory", build.workerMiB,
                 "MiB: a worker above it is replaced, above twice as much stopped")
      ->capture_default_str()
      ->check(wholeNumber<int>(1));
  app.add_option("--shard", shard, "i/n: build the i-th of n parts of the list");
  app.add_option("--only", build.only, "Digest of a key: build only this kernel (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--attention", build.attention, "Of specs: which attention (default: the first)");
  app.add_option("--set", sets, "Of specs: name=value, a parameter (repeatable)")
      ->allow_extra_args(false);
  app.add_option("--knob", knobs, "Of specs: name=value, a knob of the schedule (repeatable)")
      ->allow_extra_args(false);
  app.add_flag("--json", build.json, "Print one JSON object");
}

void addModel(CLI::App &app, AotModel &model) {
  app.add_option("--model", model.config, "config.json of a Hugging Face model")->required();
  app.add_option("--tp", model.tensorParallel, "Ranks that share the heads")
      ->capture_default_str()
      ->check(wholeNumber<int>(1));
  app.add_option("--page-size", model.pageSize, "Tokens of a page of the KV cache (0: contiguous)")
      ->check(wholeNumber<int>(0));
  app.add_option("--kv-dtype", model.kvDtype, "Type of the KV cache (default: the model's)")
      ->check(CLI::IsMember({"bf16", "fp16", "fp8"}));
  app.add_option("--dtype", model.dtype, "Type of q, k, v (default: the config's)")
      ->check(CLI::IsMember({"bf16", "fp16"}));
  app.add_option("--spec-decode", model.specDecode, "Tokens that are drafted per step (0: none)")
      ->check(wholeNumber<int>(0));
}

std::pair<size_t, size_t> shardOf(const std::string &text) {
  size_t index = 0, count = 0;
  const char *end = text.data() + text.size();
  auto [slash, bad] = std::from_chars(text.data(), end, index);
  bool good = bad == std::errc() && slash != end && *slash == '/';
  if (good) {
    auto [last, worse] = std::from_chars(slash + 1, end, count);
    good = worse == std::errc() && last == end && index >= 1 && index <= count;
  }
  if (!good)
    throw CLI::ValidationError("--shard", fmt::format("'{}' is not i/n with 1 <= i <= n", text));
  return {index - 1, count};
}

void need(bool given, const char *what) {
  if (!given)
    throw CLI::RequiredError(what);
}

} // namespace

AotOptions::AotOptions(CLI::App &root) : raw_(std::make_unique<Raw>()) {
  Raw &r = *raw_;
  r.app = root.add_subcommand("aot", "Kernels made ahead of time: build, merge and check bundles");
  r.app->require_subcommand(0, 1);
  addBuild(*r.app, r.build, r.sets, r.knobs, r.shard);
  CLI::App *merge = r.app->add_subcommand("merge", "Several bundles as one");
  merge->add_option("BUNDLES", r.merge.bundles, "Bundles");
  merge->add_option("--from", r.merge.from, "A file that names more bundles, one a line");
  addOutput(*merge, r.merge.output, {"bundle", "c", "object"})->required();
  CLI::App *show = r.app->add_subcommand("show", "What a bundle holds");
  show->add_option("BUNDLE", r.show.bundle)->required();
  show->add_flag("--json", r.show.json, "Print one JSON object");
  CLI::App *verify = r.app->add_subcommand("verify", "Check every byte of a bundle");
  verify->add_option("BUNDLE", r.verify.bundle)->required();
  CLI::App *plan = r.app->add_subcommand("plan", "The list of kernels that a model needs");
  addModel(*plan, r.plan.model);
  plan->add_option("-o,--output", r.plan.output, "LIST.toml; its specs are written beside it")
      ->required();
  plan->add_flag("--json", r.plan.json, "Print one JSON object");
  CLI::App *coverage = r.app->add_subcommand("coverage", "Which of a model's kernels a bundle has");
  addModel(*coverage, r.coverage.model);
  coverage->add_option("--arch", r.coverage.arch, "Chip")->required();
  coverage->add_option("BUNDLE", r.coverage.bundle)->required();
  coverage->add_flag("--json", r.coverage.json, "Print one JSON object");
}

AotOptions::~AotOptions() = default;

AotArgs AotOptions::args() const {
  const CLI::App &app = *raw_->app;
  if (app.got_subcommand("merge"))
    return raw_->merge;
  if (app.got_subcommand("show"))
    return raw_->show;
  if (app.got_subcommand("verify"))
    return raw_->verify;
  if (app.got_subcommand("plan"))
    return raw_->plan;
  if (app.got_subcommand("coverage"))
    return raw_->coverage;
  AotBuild build = raw_->build;
  need(!build.inputs.empty(), "INPUTS: lists of kernels (.toml) and specs (.attn)");
  need(!build.archs.empty(), "--arch: the chips to compile for");
  need(!build.output.path.empty(), "--output");
  for (auto &&one : namesAndValues("--set", raw_->sets, "parameter"))
    build.parameters.insert(std::move(one));
  build.knobs = namesAndValues("--knob", raw_->knobs, "knob");
  if (!raw_->shard.empty())
    std::tie(build.shard, build.shards) = shardOf(raw_->shard);
  return build;
}

} // namespace attune::tool
