// What code generation adds to every kernel: the processor, whole workgroups, nothing hidden; and what it keeps.
//
// RUN: attune-translate --rocdl-to-llvm %s | FileCheck %s --check-prefix=IR
// RUN: attune-translate --rocdl-to-resources %s | FileCheck %s --check-prefix=OBJECT
// RUN: attune-translate --rocdl-to-isa %s | FileCheck %s --check-prefix=ISA

// IR: target datalayout = "e-m:e-p:64:64-
// IR: target triple = "amdgcn-amd-amdhsa"
// IR: define protected amdgpu_kernel void @store({{.*}} %to, {{.*}}) {{.*}}#[[ATTRIBUTES:[0-9]+]]
// IR: attributes #[[ATTRIBUTES]] = {
// IR-SAME: "amdgpu-flat-work-group-size"="512,512"
// IR-SAME: "amdgpu-no-implicitarg-ptr"
// IR-SAME: "amdgpu-no-queue-ptr"
// IR-SAME: "amdgpu-waves-per-eu"="2"
// IR-SAME: "target-cpu"="gfx950"
// IR-SAME: "uniform-work-group-size"="true"
// IR: !{i32 1, !"amdhsa_code_object_version", i32 600}

// OBJECT: kernel store
// OBJECT: threads 512
// OBJECT-NEXT: kernarg 12
// OBJECT-NEXT: arg offset 0 size 8
// OBJECT-NEXT: arg offset 8 size 4
// OBJECT-NOT: arg

// ISA: .amdgcn_target "amdgcn-amd-amdhsa--gfx950"
// ISA: .amdhsa_code_object_version 6
llvm.func amdgpu_kernelcc @store(%to: !llvm.ptr<1>, %value: f32)
    attributes {rocdl.kernel, rocdl.flat_work_group_size = "512,512", rocdl.waves_per_eu = 2 : i32,
                attune.abi = [{name = "to", kind = "ptr", offset = 0, size = 8}]} {
  llvm.store %value, %to : f32, !llvm.ptr<1>
  llvm.return
}
