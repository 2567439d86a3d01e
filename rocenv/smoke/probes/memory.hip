// /// probe
// summary: host and GPU take turns in one piece of memory: mapped host memory, managed memory, plain malloc
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// Managed memory needs nothing but HIP where pages do not move; moving them, and reading what malloc gave, needs HMM in
// the kernel and XNACK on the GPU (gfx90a, gfx942 and gfx950 with HSA_XNACK=1): where the GPU does not say that it can,
// that part is left out and the figure says why. The whole is skipped only where nothing of it is there.
#include "prelude.hpp"

__global__ void step(unsigned* p, unsigned n, unsigned round) {
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = p[i] * 3u + (i ^ round);
}

static const unsigned kElements = (1u << 20) + 5;

// The host writes, the GPU changes, the host reads and changes, the GPU changes: no copy in between.
static void take_turns(unsigned* host, unsigned* on_gpu, const char* what) {
  std::vector<unsigned> wanted(kElements), got(kElements);
  for (unsigned i = 0; i < kElements; i++) host[i] = wanted[i] = mixed(i, 11);
  for (unsigned round = 1; round <= 2; round++) {
    LAUNCH(step, 512, 256, 0, on_gpu, kElements, round);
    OK(hipDeviceSynchronize());
    for (unsigned i = 0; i < kElements; i++) {
      wanted[i] = wanted[i] * 3u + (i ^ round), got[i] = host[i];
      host[i] += 7u, wanted[i] += 7u, got[i] += 7u;
    }
    same(got, wanted, what);
  }
}

static void mapped(int) {
  unsigned *host = nullptr, *on_gpu = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&host), kElements * sizeof *host, hipHostMallocMapped));
  struct Free { void* at; ~Free() { (void)hipHostFree(at); } } free_at_end{host};
  OK(hipHostGetDevicePointer(reinterpret_cast<void**>(&on_gpu), host, 0));
  take_turns(host, on_gpu, "values in mapped host memory");
}
static void managed(int) {
  unsigned* both = nullptr;
  OK(hipMallocManaged(reinterpret_cast<void**>(&both), kElements * sizeof *both, hipMemAttachGlobal));
  struct Free { void* at; ~Free() { (void)hipFree(at); } } free_at_end{both};
  take_turns(both, both, "values in managed memory");
}
static void plain(int) {
  std::vector<unsigned> both(kElements);
  take_turns(both.data(), both.data(), "values in memory of malloc's");
}

static void check(int device, Figures& figures) {
  const struct { const char* name; hipDeviceAttribute_t needs; const char* lacks; void (*run)(int); } kinds[] = {
      {"mapped", hipDeviceAttributeCanMapHostMemory, "the GPU cannot map host memory", mapped},
      {"managed", hipDeviceAttributeManagedMemory, "the GPU has no managed memory", managed},
      {"pageable", hipDeviceAttributePageableMemoryAccess, "no page faults on the GPU (HMM, XNACK)", plain},
  };
  int shown = 0;
  figures("pages_move", attribute(hipDeviceAttributeConcurrentManagedAccess, device) ? "yes" : "no page faults on the GPU (HMM, XNACK)");
  for (const auto& kind : kinds) {
    if (attribute(kind.needs, device)) kind.run(device), shown++, figures(kind.name, "shown");
    else figures(kind.name, kind.lacks);
  }
  if (!shown) throw Skip{"no shared memory: the GPU can neither map host memory nor has managed memory"};
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
