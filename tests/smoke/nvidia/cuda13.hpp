// Lets HIP's NVIDIA headers of ROCm 5.7 (Debian 13's libamdhip64-dev) build with CUDA 13. Force-included before them.
// CUDA 13 dropped what those headers name: each dropped form stands here again, and leads to the new one.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#if CUDART_VERSION >= 13000
#define CUDA12(result, name, parameters, call) \
  static inline result name parameters { return call; }

// Fields that left cudaDeviceProp; no probe reads them, so they are there and 0.
struct cudaDeviceProp12 : cudaDeviceProp {
  int clockRate = 0, memoryClockRate = 0, computeMode = 0, kernelExecTimeoutEnabled = 0, cooperativeMultiDeviceLaunch = 0;
};
CUDA12(cudaError_t, cudaGetDeviceProperties12, (cudaDeviceProp12 * p, int device), cudaGetDeviceProperties(p, device))
CUDA12(cudaError_t, cudaChooseDevice12, (int* device, const cudaDeviceProp12* p), cudaChooseDevice(device, p))
#define cudaDeviceProp cudaDeviceProp12
#define cudaGetDeviceProperties cudaGetDeviceProperties12
#define cudaChooseDevice cudaChooseDevice12
#define cudaDevAttrCooperativeMultiDeviceLaunch cudaDevAttrCooperativeLaunch

// The runtime numbers attributes as the driver does; asked there, libcuda need not be linked.
CUDA12(CUresult, attribute12, (int* value, CUdevice_attribute which, CUdevice device),
       CUresult(cudaDeviceGetAttribute(value, cudaDeviceAttr(which), device)))
#define cuDeviceGetAttribute attribute12

// Places in memory that were a device number, -1 for the host.
static inline cudaMemLocation place12(int device) {
  cudaMemLocation place = {};
  place.type = device < 0 ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device < 0 ? 0 : device;
  return place;
}
CUDA12(cudaError_t, cudaMemAdvise, (const void* at, size_t size, cudaMemoryAdvise advice, int device),
       cudaMemAdvise(at, size, advice, place12(device)))
CUDA12(cudaError_t, cudaMemPrefetchAsync, (const void* at, size_t size, int device, cudaStream_t stream),
       cudaMemPrefetchAsync(at, size, place12(device), 0, stream))

// Calls that took fewer arguments: no parameters for a context, no data on a graph's edges.
CUDA12(CUresult, cuCtxCreate_v4, (CUcontext * context, unsigned flags, CUdevice device), cuCtxCreate_v4(context, nullptr, flags, device))
CUDA12(cudaError_t, cudaGraphAddDependencies, (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t n),
       cudaGraphAddDependencies(graph, from, to, nullptr, n))
CUDA12(cudaError_t, cudaGraphRemoveDependencies, (cudaGraph_t graph, const cudaGraphNode_t* from, const cudaGraphNode_t* to, size_t n),
       cudaGraphRemoveDependencies(graph, from, to, nullptr, n))
CUDA12(cudaError_t, cudaGraphGetEdges, (cudaGraph_t graph, cudaGraphNode_t* from, cudaGraphNode_t* to, size_t* n),
       cudaGraphGetEdges(graph, from, to, nullptr, n))
CUDA12(cudaError_t, cudaGraphNodeGetDependencies, (cudaGraphNode_t node, cudaGraphNode_t* found, size_t* n),
       cudaGraphNodeGetDependencies(node, found, nullptr, n))
CUDA12(cudaError_t, cudaGraphNodeGetDependentNodes, (cudaGraphNode_t node, cudaGraphNode_t* found, size_t* n),
       cudaGraphNodeGetDependentNodes(node, found, nullptr, n))
CUDA12(cudaError_t, cudaStreamUpdateCaptureDependencies, (cudaStream_t stream, cudaGraphNode_t* nodes, size_t n, unsigned flags),
       cudaStreamUpdateCaptureDependencies(stream, nodes, nullptr, n, flags))
CUDA12(cudaError_t, cudaStreamGetCaptureInfo_v2,
       (cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id, cudaGraph_t* graph, const cudaGraphNode_t** nodes, size_t* n),
       cudaStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, n))
CUDA12(CUresult, cuStreamGetCaptureInfo_v2,
       (CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** nodes, size_t* n),
       cuStreamGetCaptureInfo(stream, status, id, graph, nodes, nullptr, n))

// Gone for good.
struct cudaLaunchParams;
CUDA12(cudaError_t, cudaLaunchCooperativeKernelMultiDevice, (cudaLaunchParams*, unsigned, unsigned), cudaErrorNotSupported)
#endif
