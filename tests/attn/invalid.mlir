// RUN: attune-opt %s -split-input-file -verify-diagnostics

// expected-error @+1 {{has 7 query heads over 2 kv heads; the first must be a multiple of the second}}
attn.kernel @ratio q(dense, heads = 7, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)

// -----

// expected-error @+1 {{attribute 'head_dim' failed to satisfy constraint: 64-bit signless integer attribute whose value is positive}}
attn.kernel @dim q(dense, heads = 2, dim = 0) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)

// -----

// expected-error @+1 {{computes on 'i8'; q, k and v can be f32, f16 or bf16}}
attn.kernel @dtype q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(i8 -> bf16) scale(1.0)

// -----

// expected-error @+1 {{writes 'f64'; out can be f32, f16 or bf16}}
attn.kernel @out q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> f64) scale(1.0)

// -----

// expected-error @+1 {{'blocked' is no storage; it can be dense, varlen or an attribute}}
attn.kernel @storage q(dense, heads = 2, dim = 64) kv(blocked, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)

// -----

// expected-error @+1 {{1 : i32 does not say how K and V are stored}}
attn.kernel @storage q(dense, heads = 2, dim = 64) kv(1 : i32, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)

// -----

// expected-error @+1 {{'octal' is no LSE; it can be natural or base2}}
attn.kernel @lse q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0) lse(octal)

// -----

// expected-error @+1 {{declares 'x' twice}}
attn.kernel @twice q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    captures [#attn.capture<"x", f32, ["heads"]>] scalars [#attn.scalar<"x", f32>]

// -----

// expected-error @+1 {{captured tensor 'x' has a dimension "head"; it can be heads, kv_heads, batch, tokens, q, k or a positive number}}
#c = #attn.capture<"x", f32, ["head"]>

// -----

// expected-error @+1 {{captured tensor 'x' has element type 'f64'; it can be f32, f16, bf16, i64, i32, i16, i8, ui8 or i1}}
#c = #attn.capture<"x", f64, ["heads"]>

// -----

// expected-error @+1 {{captured tensor 'x' is nondecreasing but has no dimension tokens, q or k to grow along}}
#c = #attn.capture<"x", i32, ["heads"], nondecreasing>

// -----

// expected-error @+1 {{scalar 'w' has type 'i64'; it can be f32 or i32}}
#c = #attn.scalar<"w", i64>

// -----

// expected-error @+1 {{has a schedule knob "waves" that is no string; write "waves" = "value"}}
attn.kernel @knob q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0) schedule {waves = 4}

// -----

attn.kernel @arguments q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    // expected-error @+1 {{expected 9 arguments, got 2}}
    mask(%q, %k) {
}

// -----

attn.kernel @yield q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{gives 'i32' to the mask region; a mask is 'i1'}}
  attn.yield %q : i32
}

// -----

attn.kernel @unknown q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{reads 'doc', which the kernel does not capture}}
  %0 = attn.read @doc[%q] : i1
  attn.yield %0 : i1
}

// -----

attn.kernel @rank q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    captures [#attn.capture<"bias", f32, ["heads", "q", "k"]>]
    score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{gives 2 indices to 'bias', which has 3 dimensions}}
  %0 = attn.read @bias[%q, %k] : f32
  attn.yield %0 : f32
}

// -----

attn.kernel @read_type q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    captures [#attn.capture<"on", i8, ["heads"]>]
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{reads 'on' as 'i1'; elements of 'i8' read as 'i32'}}
  %0 = attn.read @on[%h] : i1
  attn.yield %0 : i1
}

// -----

attn.kernel @scalar q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{reads 'cap', which the kernel does not declare}}
  %0 = attn.scalar @cap : f32
  attn.yield %0 : f32
}

// -----

attn.kernel @scalar_type q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    scalars [#attn.scalar<"cap", i32>]
    score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{reads 'cap' as 'f32'; it is declared 'i32'}}
  %0 = attn.scalar @cap : f32
  attn.yield %0 : f32
}

// -----

attn.kernel @wide q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{gives 'i64' in a score or mask region; values there are f32, i32 or i1}}
  %0 = arith.extsi %q : i32 to i64
  %1 = arith.cmpi eq, %0, %0 : i64
  attn.yield %1 : i1
}

// -----

attn.kernel @foreign q(dense, heads = 2, dim = 64) kv(dense, heads = 2, dim = 64) types(bf16 -> bf16) scale(1.0)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  // expected-error @+1 {{cannot stand in a score or mask region; those hold arith, math, attn.read and attn.scalar}}
  %0 = builtin.unrealized_conversion_cast %q : i32 to i1
  attn.yield %0 : i1
}
