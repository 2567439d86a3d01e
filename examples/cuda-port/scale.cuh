// What a kernel and its host code share: hipify leaves the name, so that the include is found.
#pragma once
#include <cuda_runtime.h>

__global__ void scaled_sum(float factor, const float *x, float *y, int count);

void launch_scaled_sum(float factor, const float *x, float *y, int count, cudaStream_t stream);
