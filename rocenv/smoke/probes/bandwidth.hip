// /// probe
// summary: measures the GPU's memory and the copies to and from the host, and checks every word that was moved
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// Figures, not verdicts: only a wrong word fails. A copy counts what it reads and what it writes. The memory is far
// larger than the caches (an MI300X has 256 MiB), and each figure is the median of its runs.
#include "prelude.hpp"

struct alignas(16) Words {
  unsigned x, y, z, w;
};
static const unsigned kAtOnce = 4;  // loads in flight for each thread

__device__ inline Words words(unsigned i) {
  const unsigned x = i * 2654435761u;
  return Words{x, x ^ 0x9e3779b9u, x + 0x85ebca6bu, ~x};
}
__global__ void fill(Words* p, unsigned n) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = words(i);
}
__global__ void copy(const Words* from, Words* to, unsigned n) {
  for (unsigned k = 0, i = blockIdx.x * blockDim.x * kAtOnce + threadIdx.x; k < kAtOnce; k++, i += blockDim.x)
    if (i < n) to[i] = from[i];
}
__global__ void count_wrong(const Words* p, unsigned n, unsigned* out) {
  unsigned found = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    const Words is = p[i], wanted = words(i);
    found += is.x != wanted.x || is.y != wanted.y || is.z != wanted.z || is.w != wanted.w;
  }
  if (found) atomicAdd(out, found);
}

static void all_right(const Buffer<Words>& words, unsigned n, const char* what) {
  Buffer<unsigned> count(std::vector<unsigned>{0});
  LAUNCH(count_wrong, LARGE_OR_SMALL(2048, 4), 256, 0, words.at, n, count.at);
  const unsigned found = count.read()[0];
  if (found) wrong(std::to_string(found) + " of " + std::to_string(n) + " 16-byte words of a " + what + " differ");
}

template <class Step>
double median_seconds(int runs, Step step) {
  std::vector<double> seconds;
  for (int run = 0; run < runs; run++) {
    Stopwatch watch;
    watch.start();
    step();
    seconds.push_back(watch.seconds());
  }
  std::sort(seconds.begin() + 1, seconds.end());  // but for the first, which warms up
  return seconds[1 + (runs - 1) / 2];
}

static void check(int, Figures& figures) {
  size_t free = 0, total = 0;
  OK(hipMemGetInfo(&free, &total));
  const size_t bytes = std::min<size_t>(LARGE_OR_SMALL(size_t(1) << 30, size_t(1) << 22), free / 8) & ~size_t(0xfffff);
  const unsigned n = unsigned(bytes / sizeof(Words)), blocks = (n + 256 * kAtOnce - 1) / (256 * kAtOnce);
  Buffer<Words> from(n), to(n);
  LAUNCH(fill, LARGE_OR_SMALL(2048, 4), 256, 0, from.at, n);
  const double by_kernel = median_seconds(12, [&] { LAUNCH(copy, blocks, 256, 0, from.at, to.at, n); });
  all_right(to, n, "copying kernel");
  to.poison();
  const double by_hip = median_seconds(12, [&] { OK(hipMemcpyAsync(to.at, from.at, bytes, hipMemcpyDeviceToDevice, 0)); });
  all_right(to, n, "copy on the GPU");
  figures("bytes", double(bytes)), figures("kernel_gb_per_second", 2.0 * bytes / by_kernel / 1e9), figures("copy_gb_per_second", 2.0 * bytes / by_hip / 1e9);

  const size_t part = std::min<size_t>(bytes, size_t(256) << 20);
  void* host = nullptr;
  OK(hipHostMalloc(&host, part, hipHostMallocDefault));
  struct Free { void* at; ~Free() { (void)hipHostFree(at); } } free_at_end{host};
  const double down = median_seconds(6, [&] { OK(hipMemcpyAsync(host, from.at, part, hipMemcpyDeviceToHost, 0)); });
  to.poison();
  const double up = median_seconds(6, [&] { OK(hipMemcpyAsync(to.at, host, part, hipMemcpyHostToDevice, 0)); });
  all_right(to, unsigned(part / sizeof(Words)), "copy to the host and back");
  figures("to_host_gb_per_second", part / down / 1e9), figures("from_host_gb_per_second", part / up / 1e9);
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
