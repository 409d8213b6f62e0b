// What attention kernels are made of: MFMA, DMA to LDS, transposing reads, lane swaps, buffers with bounds.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
typedef __attribute__((ext_vector_type(8))) __bf16 bf16x8;
typedef __attribute__((ext_vector_type(16))) float f32x16;
typedef __attribute__((ext_vector_type(4))) short s16x4;
typedef __attribute__((ext_vector_type(4))) uint u32x4;

#define LANE __builtin_amdgcn_workitem_id_x()

// C = A * B^T for one 32 x 32 tile, k a multiple of 16: A and B are [32][k] bf16, C is [32][32] float.
kernel void gemm_nt(global const __bf16 *a, global const __bf16 *b, global float *c, int k) {
  uint row = LANE % 32, group = LANE / 32;
  f32x16 acc = 0;
  for (int at = 0; at < k; at += 16) {
    bf16x8 x = *(global const bf16x8 *)(a + row * k + at + 8 * group);
    bf16x8 y = *(global const bf16x8 *)(b + row * k + at + 8 * group);
    acc = __builtin_amdgcn_mfma_f32_32x32x16_bf16(x, y, acc, 0, 0, 0);
  }
  for (int r = 0; r < 16; ++r)
    c[(8 * (r / 4) + 4 * group + r % 4) * 32 + row] = acc[r];
}

// Bounded loads: lanes past `bytes` read 0 and their stores vanish.
kernel void bounded_copy(global uint *in, global uint *out, int bytes) {
  __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc(in, 0, bytes, 0x00020000);
  __amdgpu_buffer_rsrc_t to = __builtin_amdgcn_make_buffer_rsrc(out, 0, bytes, 0x00020000);
  u32x4 v = __builtin_amdgcn_raw_buffer_load_b128(from, LANE * 16, 0, 0);
  v += 1;
  __builtin_amdgcn_raw_buffer_store_b128(v, to, LANE * 16, 0, 0);
}

// Each wave copies 1 KiB to LDS by DMA, 16 bytes a lane; after the barrier every lane reads another wave's part.
kernel void dma_rotate(global const uint *in, global uint *out, int bytes) {
  local u32x4 tile[4 * 64];
  uint wave = __builtin_amdgcn_readfirstlane(LANE / 64), lane = LANE % 64;
  __amdgpu_buffer_rsrc_t from = __builtin_amdgcn_make_buffer_rsrc((global uint *)in, 0, bytes, 0x00020000);
  __builtin_amdgcn_raw_ptr_buffer_load_lds(from, (local void *)(tile + 64 * wave), 16, wave * 1024 + lane * 16, 0, 0, 0);
  __builtin_amdgcn_s_waitcnt(0);
  __builtin_amdgcn_s_barrier();
  u32x4 v = tile[64 * ((wave + 1) % 4) + lane];
  *(global u32x4 *)(out + 4 * LANE) = v;
}

// A 16-bit tile [16 rows][16 columns] in LDS is read as columns.
kernel void transpose16(global const short *in, global short *out) {
  local short tile[1024];
  for (int k = 0; k < 16; ++k)
    tile[LANE * 16 + k] = in[LANE * 16 + k];
  __builtin_amdgcn_s_waitcnt(0);
  __builtin_amdgcn_s_barrier();
  s16x4 v = __builtin_amdgcn_ds_read_tr16_b64_v4i16((local s16x4 *)(tile + 4 * LANE));
  *(global s16x4 *)(out + 4 * LANE) = v;
}

// Row maximum and sum over the 64 lanes by swaps, permutes and DPP.
kernel void lane_reduce(global const float *in, global float *out) {
  float v = in[LANE], m = v;
  m = __builtin_fmaxf(m, as_float(__builtin_amdgcn_update_dpp(as_int(m), as_int(m), 0xb1, 15, 15, false)));  // quad_perm 1,0,3,2
  m = __builtin_fmaxf(m, as_float(__builtin_amdgcn_update_dpp(as_int(m), as_int(m), 0x4e, 15, 15, false)));  // quad_perm 2,3,0,1
  m = __builtin_fmaxf(m, as_float(__builtin_amdgcn_update_dpp(as_int(m), as_int(m), 0x124, 15, 15, false))); // row_ror:4
  m = __builtin_fmaxf(m, as_float(__builtin_amdgcn_update_dpp(as_int(m), as_int(m), 0x128, 15, 15, false))); // row_ror:8
  m = __builtin_fmaxf(m, as_float(__builtin_amdgcn_ds_swizzle(as_int(m), 0x401f)));                          // xor 16
  m = __builtin_fmaxf(m, as_float(__builtin_amdgcn_ds_bpermute(4 * (LANE ^ 32), as_int(m))));
  typedef __attribute__((ext_vector_type(2))) uint u32x2;
  u32x2 swapped = __builtin_amdgcn_permlane32_swap(as_uint(v), as_uint(v), false, false);
  float sum = as_float(swapped.x) + as_float(swapped.y); // v of lane and of lane ^ 32
  out[LANE] = m;
  out[64 + LANE] = sum;
  out[128 + LANE] = as_float(__builtin_amdgcn_readlane(as_int(v), 17));
}

// Online softmax statistics of rows of `n` floats, one row a lane group: exp2, ballot and loops with masks.
kernel void softmax_rows(global const float *in, global float *out, int n) {
  global const float *row = in + LANE * n;
  float m = -INFINITY, l = 0;
  for (int k = 0; k < n; ++k) {
    float x = row[k] * 1.44269504f, bigger = __builtin_fmaxf(m, x);
    l = l * __builtin_amdgcn_exp2f(m - bigger) + __builtin_amdgcn_exp2f(x - bigger);
    m = bigger;
  }
  out[LANE] = m + __builtin_amdgcn_logf(l);
  out[64 + LANE] = 1.0f / l;
  ulong positive = __builtin_amdgcn_ballot_w64(m > 0);
  out[128 + LANE] = (float)__builtin_popcountl(positive);
}
