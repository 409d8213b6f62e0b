// The walk from a spec to a code object: build, lower by phases, generate code, describe the
// result.
#include "compiler/driver/Session.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/driver/Diagnostics.h"
#include "compiler/lower/SpecToAttn.h"
#include "compiler/pipeline/Pipelines.h"
#include "compiler/spec/Spec.h"
#include "fmt/format.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/Transforms/Passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/LocationSnapshot.h"
#include "runtime/abi/Digest.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>

namespace attune {
namespace {

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  stream << '\n';
  return text;
}

/// The argument list that lowering left on the kernel's function.
Result<std::vector<KernelArg>> readAbi(mlir::LLVM::LLVMFuncOp function) {
  auto list = function->getAttrOfType<mlir::ArrayAttr>("attune.abi");
  if (!list)
    return Error{ErrorCode::Internal, "the lowered kernel has no attune.abi attribute"};
  std::vector<KernelArg> args;
  for (auto entry : list.getAsRange<mlir::DictionaryAttr>()) {
    auto number = [&](const char *key) {
      return static_cast<uint32_t>(entry.getAs<mlir::IntegerAttr>(key).getInt());
    };
    args.push_back({entry.getAs<mlir::StringAttr>("name").str(),
                    entry.getAs<mlir::StringAttr>("kind").str(), number("offset"), number("size")});
  }
  return args;
}

/// The ABI is stated twice, by lowering and by the code object; a launcher may rely on it because
/// they agree.
Result<void> checkAbi(const std::vector<KernelArg> &stated, const codegen::KernelInfo &built) {
  const bool same = std::equal(stated.begin(), stated.end(), built.args.begin(), built.args.end(),
                               [](const KernelArg &a, const KernelArg &b) {
                                 return a.offset == b.offset && a.size == b.size;
                               });
  if (same)
    return {};
  return Error{ErrorCode::Internal,
               fmt::format("kernel {}: the code object's {} arguments are not where lowering put "
                           "its {}",
                           built.name, built.args.size(), stated.size())};
}

} // namespace

attn::KernelOp Session::kernel() { return *module_->getOps<attn::KernelOp>().begin(); }

Result<void> Session::adopt(mlir::OwningOpRef<mlir::ModuleOp> module, std::string digest) {
  module_ = std::move(module);
  digest_ = std::move(digest);
  const auto count = std::distance(module_->getOps<attn::KernelOp>().begin(),
                                   module_->getOps<attn::KernelOp>().end());
  if (count != 1)
    return Error{ErrorCode::InvalidArgument,
                 fmt::format("a module to compile holds one attn.kernel; this one has {}", count)};
  problem_ = kernel().problem();
  return run("attn", ErrorCode::Internal, addAttnPhase);
}

Result<void> Session::load(const spec::Model &model) {
  model_ = &model;
  DiagnosticCollector errors(context_);
  mlir::OwningOpRef<mlir::ModuleOp> module = buildAttn(context_, model);
  if (!module)
    return Error{ErrorCode::Internal, errors.text()};
  return adopt(std::move(module), model.digest);
}

Result<void> Session::load(std::string_view attnText) {
  DiagnosticCollector errors(context_);
  auto module = mlir::parseSourceString<mlir::ModuleOp>(attnText, &context_, "<attn>");
  if (!module)
    return Error{ErrorCode::InvalidSpec, errors.text()};
  std::string digest =
      sha256Hex(textOf(*module)); // of the printed form: comments and spaces do not matter
  return adopt(std::move(module), std::move(digest));
}

/// A refusal with the line of the spec that asks for it, unless the command line does.
Error Session::located(Error error) const {
  const auto byCommand = [&](const auto &knob) { return error.place == "schedule." + knob.first; };
  if (model_ && !llvm::any_of(options_.knobs, byCommand))
    error.message = spec::renderAt(*model_, error.place, error.message);
  return error;
}

Result<void> Session::plan() {
  if (plan_)
    return {};
  Result<target::Arch> arch = target::archByName(options_.arch);
  if (!arch)
    return arch.error();
  std::vector<std::pair<std::string, std::string>> knobs = kernel().scheduleKnobs();
  knobs.insert(knobs.end(), options_.knobs.begin(), options_.knobs.end());
  Result<schedule::Plan> plan = schedule::choosePlan(problem_, *arch, knobs);
  if (!plan)
    return located(plan.error());
  arch_ = *arch;
  plan_ = std::move(*plan);
  return {};
}

bool Session::asks(llvm::StringRef knob) {
  const auto named = [&](const auto &one) { return one.first == knob; };
  return llvm::any_of(options_.knobs, named) || llvm::any_of(kernel().scheduleKnobs(), named);
}

Result<void> Session::run(const char *phase, ErrorCode onFailure,
                          llvm::function_ref<void(mlir::OpPassManager &)> add) {
  DiagnosticCollector errors(context_);
  mlir::PassManager passes(&context_); // runs the verifier after every pass
  add(passes);
  if (mlir::succeeded(passes.run(*module_)))
    return {};
  return Error{onFailure,
               errors.text().empty() ? fmt::format("the {} phase failed", phase) : errors.text()};
}

Result<std::string> Session::attnText() {
  // What was asked for by name must exist.
  if (auto known = target::archByName(options_.arch); !known)
    return known.error();
  const bool asked = !options_.knobs.empty() || !kernel().scheduleKnobs().empty();
  if (Result<void> planned = plan();
      asked && !planned && llvm::StringRef(planned.error().place).starts_with("schedule."))
    return planned.error();
  return textOf(*module_);
}

Result<void> Session::lowerToTile() {
  const PipelineOptions options{options_.arch, options_.knobs};
  Result<void> done =
      run("tile", ErrorCode::Internal, [&](mlir::OpPassManager &pm) { addTilePhase(pm, options); });
  if (done)
    return {};
  // A kernel that is still attn was refused; anything later is a bug of ours.
  const bool refused = !module_->getOps<attn::KernelOp>().empty();
  return Error{refused ? ErrorCode::Unsupported : ErrorCode::Internal, done.error().message};
}

Result<void> Session::lowerToRocdl(const Wanted &wanted, Walk &walk) {
  const auto keep = [&](Stage stage) {
    if (wanted.stages.contains(stage))
      walk.stages[stage] = textOf(*module_);
  };
  keep(Stage::Attn);
  if (Result<void> done = lowerToTile(); !done)
    return done;
  keep(Stage::Tile);
  if (wanted.listing) {
    llvm::raw_string_ostream stream(walk.listing.tile);
    mlir::generateLocationsFromIR(stream, "tile.mlir", *module_, mlir::OpPrintingFlags());
  }
  if (Result<void> done = run("rocdl", ErrorCode::Internal, addRocdlPhase); !done)
    return done;
  keep(Stage::Rocdl);
  if (!wanted.listing)
    return {};
  // Instructions are told by line tables, which the linker strips.
  return run("line table", ErrorCode::Internal, [](mlir::OpPassManager &pm) {
    pm.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass());
  });
}

Result<codegen::LlvmKernel> Session::optimized() {
  DiagnosticCollector errors(context_);
  Result<codegen::LlvmKernel> kernel = codegen::translate(*module_, arch_->name);
  if (!kernel)
    return kernel;
  if (Result<void> done = codegen::optimize(*kernel); !done)
    return done.error();
  return kernel;
}

/// The backend's part. Assembly text and object say the same of the kernel: if one of them is
/// enough, the backend, which spoils its input, runs once.
Result<codegen::KernelInfo> Session::generate(const Wanted &wanted, Walk &walk) {
  Result<codegen::LlvmKernel> kernel = optimized();
  if (!kernel)
    return kernel.error();
  if (wanted.stages.contains(Stage::Llvm))
    walk.stages[Stage::Llvm] = kernel->text();
  if (!wanted.stages.contains(Stage::Isa))
    return generateObject(std::move(*kernel), wanted, walk);
  Result<std::string> isa = codegen::emitIsa(*kernel);
  if (!isa)
    return isa.error();
  Result<codegen::KernelInfo> built = codegen::readIsa(*isa);
  walk.stages[Stage::Isa] = std::move(*isa);
  if (!wanted.listing && !wanted.stages.contains(Stage::Object) &&
      !wanted.stages.contains(Stage::Hsaco))
    return built;
  Result<codegen::LlvmKernel> again = optimized();
  if (!again)
    return again.error();
  return generateObject(std::move(*again), wanted, walk);
}

Result<codegen::KernelInfo> Session::generateObject(codegen::LlvmKernel kernel,
                                                    const Wanted &wanted, Walk &walk) {
  Result<std::string> object = codegen::emitObject(kernel);
  if (!object)
    return object.error();
  if (wanted.listing) {
    Result<std::vector<ListingRow>> rows = codegen::listObject(kernel, *object);
    if (!rows)
      return rows.error();
    walk.listing.rows = std::move(*rows);
  }
  Result<std::vector<uint8_t>> code = codegen::link(*object, problem_.specName);
  if (!code)
    return code.error();
  if (wanted.stages.contains(Stage::Object))
    walk.stages[Stage::Object] = std::move(*object);
  if (wanted.stages.contains(Stage::Hsaco))
    walk.stages[Stage::Hsaco].assign(code->begin(), code->end());
  return codegen::readKernel(*code);
}

Result<KernelReport> Session::report(const codegen::KernelInfo &built) {
  auto function = module_->lookupSymbol<mlir::LLVM::LLVMFuncOp>(built.name);
  if (!function)
    return Error{
        ErrorCode::Internal,
        fmt::format("the code object has a kernel {} that the module has not", built.name)};
  Result<std::vector<KernelArg>> args = readAbi(function);
  if (!args)
    return args.error();
  if (Result<void> agree = checkAbi(*args, built); !agree)
    return agree.error();

  KernelReport report;
  report.name = built.name;
  report.abiFingerprint = abiFingerprint(*args);
  report.args = std::move(*args);
  report.kernargBytes = built.kernargBytes;
  report.grid = {plan_->blockM(), built.maxWorkgroupThreads};
  report.resources = built.resources;
  report.resources.occupancy =
      arch_->occupancy(report.resources.vgpr, report.resources.agpr, report.resources.ldsBytes,
                       built.maxWorkgroupThreads / arch_->waveSize);
  return report;
}

Result<Walk> Session::walk(const Wanted &wanted) {
  if (Result<void> planned = plan(); !planned)
    return planned.error();
  Walk walk;
  if (Result<void> lowered = lowerToRocdl(wanted, walk); !lowered)
    return lowered.error();
  Result<codegen::KernelInfo> built = generate(wanted, walk);
  if (!built)
    return built.error();
  Result<KernelReport> kernel = report(*built);
  if (!kernel)
    return kernel.error();
  walk.plan = *plan_;
  walk.sidecar.problem = problem_;
  walk.sidecar.arch = arch_->name;
  walk.sidecar.specDigest = digest_;
  walk.sidecar.plan = plan_->str();
  walk.sidecar.llvmVersion = LLVM_VERSION_STRING;
  walk.sidecar.kernel = std::move(*kernel);
  return walk;
}

} // namespace attune
