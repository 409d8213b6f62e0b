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

Result<void> Session::lower(Stage last) {
  if (Result<void> planned = plan(); !planned)
    return planned;
  if (stage_ < Stage::Tile && last >= Stage::Tile) {
    const PipelineOptions options{options_.arch, options_.knobs};
    Result<void> done = run("tile", ErrorCode::Internal,
                            [&](mlir::OpPassManager &pm) { addTilePhase(pm, options); });
    if (!done) {
      // A kernel that is still attn was refused; anything later is a bug of ours.
      const bool refused = !module_->getOps<attn::KernelOp>().empty();
      return Error{refused ? ErrorCode::Unsupported : ErrorCode::Internal, done.error().message};
    }
    stage_ = Stage::Tile;
  }
  if (stage_ < Stage::Rocdl && last >= Stage::Rocdl) {
    if (Result<void> done = run("rocdl", ErrorCode::Internal, addRocdlPhase); !done)
      return done;
    stage_ = Stage::Rocdl;
  }
  return {};
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

Result<std::string> Session::emit(Stage stage) {
  if (stage == Stage::Attn) {
    // The problem alone: what no kernel can be made of may be shown, but what was asked for by name
    // must exist.
    if (auto known = target::archByName(options_.arch); !known)
      return known.error();
    const bool asked = !options_.knobs.empty() || !kernel().scheduleKnobs().empty();
    if (Result<void> planned = plan();
        asked && !planned && llvm::StringRef(planned.error().place).starts_with("schedule."))
      return planned.error();
    return textOf(*module_);
  }
  if (Result<void> done = lower(stage); !done)
    return done.error();
  if (stage == Stage::Tile || stage == Stage::Rocdl)
    return textOf(*module_);
  if (stage == Stage::Hsaco) {
    Result<KernelImage> built = compile();
    return built ? Result<std::string>(
                       std::string(built->codeObject.begin(), built->codeObject.end()))
                 : built.error();
  }

  Result<codegen::LlvmKernel> kernel = optimized();
  if (!kernel)
    return kernel.error();
  switch (stage) {
  case Stage::Llvm:
    return kernel->text();
  case Stage::Isa:
    return codegen::emitIsa(*kernel);
  default:
    return codegen::emitObject(*kernel);
  }
}

Result<ListedKernel> Session::compileListed() {
  if (Result<void> done = lower(Stage::Tile); !done)
    return done.error();
  Listing listing;
  {
    llvm::raw_string_ostream stream(listing.tile);
    mlir::generateLocationsFromIR(stream, "tile.mlir", *module_, mlir::OpPrintingFlags());
  }
  if (Result<void> done = lower(Stage::Rocdl); !done)
    return done.error();
  Result<void> scoped = run("line table", ErrorCode::Internal, [](mlir::OpPassManager &pm) {
    pm.addPass(mlir::LLVM::createDIScopeForLLVMFuncOpPass());
  });
  if (!scoped)
    return scoped.error();
  Result<codegen::LlvmKernel> kernel = optimized();
  if (!kernel)
    return kernel.error();
  Result<std::string> object = codegen::emitObject(*kernel);
  if (!object)
    return object.error();
  Result<std::vector<ListingRow>> rows = codegen::listObject(*kernel, *object);
  if (!rows)
    return rows.error();
  listing.rows = std::move(*rows);
  Result<std::vector<uint8_t>> bytes = codegen::link(*object, problem_.specName);
  if (!bytes)
    return bytes.error();
  Result<KernelImage> built = image(std::move(*bytes));
  if (!built)
    return built.error();
  return ListedKernel{std::move(*built), std::move(listing)};
}

Result<KernelReport> Session::report(const std::vector<uint8_t> &codeObject) {
  Result<codegen::KernelInfo> built = codegen::readKernel(codeObject);
  if (!built)
    return built.error();
  auto function = module_->lookupSymbol<mlir::LLVM::LLVMFuncOp>(built->name);
  if (!function)
    return Error{
        ErrorCode::Internal,
        fmt::format("the code object has a kernel {} that the module has not", built->name)};
  Result<std::vector<KernelArg>> args = readAbi(function);
  if (!args)
    return args.error();
  if (Result<void> agree = checkAbi(*args, *built); !agree)
    return agree.error();

  KernelReport report;
  report.name = built->name;
  report.abiFingerprint = abiFingerprint(*args);
  report.args = std::move(*args);
  report.kernargBytes = built->kernargBytes;
  report.grid = {plan_->blockM(), built->maxWorkgroupThreads};
  report.resources = built->resources;
  report.resources.occupancy =
      arch_->occupancy(report.resources.vgpr, report.resources.agpr, report.resources.ldsBytes,
                       built->maxWorkgroupThreads / arch_->waveSize);
  return report;
}

Result<KernelImage> Session::compile() {
  Result<std::string> object = emit(Stage::Object);
  if (!object)
    return object.error();
  Result<std::vector<uint8_t>> bytes = codegen::link(*object, problem_.specName);
  if (!bytes)
    return bytes.error();
  return image(std::move(*bytes));
}

Result<KernelImage> Session::image(std::vector<uint8_t> codeObject) {
  Result<KernelReport> kernel = report(codeObject);
  if (!kernel)
    return kernel.error();
  KernelImage image;
  image.codeObject = std::move(codeObject);
  image.sidecar.problem = problem_;
  image.sidecar.arch = arch_->name;
  image.sidecar.specDigest = digest_;
  image.sidecar.plan = plan_->str();
  image.sidecar.llvmVersion = LLVM_VERSION_STRING;
  image.sidecar.kernel = std::move(*kernel);
  return image;
}

} // namespace attune
