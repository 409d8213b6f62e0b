// The three phases by name, one after another and all at once, and what is refused on the way.
//
// RUN: attune-opt %s --attune-attn | FileCheck %s --check-prefix=ATTN
// RUN: attune-opt %s --attune-attn --attune-tile=arch=gfx950 | FileCheck %s --check-prefix=TILE
// RUN: attune-opt %s --attune-attn --attune-tile="arch=gfx950 knobs=waves=8" | FileCheck %s --check-prefix=EIGHT
// RUN: attune-opt %s --attune-attn --attune-tile=arch=gfx950 --attune-rocdl -o %t.steps
// RUN: attune-opt %s --attune=arch=gfx950 -o %t.whole
// RUN: diff %t.steps %t.whole
// RUN: FileCheck %s --check-prefix=ROCDL --input-file=%t.whole
// RUN: not attune-opt %s --attune-tile=arch=gfx000 2>&1 | FileCheck %s --check-prefix=ARCH
// RUN: not attune-opt %s --attune-tile="arch=gfx950 knobs=waves=many" 2>&1 | FileCheck %s --check-prefix=KNOB

// The constant comparison is folded, the repeated one is shared.
// ATTN: attn.kernel @causal
// ATTN: arith.cmpi
// ATTN-NOT: arith.cmpi
// ATTN: attn.yield

// TILE-NOT: attn.
// TILE: tile.kernel @causal
// TILE: scf.for
// TILE: tile.mma
// EIGHT: tile.kernel @causal{{.*}} waves = 8

// ROCDL-NOT: {{tile\.|scf\.|arith\.|unrealized}}
// ROCDL: llvm.mlir.global internal @causal_lds
// ROCDL: llvm.func amdgpu_kernelcc @causal
// ROCDL-SAME: attune.abi
// ROCDL-SAME: rocdl.kernel
// ROCDL: rocdl.mfma.f32.32x32x16.bf16

// ARCH: phases.mlir:[[#@LINE+2]]:1: error: {{.*}}gfx000{{.*}}gfx950
// KNOB: phases.mlir:[[#@LINE+1]]:1: error: {{.*}}waves
attn.kernel @causal q(varlen, heads = 4, dim = 128) kv(varlen, heads = 2, dim = 128)
    types(bf16 -> bf16) scale(0.08838834764831845)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %0 = arith.cmpi sle, %k, %q : i32
  %1 = arith.cmpi sle, %k, %q : i32
  %2 = arith.andi %0, %1 : i1
  attn.yield %2 : i1
}
