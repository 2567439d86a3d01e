// A stand-in for the few parts of HIP that the probes use: kernels run on the CPU, one thread after the other.
// For demonstrations without a GPU (-DROCENV_CPU). What it shows is the source's own logic, never a GPU.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <cstring>

struct dim3 {
  unsigned x, y, z;
  explicit dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
static dim3 blockIdx(0), blockDim(1), threadIdx(0), gridDim(1);

#define __global__
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...)                         \
  do {                                                                                       \
    gridDim = (grid), blockDim = (block);                                                    \
    for (blockIdx.x = 0; blockIdx.x < gridDim.x; blockIdx.x++)                               \
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) kernel(__VA_ARGS__);    \
  } while (0)

enum hipError_t { hipSuccess = 0, hipErrorOutOfMemory = 2 };
enum hipMemcpyKind { hipMemcpyHostToDevice, hipMemcpyDeviceToHost };
static inline const char* hipGetErrorName(hipError_t error) { return error ? "hipErrorOutOfMemory" : "hipSuccess"; }
static inline hipError_t hipGetDeviceCount(int* count) { return *count = 1, hipSuccess; }
static inline hipError_t hipSetDevice(int) { return hipSuccess; }
static inline hipError_t hipGetLastError() { return hipSuccess; }
static inline hipError_t hipDeviceSynchronize() { return hipSuccess; }
static inline hipError_t hipMalloc(void** at, size_t bytes) { return (*at = std::malloc(bytes)) ? hipSuccess : hipErrorOutOfMemory; }
static inline hipError_t hipFree(void* at) { return std::free(at), hipSuccess; }
static inline hipError_t hipMemset(void* at, int byte, size_t bytes) { return std::memset(at, byte, bytes), hipSuccess; }
static inline hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind) { return std::memcpy(to, from, bytes), hipSuccess; }
