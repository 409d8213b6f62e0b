// RUN: attune-opt %s -split-input-file -tile-to-rocdl -verify-diagnostics

// Ops whose layouts no instruction serves are refused by name instead of being lowered wrongly.

!in = !tile.frag<2x32xf32, "row=(l0) col=(l1..l5)">
!out = !tile.frag<1x32xf32, "col=(l1..l5) free=(l0)">
tile.kernel @exchange args ["x"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%x: f32):
  %a = tile.splat %x : !in
  // expected-error@+1 {{failed to legalize operation 'tile.reduce'}}
  %0 = tile.reduce max %a : !in -> !out
  tile.return
}

// -----

!lds = !tile.lds<1 x 32x64xbf16, pitch = 128>
!opA = !tile.frag<32x16xbf16, "row=(l0..l4) col=(r1,r0,r2,l5)">
tile.kernel @read args [] waves = 1 waves_per_eu = 1 block_m = 32 {
  %c0 = arith.constant 0 : i32
  %lds = tile.alloc : !lds
  // expected-error@+1 {{failed to legalize operation 'tile.read'}}
  %a = tile.read %lds[%c0] at [0, 0] : !lds -> !opA
  tile.return
}

// -----

// Rows that lanes 0 to 15 choose are no permlane swap away from those that a register chooses.
!in = !tile.frag<2x64xf32, "row=(r0) col=(l0..l5)">
!out = !tile.frag<2x64xf32, "row=(l0) col=(r0,l1..l5)">
tile.kernel @convert args ["x"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%x: f32):
  %a = tile.splat %x : !in
  // expected-error@+1 {{failed to legalize operation 'tile.convert'}}
  %0 = tile.convert %a : !in -> !out
  tile.return
}

// -----

!in = !tile.frag<4x32xbf16, "row=(l5,r0) col=(l0..l4)">
!out = !tile.frag<4x32xbf16, "row=(r0,l5) col=(l0..l4)">
tile.kernel @halves args ["p", "n"] waves = 1 waves_per_eu = 1 block_m = 32 {
^bb0(%p: !llvm.ptr<1>, %n: i64):
  %zero = arith.constant 0.0 : f32
  %wide = tile.splat %zero : !tile.frag<4x32xf32, "row=(l5,r0) col=(l0..l4)">
  %a = tile.cast %wide : !tile.frag<4x32xf32, "row=(l5,r0) col=(l0..l4)"> -> !in
  // expected-error@+1 {{failed to legalize operation 'tile.convert'}}
  %0 = tile.convert %a : !in -> !out
  tile.return
}
