// /// probe
// summary: adds two vectors in a HIP kernel on every GPU and checks every element
// level: kernel
// needs: hipcc
// timeout: 180
// quick: yes
// ///
#include "prelude.hpp"

extern "C" __global__ void add(const float* a, const float* b, float* c, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

#ifndef DEVICE_ONLY
static const unsigned kElements = (1u << 20) + 13;  // no multiple of the block: its edge is tested
static const unsigned kBlock = 256;

static void check(int, Figures& figures) {
  figures("elements", kElements);
  std::vector<float> a(kElements), b(kElements), sums(kElements);
  for (unsigned i = 0; i < kElements; i++) {
    a[i] = value(i, 1), b[i] = value(i, 77777777u);
    sums[i] = a[i] + b[i];  // one IEEE addition: the same bits on every machine
  }
  Buffer<float> left(a), right(b), sum(kElements);
  LAUNCH(add, (kElements + kBlock - 1) / kBlock, kBlock, 0, left.at, right.at, sum.at, kElements);
  same(sum.read(), sums, "sums");
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
#endif
