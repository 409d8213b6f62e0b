// The kernels of a build: every line of the lists, every spec, for every chip, each with its key.
#pragma once
#include "runtime/abi/CompileCall.h"
#include "runtime/aot/List.h"
#include "runtime/compile/KernelKey.h"
#include "tools/attune/Aot.h"

namespace attune::tool {

struct AotJob {
  std::string label;  ///< "causal_gqa width=64 waves=8"
  std::string origin; ///< where it was asked for
  CompileRequest request;
  cache::Key key;
};

/// In the order of the lists; of several with one key the first. Errors: InvalidSpec with
/// everything that was refused, Unsupported for a chip that is not known.
Result<std::vector<AotJob>> aotJobs(const AotBuild &, const CompilerIdentity &);

/// Those of the build's shard and of --only. Errors: InvalidArgument, nothing has such a digest.
Result<std::vector<AotJob>> selectJobs(std::vector<AotJob>, const AotBuild &);

/// What the inputs of a build stand for, with nothing parsed but the lists. Errors: InvalidSpec,
/// InvalidArgument.
Result<std::vector<aot::ListedKernel>> listedKernels(const AotBuild &);

/// "NAME width=64 waves=8".
std::string aotLabel(const std::string &name, const std::map<std::string, std::string> &parameters,
                     const Knobs &);

} // namespace attune::tool
