// What HIP 5's headers call in ROCm's device library, for kernels that need no more than ids and barriers.
unsigned long __ockl_get_group_id(unsigned axis) {
  return axis == 0   ? __builtin_amdgcn_workgroup_id_x()
         : axis == 1 ? __builtin_amdgcn_workgroup_id_y()
                     : __builtin_amdgcn_workgroup_id_z();
}

unsigned long __ockl_get_local_id(unsigned axis) {
  return axis == 0   ? __builtin_amdgcn_workitem_id_x()
         : axis == 1 ? __builtin_amdgcn_workitem_id_y()
                     : __builtin_amdgcn_workitem_id_z();
}

unsigned long __ockl_get_local_size(unsigned axis) {
  return axis == 0   ? __builtin_amdgcn_workgroup_size_x()
         : axis == 1 ? __builtin_amdgcn_workgroup_size_y()
                     : __builtin_amdgcn_workgroup_size_z();
}

unsigned long __ockl_get_num_groups(unsigned axis) {
  unsigned threads = axis == 0   ? __builtin_amdgcn_grid_size_x()
                     : axis == 1 ? __builtin_amdgcn_grid_size_y()
                                 : __builtin_amdgcn_grid_size_z();
  return threads / __ockl_get_local_size(axis);
}

void __atomic_work_item_fence(unsigned flags, int order, int scope) {
  __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
}
