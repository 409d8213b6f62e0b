// What LLVM cannot do is an error on the module, with the kernel's name; the process ends by itself.
//
// RUN: split-file %s %t
// RUN: not attune-translate --rocdl-to-isa %t/two.mlir 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: not attune-translate --rocdl-to-isa %t/none.mlir 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: not attune-translate --rocdl-to-isa %t/lds.mlir 2>&1 | FileCheck %s --check-prefix=LDS
// RUN: not attune-translate --rocdl-to-isa %t/select.mlir 2>&1 | FileCheck %s --check-prefix=SELECT

// TWO: error: a module holds one kernel; this one has first and second
//--- two.mlir
llvm.func amdgpu_kernelcc @first() attributes {rocdl.kernel} {
  llvm.return
}
llvm.func amdgpu_kernelcc @second() attributes {rocdl.kernel} {
  llvm.return
}

// NONE: error: the module has no llvm.func with rocdl.kernel
//--- none.mlir
llvm.func @host() {
  llvm.return
}

// LDS: error: kernel big: LLVM's AMDGPU backend: {{.*}}local memory (163844) exceeds limit (163840)
//--- lds.mlir
llvm.mlir.global internal @lds() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<163844 x i8>
llvm.func amdgpu_kernelcc @big() attributes {rocdl.kernel} {
  %lds = llvm.mlir.addressof @lds : !llvm.ptr<3>
  %zero = llvm.mlir.constant(0 : i32) : i32
  llvm.store volatile %zero, %lds : i32, !llvm.ptr<3>
  llvm.return
}

// SELECT: error: kernel later: LLVM's AMDGPU backend: {{.*}}annot select
//--- select.mlir
llvm.func amdgpu_kernelcc @later() attributes {rocdl.kernel} {
  rocdl.s.wait.asynccnt 0
  llvm.return
}
