// The part of Streams that keeps graphs and runs them.
#include "runtime/hip/Runtime.h"
#include "runtime/hip/Streams.h"
#include <fmt/format.h>

namespace attune::hip {

hipGraph_t Streams::adopt(attuneHipGraph graph) {
  auto owned = std::make_unique<attuneHipGraph>(std::move(graph));
  hipGraph_t handle = owned.get();
  graphs_[handle] = std::move(owned);
  return handle;
}

Outcome Streams::createGraph(hipGraph_t *out) {
  if (!out)
    return {hipErrorInvalidValue, "the pointer to fill in is null"};
  *out = adopt({});
  return {};
}

Outcome Streams::destroyGraph(hipGraph_t graph) {
  return graphs_.erase(graph) ? hipSuccess : hipErrorInvalidHandle;
}

/// With `out` null: only their number. As HIP does, the rest of a longer `out` is filled with null.
Outcome Streams::nodes(hipGraph_t graph, hipGraphNode_t *out, size_t *count) const {
  if (!count || !graphs_.contains(graph))
    return {hipErrorInvalidValue, "no such graph, or no pointer to fill in"};
  if (!out) {
    *count = graph->nodes.size();
    return {};
  }
  for (size_t i = 0; i < *count; ++i)
    out[i] = i < graph->nodes.size() ? graph->nodes[i].get() : nullptr;
  *count = std::min(*count, graph->nodes.size());
  return {};
}

Outcome Streams::instantiate(hipGraphExec_t *out, hipGraph_t graph) {
  if (!out || !graphs_.contains(graph))
    return {hipErrorInvalidValue, "no such graph, or no pointer to fill in"};
  auto exec = std::make_unique<attuneHipGraphExec>(attuneHipGraphExec{graph->nodes});
  *out = exec.get();
  execs_[*out] = std::move(exec);
  return {};
}

Outcome Streams::destroyExec(hipGraphExec_t exec) {
  return execs_.erase(exec) ? hipSuccess : hipErrorInvalidHandle;
}

Outcome Streams::launchGraph(Runtime &runtime, hipGraphExec_t exec, hipStream_t stream) {
  if (!execs_.contains(exec))
    return {hipErrorInvalidHandle, "no such executable graph"};
  return submit(runtime, stream, [nodes = exec->nodes](Runtime &r) {
    for (const auto &node : nodes)
      if (auto outcome = node->work(r); !outcome.ok())
        return outcome;
    return Outcome();
  });
}

} // namespace attune::hip
