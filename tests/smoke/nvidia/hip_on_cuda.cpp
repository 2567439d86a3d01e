// A libamdhip64.so for an NVIDIA GPU: the calls that the Python probes make through ctypes, led to CUDA by HIP's own
// NVIDIA headers. A test's stand-in for AMD's library: it shows the probes' calls, arguments and checks on a real GPU,
// and nothing about AMD's. Built with nvcc, cuda13.hpp in front; libcuda is
// preloaded where it runs.
#include <dlfcn.h>
#include <hip/hip_runtime.h>

#include <cstring>

#define EXPORT extern "C" __attribute__((visibility("default")))
#define LEAD(name, parameters, call) \
  EXPORT int lead_##name parameters __asm__(#name); \
  int lead_##name parameters { return int(call); }

LEAD(hipGetDeviceCount, (int* count), hipGetDeviceCount(count))
LEAD(hipSetDevice, (int device), hipSetDevice(device))
LEAD(hipDeviceSynchronize, (void), hipDeviceSynchronize())
LEAD(hipMalloc, (void** at, size_t size), hipMalloc(at, size))
LEAD(hipFree, (void* at), hipFree(at))
LEAD(hipMemset, (void* at, int byte, size_t size), hipMemset(at, byte, size))
LEAD(hipMemcpy, (void* to, const void* from, size_t size, int kind), hipMemcpy(to, from, size, hipMemcpyKind(kind)))
LEAD(hipModuleLoadData, (hipModule_t * module, const void* code), hipModuleLoadData(module, code))
LEAD(hipModuleUnload, (hipModule_t module), hipModuleUnload(module))
LEAD(hipModuleGetFunction, (hipFunction_t * function, hipModule_t module, const char* name), hipModuleGetFunction(function, module, name))
LEAD(hipModuleLaunchKernel,
     (hipFunction_t f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, hipStream_t s, void** arguments, void** extra),
     hipModuleLaunchKernel(f, gx, gy, gz, bx, by, bz, shared, s, arguments, extra))
LEAD(hipDeviceGetPCIBusId, (char* bus, int length, int device), hipDeviceGetPCIBusId(bus, length, device))

LEAD(hipEventCreate, (hipEvent_t * event), hipEventCreate(event))
LEAD(hipEventDestroy, (hipEvent_t event), hipEventDestroy(event))
LEAD(hipEventRecord, (hipEvent_t event, hipStream_t stream), hipEventRecord(event, stream))
LEAD(hipEventSynchronize, (hipEvent_t event), hipEventSynchronize(event))
LEAD(hipEventElapsedTime, (float* ms, hipEvent_t from, hipEvent_t to), hipEventElapsedTime(ms, from, to))

EXPORT int lead_properties(void* out, int device) __asm__("hipGetDevicePropertiesR0600");
int lead_properties(void* out, int device) {  // the name first, as in HIP's struct; no gfx target, as there is none
  hipDeviceProp_t properties;
  std::memset(&properties, 0, sizeof properties);
  int status = int(hipGetDeviceProperties(&properties, device));
  std::memcpy(out, properties.name, sizeof properties.name);
  return status;
}

// hiprtc is NVRTC under another name, call for call; its header need not be here.
template <class... Arguments>
static int nvrtc(const char* name, Arguments... arguments) {
  static void* library = dlopen("libnvrtc.so.13", RTLD_NOW);
  void* call = library ? dlsym(library, name) : nullptr;
  return call ? reinterpret_cast<int (*)(Arguments...)>(call)(arguments...) : -1;
}

EXPORT int hiprtcCreateProgram(void** program, const char* source, const char* name, int n, const char** headers, const char** includes) {
  return nvrtc("nvrtcCreateProgram", program, source, name, n, headers, includes);
}
EXPORT int hiprtcCompileProgram(void* program, int n, const char** options) { return nvrtc("nvrtcCompileProgram", program, n, options); }
EXPORT int hiprtcGetProgramLogSize(void* program, size_t* size) { return nvrtc("nvrtcGetProgramLogSize", program, size); }
EXPORT int hiprtcGetProgramLog(void* program, char* log) { return nvrtc("nvrtcGetProgramLog", program, log); }
EXPORT int hiprtcGetCodeSize(void* program, size_t* size) { return nvrtc("nvrtcGetPTXSize", program, size); }
EXPORT int hiprtcGetCode(void* program, char* code) { return nvrtc("nvrtcGetPTX", program, code); }
EXPORT int hiprtcDestroyProgram(void** program) { return nvrtc("nvrtcDestroyProgram", program); }
