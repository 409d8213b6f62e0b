// A HIP program as people write them; nothing in it knows of the simulator. It adds vectors on two streams, reverses a
// block through shared memory, and reads and writes a device variable. Prints PASSED, or what went wrong.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    hipError_t error = (call);                                                                     \
    if (error != hipSuccess) {                                                                     \
      std::printf("%s:%d: %s: %s\n", __FILE__, __LINE__, #call, hipGetErrorString(error));         \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

__device__ float offset = 0.25f;

template <typename T> __global__ void add(const T *a, const T *b, T *c, size_t n) {
  size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  size_t stride = size_t(blockDim.x) * gridDim.x;
  for (; i < n; i += stride)
    c[i] = a[i] + b[i] + T(offset);
}

__global__ void reverse(int *data) {
  extern __shared__ int tile[];
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

static int addVectors() {
  constexpr size_t n = 10000;
  std::vector<float> a(n), b(n), c(n);
  for (size_t i = 0; i < n; ++i) {
    a[i] = float(i);
    b[i] = float(2 * i);
  }
  float *da, *db, *dc;
  CHECK(hipMalloc(&da, n * sizeof(float)));
  CHECK(hipMalloc(&db, n * sizeof(float)));
  CHECK(hipMalloc(&dc, n * sizeof(float)));
  hipStream_t stream;
  hipEvent_t start, stop;
  CHECK(hipStreamCreate(&stream));
  CHECK(hipEventCreate(&start));
  CHECK(hipEventCreate(&stop));
  CHECK(hipMemcpyAsync(da, a.data(), n * sizeof(float), hipMemcpyHostToDevice, stream));
  CHECK(hipMemcpyAsync(db, b.data(), n * sizeof(float), hipMemcpyHostToDevice, stream));
  CHECK(hipEventRecord(start, stream));
  add<float><<<dim3(8), dim3(256), 0, stream>>>(da, db, dc, n);
  CHECK(hipGetLastError());
  CHECK(hipEventRecord(stop, stream));
  CHECK(hipMemcpyAsync(c.data(), dc, n * sizeof(float), hipMemcpyDeviceToHost, stream));
  CHECK(hipStreamSynchronize(stream));
  float ms = 0;
  CHECK(hipEventElapsedTime(&ms, start, stop));
  CHECK(hipEventDestroy(start));
  CHECK(hipEventDestroy(stop));
  CHECK(hipStreamDestroy(stream));
  CHECK(hipFree(da));
  CHECK(hipFree(db));
  CHECK(hipFree(dc));
  int wrong = 0;
  for (size_t i = 0; i < n; ++i)
    wrong += c[i] != float(3 * i) + 0.5f;
  return wrong;
}

static int reverseBlock() {
  constexpr int n = 128;
  int *data;
  CHECK(hipMallocManaged(&data, n * sizeof(int)));
  for (int i = 0; i < n; ++i)
    data[i] = i;
  hipLaunchKernelGGL(reverse, dim3(1), dim3(n), n * sizeof(int), 0, data);
  CHECK(hipDeviceSynchronize());
  int wrong = 0;
  for (int i = 0; i < n; ++i)
    wrong += data[i] != n - 1 - i;
  CHECK(hipFree(data));
  return wrong;
}

int main() {
  hipDeviceProp_t properties;
  CHECK(hipGetDeviceProperties(&properties, 0));
  std::printf("%s, %d compute units\n", properties.name, properties.multiProcessorCount);
  float value = 0;
  CHECK(hipMemcpyFromSymbol(&value, HIP_SYMBOL(offset), sizeof value));
  value *= 2;
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(offset), &value, sizeof value));
  int sums = addVectors(), places = reverseBlock();
  if (sums || places) {
    std::printf("%d wrong sums, %d wrong places\n", sums, places);
    return 1;
  }
  std::puts("PASSED");
  return 0;
}
