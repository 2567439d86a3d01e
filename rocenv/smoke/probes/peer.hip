// /// probe
// summary: copies from every GPU to every other, over xGMI or PCIe, and checks every word; the rates as figures
// level: kernel
// needs: hipcc
// timeout: 240
// ///
// A GPU answers for the copies that it sends. `direct` counts those that go without a stop in the host's memory.
#include "prelude.hpp"

__global__ void fill(unsigned* p, unsigned n, unsigned salt) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = (i + salt) * 2654435761u;
}

static const unsigned kWords = LARGE_OR_SMALL(16u << 20, 1u << 12);

static void copy_on(Buffer<unsigned>& to, int to_device, const Buffer<unsigned>& from, int from_device) {
  OK(hipMemcpyPeerAsync(to.at, to_device, from.at, from_device, kWords * sizeof(unsigned), 0));
}

// Copy from one GPU to another and return the bytes a second, timed on the GPU that sends.
static double send(int from_device, int to_device) {
  const unsigned salt = unsigned(from_device * 64 + to_device);
  std::vector<unsigned> data(kWords);
  for (unsigned i = 0; i < kWords; i++) data[i] = (i + salt) * 2654435761u;
  OK(hipSetDevice(to_device));
  Buffer<unsigned> to(kWords);
  OK(hipDeviceSynchronize());
  OK(hipSetDevice(from_device));
  Buffer<unsigned> from(kWords);
  LAUNCH(fill, 1024, 256, 0, from.at, kWords, salt);
  copy_on(to, to_device, from, from_device);  // the first one also sets up what it needs
  Stopwatch watch;
  watch.start();
  copy_on(to, to_device, from, from_device);
  const double seconds = watch.seconds();
  OK(hipSetDevice(to_device));
  const std::vector<unsigned> got = to.read();
  OK(hipSetDevice(from_device));
  same(got, data, ("words copied from GPU " + std::to_string(from_device) + " to GPU " + std::to_string(to_device)).c_str());
  return kWords * sizeof(unsigned) / seconds;
}

static void check(int device, Figures& figures) {
  int count = 0, direct = 0;
  OK(hipGetDeviceCount(&count));
  if (count < 2) throw Skip{"no second GPU: there is nothing to copy to"};
  double slowest = 0;
  for (int other = 0; other < count; other++) {
    if (other == device) continue;
    int can = 0;
    OK(hipDeviceCanAccessPeer(&can, device, other));
    if (can) {
      const hipError_t error = hipDeviceEnablePeerAccess(other, 0);
      if (error != hipErrorPeerAccessAlreadyEnabled) ok(error, "hipDeviceEnablePeerAccess");
      (void)hipGetLastError();
    }
    direct += can;
    const double rate = send(device, other);
    if (slowest == 0 || rate < slowest) slowest = rate;
  }
  figures("copies", count - 1), figures("direct", direct), figures("slowest_gb_per_second", slowest / 1e9);
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
