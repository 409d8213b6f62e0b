// The golden record of a spec, with its text, as the compiler makes it now.
#pragma once
#include "compiler/include/attune/Compiler.h"
#include "tools/attune/Golden.h"

namespace attune::tool {

Result<Described> describeKernel(Compiler &, const spec::Model &, const CompileOptions &);

} // namespace attune::tool
