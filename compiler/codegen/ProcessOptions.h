// LLVM options that exist once per process, and who may touch them when.
//
// A few backend passes can be turned off by command-line option only. LLD resets every such option
// each time it runs (it parses a command line of its own), so code generation holds the options
// shared and the linker holds them alone and puts ours back. Without this a kernel's code would
// depend on what else the process compiled before.
#pragma once

namespace attune::codegen {

/// Held while LLVM optimises or emits code. Any number at once.
class SharedOptions {
public:
  SharedOptions();
  ~SharedOptions();
  SharedOptions(const SharedOptions &) = delete;
};

/// Held while LLD runs. Ours are set again when it goes.
class ExclusiveOptions {
public:
  ExclusiveOptions();
  ~ExclusiveOptions();
  ExclusiveOptions(const ExclusiveOptions &) = delete;
};

} // namespace attune::codegen
