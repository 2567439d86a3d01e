# /// probe
# summary: compiles for every planned target with hipcc, finds exactly those code objects in the result, and runs it
# level: compile
# needs: hipcc
# timeout: 300
# ///
# A program says what it was compiled for in the names of its code objects: hip-amdgcn-amd-amdhsa--gfx942 and the like.
# A compressed bundle (its mark is CCOB) hides them; then only the run tells.
fail() { # kind, words
    printf '{"result": "failed", "cause": "%s: %s"}\n' "$1" "$(printf %s "$2" | tr -d '"\\' | tr -c '[:print:]' ' ')"
    exit 1
}

cat >own.hip <<'SOURCE'
#include <hip/hip_runtime.h>
#include <cstdio>
__global__ void tell(int* p) { p[threadIdx.x] = int(threadIdx.x) * 3 + 1; }
int main() {
  int count = 0, worst = 0;
  if (hipGetDeviceCount(&count) != hipSuccess || !count) return std::puts("{\"result\": \"failed\", \"cause\": \"no GPU seen: hipGetDeviceCount finds none\"}"), 4;
  for (int device = 0; device < count; device++) {
    int got[64] = {}, *p = nullptr, status = hipSetDevice(device), right = 0;
    char bus[32] = "";
    if (!status) status = hipDeviceGetPCIBusId(bus, sizeof bus, device);
    if (!status) status = hipMalloc(reinterpret_cast<void**>(&p), sizeof got);
    if (!status) {
      hipLaunchKernelGGL(tell, dim3(1), dim3(64), 0, 0, p);
      status = hipGetLastError();
    }
    if (!status) status = hipMemcpy(got, p, sizeof got, hipMemcpyDeviceToHost);
    (void)hipFree(p);
    for (int i = 0; i < 64; i++) right += got[i] == i * 3 + 1;
    const char* kind = status == 98 || status == 200 || status == 209 ? "no code for this GPU" : status ? "HIP error" : "wrong numbers";
    std::printf("{\"gpu\": {\"bdf\": \"%s\"}, ", bus);
    if (!status && right == 64) std::printf("\"result\": \"passed\"}\n");
    else std::printf("\"result\": \"failed\", \"cause\": \"%s: HIP answers %d, and %d of 64 values are right\"}\n", kind, status, right), worst = 1;
  }
  return worst;
}
SOURCE
wanted=$(printf '%s\n' $ROCENV_TARGETS | sort -u | tr '\n' ' ')
for target in $wanted; do set -- "$@" "--offload-arch=$target"; done
"$ROCENV_HIPCC" "$@" -std=c++17 -O2 -o own own.hip >log 2>&1 || fail "compiler failed" "$(grep -m 1 -E 'error|Error|cannot' log || tail -n 1 log)"
found=$(grep -a -o 'amdgcn-amd-amdhsa--gfx[0-9a-f]*' own | sed 's/.*--//' | sort -u | tr '\n' ' ')
[ -z "$found" ] && grep -q -a CCOB own && found="$wanted"
[ "$found" = "$wanted" ] || fail "wrong code objects" "asked for $wanted, found ${found:-none}"
if [ -n "$ROCENV_STAND_IN" ]; then
    printf '{"result": "passed", "ran_on": "CPU", "figures": {"code_objects": "%s", "bytes": %s, "kernels_run": 0}}\n' "${found% }" "$(wc -c <own)"
else
    ./own
fi
