// /// probe
// summary: 65536 threads meet in one place with every kind of atomic operation, and in a histogram in shared memory
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// Every result is exact whatever the order: counts below 2^24 in floats, and operations that commute.
#include "prelude.hpp"

struct Meeting {
  int count;
  unsigned most, least, parity, swapped;
  unsigned long long sum;
  float ones;
  double halves;
};

__global__ void meet(Meeting* at) {
  unsigned t = blockIdx.x * blockDim.x + threadIdx.x, expected, found;
  atomicAdd(&at->count, 1);
  atomicMax(&at->most, t);
  atomicMin(&at->least, t);
  atomicXor(&at->parity, t * 2654435761u);
  atomicAdd(&at->sum, (unsigned long long)t << 20);
  atomicAdd(&at->ones, 1.0f);
  atomicAdd(&at->halves, 0.5);
  found = at->swapped;
  do expected = found, found = atomicCAS(&at->swapped, expected, expected + 3u);
  while (found != expected);
}

__global__ void histogram(const unsigned char* in, unsigned n, unsigned* bins) {
  __shared__ unsigned own[256];
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
  __syncthreads();
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1u);
  __syncthreads();
  for (unsigned i = threadIdx.x; i < 256; i += blockDim.x) atomicAdd(&bins[i], own[i]);
}

static void want(bool holds, const char* what) {
  if (!holds) wrong(std::string("after all threads have met, ") + what + " is off");
}

static void check(int, Figures& figures) {
  const unsigned threads = 256 * 256, n = LARGE_OR_SMALL((1u << 22) + 5, (1u << 16) + 5);
  figures("threads", threads), figures("elements", n);
  Meeting before = {};
  before.least = ~0u;
  Buffer<Meeting> place(std::vector<Meeting>{before});
  LAUNCH(meet, 256, 256, 0, place.at);
  const Meeting after = place.read()[0];
  unsigned parity = 0;
  unsigned long long sum = 0;
  for (unsigned t = 0; t < threads; t++) parity ^= t * 2654435761u, sum += (unsigned long long)t << 20;
  want(after.count == int(threads), "the count"), want(after.most == threads - 1, "the maximum"), want(after.least == 0, "the minimum");
  want(after.parity == parity, "the parity"), want(after.sum == sum, "the 64-bit sum"), want(after.ones == float(threads), "the float sum");
  want(after.halves == threads * 0.5, "the double sum"), want(after.swapped == 3 * threads, "the compare-and-swap");

  std::vector<unsigned char> bytes(n);
  std::vector<unsigned> counted(256, 0);
  for (unsigned i = 0; i < n; i++) counted[bytes[i] = (unsigned char)(mixed(i, 5) >> 11)]++;
  Buffer<unsigned char> in(bytes);
  Buffer<unsigned> bins(std::vector<unsigned>(256, 0));
  LAUNCH_TOGETHER(histogram, LARGE_OR_SMALL(512, 8), 256, 0, in.at, n, bins.at);
  same(bins.read(), counted, "bins of the histogram");
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
