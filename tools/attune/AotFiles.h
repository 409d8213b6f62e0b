// What `attune aot` writes and reads: bundles and their embedded forms.
#pragma once
#include "runtime/abi/Result.h"
#include "runtime/bundle/Bundle.h"
#include "tools/attune/Aot.h"
#include "tools/attune/AotReport.h"

namespace attune::tool {

/// Writes a bundle in the form that was asked for; the totals of its report.
Result<AotTotal> writeOutput(const AotOutput &, std::span<const uint8_t> bundle);

} // namespace attune::tool
