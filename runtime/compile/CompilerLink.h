// The way to the compiler, for a process that hopes never to need it.
//
// libattune-compiler is looked for in this order: the variable ATTUNE_COMPILER, beside libattune
// (or the executable that holds this code), in lib/ beside its folder. What it is, its build id and
// those of the LLVM libraries that it was linked with, is read from the files' ELF notes; nothing
// is loaded for that. The first compile loads it, or with ATTUNE_COMPILE=child starts
// attune-compile-worker, which loads it, for each kernel: then a crash or an out-of-memory kill of
// the compiler is an error of one call.
#pragma once
#include "runtime/abi/CompileCall.h"
#include "runtime/abi/Environment.h"
#include "runtime/abi/KernelImage.h"
#include "runtime/abi/Result.h"
#include "runtime/compile/KernelKey.h"
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace attune {

/// Of ATTUNE_COMPILE_TIMEOUT and its like.
constexpr int mostCompileSeconds = 86'400;

enum class CompileWhere { InProcess, Child };

struct CompilerOptions {
  std::string library; ///< path of libattune-compiler.so; empty: looked for
  CompileWhere where = CompileWhere::InProcess;
  uint64_t childMemoryBytes = 0;                ///< limit of the child's address space; 0: none
  std::chrono::milliseconds childTime{600'000}; ///< that a child may take for one kernel
  /// Who filled the caches, for a machine that has no compiler; empty: read from the files.
  std::optional<CompilerIdentity> identity;
};

/// From the variables ATTUNE_COMPILE... Errors: InvalidArgument, naming the variable and its legal
/// values.
Result<CompilerOptions> compilerOptionsFromEnvironment(const Environment & = environment);

class CompilerLink {
public:
  explicit CompilerLink(CompilerOptions options);

  /// Errors: NotFound, with the places that were searched, if there is no compiler.
  Result<CompilerIdentity> identity();

  /// Any thread, several at once. Errors: the compiler's own; NotFound if there is none; Internal,
  /// how the child ended or which limit it broke.
  Result<CompileReply> compile(const CompileRequest &);

  /// Program and arguments of a child that compiles: requests and replies of CompileCall.h, in
  /// frames (runtime/process), one after another. Errors: NotFound if there is no compiler.
  Result<std::vector<std::string>> workerCommand() const;

private:
  Result<std::string> libraryPath() const;
  Result<attune_compile_function> load();
  Result<CompileReply> compileInChild(const CompileRequest &) const;

  const CompilerOptions options_;
  std::mutex mutex_;
  std::optional<CompilerIdentity> identity_;
  attune_compile_function compile_ = nullptr;
};

} // namespace attune
