// Reads SPEC by its ending and hands it to the compiler.
#include "tools/attune/Source.h"
#include "compiler/spec/Spec.h"
#include "runtime/launch/File.h"
#include "runtime/launch/KernelFile.h"
#include <fmt/format.h>

namespace attune::tool {

namespace {

/// Parameters and names of attentions belong to a spec's text.
Result<void> refuseSpecOptions(const SpecArgs &args, std::string_view kind) {
  if (!args.parameters.empty())
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("--set: {} has no parameters; set them where it is made from its spec", kind)};
  if (!args.attention.empty())
    return Error{ErrorCode::InvalidArgument, fmt::format("--attention: {} holds one kernel", kind)};
  return {};
}

Result<Source> readMlir(const SpecArgs &args) {
  if (auto ok = refuseSpecOptions(args, "an attn.kernel"); !ok)
    return ok.error();
  auto bytes = readFile(args.path);
  if (!bytes)
    return bytes.error();
  return Source{{}, std::string(bytes->begin(), bytes->end()), {}};
}

Result<Source> readKernel(const SpecArgs &args) {
  if (auto ok = refuseSpecOptions(args, "a compiled kernel"); !ok)
    return ok.error();
  if (!args.knobs.empty())
    return Error{ErrorCode::InvalidArgument, "--knob: the kernel is compiled already"};
  auto image = loadKernel(args.path);
  if (!image)
    return image.error();
  if (image->sidecar.arch != args.arch)
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("--arch {}: {} is compiled for {}", args.arch, args.path, image->sidecar.arch)};
  return Source{{}, {}, std::move(*image)};
}

} // namespace

Result<Source> readSource(const SpecArgs &args) {
  if (args.path.ends_with(".mlir"))
    return readMlir(args);
  if (args.path.ends_with(".hsaco"))
    return readKernel(args);
  auto model = spec::parseSpecFile(
      args.path,
      {.fileName = args.path, .parameters = args.parameters, .attention = args.attention});
  if (!model)
    return model.error();
  return Source{std::move(*model), {}, {}};
}

CompileOptions compileOptions(const SpecArgs &args) {
  return {.arch = args.arch, .knobs = args.knobs};
}

Result<KernelImage> compileSource(const Source &source, const SpecArgs &args) {
  if (source.image)
    return *source.image;
  auto compiler = Compiler::create();
  if (!compiler)
    return compiler.error();
  return source.model ? compiler->compile(*source.model, compileOptions(args))
                      : compiler->compileMlir(source.mlir, compileOptions(args));
}

Result<std::string> emitSource(const Source &source, Stage stage, const SpecArgs &args) {
  if (source.image)
    return Error{ErrorCode::InvalidArgument,
                 "a compiled kernel has no stages left; give the spec it was made from"};
  auto compiler = Compiler::create();
  if (!compiler)
    return compiler.error();
  return source.model ? compiler->emit(*source.model, stage, compileOptions(args))
                      : compiler->emitMlir(source.mlir, stage, compileOptions(args));
}

} // namespace attune::tool
