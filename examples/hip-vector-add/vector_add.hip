// Adds two vectors on the GPU and checks every sum.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <vector>

#define CHECK(call)                                                                       \
    do {                                                                                  \
        hipError_t error = (call);                                                        \
        if (error != hipSuccess) {                                                        \
            std::fprintf(stderr, "%s: %s\n", #call, hipGetErrorString(error));            \
            return 1;                                                                     \
        }                                                                                 \
    } while (0)

__global__ void add(const float *a, const float *b, float *sum, int count) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) sum[at] = a[at] + b[at];
}

int main() {
    const int count = 1 << 20, block = 256;
    const size_t bytes = count * sizeof(float);
    std::vector<float> a(count), b(count), sum(count);
    for (int at = 0; at < count; ++at) a[at] = at, b[at] = 2 * at;
    float *of_a, *of_b, *of_sum;
    CHECK(hipMalloc(&of_a, bytes));
    CHECK(hipMalloc(&of_b, bytes));
    CHECK(hipMalloc(&of_sum, bytes));
    CHECK(hipMemcpy(of_a, a.data(), bytes, hipMemcpyHostToDevice));
    CHECK(hipMemcpy(of_b, b.data(), bytes, hipMemcpyHostToDevice));
    add<<<count / block, block>>>(of_a, of_b, of_sum, count);
    CHECK(hipGetLastError());
    CHECK(hipMemcpy(sum.data(), of_sum, bytes, hipMemcpyDeviceToHost));
    for (int at = 0; at < count; ++at)
        if (sum[at] != 3.0f * at) {
            std::fprintf(stderr, "sum[%d] is %g, not %g\n", at, sum[at], 3.0f * at);
            return 1;
        }
    std::printf("%d sums, all right\n", count);
    return 0;
}
