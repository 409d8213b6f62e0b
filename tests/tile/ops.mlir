// RUN: attune-opt %s | attune-opt | FileCheck %s
// RUN: attune-opt %s --mlir-print-op-generic | attune-opt | FileCheck %s

// Every op and type of the dialect survives printing and parsing.

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!weights = !tile.frag<32x32xbf16, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!part = !tile.frag<16x32xbf16, "row=(r0,r1,l5,r2) col=(l0..l4)">
!half = !tile.frag<2x32xf32, "row=(l5) col=(l0..l4)">
!stat = !tile.frag<1x32xf32, "col=(l0..l4) free=(l5)">
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0,r1,r2,l5)">
!opB = !tile.frag<16x32xbf16, "row=(r0,r1,r2,l5) col=(l0..l4)">
!opV = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0,r1,l5,r2)">
!flags = !tile.frag<32x1xi1, "row=(r0,r1,l5,r2,r3) free=(l0..l4)">
!flagPart = !tile.frag<16x1xi1, "row=(r0,r1,l5,r2) free=(l0..l4)">
!lds = !tile.lds<2 x 32x64xbf16, pitch = 128, swizzle = [4, 0, 1, 2]>

// CHECK-LABEL: tile.kernel @all args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32
tile.kernel @all args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  // CHECK: tile.workgroup_id : i32
  %w = tile.workgroup_id : i32
  // CHECK: tile.wave_id : i32
  %wave = tile.wave_id : i32
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %zero = arith.constant 0.0 : f32
  // CHECK: tile.load_scalar %{{.*}}[%{{.*}}] : !llvm.ptr<1> -> i32
  %len = tile.load_scalar %p[%w] : !llvm.ptr<1> -> i32
  // CHECK: tile.at_hand %{{.*}}, %{{.*}} : i64, i32
  tile.at_hand %n, %len : i64, i32
  // CHECK: tile.fetch %{{.*}}[%{{.*}} + %{{.*}} of %{{.*}}] as bf16 : !llvm.ptr<1> -> f32
  %f = tile.fetch %p[%n + %c0 of %n] as bf16 : !llvm.ptr<1> -> f32
  // CHECK: as ui8 unsigned uniform : !llvm.ptr<1> -> i32
  %u = tile.fetch %p[%n + %c0 of %n] as ui8 unsigned uniform : !llvm.ptr<1> -> i32
  // CHECK: tile.alloc : <2 x 32x64xbf16, pitch = 128, swizzle = [4, 0, 1, 2]>
  %lds = tile.alloc : !lds
  // CHECK: tile.view %{{.*}} + %{{.*}} stride %{{.*}} rows %{{.*}} to %{{.*}} : !llvm.ptr<1> -> <64xbf16>
  %view = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !tile.view<64xbf16>
  // CHECK: tile.dma %{{.*}}, %{{.*}}[%{{.*}}] : <64xbf16>, <2 x
  tile.dma %view, %lds[%c0] : !tile.view<64xbf16>, !lds
  // CHECK: tile.dma %{{.*}}, %{{.*}}[%{{.*}}] gap(%{{.*}}, %{{.*}}) : <64xbf16>, <2 x
  tile.dma %view, %lds[%c0] gap(%c0, %c32) : !tile.view<64xbf16>, !lds
  // CHECK: tile.dma %{{.*}}, %{{.*}}[%{{.*}}] part 0 of 2 : <64xbf16>, <2 x
  tile.dma %view, %lds[%c0] part 0 of 2 : !tile.view<64xbf16>, !lds
  // CHECK: tile.wait vmcnt = 0 lds
  tile.wait vmcnt = 0 lds
  // CHECK: tile.barrier
  tile.barrier
  // CHECK: tile.keep_order{{$}}
  tile.keep_order
  // CHECK: tile.keep_order all
  tile.keep_order all
  // CHECK: tile.load %{{.*}}[%{{.*}}, 16] : <64xbf16> -> <16x32xbf16, "row=(r0,r1,r2,l5) col=(l0..l4)">
  %b = tile.load %view[%c0, 16] : !tile.view<64xbf16> -> !opB
  // CHECK: tile.read %{{.*}}[%{{.*}}] at{{ ?}}[0, 16]
  %a = tile.read %lds[%c0] at [0, 16] : !lds -> !opA
  // CHECK: tile.splat
  %c = tile.splat %zero : !acc
  // CHECK: tile.mma
  %s = tile.mma %a, %b, %c : !opA, !opB, !acc
  // CHECK: tile.reduce max
  %h = tile.reduce max %s : !acc -> !half
  // CHECK: tile.reduce add
  %t = tile.reduce add %h : !half -> !stat
  // CHECK: tile.any_greater %{{.*}}, %{{.*}} : <1x32xf32,
  %any = tile.any_greater %t, %t : !stat
  // CHECK: tile.map(%{{.*}}, %{{.*}})
  %m = tile.map(%s, %t) : (!acc, !stat) -> !acc {
  ^bb1(%x: f32, %y: f32, %row: i32, %col: i32):
    %z = arith.mulf %x, %y : f32
    // CHECK: tile.yield %{{.*}} : f32
    tile.yield %z : f32
  }
  // CHECK: tile.cast
  %q = tile.cast %m : !acc -> !weights
  // CHECK: tile.convert %{{.*}} : <32x32xbf16, "row=(r0,r1,l5,r2,r3) col=(l0..l4)"> -> <32x32xbf16, "row=(r0..r2,l5,l4) col=(l0..l3,r3)">
  %sectors = tile.convert %q : !weights -> !tile.frag<32x32xbf16, "row=(r0..r2,l5,l4) col=(l0..l3,r3)">
  // CHECK: tile.slice %{{.*}} rows from 16
  %part = tile.slice %q rows from 16 : !weights -> !part
  // CHECK: tile.read_tr %{{.*}}[%{{.*}}] at{{ ?}}[16, 0]
  %v = tile.read_tr %lds[%c0] at [16, 0] : !lds -> !opV
  // CHECK: tile.seen %{{.*}} : <32x32xf32, {{.*}}> -> <32x1xi1, "row=(r0,r1,l5,r2,r3) free=(l0..l4)">
  %seen = tile.seen %m : !acc -> !flags
  %flags = tile.slice %seen rows from 16 : !flags -> !flagPart
  // CHECK: tile.keep %{{.*}} where %{{.*}} :
  %kept = tile.keep %v where %flags : !opV, !flagPart
  %o = tile.mma %kept, %part, %c : !opV, !part, !acc
  %out = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !tile.view<32xf32>
  // CHECK: tile.store %{{.*}}, %{{.*}}[%{{.*}}]
  tile.store %o, %out[%c0] : !acc, !tile.view<32xf32>
  // CHECK: tile.return
  tile.return
}
