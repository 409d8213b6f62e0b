// RUN: attune-opt %s -split-input-file -attn-to-tile -verify-diagnostics

// expected-error@+1 {{head_dim is 96; supported: 32, 64, 128; nearest legal: 128, padded with zeros}}
attn.kernel @head_dim q(dense, heads = 4, dim = 96) kv(dense, heads = 4, dim = 64) types(bf16 -> bf16) scale(0.1)

// -----

// expected-error@+1 {{waves}}
attn.kernel @knob q(dense, heads = 4, dim = 64) kv(dense, heads = 4, dim = 64) types(bf16 -> bf16) scale(0.1)
    schedule {waves = "3"}
