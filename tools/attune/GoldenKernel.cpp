// Compiles a spec, hashes its stages and keeps their text.
#include "tools/attune/GoldenKernel.h"
#include "runtime/abi/Digest.h"

namespace attune::tool {

namespace {

struct HashedStage {
  const char *name;
  Stage stage;
  bool kept; ///< is its text kept too?
};
/// In the order of lowering. Text without locations, so that moving a file moves no hash.
constexpr HashedStage hashedStages[] = {{"attn", Stage::Attn, true},
                                        {"tile", Stage::Tile, true},
                                        {"llvm", Stage::Llvm, true},
                                        {"isa", Stage::Isa, false}};

Fields resourceFields(const Resources &r) {
  std::vector<std::pair<const char *, int>> values{
      {"agpr", r.agpr},           {"lds_bytes", r.ldsBytes},
      {"occupancy", r.occupancy}, {"scratch_bytes", r.scratchBytes},
      {"sgpr", r.sgpr},           {"sgpr_spills", r.sgprSpills},
      {"vgpr", r.vgpr},           {"vgpr_spills", r.vgprSpills}};
  Fields fields;
  for (auto [name, value] : values)
    fields.emplace_back(name, std::to_string(value));
  return fields;
}

} // namespace

Result<Described> describeKernel(Compiler &compiler, const spec::Model &model,
                                 const CompileOptions &options) {
  std::set<Stage> stages;
  for (const HashedStage &hashed : hashedStages)
    stages.insert(hashed.stage);
  auto kernel = compiler.compileStages(model, stages, options);
  if (!kernel)
    return kernel.error();
  Described described;
  Golden &golden = described.golden;
  golden.origin = {{"arch", kernel->sidecar.arch},
                   {"llvm", kernel->sidecar.llvmVersion},
                   {"plan", kernel->sidecar.plan}};
  golden.stages.emplace_back("spec", model.digest); // the hash of its canonical text
  described.texts.emplace_back("spec", model.canonical);
  for (auto [name, stage, kept] : hashedStages) {
    std::string &text = kernel->stages[stage];
    golden.stages.emplace_back(name, sha256Hex(text));
    if (stage == Stage::Isa)
      golden.classes = instructionClasses(text);
    if (kept)
      described.texts.emplace_back(name, std::move(text));
  }
  golden.resources = resourceFields(kernel->sidecar.kernel.resources);
  return described;
}

} // namespace attune::tool
