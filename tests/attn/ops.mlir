// RUN: attune-opt %s | FileCheck %s
// RUN: attune-opt %s | attune-opt | FileCheck %s
// RUN: attune-opt %s --mlir-print-op-generic | attune-opt | FileCheck %s

// Everything at its simplest: no regions.
// CHECK: attn.kernel @full q(dense, heads = 8, dim = 64) kv(dense, heads = 8, dim = 64) types(bf16 -> bf16) scale(1.250000e-01){{$}}
attn.kernel @full q(dense, heads = 8, dim = 64) kv(dense, heads = 8, dim = 64) types(bf16 -> bf16) scale(0.125)

// A mask alone. K and V may be stored otherwise than Q.
// CHECK: attn.kernel @causal q(varlen, heads = 71, dim = 64) kv(dense, heads = 1, dim = 128) types(f16 -> f32) scale(1.250000e-01) lse(natural) mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
// CHECK-NEXT: %[[V:.*]] = arith.cmpi sle, %k, %q : i32
// CHECK-NEXT: attn.yield %[[V]] : i1
attn.kernel @causal q(varlen, heads = 71, dim = 64) kv(dense, heads = 1, dim = 128)
    types(f16 -> f32) scale(0.125) lse(natural)
    mask(%b, %h, %hk, %query, %key, %qi, %ctx, %q_len, %kv_len) {
  %visible = arith.cmpi sle, %key, %query : i32
  attn.yield %visible : i1
}

// Every part.
// CHECK: attn.kernel @packed q(varlen, heads = 32, dim = 128) kv(varlen, heads = 8, dim = 128) types(bf16 -> bf16) scale(5.000000e-01) lse(base2) sink
// CHECK-SAME: captures [#attn.capture<"slope", bf16, ["heads"]>, #attn.capture<"doc", i64, ["tokens"], nondecreasing>, #attn.capture<"on", i1, []>]
// CHECK-SAME: scalars [#attn.scalar<"cap", f32>, #attn.scalar<"width", i32>] schedule {kv_tile = "64", waves = "4"}
// CHECK-SAME: score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
// CHECK: attn.read @slope[%h] : f32
// CHECK: attn.scalar @cap : f32
// CHECK: } mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
// CHECK: attn.read @doc[%q] : i32
// CHECK: attn.read @on[] : i1
attn.kernel @packed q(varlen, heads = 32, dim = 128) kv(varlen, heads = 8, dim = 128)
    types(bf16 -> bf16) scale(0.5) lse(base2) sink
    captures [#attn.capture<"slope", bf16, ["heads"]>, #attn.capture<"doc", i64, ["tokens"], nondecreasing>,
              #attn.capture<"on", i1, []>]
    scalars [#attn.scalar<"cap", f32>, #attn.scalar<"width", i32>] schedule {waves = "4", kv_tile = "64"}
    score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %slope = attn.read @slope[%h] : f32
  %cap = attn.scalar @cap : f32
  %0 = arith.divf %s, %cap : f32
  %1 = math.tanh %0 : f32
  %2 = math.fma %1, %cap, %slope : f32
  attn.yield %2 : f32
} mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %dq = attn.read @doc[%q] : i32
  %dk = attn.read @doc[%k] : i32
  %same = arith.cmpi eq, %dq, %dk : i32
  %on = attn.read @on[] : i1
  %visible = arith.andi %same, %on : i1
  attn.yield %visible : i1
}

// An explicit storage attribute is the same as its keyword.
// CHECK: attn.kernel @explicit q(dense, heads = 2, dim = 64) kv(varlen, heads = 2, dim = 64)
attn.kernel @explicit q(dense, heads = 2, dim = 64) kv(#attn.storage<varlen>, heads = 2, dim = 64) types(f16 -> f16) scale(1.0)
