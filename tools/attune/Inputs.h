// From the options of `attune run` to calls: lengths, tensors given in files, the rest drawn.
//
// Varlen specs take any lengths in one call. Dense specs have one q_len and one kv_len per call, so
// sequences of unequal lengths become one call of batch 1 each.
#pragma once
#include "compiler/spec/Model.h"
#include "runtime/launch/HostRun.h"
#include "tools/attune/CommandLine.h"
#include <string>
#include <vector>

namespace attune::tool {

struct Job {
  HostCall call;
  std::string label; ///< "q 1,77,512 kv 300,77,700"
};

struct Jobs {
  std::vector<Job> jobs;
  std::vector<std::string> notes; ///< what was converted, drawn or split, for the report
};

/// `model` tells how captured tensors are used; null for a kernel without a spec.
Result<Jobs> prepareJobs(const ProblemShape &, const spec::Model *model, const RunArgs &);

} // namespace attune::tool
