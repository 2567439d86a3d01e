// A CUDA program as it was: saxpy in unified memory, timed with events.
#include <cstdio>

#include "scale.cuh"

int main() {
    const int count = 1 << 20;
    float *x, *y, milliseconds = 0;
    if (cudaMallocManaged(&x, count * sizeof(float)) != cudaSuccess ||
        cudaMallocManaged(&y, count * sizeof(float)) != cudaSuccess) {
        std::fprintf(stderr, "%s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    for (int at = 0; at < count; ++at) x[at] = 1, y[at] = 2;
    cudaStream_t stream;
    cudaEvent_t start, stop;
    cudaStreamCreate(&stream);
    cudaEventCreate(&start);
    cudaEventCreate(&stop);
    cudaEventRecord(start, stream);
    launch_scaled_sum(3, x, y, count, stream);
    cudaEventRecord(stop, stream);
    cudaStreamSynchronize(stream);
    cudaEventElapsedTime(&milliseconds, start, stop);
    for (int at = 0; at < count; ++at)
        if (y[at] != 5) return std::fprintf(stderr, "y[%d] is %g, not 5\n", at, y[at]), 1;
    std::printf("%d sums, all right, in %.3f ms\n", count, milliseconds);
    return 0;
}
