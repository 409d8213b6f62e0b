// Passes that belong to no lowering, in alphabetical order. The lowerings declare their own (compiler/lower/Lower.h).
#ifndef ATTUNE_PIPELINE_PASSES_TD
#define ATTUNE_PIPELINE_PASSES_TD

include "mlir/Pass/PassBase.td"

def CheckDialects : Pass<"attune-check-dialects", "::mlir::ModuleOp"> {
  let summary = "fail if an op of a dialect that a phase should have removed is left";
  let description = [{
    Every phase of the pipeline ends with this pass: the sentence "after this phase only these dialects remain" is
    checked on every compile, so that a pattern which did not match is named where it happened and not three phases
    later. Changes nothing.
  }];
  let options = [
    Option<"phase", "phase", "std::string", /*default=*/"", "name of the phase, for the message">,
    ListOption<"allowed", "allowed", "std::string", "dialects that may remain">,
  ];
}

#endif // ATTUNE_PIPELINE_PASSES_TD
