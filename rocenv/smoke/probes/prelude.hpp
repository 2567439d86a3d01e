// What the HIP probes share: how they answer, memory that notices a stray write, and the loop over all GPUs.
//
// One source for every road: hipcc (AMD), nvcc (HIP's NVIDIA path), hiprtc (the device part alone) and, with
// -DROCENV_CPU, a plain C++ compiler. Exit codes: 0 pass or skipped, 1 wrong numbers, 3 API error, 4 no GPU, 5 no code
// for this GPU (the build is at fault), 6 out of memory; the first GPU that fails counts.
#pragma once
#if defined(__HIPCC_RTC__) || defined(__CUDACC_RTC__)
#define DEVICE_ONLY
#elif defined(ROCENV_CPU)
#include "cpu.hpp"
#else
#include <hip/hip_runtime.h>
#endif

#ifndef DEVICE_ONLY
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#if defined(__HIP_PLATFORM_NVIDIA__) || defined(__HIP_PLATFORM_NVCC__)
#define ON_NVIDIA 1
#endif
#ifdef ROCENV_CPU
#define LARGE_OR_SMALL(large, small) (small)  // one thread after the other: a small problem shows the same logic
#else
#define LARGE_OR_SMALL(large, small) (large)
#define hipLaunchTogether hipLaunchKernelGGL
#endif

struct Fault {
  int code;
  std::string cause;
};
struct Skip {
  std::string missing;  // the capability that is not there
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

// Start a kernel; TOGETHER where its threads wait for one another (barriers, shuffles).
#define LAUNCH(kernel, blocks, threads, stream, ...) \
  do { hipLaunchKernelGGL(kernel, dim3(blocks), dim3(threads), 0, stream, __VA_ARGS__); OK(hipGetLastError()); } while (0)
#define LAUNCH_TOGETHER(kernel, blocks, threads, stream, ...) \
  do { hipLaunchTogether(kernel, dim3(blocks), dim3(threads), 0, stream, __VA_ARGS__); OK(hipGetLastError()); } while (0)

static void wrong(const std::string& what) { throw Fault{1, "wrong numbers: " + what}; }

// Every element, bit for bit.
template <class T>
void same(const std::vector<T>& got, const std::vector<T>& wanted, const char* what) {
  size_t differ = 0, first = 0;
  for (size_t i = 0; i < wanted.size(); i++)
    if (std::memcmp(&got[i], &wanted[i], sizeof(T)) && !differ++) first = i;
  if (differ)
    wrong(std::to_string(differ) + " of " + std::to_string(wanted.size()) + " " + what + " differ, the first at " + std::to_string(first));
}

static const unsigned char kPoison = 0xA5;
static const size_t kGuard = 1024;  // elements beyond the end, where nothing may be written

template <class T>
struct Buffer {  // device memory, poisoned, with a guard beyond its end; freed on every path
  T* at = nullptr;
  size_t count;
  explicit Buffer(size_t n) : count(n) {
    OK(hipMalloc(reinterpret_cast<void**>(&at), bytes()));
    poison();
  }
  explicit Buffer(const std::vector<T>& data) : Buffer(data.size()) { write(data); }
  ~Buffer() { (void)hipFree(at); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  size_t bytes() const { return (count + kGuard) * sizeof(T); }
  void poison() { OK(hipMemset(at, kPoison, bytes())); }
  void write(const std::vector<T>& data) { OK(hipMemcpy(at, data.data(), data.size() * sizeof(T), hipMemcpyHostToDevice)); }
  std::vector<T> read() const {  // all that was started has ended by then
    OK(hipDeviceSynchronize());
    std::vector<T> data(count + kGuard);
    OK(hipMemcpy(data.data(), at, bytes(), hipMemcpyDeviceToHost));
    const unsigned char* guard = reinterpret_cast<const unsigned char*>(data.data() + count);
    for (size_t i = 0; i < kGuard * sizeof(T); i++)
      if (guard[i] != kPoison) wrong("something was written beyond the end of the result");
    data.resize(count);
    return data;
  }
};

struct Stopwatch {  // time on the GPU, between two events
  hipEvent_t from, to;
  Stopwatch() { OK(hipEventCreate(&from)), OK(hipEventCreate(&to)); }
  ~Stopwatch() { (void)hipEventDestroy(from), (void)hipEventDestroy(to); }
  void start() { OK(hipEventRecord(from, 0)); }
  double seconds() {
    float milliseconds = 0;
    OK(hipEventRecord(to, 0));
    OK(hipEventSynchronize(to));
    OK(hipEventElapsedTime(&milliseconds, from, to));
    return milliseconds / 1e3;
  }
};

// Distinct, unordered values of either sign whose last bits matter: 24 bits, scaled to [-1, 1).
static unsigned mixed(unsigned i, unsigned salt) {
  unsigned x = (i + salt) * 2654435761u;
  x ^= x >> 15;
  x *= 2246822519u;
  return x ^ (x >> 13);
}
static float value(unsigned i, unsigned salt) { return float(int(mixed(i, salt) >> 8) - (1 << 23)) / float(1 << 23); }

static std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (char c : text)
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if ((unsigned char)c >= 0x20) out += c;
  return out + "\"";
}

struct Figures {
  std::string json;
  void text(const std::string& name, const std::string& value) { json += (json.empty() ? "" : ", ") + quoted(name) + ": " + value; }
  void operator()(const std::string& name, const std::string& value) { text(name, quoted(value)); }
  void operator()(const std::string& name, double value) {
    char number[32];
    std::snprintf(number, sizeof number, "%.*g", value == std::floor(value) ? 15 : 4, value);
    text(name, std::isfinite(value) ? number : "null");
  }
};

static int attribute(hipDeviceAttribute_t which, int device) {
  int value = 0;
  OK(hipDeviceGetAttribute(&value, which, device));
  return value;
}

static std::string who(int device) {  // the JSON that says what it ran on
#ifdef ROCENV_CPU
  (void)device;
  return "\"ran_on\": \"CPU\", ";
#else
  hipDeviceProp_t properties;
  std::memset(&properties, 0, sizeof properties);
  OK(hipGetDeviceProperties(&properties, device));
  char bus[32] = "";
  OK(hipDeviceGetPCIBusId(bus, sizeof bus, device));
#ifdef ON_NVIDIA
  std::string arch = "sm_" + std::to_string(properties.major) + std::to_string(properties.minor);
#else
  std::string arch = properties.gcnArchName;  // gfx90a:sramecc+:xnack-
#endif
  return "\"gpu\": {\"bdf\": " + quoted(bus) + ", \"gfx\": " + quoted(arch) + ", \"name\": " + quoted(properties.name) + "}, ";
#endif
}

using Check = void (*)(int device, Figures& figures);

static int on_gpu(int device, const char* built_for, Check check) {
  auto start = std::chrono::steady_clock::now();
  Fault fault{0, ""};
  Figures figures;
  std::string subject, result = "passed";
  try {
    OK(hipSetDevice(device));
    subject = who(device);
    check(device, figures);
  } catch (const Fault& caught) {
    fault = caught, result = "failed";
  } catch (const Skip& caught) {
    fault.cause = caught.missing, result = "skipped";
  }
  figures("built_for", built_for);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("{%s\"result\": \"%s\", \"cause\": %s, \"seconds\": %.3f, \"figures\": {%s}}\n", subject.c_str(), result.c_str(),
              fault.cause.empty() ? "null" : quoted(fault.cause).c_str(), seconds.count(), figures.json.c_str());
  std::fflush(stdout);
  return fault.code;
}

// Run a check on every GPU; the program's exit code. Its argument is what it was built for.
static int on_every_gpu(int argc, char** argv, Check check) {
  int count = 0, worst = 0;
  hipError_t error = hipGetDeviceCount(&count);
  if (error != hipSuccess || count == 0) {
    std::printf("{\"result\": \"failed\", \"cause\": \"no GPU seen: hipGetDeviceCount answers %d and %d GPUs\"}\n", int(error), count);
    return error == hipSuccess ? 4 : code_of(error);
  }
  for (int device = 0; device < count; device++) {
    int code = on_gpu(device, argc > 1 ? argv[1] : "", check);
    if (worst == 0) worst = code;
  }
  return worst;
}
#endif
