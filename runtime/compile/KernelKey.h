// The cache key of a spec's kernel: everything that its bytes depend on.
//
//   arch      the chip
//   compiler  build id of libattune-compiler
//   knobs     the schedule's knobs, those of the call over those of the spec
//   llvm      version of LLVM and build ids of its libraries
//   name      of the attention: it is the kernel's symbol
//   spec      the canonical text
//
// The compiler reads no environment variable and no other file, so the list is complete: tests walk
// over every option, knob, field and parameter (tests/driver/KeyTest.cpp) and every variable
// (tests/runtime/api/CompilerKeyTest.cpp) with the real compiler. The other way round, one key is
// one kernel bit for bit, since what the canonical text prints is what is lowered. A bundle is
// searched without `compiler` and `llvm`: it holds finished kernels, for processes that may have no
// compiler.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/abi/Result.h"
#include "runtime/cache/Key.h"
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attune {

/// Which compiler made or would make a kernel.
struct CompilerIdentity {
  std::string compiler, llvm;
};

using Knobs = std::vector<std::pair<std::string, std::string>>;

using Parameters = std::map<std::string, std::string>;

/// The parameters are those that the model was made with. They are in its canonical text already;
/// here they serve the command that messages name.
Result<cache::Key> kernelKey(const spec::Model &, const std::string &arch, const Knobs &,
                             const CompilerIdentity &, const Parameters &parameters);

/// What names a kernel to `attune aot` and `attune cache warm`, for a shell.
std::string kernelArguments(const spec::Model &, const Parameters &, const std::string &arch,
                            const Knobs &);

} // namespace attune
