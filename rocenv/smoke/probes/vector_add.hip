// /// probe
// summary: adds two vectors in a HIP kernel on every GPU and checks every element
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// One source for every road: hipcc (AMD), nvcc (HIP's NVIDIA path), hiprtc (the device part alone) and, with
// -DROCENV_CPU, a plain C++ compiler. Exit codes: 0 pass, 1 wrong numbers, 3 API error, 4 no GPU, 5 no code for this
// GPU (the build is at fault), 6 out of memory; the worst of all GPUs counts.
#if defined(__HIPCC_RTC__) || defined(__CUDACC_RTC__)
#define DEVICE_ONLY
#elif defined(ROCENV_CPU)
#include "cpu.hpp"
#else
#include <hip/hip_runtime.h>
#endif

extern "C" __global__ void add(const float* a, const float* b, float* c, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

#ifndef DEVICE_ONLY
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

struct Fault {
  int code;
  std::string cause;
};

// Judged by number: on NVIDIA the names are CUDA's.
static int code_of(hipError_t error) {
  switch (int(error)) {
    case 2: return 6;             // hipErrorOutOfMemory
    case 35: case 100: case 101:  // hipErrorInsufficientDriver, NoDevice, InvalidDevice
      return 4;
    case 98: case 200: case 209:  // hipErrorInvalidDeviceFunction, InvalidImage, NoBinaryForGpu
      return 5;
    default: return 3;
  }
}

static const char* kind_of(int code) {
  switch (code) {
    case 4: return "no GPU seen";
    case 5: return "no code for this GPU";
    case 6: return "out of memory";
    default: return "HIP error";
  }
}

static void ok(hipError_t error, const char* call) {
  if (error == hipSuccess) return;
  int code = code_of(error);
  throw Fault{code, std::string(kind_of(code)) + ": " + call + " answers " + std::to_string(int(error)) + " " + hipGetErrorName(error)};
}
#define OK(call) ok((call), #call)

struct Buffer {  // device memory, freed on every path
  void* at = nullptr;
  explicit Buffer(size_t bytes) { OK(hipMalloc(&at, bytes)); }
  ~Buffer() { (void)hipFree(at); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
};

static std::string quoted(const char* text) {
  std::string out = "\"";
  for (; *text; text++)
    if (*text == '"' || *text == '\\') (out += '\\') += *text;
    else if ((unsigned char)*text >= 0x20) out += *text;
  return out + "\"";
}

// Distinct, unordered values of either sign whose last bits matter: 24 bits, scaled to [-1, 1).
static float value(unsigned i, unsigned salt) {
  unsigned x = (i + salt) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  x ^= x >> 13;
  return float(int(x >> 8) - (1 << 23)) / float(1 << 23);
}

static const unsigned kElements = (1u << 20) + 13;  // no multiple of the block: its edge is tested
static const unsigned kGuard = 1024;                // beyond the end, where nothing may be written
static const unsigned kBlock = 256;
static const unsigned char kPoison = 0xA5;

static void check_sums(const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& c) {
  unsigned wrong = 0, first = 0;
  for (unsigned i = 0; i < kElements; i++) {
    float sum = a[i] + b[i];  // one IEEE addition: the same bits on every machine
    if (std::memcmp(&c[i], &sum, sizeof sum) && !wrong++) first = i;
  }
  if (wrong)
    throw Fault{1, "wrong numbers: " + std::to_string(wrong) + " of " + std::to_string(kElements) + " sums differ, the first at " + std::to_string(first)};
  const unsigned char* guard = reinterpret_cast<const unsigned char*>(c.data() + kElements);
  for (size_t i = 0; i < kGuard * sizeof(float); i++)
    if (guard[i] != kPoison) throw Fault{1, "wrong numbers: something was written beyond the end of the result"};
}

static void add_and_check() {
  std::vector<float> a(kElements), b(kElements), c(kElements + kGuard);
  for (unsigned i = 0; i < kElements; i++) a[i] = value(i, 1), b[i] = value(i, 77777777u);
  const size_t bytes = kElements * sizeof(float), guarded = c.size() * sizeof(float);
  Buffer left(bytes), right(bytes), sum(guarded);
  OK(hipMemcpy(left.at, a.data(), bytes, hipMemcpyHostToDevice));
  OK(hipMemcpy(right.at, b.data(), bytes, hipMemcpyHostToDevice));
  OK(hipMemset(sum.at, kPoison, guarded));
  hipLaunchKernelGGL(add, dim3((kElements + kBlock - 1) / kBlock), dim3(kBlock), 0, 0, static_cast<const float*>(left.at),
                     static_cast<const float*>(right.at), static_cast<float*>(sum.at), kElements);
  OK(hipGetLastError());
  OK(hipDeviceSynchronize());
  OK(hipMemcpy(c.data(), sum.at, guarded, hipMemcpyDeviceToHost));
  check_sums(a, b, c);
}

static std::string who(int device) {  // the JSON that says what it ran on
#ifdef ROCENV_CPU
  (void)device;
  return "\"ran_on\": \"CPU\"";
#else
  hipDeviceProp_t properties;
  std::memset(&properties, 0, sizeof properties);
  OK(hipGetDeviceProperties(&properties, device));
  char bus[32] = "";
  OK(hipDeviceGetPCIBusId(bus, sizeof bus, device));
#if defined(__HIP_PLATFORM_NVIDIA__) || defined(__HIP_PLATFORM_NVCC__)
  std::string arch = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
#else
  std::string arch = properties.gcnArchName;  // gfx90a:sramecc+:xnack-
#endif
  return "\"gpu\": {\"bdf\": " + quoted(bus) + ", \"gfx\": " + quoted(arch.c_str()) + ", \"name\": " + quoted(properties.name) + "}";
#endif
}

static int run(int device, const char* built_for) {
  auto start = std::chrono::steady_clock::now();
  Fault fault{0, ""};
  std::string subject;
  try {
    OK(hipSetDevice(device));
    subject = who(device) + ", ";
    add_and_check();
  } catch (const Fault& caught) {
    fault = caught;
  }
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("{%s\"result\": \"%s\", \"cause\": %s, \"seconds\": %.3f, \"figures\": {\"elements\": %u, \"built_for\": %s}}\n",
              subject.c_str(), fault.code ? "failed" : "passed", fault.code ? quoted(fault.cause.c_str()).c_str() : "null",
              seconds.count(), kElements, quoted(built_for).c_str());
  std::fflush(stdout);
  return fault.code;
}

int main(int argc, char** argv) {
  int count = 0, worst = 0;
  hipError_t error = hipGetDeviceCount(&count);
  if (error != hipSuccess || count == 0) {
    std::printf("{\"result\": \"failed\", \"cause\": \"no GPU seen: hipGetDeviceCount answers %d and %d GPUs\"}\n", int(error), count);
    return error == hipSuccess ? 4 : code_of(error);
  }
  for (int device = 0; device < count; device++) {
    int code = run(device, argc > 1 ? argv[1] : "");
    if (worst == 0) worst = code;
  }
  return worst;
}
#endif
