// What SPEC names: a spec, an attn.kernel as text, or a compiled kernel; and how each becomes a
// kernel.
#pragma once
#include "compiler/include/attune/Compiler.h"
#include "runtime/abi/KernelImage.h"
#include "tools/attune/CommandLine.h"
#include <optional>

namespace attune::tool {

struct Source {
  std::optional<spec::Model> model; ///< a spec
  std::string mlir;                 ///< an attn.kernel
  std::optional<KernelImage> image; ///< a compiled kernel
};

/// Reads and checks the file; the kind follows from its ending. Parameters are refused where there
/// are none.
Result<Source> readSource(const SpecArgs &);

CompileOptions compileOptions(const SpecArgs &);

/// A compiled kernel is passed through.
Result<KernelImage> compileSource(const Source &, const SpecArgs &);
Result<std::string> emitSource(const Source &, Stage, const SpecArgs &);

} // namespace attune::tool
