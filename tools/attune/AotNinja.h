// A build file for ninja: one edge per kernel and one that merges, so that any build farm which
// understands ninja can spread them.
#pragma once
#include "tools/attune/AotJobs.h"

namespace attune::tool {

/// `command` is the path of attune. Paths are absolute: ninja may be started in any folder. The
/// bundle, kernels.attune, and the parts lie in the folder of the build file.
Result<std::string> aotNinja(const std::string &command, const AotBuild &,
                             const std::vector<AotJob> &);

} // namespace attune::tool
