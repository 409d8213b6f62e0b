// A double-buffered K/V loop keeps two DMA in flight while the other buffer is read. LLVM inserts the waits that it
// thinks are missing; one alias scope on every DMA, with noalias on every LDS read, tells it that none is, so the only
// vmcnt in the loop is the explicit vmcnt(2). The second function is the same loop without the scopes: LLVM then waits
// for everything, which is what the scopes are there to prevent.
//
// RUN: split-file %s %t
// RUN: attune-translate --rocdl-to-isa %t/scoped.mlir | FileCheck %s --check-prefix=SCOPED
// RUN: attune-translate --rocdl-to-isa %t/plain.mlir | FileCheck %s --check-prefix=PLAIN

// SCOPED: .LBB0_1:
// SCOPED: buffer_load_dwordx4 {{.*}} offen lds
// SCOPED: buffer_load_dwordx4 {{.*}} offen lds
// SCOPED: s_waitcnt vmcnt(2)
// SCOPED-NEXT: s_barrier
// SCOPED-NOT: vmcnt
// SCOPED: ds_read_b128
// SCOPED-NOT: vmcnt
// SCOPED: ds_read_b64_tr_b16
// SCOPED-NOT: vmcnt
// SCOPED: s_waitcnt lgkmcnt(0)
// SCOPED-NOT: vmcnt
// SCOPED: s_barrier
// SCOPED-NOT: vmcnt
// SCOPED: s_cbranch_scc1 .LBB0_1

// PLAIN: .LBB0_1:
// PLAIN: s_waitcnt vmcnt(2)
// PLAIN: s_barrier
// PLAIN: s_waitcnt vmcnt(0)
// PLAIN: ds_read_b128

//--- scoped.mlir
#domain = #llvm.alias_scope_domain<id = distinct[0]<>>
#dma = #llvm.alias_scope<id = distinct[1]<>, domain = #domain>
llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32768 x i8>
llvm.func amdgpu_kernelcc @loop(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %n: i32, %bytes: i32)
    attributes {rocdl.kernel, rocdl.flat_work_group_size = "256,256"} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c6 = llvm.mlir.constant(6 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c63 = llvm.mlir.constant(63 : i32) : i32
  %c1024 = llvm.mlir.constant(1024 : i32) : i32
  %c4096 = llvm.mlir.constant(4096 : i32) : i32
  %c8192 = llvm.mlir.constant(8192 : i32) : i32
  %flags = llvm.mlir.constant(0x27000 : i32) : i32
  %stride = llvm.mlir.constant(0 : i16) : i16
  %zero = llvm.mlir.constant(dense<0.0> : vector<16xf32>) : vector<16xf32>
  %base = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %records = llvm.zext %bytes : i32 to i64
  %rsrc = rocdl.make.buffer.rsrc %src, %stride, %records, %flags : !llvm.ptr<1> to !llvm.ptr<8>
  %tid = rocdl.workitem.id.x : i32
  %tidWave = llvm.lshr %tid, %c6 : i32
  %wave = rocdl.readfirstlane %tidWave : i32
  %lane = llvm.and %tid, %c63 : i32
  %lane16 = llvm.mul %lane, %c16 : i32
  %lane8 = llvm.mul %lane, %c8 : i32
  %waveOffset = llvm.mul %wave, %c1024 : i32
  %first = llvm.mul %tid, %c16 : i32
  %k0 = llvm.getelementptr %base[%waveOffset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  rocdl.raw.ptr.buffer.load.lds %rsrc, %k0, %c16, %first, %c0, %c0, %c0 {alias_scopes = [#dma]}
  %v0 = llvm.getelementptr %k0[%c4096] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %first2 = llvm.add %first, %c4096 : i32
  rocdl.raw.ptr.buffer.load.lds %rsrc, %v0, %c16, %first2, %c0, %c0, %c0 {alias_scopes = [#dma]}
  llvm.br ^loop(%c0, %c0, %first, %zero : i32, i32, i32, vector<16xf32>)
^loop(%i: i32, %buffer: i32, %offset: i32, %acc: vector<16xf32>):
  // Fetch the next tile into the other buffer.
  %other = llvm.xor %buffer, %c8192 : i32
  %next = llvm.add %offset, %c8192 : i32
  %next2 = llvm.add %next, %c4096 : i32
  %fill = llvm.add %other, %waveOffset : i32
  %k1 = llvm.getelementptr %base[%fill] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  rocdl.raw.ptr.buffer.load.lds %rsrc, %k1, %c16, %next, %c0, %c0, %c0 {alias_scopes = [#dma]}
  %v1 = llvm.getelementptr %k1[%c4096] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  rocdl.raw.ptr.buffer.load.lds %rsrc, %v1, %c16, %next2, %c0, %c0, %c0 {alias_scopes = [#dma]}
  rocdl.s.waitcnt 3954 // vmcnt(2): this tile has landed, the next is under way
  rocdl.s.barrier
  // Read this tile.
  %kAt = llvm.add %buffer, %lane16 : i32
  %kPtr = llvm.getelementptr %base[%kAt] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %k = llvm.load %kPtr {alignment = 16 : i64, noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<8xbf16>
  %vAt = llvm.add %buffer, %lane8 : i32
  %vBase = llvm.getelementptr %base[%vAt] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %vPtr = llvm.getelementptr %vBase[%c4096] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %vLow = rocdl.ds.read.tr16.b64 %vPtr {noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<4xbf16>
  %vPtr2 = llvm.getelementptr %vPtr[%c1024] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %vHigh = rocdl.ds.read.tr16.b64 %vPtr2 {noalias_scopes = [#dma]} : !llvm.ptr<3> -> vector<4xbf16>
  rocdl.s.waitcnt 49279 // lgkmcnt(0): the reads are done before the barrier lets the buffer be filled again
  rocdl.s.barrier
  %v = llvm.shufflevector %vLow, %vHigh [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xbf16>
  %sum = rocdl.mfma.f32.32x32x16.bf16 %k, %v, %acc, %c0, %c0, %c0
      : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %i1 = llvm.add %i, %c1 : i32
  %more = llvm.icmp "slt" %i1, %n : i32
  llvm.cond_br %more, ^loop(%i1, %other, %next, %sum : i32, i32, i32, vector<16xf32>), ^exit
^exit:
  %outPtr = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<16 x f32>
  llvm.store %sum, %outPtr : vector<16xf32>, !llvm.ptr<1>
  llvm.return
}

//--- plain.mlir
llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32768 x i8>
llvm.func amdgpu_kernelcc @loop(%src: !llvm.ptr<1>, %out: !llvm.ptr<1>, %n: i32, %bytes: i32)
    attributes {rocdl.kernel, rocdl.flat_work_group_size = "256,256"} {
  %c0 = llvm.mlir.constant(0 : i32) : i32
  %c1 = llvm.mlir.constant(1 : i32) : i32
  %c6 = llvm.mlir.constant(6 : i32) : i32
  %c8 = llvm.mlir.constant(8 : i32) : i32
  %c16 = llvm.mlir.constant(16 : i32) : i32
  %c63 = llvm.mlir.constant(63 : i32) : i32
  %c1024 = llvm.mlir.constant(1024 : i32) : i32
  %c4096 = llvm.mlir.constant(4096 : i32) : i32
  %c8192 = llvm.mlir.constant(8192 : i32) : i32
  %flags = llvm.mlir.constant(0x27000 : i32) : i32
  %stride = llvm.mlir.constant(0 : i16) : i16
  %zero = llvm.mlir.constant(dense<0.0> : vector<16xf32>) : vector<16xf32>
  %base = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %records = llvm.zext %bytes : i32 to i64
  %rsrc = rocdl.make.buffer.rsrc %src, %stride, %records, %flags : !llvm.ptr<1> to !llvm.ptr<8>
  %tid = rocdl.workitem.id.x : i32
  %tidWave = llvm.lshr %tid, %c6 : i32
  %wave = rocdl.readfirstlane %tidWave : i32
  %lane = llvm.and %tid, %c63 : i32
  %lane16 = llvm.mul %lane, %c16 : i32
  %lane8 = llvm.mul %lane, %c8 : i32
  %waveOffset = llvm.mul %wave, %c1024 : i32
  %first = llvm.mul %tid, %c16 : i32
  %k0 = llvm.getelementptr %base[%waveOffset] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  rocdl.raw.ptr.buffer.load.lds %rsrc, %k0, %c16, %first, %c0, %c0, %c0
  %v0 = llvm.getelementptr %k0[%c4096] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %first2 = llvm.add %first, %c4096 : i32
  rocdl.raw.ptr.buffer.load.lds %rsrc, %v0, %c16, %first2, %c0, %c0, %c0
  llvm.br ^loop(%c0, %c0, %first, %zero : i32, i32, i32, vector<16xf32>)
^loop(%i: i32, %buffer: i32, %offset: i32, %acc: vector<16xf32>):
  // Fetch the next tile into the other buffer.
  %other = llvm.xor %buffer, %c8192 : i32
  %next = llvm.add %offset, %c8192 : i32
  %next2 = llvm.add %next, %c4096 : i32
  %fill = llvm.add %other, %waveOffset : i32
  %k1 = llvm.getelementptr %base[%fill] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  rocdl.raw.ptr.buffer.load.lds %rsrc, %k1, %c16, %next, %c0, %c0, %c0
  %v1 = llvm.getelementptr %k1[%c4096] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  rocdl.raw.ptr.buffer.load.lds %rsrc, %v1, %c16, %next2, %c0, %c0, %c0
  rocdl.s.waitcnt 3954 // vmcnt(2): this tile has landed, the next is under way
  rocdl.s.barrier
  // Read this tile.
  %kAt = llvm.add %buffer, %lane16 : i32
  %kPtr = llvm.getelementptr %base[%kAt] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %k = llvm.load %kPtr {alignment = 16 : i64} : !llvm.ptr<3> -> vector<8xbf16>
  %vAt = llvm.add %buffer, %lane8 : i32
  %vBase = llvm.getelementptr %base[%vAt] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %vPtr = llvm.getelementptr %vBase[%c4096] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %vLow = rocdl.ds.read.tr16.b64 %vPtr : !llvm.ptr<3> -> vector<4xbf16>
  %vPtr2 = llvm.getelementptr %vPtr[%c1024] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  %vHigh = rocdl.ds.read.tr16.b64 %vPtr2 : !llvm.ptr<3> -> vector<4xbf16>
  rocdl.s.waitcnt 49279 // lgkmcnt(0): the reads are done before the barrier lets the buffer be filled again
  rocdl.s.barrier
  %v = llvm.shufflevector %vLow, %vHigh [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xbf16>
  %sum = rocdl.mfma.f32.32x32x16.bf16 %k, %v, %acc, %c0, %c0, %c0
      : (vector<8xbf16>, vector<8xbf16>, vector<16xf32>, i32, i32, i32) -> vector<16xf32>
  %i1 = llvm.add %i, %c1 : i32
  %more = llvm.icmp "slt" %i1, %n : i32
  llvm.cond_br %more, ^loop(%i1, %other, %next, %sum : i32, i32, i32, vector<16xf32>), ^exit
^exit:
  %outPtr = llvm.getelementptr %out[%tid] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, !llvm.array<16 x f32>
  llvm.store %sum, %outPtr : vector<16xf32>, !llvm.ptr<1>
  llvm.return
}
