// RUN: attune-opt %s -split-input-file -attn-to-tile -canonicalize -cse | FileCheck %s

// A causal kernel: two trips to memory for arguments and lengths; one loop, in which a tile below the diagonal goes around the mask. The mask compares a row of the tile
// with a number, K is read two steps ahead, the next tile's DMA is spread among the steps, the first of V is read before softmax,
// and O is rescaled where a branch says so.
// CHECK-LABEL: tile.kernel @causal args ["q", "k", "v", "out", "lse", "cu_seqlens_q", "cu_seqlens_k", "q_stride_token"
// CHECK-SAME:  waves = 4 waves_per_eu = 2 block_m = 128
// CHECK:       tile.at_hand %arg0, %arg1,
// CHECK-COUNT-4: tile.load_scalar
// CHECK-NEXT:  tile.at_hand %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32
// CHECK:       tile.alloc : <2 x 64x128xbf16, pitch = 256, swizzle = [4, 8, 1, 2]>
// CHECK:       %[[Q:.*]] = tile.load {{.*}} -> <128x32xbf16, "row=(r0..r2,l5,l4,r4,r5) col=(l0..l3,r3)">
// CHECK-NOT:   tile.load
// CHECK-COUNT-2: tile.dma
// CHECK:       tile.wait vmcnt = 8
// CHECK-NEXT:  %[[ALL:.*]] = tile.convert %[[Q]]
// CHECK-COUNT-8: tile.slice %[[ALL]]
// CHECK:       scf.for
// CHECK-NEXT:  arith.xori
// CHECK-NEXT:  tile.wait vmcnt = 4 lds
// CHECK-NEXT:  tile.barrier
// CHECK:       %[[MASKED:.*]] = arith.cmpi sge
// CHECK-COUNT-2: tile.read
// CHECK-NEXT:  tile.keep_order all
// CHECK-NEXT:  tile.dma {{.*}} part 0 of 4
// CHECK-NEXT:  tile.read
// CHECK-NEXT:  tile.mma
// CHECK-NEXT:  tile.keep_order all
// CHECK-NEXT:  tile.dma {{.*}} part 1 of 4
// CHECK-COUNT-7: tile.mma
// CHECK:       tile.wait vmcnt = 8
// CHECK-NEXT:  tile.barrier
// CHECK-NEXT:  tile.read_tr
// CHECK-NEXT:  scf.if %[[MASKED]]
// CHECK:         tile.map
// CHECK:         ^bb0(%[[S:.*]]: f32, %[[LAST:.*]]: i32, %[[ROW:.*]]: i32, %{{.*}}: i32):
// CHECK-NEXT:      arith.cmpi sle, %[[ROW]], %[[LAST]]
// CHECK-NEXT:      arith.select
// CHECK-NEXT:      tile.yield
// CHECK:       } else {
// CHECK-NEXT:    scf.yield
// CHECK:       tile.reduce max
// CHECK:       %[[HIGHER:.*]] = tile.any_greater
// CHECK-NEXT:  scf.if %[[HIGHER]]
// CHECK:       tile.reduce add
// CHECK-COUNT-3: tile.read_tr
// CHECK-NOT:   tile.read_tr
// CHECK:       scf.yield
// CHECK:       tile.wait vmcnt = 0
// CHECK:       tile.convert
// CHECK-COUNT-2: tile.store
// CHECK-NOT:   scf.for
// CHECK:       tile.return
attn.kernel @causal q(varlen, heads = 32, dim = 128) kv(varlen, heads = 8, dim = 128)
    types(bf16 -> bf16) scale(0.088388347648318447) lse(natural)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %0 = arith.cmpi sle, %k, %q : i32
  attn.yield %0 : i1
}

// -----

// A window has a masked head and a masked tail: one comparison tells both from the tiles between them.
// CHECK-LABEL: tile.kernel @window
// CHECK:     scf.for
// CHECK:       %[[MASKED:.*]] = arith.cmpi uge
// CHECK:       scf.if %[[MASKED]]
// CHECK:         arith.cmpi sge
// CHECK-NEXT:    arith.cmpi sle
// CHECK-NEXT:    arith.andi
// CHECK:       %[[HIGHER:.*]] = tile.any_greater
// CHECK-NEXT:  scf.if %[[HIGHER]]
// CHECK-NOT: {{scf.for|scf.if}}
// CHECK:     tile.return
attn.kernel @window q(dense, heads = 4, dim = 64) kv(dense, heads = 4, dim = 64)
    types(f16 -> f16) scale(0.125)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %c100 = arith.constant 100 : i32
  %0 = arith.cmpi sle, %k, %q : i32
  %1 = arith.subi %q, %k : i32
  %2 = arith.cmpi slt, %1, %c100 : i32
  %3 = arith.andi %0, %2 : i1
  attn.yield %3 : i1
}

// -----

// Global tokens beside a window: a loop over two spans, and the DMA of V leaves out the keys between them.
// CHECK-LABEL: tile.kernel @sinks
// CHECK-COUNT-2: tile.dma
// CHECK-SAME:  gap(
// CHECK:     scf.for
// CHECK:       scf.for
// CHECK:         tile.dma
// CHECK-NOT:     gap
// CHECK:         tile.dma {{.*}} gap(
// CHECK-NOT:     {{tile.seen|tile.keep }}
// CHECK-NOT: scf.for
// CHECK:     tile.return
attn.kernel @sinks q(dense, heads = 4, dim = 64) kv(dense, heads = 4, dim = 64)
    types(f16 -> f16) scale(0.125)
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %c4 = arith.constant 4 : i32
  %c100 = arith.constant 100 : i32
  %0 = arith.cmpi sle, %k, %q : i32
  %1 = arith.subi %q, %k : i32
  %2 = arith.cmpi slt, %1, %c100 : i32
  %3 = arith.cmpi slt, %k, %c4 : i32
  %4 = arith.ori %2, %3 : i1
  %5 = arith.andi %0, %4 : i1
  attn.yield %5 : i1
}

// -----

// A mask that only its evaluation tells: no free body, and keys that nobody sees are kept out of the product. What
// differs by query is read once; what differs by key is read before the DMA of the next tile, not behind it.
// CHECK-LABEL: tile.kernel @documents
// CHECK:     tile.fetch
// CHECK:     scf.for
// CHECK:       tile.fetch
// CHECK:       tile.keep_order
// CHECK:       tile.dma
// CHECK-NOT:   tile.fetch
// CHECK:       tile.seen
// CHECK:       tile.keep
// CHECK-NOT: scf.for
// CHECK:     tile.return
attn.kernel @documents q(varlen, heads = 4, dim = 64) kv(varlen, heads = 4, dim = 64)
    types(bf16 -> bf16) scale(0.125) captures [#attn.capture<"doc", i32, ["tokens"]>]
    mask(%b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %0 = attn.read @doc[%q] : i32
  %1 = attn.read @doc[%k] : i32
  %2 = arith.cmpi eq, %0, %1 : i32
  attn.yield %2 : i1
}

// -----

// A value that is the same for the workgroup is read once, outside the loops.
// CHECK-LABEL: tile.kernel @alibi
// CHECK:     tile.fetch {{.*}} uniform
// CHECK:     scf.for
// CHECK-NOT: tile.fetch
// CHECK:     tile.return
attn.kernel @alibi q(varlen, heads = 4, dim = 64) kv(varlen, heads = 4, dim = 64)
    types(bf16 -> bf16) scale(0.125) captures [#attn.capture<"slope", f32, ["heads"]>]
    score(%s, %b, %h, %hk, %q, %k, %qi, %ctx, %q_len, %kv_len) {
  %0 = attn.read @slope[%h] : f32
  %1 = arith.subi %k, %q : i32
  %2 = arith.sitofp %1 : i32 to f32
  %3 = arith.mulf %0, %2 : f32
  %4 = arith.addf %s, %3 : f32
  attn.yield %4 : f32
}

// -----

// Nothing to do where there is no attn.kernel.
// CHECK-LABEL: llvm.func @untouched
// CHECK-NEXT:  llvm.return
llvm.func @untouched() {
  llvm.return
}
