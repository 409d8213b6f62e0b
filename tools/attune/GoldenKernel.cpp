// Compiles a spec once per stage and hashes what comes out.
#include "tools/attune/GoldenKernel.h"
#include "runtime/abi/Digest.h"

namespace attune::tool {

namespace {

struct HashedStage {
  const char *name;
  Stage stage;
};
/// In the order of lowering. Text without locations, so that moving a file moves no hash.
constexpr HashedStage hashedStages[] = {
    {"attn", Stage::Attn}, {"tile", Stage::Tile}, {"llvm", Stage::Llvm}, {"isa", Stage::Isa}};

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

Result<Golden> describeKernel(Compiler &compiler, const spec::Model &model,
                              const CompileOptions &options) {
  auto image = compiler.compile(model, options);
  if (!image)
    return image.error();
  Golden golden;
  golden.origin = {{"arch", image->sidecar.arch},
                   {"llvm", image->sidecar.llvmVersion},
                   {"plan", image->sidecar.plan}};
  golden.stages.emplace_back("spec", model.digest);
  for (auto [name, stage] : hashedStages) {
    auto text = compiler.emit(model, stage, options);
    if (!text)
      return text.error();
    golden.stages.emplace_back(name, sha256Hex(*text));
    if (stage == Stage::Isa)
      golden.classes = instructionClasses(*text);
  }
  golden.resources = resourceFields(image->sidecar.kernel.resources);
  return golden;
}

} // namespace attune::tool
