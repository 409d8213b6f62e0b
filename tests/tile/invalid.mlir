// RUN: attune-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{layout "row=(r0) col=(l0..l4) free=(l5)" covers 2x32, the type says 4x32}}
module attributes {attune.type = !tile.frag<4x32xf32, "row=(r0) col=(l0..l4) free=(l5)">} {}

// -----

// expected-error@+1 {{names 5 lane bits; a wave has 6}}
module attributes {attune.type = !tile.frag<1x32xf32, "col=(l0..l4)">} {}

// -----

// expected-error@+1 {{a fragment holds f32, bf16, f16, i32 or i1, got 'i64'}}
module attributes {attune.type = !tile.frag<1x32xi64, "col=(l0..l4) free=(l5)">} {}

// -----

// expected-error@+1 {{pitch 100 must be a multiple of 16 and hold a row of 128 bytes}}
module attributes {attune.type = !tile.lds<1 x 32x64xbf16, pitch = 100>} {}

// -----

// expected-error@+1 {{swizzle image 8 is no chunk of a row; rows have 8}}
module attributes {attune.type = !tile.lds<1 x 32x64xbf16, pitch = 128, swizzle = [8]>} {}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0,r1,r2,l5)">
!part = !tile.frag<16x32xbf16, "row=(r0,r1,l5,r2) col=(l0..l4)">
tile.kernel @order args ["a0", "a1", "a2"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%a: !opA, %b: !part, %c: !acc):
  // expected-error@+1 {{operands run through the contraction in different orders}}
  %0 = tile.mma %a, %b, %c : !opA, !part, !acc
  tile.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0,r1,r2,l5)">
tile.kernel @shapes args ["a0", "a1"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%a: !opA, %c: !acc):
  // expected-error@+1 {{shapes do not fit}}
  %0 = tile.mma %a, %a, %c : !opA, !opA, !acc
  tile.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!other = !tile.frag<32x32xf32, "row=(r0,r1,r2,r3,l5) col=(l0..l4)">
tile.kernel @map args ["a0"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%a: !other):
  // expected-error@+1 {{neither laid out like the result nor one row of it}}
  %0 = tile.map(%a) : (!other) -> !acc {
  ^bb0(%x: f32, %row: i32, %col: i32):
    tile.yield %x : f32
  }
  tile.return
}

// -----

tile.kernel @wait args [] waves = 1 waves_per_eu = 1 block_m = 32 {
  // expected-error@+1 {{vmcnt 64 is outside the counter's range 0 to 63}}
  tile.wait vmcnt = 64
  tile.return
}

// -----

tile.kernel @padded args [] waves = 1 waves_per_eu = 1 block_m = 32 {
  %c0 = arith.constant 0 : i32
  %n = arith.constant 0 : i64
  %p = llvm.mlir.zero : !llvm.ptr<1>
  %lds = tile.alloc : !tile.lds<1 x 32x64xbf16, pitch = 144>
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !tile.view<64xbf16>
  // expected-error@+1 {{LDS-DMA writes lane after lane, so rows can't be padded}}
  tile.dma %view, %lds[%c0] : !tile.view<64xbf16>, !tile.lds<1 x 32x64xbf16, pitch = 144>
  tile.return
}

// -----

tile.kernel @toomanywaves args [] waves = 8 waves_per_eu = 1 block_m = 32 {
  %c0 = arith.constant 0 : i32
  %n = arith.constant 0 : i64
  %p = llvm.mlir.zero : !llvm.ptr<1>
  %lds = tile.alloc : !tile.lds<1 x 32x64xbf16, pitch = 128>
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !tile.view<64xbf16>
  // expected-error@+1 {{the tile's 4096 bytes are no multiple of the 8192 that 8 waves bring at a time}}
  tile.dma %view, %lds[%c0] : !tile.view<64xbf16>, !tile.lds<1 x 32x64xbf16, pitch = 128>
  tile.return
}

// -----

tile.kernel @gap args [] waves = 1 waves_per_eu = 1 block_m = 32 {
  %c0 = arith.constant 0 : i32
  %n = arith.constant 0 : i64
  %p = llvm.mlir.zero : !llvm.ptr<1>
  %lds = tile.alloc : !tile.lds<1 x 32x64xbf16, pitch = 128>
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !tile.view<64xbf16>
  // expected-error@+1 {{has a gap of 1 numbers; it is a first row and a count}}
  tile.dma %view, %lds[%c0] gap(%c0) : !tile.view<64xbf16>, !tile.lds<1 x 32x64xbf16, pitch = 128>
  tile.return
}

// -----

// expected-error@+1 {{has 1 arguments and 2 names}}
tile.kernel @names args ["a", "b"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%a: i32):
  tile.return
}

// -----

!opV = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0,r1,l5,r2)">
!flags = !tile.frag<16x1xi1, "row=(r0..r2,l5) free=(l0..l4)">
tile.kernel @keep args ["a0", "a1"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%v: !opV, %f: !flags):
  // expected-error@+1 {{flags run through the columns in another order}}
  %0 = tile.keep %v where %f : !opV, !flags
  tile.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!flags = !tile.frag<32x1xi1, "row=(r0,r1,r2,l5,r3) free=(l0..l4)">
tile.kernel @seen args ["a0"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%s: !acc):
  // expected-error@+1 {{must leave rows in their lanes and registers}}
  %0 = tile.seen %s : !acc -> !flags
  tile.return
}

// -----

!flags = !tile.frag<32x1xi1, "row=(r0,r1,r2,l5,r3) free=(l0..l4)">
tile.kernel @any_greater args ["a0"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%f: !flags):
  // expected-error@+1 {{compares f32 fragments}}
  %0 = tile.any_greater %f, %f : !flags
  tile.return
}

// -----

!lds = !tile.lds<1 x 32x64xbf16, pitch = 128>
tile.kernel @unequal_parts args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !tile.view<64xbf16>
  // expected-error@+1 {{cuts 4 instructions of a wave into 3 parts; they must be equal}}
  tile.dma %view, %lds[%c0] part 0 of 3 : !tile.view<64xbf16>, !lds
  tile.return
}

// -----

!lds = !tile.lds<1 x 32x64xbf16, pitch = 128>
tile.kernel @part_number args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !tile.view<64xbf16>
  // expected-error@+1 {{is part 2 of 2; parts are counted from 0}}
  tile.dma %view, %lds[%c0] part 2 of 2 : !tile.view<64xbf16>, !lds
  tile.return
}

// -----

!wide = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!narrow = !tile.frag<32x32xbf16, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
tile.kernel @other_type args ["x"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%x: f32):
  %a = tile.splat %x : !wide
  // expected-error@+1 {{keeps element type, rows and columns}}
  %b = tile.convert %a : !wide -> !narrow
  tile.return
}

// -----

!once = !tile.frag<2x32xf32, "row=(l5) col=(l0..l4)">
!twice = !tile.frag<2x32xf32, "row=(r0) col=(l0..l4) free=(l5)">
tile.kernel @copies args ["x"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%x: f32):
  %a = tile.splat %x : !once
  // expected-error@+1 {{has 1 registers against 2}}
  %b = tile.convert %a : !once -> !twice
  tile.return
}
