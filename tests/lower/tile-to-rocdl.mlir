// RUN: attune-opt %s -split-input-file -tile-to-rocdl | FileCheck %s

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!part = !tile.frag<16x32xbf16, "row=(r0,r1,l5,r2) col=(l0..l4)">
!weights = !tile.frag<32x32xbf16, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!half = !tile.frag<2x32xf32, "row=(l5) col=(l0..l4)">
!stat = !tile.frag<1x32xf32, "col=(l0..l4) free=(l5)">
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0..r2,l5)">
!opB = !tile.frag<16x32xbf16, "row=(r0..r2,l5) col=(l0..l4)">
!opV = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r0,r1,l5,r2)">
!lds = !tile.lds<2 x 32x64xbf16, pitch = 128, swizzle = [4, 0, 1, 2]>
!view = !tile.view<64xbf16>

// CHECK: llvm.mlir.global internal @memory_lds() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8192 x i8>
// CHECK: llvm.func amdgpu_kernelcc @memory(%{{.*}}: !llvm.ptr<1>, %{{.*}}: i64)
// CHECK-SAME: attune.abi = [{kind = "ptr", name = "p", offset = 0 : i64, size = 8 : i64}, {kind = "i64", name = "n", offset = 8 : i64, size = 8 : i64}]
// CHECK-SAME: attune.block_m = 32
// CHECK-SAME: passthrough = {{\[\[}}"amdgpu-ieee", "false"]]
// CHECK-SAME: rocdl.flat_work_group_size = "64,64"
tile.kernel @memory args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %lds = tile.alloc : !lds
  // CHECK: rocdl.make.buffer.rsrc
  %view = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !view
  // 4,096 bytes by one wave: four instructions of 16 bytes a lane, all in one alias scope.
  // CHECK-COUNT-4: rocdl.raw.ptr.buffer.load.lds {{.*}}alias_scopes
  tile.dma %view, %lds[%c0] : !view, !lds
  // vmcnt(0) and lgkmcnt(0).
  // CHECK: rocdl.s.waitcnt 112
  tile.wait vmcnt = 0 lds
  // CHECK-NEXT: rocdl.s.barrier
  tile.barrier
  // CHECK: llvm.load {{.*}}alignment = 16 : i64, noalias_scopes{{.*}} -> vector<8xbf16>
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  // CHECK: rocdl.raw.ptr.buffer.load {{.*}} : vector<4xi32>
  %b = tile.load %view[%c0, 0] : !view -> !opB
  %zero = arith.constant 0.0 : f32
  %c = tile.splat %zero : !acc
  // CHECK: rocdl.mfma.f32.32x32x16.bf16
  %s = tile.mma %a, %b, %c : !opA, !opB, !acc
  // CHECK: llvm.intr.maxnum
  // CHECK-NOT: rocdl.permlane32.swap
  %h = tile.reduce max %s : !acc -> !half
  // CHECK: rocdl.permlane32.swap
  // CHECK: llvm.intr.maxnum
  %t = tile.reduce max %h : !half -> !stat
  // CHECK: llvm.fptrunc {{.*}} : vector<8xf32> to vector<8xbf16>
  %w = tile.cast %s : !acc -> !weights
  %part = tile.slice %w rows from 16 : !weights -> !part
  // Two transposing reads give eight elements.
  // CHECK-COUNT-2: rocdl.ds.read.tr16.b64 {{.*}}noalias_scopes{{.*}} -> vector<4xbf16>
  %v = tile.read_tr %lds[%c0] at [16, 0] : !lds -> !opV
  %o = tile.mma %v, %part, %c : !opV, !part, !acc
  %out = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !tile.view<32xf32>
  // CHECK-COUNT-4: rocdl.raw.ptr.buffer.store {{.*}} : vector<4xi32>
  tile.store %o, %out[%c0] : !acc, !tile.view<32xf32>
  // A copied statistic is stored by one of the lanes that hold it.
  %lse = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !tile.view<1xf32>
  // CHECK: llvm.select
  // CHECK: rocdl.raw.ptr.buffer.store {{.*}} : f32
  tile.store %t, %lse[%c0] : !stat, !tile.view<1xf32>
  // CHECK: llvm.return
  tile.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">

// What a region computes from outside values alone is computed once, the rest for each of the 16 registers, all of that
// as LLVM ops; a maximum stays one instruction.
// CHECK-LABEL: llvm.func amdgpu_kernelcc @region
// CHECK: llvm.mul
// CHECK-NOT: arith.
// CHECK-COUNT-16: llvm.intr.maxnum
// CHECK-NOT: {{llvm.intr.maxnum|arith\.}}
// CHECK: llvm.return
tile.kernel @region args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %c3 = arith.constant 3 : i32
  %least = arith.constant 1.0 : f32
  %zero = arith.constant 0 : i32
  %rows = arith.constant 32 : i32
  %low = arith.trunci %n : i64 to i32
  %x = tile.map() : () -> !acc {
  ^bb0(%row: i32, %col: i32):
    %same = arith.muli %low, %low : i32
    %sum = arith.addi %same, %row : i32
    %third = arith.floordivsi %sum, %c3 : i32
    %f = arith.sitofp %third : i32 to f32
    %clamped = arith.maxnumf %f, %least : f32
    tile.yield %clamped : f32
  }
  %out = tile.view %p + %n stride %n rows %zero to %rows : !llvm.ptr<1> -> !tile.view<32xf32>
  tile.store %x, %out[%zero] : !acc, !tile.view<32xf32>
  tile.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!limit = !tile.frag<1x32xi32, "col=(l0..l4) free=(l5)">

// A row compared with a number of its column: the lane's part of the row goes to the number, once.
// CHECK-LABEL: llvm.func amdgpu_kernelcc @mask
// CHECK: %[[LIMIT:.*]] = llvm.intr.ssub.sat
// CHECK-NOT: llvm.intr.ssub.sat
// CHECK-COUNT-16: llvm.icmp "sle" %{{.*}}, %[[LIMIT]] : i32
// CHECK: llvm.return
tile.kernel @mask args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %zero = arith.constant 0 : i32
  %rows = arith.constant 32 : i32
  %f0 = arith.constant 0.0 : f32
  %f1 = arith.constant 1.0 : f32
  %limit = tile.map() : () -> !limit {
  ^bb0(%row: i32, %col: i32):
    tile.yield %col : i32
  }
  %x = tile.map(%limit) : (!limit) -> !acc {
  ^bb0(%l: i32, %row: i32, %col: i32):
    %in = arith.cmpi sle, %row, %l : i32
    %v = arith.select %in, %f0, %f1 : f32
    tile.yield %v : f32
  }
  %out = tile.view %p + %n stride %n rows %zero to %rows : !llvm.ptr<1> -> !tile.view<32xf32>
  tile.store %x, %out[%zero] : !acc, !tile.view<32xf32>
  tile.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">

// An offset that grows with the row by a number only known at run time: one product for the distances of one row and of five
// between neighbouring registers, and a sum for each register but the first.
// CHECK-LABEL: llvm.func amdgpu_kernelcc @offsets
// CHECK:      %[[KEY:.*]] = llvm.add %{{.*}}, %[[STRIDE:.*]] : i32
// CHECK-NEXT: %[[R0:.*]] = llvm.mul %[[KEY]], %[[STRIDE]] : i32
// CHECK-NEXT: llvm.sitofp %[[R0]]
// CHECK:      %[[ONE:.*]] = llvm.mul %[[STRIDE]], %{{.*}} : i32
// CHECK-NEXT: %[[R1:.*]] = llvm.add %[[R0]], %[[ONE]] : i32
// CHECK-NEXT: llvm.sitofp %[[R1]]
// CHECK-NEXT: %[[R2:.*]] = llvm.add %[[R1]], %[[ONE]] : i32
// CHECK-NEXT: llvm.sitofp %[[R2]]
// CHECK-NEXT: %[[R3:.*]] = llvm.add %[[R2]], %[[ONE]] : i32
// CHECK-NEXT: llvm.sitofp %[[R3]]
// CHECK:      %[[FIVE:.*]] = llvm.mul %[[STRIDE]], %{{.*}} : i32
// CHECK-NEXT: llvm.add %[[R3]], %[[FIVE]] : i32
// CHECK-NOT:  llvm.mul %{{.*}} : i32
// CHECK-COUNT-12: llvm.sitofp
// CHECK: llvm.return
tile.kernel @offsets args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %zero = arith.constant 0 : i32
  %rows = arith.constant 32 : i32
  %low = arith.trunci %n : i64 to i32
  %x = tile.map() : () -> !acc {
  ^bb0(%row: i32, %col: i32):
    %key = arith.addi %row, %low : i32
    %offset = arith.muli %key, %low : i32
    %v = arith.sitofp %offset : i32 to f32
    tile.yield %v : f32
  }
  %out = tile.view %p + %n stride %n rows %zero to %rows : !llvm.ptr<1> -> !tile.view<32xf32>
  tile.store %x, %out[%zero] : !acc, !tile.view<32xf32>
  tile.return
}

// -----

// Half of a fill of four instructions; one answer for the wave.
// CHECK-LABEL: llvm.func amdgpu_kernelcc @part(
// CHECK: rocdl.readfirstlane
// CHECK: llvm.inline_asm has_side_effects "", "s,s" %{{.*}}, %{{.*}} : (!llvm.ptr<1>, i64) -> ()
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.load.lds
// CHECK-NOT: rocdl.raw.ptr.buffer.load.lds
// CHECK: %[[GREATER:.*]] = llvm.fcmp "ogt"
// CHECK: %[[VOTES:.*]] = rocdl.ballot %[[GREATER]] : i64
// CHECK: llvm.icmp "ne" %[[VOTES]]
!stat = !tile.frag<1x32xf32, "col=(l0..l4) free=(l5)">
tile.kernel @part args ["p", "n"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  tile.at_hand %p, %n : !llvm.ptr<1>, i64
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %f = arith.constant 1.0 : f32
  %rows = arith.constant 32 : i32
  %lds = tile.alloc : <1 x 32x64xbf16, pitch = 128>
  %view = tile.view %p + %n stride %n rows %zero to %rows : !llvm.ptr<1> -> !tile.view<64xbf16>
  tile.dma %view, %lds[%zero] part 1 of 2 : !tile.view<64xbf16>, !tile.lds<1 x 32x64xbf16, pitch = 128>
  %last = tile.load_scalar %p[%zero] : !llvm.ptr<1> -> f32
  %a = tile.splat %last : !stat
  %b = tile.splat %f : !stat
  %any = tile.any_greater %a, %b : !stat
  %x = scf.if %any -> i32 {
    scf.yield %one : i32
  } else {
    scf.yield %zero : i32
  }
  %out = tile.view %p + %n stride %n rows %x to %rows : !llvm.ptr<1> -> !tile.view<1xf32>
  tile.store %a, %out[%zero] : !stat, !tile.view<1xf32>
  tile.return
}

// -----

// CHECK-LABEL: llvm.func @untouched
// CHECK-NEXT:  llvm.return
llvm.func @untouched() {
  llvm.return
}

// -----

!acc = !tile.frag<32x32xf32, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!weights = !tile.frag<32x32xbf16, "row=(r0,r1,l5,r2,r3) col=(l0..l4)">
!sectors = !tile.frag<32x32xbf16, "row=(r0..r2,l5,l4) col=(l0..l3,r3)">
!words = !tile.frag<32x32xf32, "row=(r0,r1,l5,l4,r3) col=(l0..l3,r2)">

// Eight registers of pairs: four of them change places with the other four in each of two swaps, and two stores
// of 16 bytes a lane take the place of four of 8.
// CHECK-LABEL: llvm.func amdgpu_kernelcc @convert
// CHECK-NOT:   rocdl.permlane16.swap
// CHECK-COUNT-4: rocdl.permlane32.swap
// CHECK-NOT:   rocdl.permlane32.swap
// CHECK-COUNT-4: rocdl.permlane16.swap
// CHECK-NOT:   rocdl.permlane
// CHECK-COUNT-2: rocdl.raw.ptr.buffer.store {{.*}} : vector<4xi32>
// f32: sixteen registers, one swap.
// CHECK-NOT:   rocdl.raw.ptr.buffer.store
// CHECK-COUNT-8: rocdl.permlane16.swap
// CHECK-NOT:   rocdl.permlane
// CHECK-COUNT-4: rocdl.raw.ptr.buffer.store {{.*}} : vector<4xi32>
// Where nothing moves there is no instruction.
// CHECK-NOT:   rocdl.permlane
// CHECK:       llvm.return
tile.kernel @convert args ["p", "n", "x"] waves = 1 waves_per_eu = 2 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64, %x: f32):
  %c0 = arith.constant 0 : i32
  %c32 = arith.constant 32 : i32
  %a = tile.splat %x : !acc
  %w = tile.cast %a : !acc -> !weights
  %s = tile.convert %w : !weights -> !sectors
  %same = tile.convert %s : !sectors -> !sectors
  %narrow = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !tile.view<32xbf16>
  tile.store %same, %narrow[%c0] : !sectors, !tile.view<32xbf16>
  %f = tile.convert %a : !acc -> !words
  %wide = tile.view %p + %n stride %n rows %c0 to %c32 : !llvm.ptr<1> -> !tile.view<32xf32>
  tile.store %f, %wide[%c0] : !words, !tile.view<32xf32>
  tile.return
}
