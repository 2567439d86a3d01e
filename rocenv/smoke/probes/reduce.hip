// /// probe
// summary: sums through shuffles and shared memory in waves of 32 or 64 lanes, and reads the lanes of a ballot
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// The sums are of integers, and of quarters that stay below 2^22: every partial sum is exact, so any order gives the
// same bits, and a lane that is left out or counted twice shows.
#include "prelude.hpp"

#ifdef ON_NVIDIA
#define SHUFFLE_DOWN(value, by) __shfl_down_sync(0xffffffffu, value, by)
#define BALLOT(lane) ((unsigned long long)__ballot_sync(0xffffffffu, lane))
#else  // the forms with a mask need ROCm 6.2
#define SHUFFLE_DOWN(value, by) __shfl_down(value, by)
#define BALLOT(lane) ((unsigned long long)__ballot(lane))
#endif

template <class T>
__device__ T sum_of_wave(T sum) {
  for (int by = warpSize / 2; by > 0; by /= 2) sum += SHUFFLE_DOWN(sum, by);
  return sum;
}

template <class T>
__global__ void sum_of_block(const T* in, T* out, unsigned n) {
  __shared__ T sums[32];  // one a wave: 1024 threads are 32 waves of 32 lanes
  T sum = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  const int lane = threadIdx.x % warpSize, wave = threadIdx.x / warpSize, waves = blockDim.x / warpSize;
  sum = sum_of_wave(sum);
  if (lane == 0) sums[wave] = sum;
  __syncthreads();
  if (wave == 0) {
    sum = sum_of_wave(lane < waves ? sums[lane] : T(0));
    if (lane == 0) out[blockIdx.x] = sum;
  }
}

__global__ void lanes(unsigned long long* out) {
  const unsigned long long odd = BALLOT(threadIdx.x & 1), all = BALLOT(1);
  if (threadIdx.x == 0) out[0] = warpSize, out[1] = all, out[2] = odd;
}

template <class T>
T total(const std::vector<T>& in, unsigned threads) {
  const unsigned blocks = LARGE_OR_SMALL(304, 5);
  Buffer<T> data(in), parts(blocks), sum(1);
  LAUNCH_TOGETHER(sum_of_block<T>, blocks, threads, 0, data.at, parts.at, unsigned(in.size()));
  LAUNCH_TOGETHER(sum_of_block<T>, 1, threads, 0, parts.at, sum.at, blocks);
  return sum.read()[0];
}

static void check(int device, Figures& figures) {
  Buffer<unsigned long long> seen(3);
  LAUNCH_TOGETHER(lanes, 1, 64, 0, seen.at);
  const std::vector<unsigned long long> got = seen.read();
  const int width = attribute(hipDeviceAttributeWarpSize, device);
  figures("lanes", width);
  const unsigned long long full = width == 64 ? ~0ull : 0xffffffffull;
  same(got, {(unsigned long long)width, full, 0xaaaaaaaaaaaaaaaaull & full}, "answers about lanes");

  const unsigned n = LARGE_OR_SMALL((1u << 22) + 31, (1u << 16) + 31);
  figures("elements", n);
  std::vector<unsigned long long> whole(n);
  std::vector<float> quarters(n);
  unsigned long long sum = 0;
  double sum_of_quarters = 0;
  for (unsigned i = 0; i < n; i++) {
    sum += whole[i] = mixed(i, 5);
    sum_of_quarters += quarters[i] = float(int(mixed(i, 9) % 9) - 4) * 0.25f;
  }
  for (unsigned threads : {64u, 256u, 1024u}) {
    const std::string with = " with " + std::to_string(threads) + " threads a block";
    if (total(whole, threads) != sum) wrong("the sum of integers" + with);
    if (total(quarters, threads) != sum_of_quarters) wrong("the sum of floats" + with);
  }
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
