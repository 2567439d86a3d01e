// A stand-in for the parts of HIP that the probes use: kernels run on the CPU. For demonstrations and tests without a
// GPU (-DROCENV_CPU). What it shows is the source's own logic, never a GPU: atomics, races and streams have no meaning
// here. Threads run one after the other; where they wait for one another (hipLaunchTogether), each has a stack of its
// own and gives way at every barrier and shuffle. ROCENV_WAVE is the width of a wave.
#pragma once
#include <ucontext.h>

#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#ifndef ROCENV_WAVE
#define ROCENV_WAVE 64
#endif
#define __global__
#define __device__
#define __host__
#define __shared__ static

struct dim3 {
  unsigned x, y, z;
  explicit dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
static dim3 blockIdx(0, 0, 0), blockDim(1), threadIdx(0, 0, 0), gridDim(1);
static const int warpSize = ROCENV_WAVE;

namespace cpu {
struct Barrier {
  size_t arrived = 0, times = 0;
};
struct Thread {
  ucontext_t at;
  dim3 index{0};
  bool ended = false;
  std::vector<char> stack = std::vector<char>(1 << 16);
};
static std::vector<Thread> threads;
static std::vector<unsigned long long> told;  // what each lane tells the others in a shuffle
static ucontext_t scheduler;
static size_t now, alive;
static Barrier whole;
static std::vector<Barrier> waves;
static const std::function<void()>* body;

static void give_way() { swapcontext(&threads[now].at, &scheduler); }
static void wait(Barrier& barrier, size_t members) {
  const size_t before = barrier.times;
  if (++barrier.arrived == members) barrier.arrived = 0, barrier.times++;
  while (barrier.times == before) give_way();
}
static void run_thread() {
  (*body)();
  threads[now].ended = true;
  alive--;
}
static void each_thread(const std::function<void()>& visit) {
  for (threadIdx.z = 0; threadIdx.z < blockDim.z; threadIdx.z++)
    for (threadIdx.y = 0; threadIdx.y < blockDim.y; threadIdx.y++)
      for (threadIdx.x = 0; threadIdx.x < blockDim.x; threadIdx.x++) visit();
}
static void run_together() {
  const size_t count = size_t(blockDim.x) * blockDim.y * blockDim.z;
  if (threads.size() < count) threads.resize(count);
  told.assign(count, 0), waves.assign(count / warpSize + 1, Barrier()), whole = Barrier(), alive = count, now = 0;
  each_thread([] {
    Thread& thread = threads[now++];
    thread.index = threadIdx, thread.ended = false;
    getcontext(&thread.at);
    thread.at.uc_stack.ss_sp = thread.stack.data(), thread.at.uc_stack.ss_size = thread.stack.size(), thread.at.uc_link = &scheduler;
    makecontext(&thread.at, run_thread, 0);
  });
  while (alive)
    for (now = 0; now < count; now++)
      if (!threads[now].ended) threadIdx = threads[now].index, swapcontext(&scheduler, &threads[now].at);
}
static void run(dim3 grid, dim3 block, bool together, const std::function<void()>& kernel) {
  gridDim = grid, blockDim = block, body = &kernel;
  for (blockIdx.z = 0; blockIdx.z < grid.z; blockIdx.z++)
    for (blockIdx.y = 0; blockIdx.y < grid.y; blockIdx.y++)
      for (blockIdx.x = 0; blockIdx.x < grid.x; blockIdx.x++)
        if (together) run_together();
        else each_thread(kernel);
}
static std::vector<std::function<void()>>* captured;  // where a graph is being captured: the work goes there
static int refused;                                    // what hipGetLastError answers
static void put(std::function<void()> work) {
  if (captured) captured->push_back(work);
  else work();
}
template <class... Wanted, class... Given>
void launch(void (*kernel)(Wanted...), dim3 grid, dim3 block, bool together, Given... given) {
  if (block.x * block.y * block.z > 1024) refused = 9;
  else put([=] { run(grid, block, together, [&] { kernel(Wanted(given)...); }); });
}
static size_t wave() { return now / warpSize; }
static void wait_for_wave() {
  size_t members = 0;
  for (size_t i = wave() * warpSize; i < (wave() + 1) * warpSize && i < told.size(); i++) members += !threads[i].ended;
  wait(waves[wave()], members);
}
template <class T> T heard_from(T value, size_t by) {
  std::memcpy(&told[now], &value, sizeof value);
  wait_for_wave();
  const size_t from = now + by;
  if (from / warpSize == wave() && from < told.size()) std::memcpy(&value, &told[from], sizeof value);
  wait_for_wave();
  return value;
}
}  // namespace cpu

#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) cpu::launch(kernel, grid, block, false, __VA_ARGS__)
#define hipLaunchTogether(kernel, grid, block, shared, stream, ...) cpu::launch(kernel, grid, block, true, __VA_ARGS__)
static inline void __syncthreads() { cpu::wait(cpu::whole, cpu::alive); }
template <class T> T __shfl_down(T value, int by) { return cpu::heard_from(value, by); }
static inline unsigned long long __ballot(int yes) {
  unsigned long long lanes = 0;
  cpu::told[cpu::now] = yes != 0;
  cpu::wait_for_wave();
  for (size_t lane = 0, first = cpu::wave() * warpSize; lane < size_t(warpSize) && first + lane < cpu::told.size(); lane++)
    lanes |= cpu::told[first + lane] << lane;
  cpu::wait_for_wave();
  return lanes;
}
template <class T> T atomicAdd(T* at, T more) { T was = *at; return *at += more, was; }
template <class T> T atomicMax(T* at, T other) { T was = *at; return *at = was < other ? other : was, was; }
template <class T> T atomicMin(T* at, T other) { T was = *at; return *at = other < was ? other : was, was; }
template <class T> T atomicXor(T* at, T other) { T was = *at; return *at ^= other, was; }
template <class T> T atomicCAS(T* at, T expected, T wanted) { T was = *at; return *at = was == expected ? wanted : was, was; }
static inline long long clock64() { static long long ticks; return ticks += 1 << 30; }

struct __half {  // the bits of an IEEE half; only normal numbers and zero, which is what the probes use
  unsigned short bits;
};
static inline __half __float2half(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  const unsigned sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  return __half{(unsigned short)(rest ? sign | ((rest - (112u << 23)) >> 13) : sign)};
}
static inline float __half2float(__half x) {
  const unsigned rest = x.bits & 0x7fff, bits = (unsigned(x.bits) & 0x8000) << 16 | (rest ? (rest << 13) + (112u << 23) : 0);
  float value;
  return std::memcpy(&value, &bits, sizeof value), value;
}

// The host's part. Memory is the host's own; streams run at once and in order; there are ROCENV_CPU GPUs.
enum hipError_t {
  hipSuccess = 0, hipErrorInvalidValue = 1, hipErrorOutOfMemory = 2, hipErrorInvalidConfiguration = 9,
  hipErrorInvalidMemcpyDirection = 21, hipErrorInvalidDevice = 101, hipErrorPeerAccessAlreadyEnabled = 704,
};
enum hipMemcpyKind { hipMemcpyHostToHost, hipMemcpyHostToDevice, hipMemcpyDeviceToHost, hipMemcpyDeviceToDevice };
enum hipDeviceAttribute_t {
  hipDeviceAttributeWarpSize, hipDeviceAttributeCanMapHostMemory, hipDeviceAttributeManagedMemory,
  hipDeviceAttributeConcurrentManagedAccess, hipDeviceAttributePageableMemoryAccess,
};
enum { hipStreamNonBlocking = 1, hipEventDisableTiming = 2, hipHostMallocDefault = 0, hipHostMallocMapped = 2, hipMemAttachGlobal = 1 };
enum hipStreamCaptureMode { hipStreamCaptureModeThreadLocal = 1 };
using hipStream_t = int;
using hipEvent_t = std::chrono::steady_clock::time_point*;
using hipGraph_t = std::vector<std::function<void()>>*;
using hipGraphExec_t = hipGraph_t;

static const size_t kMemory = size_t(1) << 30;
static inline hipError_t done() { return hipSuccess; }
static inline const char* hipGetErrorName(hipError_t error) { return error ? "an error of the stand-in's" : "hipSuccess"; }
static inline hipError_t hipGetDeviceCount(int* count) { return *count = ROCENV_CPU, hipSuccess; }
static inline hipError_t hipSetDevice(int device) { return device < ROCENV_CPU ? hipSuccess : hipErrorInvalidDevice; }
static inline hipError_t hipGetLastError() {
  const hipError_t error = hipError_t(cpu::refused);
  return cpu::refused = 0, error;
}
static inline hipError_t hipDeviceSynchronize() { return done(); }
static inline hipError_t hipDeviceGetAttribute(int* value, hipDeviceAttribute_t which, int) {
  return *value = which == hipDeviceAttributeWarpSize ? warpSize : 1, hipSuccess;
}
static inline hipError_t hipMemGetInfo(size_t* free, size_t* total) { return *free = *total = kMemory, hipSuccess; }
static inline hipError_t hipMalloc(void** at, size_t bytes) {
  if (bytes > kMemory) return hipErrorOutOfMemory;
  return (*at = std::malloc(bytes)) ? hipSuccess : hipErrorOutOfMemory;
}
static inline hipError_t hipFree(void* at) { return std::free(at), hipSuccess; }
static inline hipError_t hipMallocManaged(void** at, size_t bytes, unsigned = hipMemAttachGlobal) { return hipMalloc(at, bytes); }
static inline hipError_t hipHostMalloc(void** at, size_t bytes, unsigned = 0) { return hipMalloc(at, bytes); }
static inline hipError_t hipHostFree(void* at) { return hipFree(at); }
static inline hipError_t hipHostGetDevicePointer(void** at, void* host, unsigned) { return *at = host, hipSuccess; }
static inline hipError_t hipMemset(void* at, int byte, size_t bytes) { return std::memset(at, byte, bytes), hipSuccess; }
static inline hipError_t hipMemcpy(void* to, const void* from, size_t bytes, hipMemcpyKind kind) {
  if (unsigned(kind) > hipMemcpyDeviceToDevice) return hipErrorInvalidMemcpyDirection;
  return std::memmove(to, from, bytes), hipSuccess;
}
static inline hipError_t hipMemcpyAsync(void* to, const void* from, size_t bytes, hipMemcpyKind kind, hipStream_t) { return hipMemcpy(to, from, bytes, kind); }
static inline hipError_t hipMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes, hipStream_t) { return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice); }
static inline hipError_t hipDeviceCanAccessPeer(int* can, int, int) { return *can = 1, hipSuccess; }
static inline hipError_t hipDeviceEnablePeerAccess(int, unsigned) { return done(); }
static inline hipError_t hipStreamCreateWithFlags(hipStream_t* stream, unsigned) { return *stream = 0, hipSuccess; }
static inline hipError_t hipStreamDestroy(hipStream_t) { return done(); }
static inline hipError_t hipStreamSynchronize(hipStream_t) { return done(); }
static inline hipError_t hipStreamWaitEvent(hipStream_t, hipEvent_t, unsigned) { return done(); }
static inline hipError_t hipEventCreate(hipEvent_t* event) { return *event = new std::chrono::steady_clock::time_point, hipSuccess; }
static inline hipError_t hipEventCreateWithFlags(hipEvent_t* event, unsigned) { return hipEventCreate(event); }
static inline hipError_t hipEventDestroy(hipEvent_t event) { return delete event, hipSuccess; }
static inline hipError_t hipEventRecord(hipEvent_t event, hipStream_t) { return *event = std::chrono::steady_clock::now(), hipSuccess; }
static inline hipError_t hipEventSynchronize(hipEvent_t) { return done(); }
static inline hipError_t hipEventElapsedTime(float* ms, hipEvent_t from, hipEvent_t to) {
  return *ms = std::chrono::duration<float, std::milli>(*to - *from).count(), hipSuccess;
}
static inline hipError_t hipStreamBeginCapture(hipStream_t, hipStreamCaptureMode) { return cpu::captured = new std::vector<std::function<void()>>, hipSuccess; }
static inline hipError_t hipStreamEndCapture(hipStream_t, hipGraph_t* graph) { return *graph = cpu::captured, cpu::captured = nullptr, hipSuccess; }
static inline hipError_t hipGraphInstantiate(hipGraphExec_t* out, hipGraph_t graph, void*, void*, size_t) { return *out = new std::vector<std::function<void()>>(*graph), hipSuccess; }
static inline hipError_t hipGraphLaunch(hipGraphExec_t graph, hipStream_t) {
  for (auto& work : *graph) work();
  return hipSuccess;
}
static inline hipError_t hipGraphExecDestroy(hipGraphExec_t graph) { return delete graph, hipSuccess; }
static inline hipError_t hipGraphDestroy(hipGraph_t graph) { return delete graph, hipSuccess; }
