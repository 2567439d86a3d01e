# /// probe
# summary: turns a CUDA vector add into HIP with hipify-perl, compiles it for the planned targets, and runs it
# level: compile
# needs: hipcc
# timeout: 300
# ///
# The CUDA program is one that its author would write, with nothing of HIP in it: what comes out must not name CUDA.
fail() { # kind, words
    printf '{"result": "failed", "cause": "%s: %s"}\n' "$1" "$(printf %s "$2" | tr -d '"\\' | tr -c '[:print:]' ' ')"
    exit 1
}

hipify=
for candidate in "$(command -v hipify-perl)" /opt/rocm/bin/hipify-perl /opt/rocm-*/bin/hipify-perl /opt/rocm/core-*/bin/hipify-perl; do
    [ -x "$candidate" ] && hipify=$candidate && break
done
if [ -z "$hipify" ] || ! command -v perl >/dev/null; then
    echo '{"result": "skipped", "cause": "no hipify: hipify-perl is neither on PATH nor in /opt/rocm, or there is no perl"}'
    exit 0
fi
cat >add.cu <<'SOURCE'
#include <cuda_runtime.h>
#include <stdio.h>
#include <stdlib.h>

__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

int check(int device) {
  const int n = 100003;
  size_t bytes = n * sizeof(float);
  float *a, *b, *c, *host = (float*)malloc(3 * bytes);
  char bus[32] = "";
  int wrong = 0;
  for (int i = 0; i < n; i++) host[i] = i * 0.25f, host[n + i] = 7.0f - i, host[2 * n + i] = 0;
  cudaSetDevice(device);
  cudaDeviceGetPCIBusId(bus, sizeof bus, device);
  cudaMalloc((void**)&a, bytes);
  cudaMalloc((void**)&b, bytes);
  cudaMalloc((void**)&c, bytes);
  cudaMemcpy(a, host, bytes, cudaMemcpyHostToDevice);
  cudaMemcpy(b, host + n, bytes, cudaMemcpyHostToDevice);
  add<<<(n + 255) / 256, 256>>>(a, b, c, n);
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaMemcpy(host + 2 * n, c, bytes, cudaMemcpyDeviceToHost);
  for (int i = 0; i < n; i++) wrong += host[2 * n + i] != host[i] + host[n + i];
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  free(host);
  printf("{\"gpu\": {\"bdf\": \"%s\"}, \"figures\": {\"elements\": %d}, ", bus, n);
  if (error != cudaSuccess) printf("\"result\": \"failed\", \"cause\": \"HIP error: the runtime answers %d\"}\n", (int)error);
  else if (wrong) printf("\"result\": \"failed\", \"cause\": \"wrong numbers: %d of %d sums differ\"}\n", wrong, n);
  else printf("\"result\": \"passed\"}\n");
  return error != cudaSuccess || wrong;
}

int main() {
  int count = 0, worst = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    printf("{\"result\": \"failed\", \"cause\": \"no GPU seen: the runtime counts none\"}\n");
    return 4;
  }
  for (int device = 0; device < count; device++) worst |= check(device);
  return worst;
}
SOURCE
"$hipify" add.cu >add.hip 2>log || fail "hipify failed" "$(tail -n 1 log)"
left=$(grep -n -m 1 -i cuda add.hip) && fail "hipify failed" "it left CUDA behind in line $left"
grep -q hipMemcpyHostToDevice add.hip || fail "hipify failed" "it wrote $(wc -c <add.hip) bytes without a HIP call"
for target in $ROCENV_TARGETS; do set -- "$@" "--offload-arch=$target"; done
"$ROCENV_HIPCC" "$@" -O2 -w -o add add.hip >log 2>&1 || fail "compiler failed" "$(grep -m 1 -E 'error|Error|cannot' log || tail -n 1 log)"
if [ -n "$ROCENV_STAND_IN" ]; then
    printf '{"result": "passed", "ran_on": "CPU", "figures": {"bytes": %s, "kernels_run": 0}}\n' "$(wc -c <add)"
else
    ./add
fi
