// /// probe
// summary: scales by two and computes a*x + y with fewer threads than elements, every element bit for bit
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// Doubling is exact; a*x + y is one fused multiply-add, which IEEE rounds once: the host's fmaf gives the same bits.
#include "prelude.hpp"

__global__ void scale(float* x, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x[i] = x[i] * 2.0f;
}

__global__ void saxpy(float a, const float* x, float* y, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(a, x[i], y[i]);
}

static const unsigned kElements = (1u << 20) + 7;

static void check(int, Figures& figures) {
  figures("elements", kElements);
  const float a = 1.37f;
  std::vector<float> x(kElements), y(kElements), doubled(kElements), sums(kElements);
  for (unsigned i = 0; i < kElements; i++) {
    x[i] = value(i, 3), y[i] = value(i, 31), doubled[i] = 2.0f * x[i];
    sums[i] = std::fmaf(a, x[i], y[i]);
  }
  Buffer<float> to_scale(x), left(x), right(y);
  LAUNCH(scale, 1024, 256, 0, to_scale.at, kElements);
  same(to_scale.read(), doubled, "doubled values");
  LAUNCH(saxpy, 1024, 256, 0, a, left.at, right.at, kElements);
  same(right.read(), sums, "results of a*x + y");
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
