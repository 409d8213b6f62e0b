// RUN: attune-opt %s -split-input-file -verify-tile-sync -verify-diagnostics

// The checker accepts the double-buffered pipeline and names what breaks it.

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128, swizzle = [4, 0, 1, 2]>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

// Four DMA instructions a tile; the wait leaves the next tile's four in flight.
tile.kernel @good args ["p", "n", "t"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64, %t: i32):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %t : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] : !view, !lds
  %r = scf.for %i = %c0 to %t step %c1 iter_args(%cur = %c0) -> i32 : i32 {
    %other = arith.xori %cur, %c1 : i32
    tile.wait lds
    tile.barrier
    tile.dma %view, %lds[%other] : !view, !lds
    tile.wait vmcnt = 4
    tile.barrier
    %a = tile.read %lds[%cur] at [0, 0] : !lds -> !opA
    scf.yield %other : i32
  }
  tile.wait vmcnt = 0
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

tile.kernel @no_wait args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] : !view, !lds
  tile.wait vmcnt = 1
  tile.barrier
  // expected-error@+1 {{reads buffer 0 before a tile.wait covers the DMA that fills it}}
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

tile.kernel @no_barrier args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] : !view, !lds
  tile.wait vmcnt = 0
  // expected-error@+1 {{reads buffer 0 with no barrier after the wait for its DMA}}
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

// One buffer too few: the second trip overwrites what other waves may still read.
tile.kernel @overwrite args ["p", "n", "t"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64, %t: i32):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %t : !llvm.ptr<1> -> !view
  scf.for %i = %c0 to %t step %c1 : i32 {
    // expected-error@+1 {{overwrites buffer 0 while a wave may still read it}}
    tile.dma %view, %lds[%c0] : !view, !lds
    tile.wait vmcnt = 0
    tile.barrier
    %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  }
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>

// expected-error@+1 {{ends with LDS-DMA in flight}}
tile.kernel @undrained args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] : !view, !lds
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>

tile.kernel @unknown_buffer args ["p", "n", "i"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64, %i: i32):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  // expected-error@+1 {{uses a buffer whose number can't be followed}}
  tile.dma %view, %lds[%i] : !view, !lds
  tile.return
}

// -----

// A kernel without LDS has nothing to prove.
tile.kernel @none args [] waves = 1 waves_per_eu = 1 block_m = 32 {
  tile.barrier
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

// A fill in parts is there when the last of them is.
tile.kernel @parts args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] part 0 of 2 : !view, !lds
  tile.wait vmcnt = 0
  tile.dma %view, %lds[%c0] part 1 of 2 : !view, !lds
  tile.wait vmcnt = 0
  tile.barrier
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

tile.kernel @part_missing args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] part 0 of 2 : !view, !lds
  tile.wait vmcnt = 0
  tile.barrier
  // expected-error@+1 {{reads buffer 0 before a tile.wait covers the DMA that fills it}}
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

tile.kernel @part_in_flight args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] part 0 of 2 : !view, !lds
  tile.dma %view, %lds[%c0] part 1 of 2 : !view, !lds
  tile.wait vmcnt = 2
  tile.barrier
  // expected-error@+1 {{reads buffer 0 before a tile.wait covers the DMA that fills it}}
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

tile.kernel @part_order args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] part 0 of 4 : !view, !lds
  // expected-error@+1 {{is part 2 of a fill of buffer 0 that goes on with part 1}}
  tile.dma %view, %lds[%c0] part 2 of 4 : !view, !lds
  tile.return
}

// -----

!lds = !tile.lds<2 x 32x64xbf16, pitch = 128>
!view = !tile.view<64xbf16>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">

// expected-error@+1 {{ends before part 1 of a fill of buffer 0}}
tile.kernel @part_left args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  %view = tile.view %p + %n stride %n rows %c0 to %c0 : !llvm.ptr<1> -> !view
  tile.dma %view, %lds[%c0] part 0 of 2 : !view, !lds
  tile.wait vmcnt = 0
  tile.return
}
