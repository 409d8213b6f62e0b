// The post-condition of a phase: ops of other dialects are named, and nothing is changed.
//
// RUN: attune-opt %s --attune-check-dialects="phase=demo allowed=builtin,llvm" | FileCheck %s --check-prefix=SAME
// RUN: not attune-opt %s --attune-check-dialects="phase=demo allowed=builtin,arith" 2>&1 | FileCheck %s --check-prefix=LEFT

// SAME: llvm.func @f()
// SAME-NEXT: llvm.return

// LEFT: check-dialects.mlir:[[#@LINE+1]]:1: error: 'llvm.func' op is left after the phase 'demo', which should leave only builtin, arith
llvm.func @f() {
  llvm.return
}
