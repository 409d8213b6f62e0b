// RUN: attune-opt %s --attn-print-mask-bounds -verify-diagnostics -o /dev/null

// No mask: every key, every tile full.
// expected-remark @+1 {{any [0, kv_len - 1] all [0, kv_len - 1]}}
attn.kernel @full q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)

// expected-remark @+1 {{any [max(q0 - 4095, 0), min(q1, kv_len - 1)] all [max(q1 - 4095, 0), min(q0, kv_len - 1)]}}
attn.kernel @window q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %w = arith.constant 4096 : i32
  %past = arith.cmpi sle, %k, %q : i32
  %start = arith.subi %q, %w : i32
  %near = arith.cmpi sgt, %k, %start : i32
  %both = arith.andi %past, %near : i1
  attn.yield %both : i1
}

// A prefix whose length each sequence brings along.
// expected-remark @+1 {{any [0, min(kv_len - 1, max(q1, prefix[b] - 1))] all [0, min(kv_len - 1, max(q0, prefix[b] - 1))]}}
attn.kernel @prefix q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    captures [#attn.capture<"prefix", i32, ["batch"]>]
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %n = attn.read @prefix[%b] : i32
  %past = arith.cmpi sle, %k, %q : i32
  %inside = arith.cmpi slt, %k, %n : i32
  %either = arith.ori %past, %inside : i1
  attn.yield %either : i1
}

// A part that is not understood: the hull of the rest, no inner part.
// expected-remark @+2 {{any [0, min(q1, kv_len - 1)] all [0, -1]}}
// expected-remark @+1 {{not exact: doc[q] == doc[k]}}
attn.kernel @document q(varlen, heads = 2, dim = 64) kv(varlen, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    captures [#attn.capture<"doc", i32, ["tokens"]>]
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %dq = attn.read @doc[%q] : i32
  %dk = attn.read @doc[%k] : i32
  %same = arith.cmpi eq, %dq, %dk : i32
  %past = arith.cmpi sle, %k, %q : i32
  %both = arith.andi %same, %past : i1
  attn.yield %both : i1
}

// Two intervals: global tokens, and a window behind each row.
// expected-remark @+2 {{any [0, min(q1, kv_len - 1, 3)]}}
// expected-remark @+1 {{any [max(q0 - 15, 0), min(q1, kv_len - 1)]}}
attn.kernel @global q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %past = arith.cmpi sle, %k, %q : i32
  %global = arith.cmpi slt, %k, %c4 : i32
  %distance = arith.subi %q, %k : i32
  %near = arith.cmpi slt, %distance, %c16 : i32
  %either = arith.ori %global, %near : i1
  %both = arith.andi %past, %either : i1
  attn.yield %both : i1
}
