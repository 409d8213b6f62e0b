// Kernels that exercise what LLVM emits for ordinary code: addressing, loops, division, floats, LDS, scratch, atomics.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

// The library's barrier(), without the library.
static void sync(void) {
  __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
  __builtin_amdgcn_s_barrier();
  __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
}

static uint gid(void) { return __builtin_amdgcn_workgroup_id_x() * 256 + __builtin_amdgcn_workitem_id_x(); }

kernel void vector_add(global const float *a, global const float *b, global float *c, int n) {
  uint i = gid();
  if (i < n)
    c[i] = a[i] + b[i];
}

kernel void collatz(global const uint *in, global uint *steps) {
  uint x = in[gid()], n = 0;
  while (x != 1) {
    x = x & 1 ? 3 * x + 1 : x / 2;
    ++n;
  }
  steps[gid()] = n;
}

kernel void divide(global const int *a, global const int *b, global int *quotient, global int *remainder,
                   global uint *uq, global ulong *wide) {
  uint i = gid();
  quotient[i] = a[i] / b[i];
  remainder[i] = a[i] % b[i];
  uq[i] = (uint)a[i] / (uint)b[i];
  wide[i] = ((ulong)(uint)a[i] * 0x123456789ul) / (ulong)(uint)b[i];
}

kernel void float_math(global const float *x, global float *out) {
  uint i = gid();
  float v = x[i];
  out[8 * i + 0] = v / 3.7f;
  out[8 * i + 1] = __builtin_sqrtf(__builtin_fabsf(v));
  out[8 * i + 2] = __builtin_exp2f(v);
  out[8 * i + 3] = __builtin_log2f(__builtin_fabsf(v) + 1.0f);
  out[8 * i + 4] = __builtin_floorf(v) + __builtin_rintf(v) * 1000.0f;
  out[8 * i + 5] = __builtin_fmaf(v, v, -v);
  out[8 * i + 6] = (float)(int)(v * 100.0f) + (float)(uint)__builtin_fabsf(v * 7.0f);
  out[8 * i + 7] = __builtin_fmaxf(__builtin_fminf(v, 2.0f), -1.5f);
}

kernel void double_math(global const double *x, global double *out) {
  uint i = gid();
  out[2 * i] = x[i] / 7.0 + __builtin_fma(x[i], x[i], 1.0);
  out[2 * i + 1] = __builtin_sqrt(__builtin_fabs(x[i]));
}

kernel void half_math(global const half *x, global half *out) {
  uint i = gid();
  half a = x[i];
  out[4 * i] = a * (half)1.5 + (half)0.25;
  out[4 * i + 1] = __builtin_fabsf16(a) < (half)1 ? a : (half)(float)(a / (half)3);
  out[4 * i + 2] = (half)(int)a;
  half2 p = (half2)(a, -a), q = (half2)(2, 3);
  p = p * q + q;
  out[4 * i + 3] = p.x - p.y;
}

// A tree sum over the workgroup through LDS, with barriers between the steps.
kernel void lds_sum(global const float *in, global float *sums) {
  local float part[256];
  uint t = __builtin_amdgcn_workitem_id_x();
  part[t] = in[gid()];
  sync();
  for (uint step = 128; step; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    sync();
  }
  if (t == 0)
    sums[__builtin_amdgcn_workgroup_id_x()] = part[0];
}

// An array indexed at run time that stays in scratch.
kernel void scratch_sort(global const int *in, global int *out) {
  volatile int v[16];
  uint i = gid();
  for (int k = 0; k < 16; ++k)
    v[k] = in[16 * i + k];
  for (int k = 1; k < 16; ++k) {
    int x = v[k], j = k - 1;
    while (j >= 0 && v[j] > x) {
      v[j + 1] = v[j];
      --j;
    }
    v[j + 1] = x;
  }
  for (int k = 0; k < 16; ++k)
    out[16 * i + k] = v[k];
}

kernel void histogram(global const uchar *in, global uint *bins, global ulong *total) {
  local uint mine[256];
  uint t = __builtin_amdgcn_workitem_id_x();
  mine[t] = 0;
  sync();
  for (int k = 0; k < 4; ++k)
    __opencl_atomic_fetch_add((local atomic_uint *)&mine[in[gid() * 4 + k]], 1, memory_order_relaxed,
                              memory_scope_work_group);
  sync();
  __opencl_atomic_fetch_add((global atomic_uint *)&bins[t], mine[t], memory_order_relaxed, memory_scope_device);
  __opencl_atomic_fetch_max((global atomic_ulong *)total, (ulong)mine[t] << 32 | t, memory_order_relaxed,
                            memory_scope_device);
}

// Small types and wide accesses.
kernel void repack(global const uchar *u8, global const short *i16, global const float4 *f4, global uint2 *out) {
  uint i = gid();
  float4 v = f4[i];
  out[i] = (uint2)(u8[i] + (uint)i16[i] * 3, as_uint(v.x + v.y * v.z - v.w));
}

constant int table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
kernel void constants(global int *out, global const int *index) { out[gid()] = table[index[gid()] & 7]; }

static __attribute__((noinline)) float horner(float x, int n) {
  float r = 0;
  for (int k = 0; k < n; ++k)
    r = __builtin_fmaf(r, x, (float)(k + 1));
  return r;
}
kernel void calls(global const float *x, global float *out, int n) { out[gid()] = horner(x[gid()], n); }
