// Launch facts that kernels read from hidden arguments (or, before code object v5, from the dispatch packet), and data
// that the loader relocates.
global uint value = 1234;
global uint *constant pointer = &value;

kernel void hidden(global uint *out) {
  out[0] = __builtin_amdgcn_workgroup_size_x();
  out[1] = __builtin_amdgcn_workgroup_size_y();
  constant uint *counts = (constant uint *)__builtin_amdgcn_implicitarg_ptr();
  out[2] = counts[0];
  out[3] = counts[1];
}

kernel void through_pointer(global uint *out) { *out = *pointer; }
