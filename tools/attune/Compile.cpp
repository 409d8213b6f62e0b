// attune compile and attune explain.
#include "runtime/launch/File.h"
#include "runtime/launch/KernelFile.h"
#include "tools/attune/Report.h"
#include "tools/attune/Source.h"
#include <cstdio>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace attune::tool {

namespace {

struct StageName {
  std::string_view name;
  Stage stage;
  bool text;
};
constexpr StageName stages[] = {
    {"attn", Stage::Attn, true}, {"hsaco", Stage::Hsaco, false},   {"isa", Stage::Isa, true},
    {"llvm", Stage::Llvm, true}, {"object", Stage::Object, false}, {"rocdl", Stage::Rocdl, true},
    {"tile", Stage::Tile, true},
};

std::string kernelText(const Sidecar &s) {
  return fmt::format("kernel  {}  ({}, LLVM {}, compiled in {:.0f} ms)\nplan    {}\n        {}\n",
                     s.kernel.name, s.arch, s.llvmVersion, s.compileMs, s.plan,
                     resourcesText(s.kernel.resources));
}

/// Compiles all the way; saves both files if an output is named.
int compileKernel(const Source &source, const CompileArgs &args) {
  auto image = compileSource(source, args.spec);
  if (!image)
    return fail(image.error());
  fmt::print("{}", kernelText(image->sidecar));
  if (args.output.empty())
    return exitOk;
  if (auto ok = saveKernel(args.output, *image); !ok)
    return fail(ok.error());
  fmt::print("saved   {}\n", fmt::join(kernelFiles(args.output), " and "));
  return exitOk;
}

} // namespace

int compileCommand(const CompileArgs &args) {
  auto source = readSource(args.spec);
  if (!source)
    return fail(source.error());
  if (args.emit.empty() || args.emit == "hsaco") {
    if (args.emit == "hsaco" && args.output.empty())
      return fail({ErrorCode::InvalidArgument, "--emit hsaco: name the file with -o"});
    return compileKernel(*source, args);
  }
  for (const StageName &s : stages) {
    if (s.name != args.emit)
      continue;
    if (!s.text && args.output.empty())
      return fail({ErrorCode::InvalidArgument,
                   fmt::format("--emit {}: the stage is binary; name the file with -o", s.name)});
    auto text = emitSource(*source, s.stage, args.spec);
    if (!text)
      return fail(text.error());
    if (args.output.empty()) {
      fmt::print("{}", *text);
      return exitOk;
    }
    auto ok =
        writeFile(args.output, {reinterpret_cast<const uint8_t *>(text->data()), text->size()});
    return ok ? exitOk : fail(ok.error());
  }
  return fail(
      {ErrorCode::InvalidArgument, fmt::format("--emit: no stage is called {}", args.emit)});
}

int explainCommand(const ExplainArgs &args) {
  auto source = readSource(args.spec);
  if (!source)
    return fail(source.error());
  if (!source->model) { // the reasons are in the spec's terms; a kernel has only what came of them
    auto image = compileSource(*source, args.spec);
    if (!image)
      return fail(image.error());
    fmt::print("{}", kernelText(image->sidecar));
    return exitOk;
  }
  auto compiler = Compiler::create();
  if (!compiler)
    return fail(compiler.error());
  auto text = compiler->explain(*source->model, compileOptions(args.spec));
  if (!text)
    return fail(text.error());
  fmt::print("{}", text->text);
  return text->refused ? exitRefused : exitOk;
}

} // namespace attune::tool
