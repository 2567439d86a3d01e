// /// probe
// summary: asks for what cannot be (a GPU too many, four times the memory, a block too large) and computes afterwards
// level: kernel
// needs: hipcc
// timeout: 120
// ///
// Each refusal must be HIP's own error for it, by number; a GPU that is not right afterwards is as bad as none.
#include "prelude.hpp"

__global__ void answer(int* p, int value) { p[threadIdx.x] = value + int(threadIdx.x); }

static void must_refuse(const char* what, hipError_t error, std::initializer_list<int> right) {
  (void)hipGetLastError();
  for (int number : right)
    if (int(error) == number) return;
  throw Fault{3, std::string("wrong error: ") + what + " answers " + std::to_string(int(error)) + " " + hipGetErrorName(error)};
}

static void check(int device, Figures& figures) {
  int count = 0;
  OK(hipGetDeviceCount(&count));
  must_refuse("a GPU that is not there", hipSetDevice(count + 7), {101});  // hipErrorInvalidDevice
  OK(hipSetDevice(device));

  size_t free = 0, total = 0;
  OK(hipMemGetInfo(&free, &total));
  if (free > total || total == 0) wrong("of " + std::to_string(total) + " bytes " + std::to_string(free) + " are free");
  figures("memory_bytes", double(total)), figures("free_bytes", double(free));
  void* at = nullptr;
  must_refuse("four times the memory", hipMalloc(&at, total * 4), {2});  // hipErrorOutOfMemory

  hipLaunchKernelGGL(answer, dim3(1), dim3(65536), 0, 0, static_cast<int*>(nullptr), 1);
  must_refuse("a block of 65536 threads", hipGetLastError(), {1, 9});  // hipErrorInvalidValue, InvalidConfiguration
  int left = 1, right = 2;
  must_refuse("a copy in no direction", hipMemcpy(&left, &right, sizeof left, hipMemcpyKind(77)), {1, 21});  // InvalidMemcpyDirection

  Buffer<int> after(64);
  LAUNCH(answer, 1, 64, 0, after.at, 42);
  std::vector<int> wanted(64);
  for (int i = 0; i < 64; i++) wanted[i] = 42 + i;
  same(after.read(), wanted, "values after the refusals");
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
