// The compiler as its clients see it: a spec in, a code object with its sidecar out. No MLIR and no
// LLVM header.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Listing.h"
#include "runtime/abi/Result.h"
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace attune {

struct CompileOptions {
  std::string arch = "gfx950";
  std::vector<std::pair<std::string, std::string>> knobs; ///< override the spec's schedule block
};

struct ListedKernel {
  KernelImage image;
  Listing listing;
};

struct Explanation {
  std::string text;
  bool refused = false; ///< no kernel is made of the spec; the text's end says why
};

/// What a kernel is on its way, in order: text, but for Object and Hsaco, which are bytes.
enum class Stage { Attn, Tile, Rocdl, Llvm, Isa, Object, Hsaco };

struct StagedKernel {
  Sidecar sidecar;                     ///< of the kernel that the stages lead to
  std::map<Stage, std::string> stages; ///< those that were asked for
};

/// Some of what is decided about a kernel follows from its code (docs/adr/017), so every call goes
/// the whole way and shows stages of the kernel that compile() returns. Nearly all of the time is
/// LLVM's backend: who wants several stages asks for them together.
///
/// Holds one MLIR context. Thread-compatible: one thread at a time per Compiler.
class Compiler {
public:
  static Result<Compiler> create();
  Compiler(Compiler &&) noexcept;
  Compiler &operator=(Compiler &&) noexcept;
  ~Compiler();

  /// The whole way. Errors: Unsupported with the limit and the nearest legal choice; Internal for
  /// our own bugs.
  Result<KernelImage> compile(const spec::Model &, const CompileOptions & = {});

  /// The same from an attn.kernel in MLIR text.
  Result<KernelImage> compileMlir(std::string_view attnText, const CompileOptions & = {});

  /// Stages of one walk, Hsaco being the code object. The backend runs once; twice if Isa is asked
  /// for and one of Object and Hsaco too.
  Result<StagedKernel> compileStages(const spec::Model &, const std::set<Stage> &,
                                     const CompileOptions & = {});

  /// One stage. Attn is shown of what no kernel can be made of, too.
  Result<std::string> emit(const spec::Model &, Stage, const CompileOptions & = {});
  Result<std::string> emitMlir(std::string_view attnText, Stage, const CompileOptions & = {});

  /// compile(), with the kernel's instructions and the tile ops that they came from. The code
  /// object is the same, byte for byte.
  Result<ListedKernel> compileListed(const spec::Model &, const CompileOptions & = {});

  /// What was decided and why, in lines for people: mask classes, plan with reasons, limits.
  Result<Explanation> explain(const spec::Model &, const CompileOptions & = {});

private:
  struct Impl;
  explicit Compiler(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

} // namespace attune
