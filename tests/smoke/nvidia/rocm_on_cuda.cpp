// librocblas.so, librocfft.so and librocrand.so for an NVIDIA GPU: the calls that the library probes make through ctypes,
// led to cuBLAS, cuFFT and cuRAND. A test's stand-in: it shows the probes' calls, arguments and checks on a real GPU, and
// nothing about AMD's libraries. (RCCL needs none: NCCL answers to the same names.)
#include <cublas_v2.h>
#include <cufft.h>
#include <curand.h>

#define EXPORT extern "C" __attribute__((visibility("default")))

static cudaDataType type_of(int rocblas) {
  switch (rocblas) {
    case 150: return CUDA_R_16F;
    case 151: return CUDA_R_32F;
    case 152: return CUDA_R_64F;
    default: return CUDA_R_16BF;
  }
}
EXPORT int rocblas_create_handle(cublasHandle_t* handle) { return cublasCreate(handle); }
EXPORT int rocblas_destroy_handle(cublasHandle_t handle) { return cublasDestroy(handle); }
EXPORT int rocblas_gemm_ex(cublasHandle_t handle, int, int, int m, int n, int k, const void* alpha, const void* a, int ta, int lda, const void* b, int tb,
                           int ldb, const void* beta, const void*, int, int, void* d, int td, int ldd, int compute, int, int, unsigned) {
  return cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, n, k, alpha, a, type_of(ta), lda, b, type_of(tb), ldb, beta, d, type_of(td), ldd,
                      compute == 152 ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
}

EXPORT int rocfft_setup() { return 0; }
EXPORT int rocfft_cleanup() { return 0; }
EXPORT int rocfft_plan_create(void** plan, int, int, int, size_t, const size_t* lengths, size_t batch, void*) {
  cufftHandle handle = 0;
  const int status = cufftPlan1d(&handle, int(lengths[0]), CUFFT_Z2Z, int(batch));
  *plan = reinterpret_cast<void*>(size_t(handle) + 1);
  return status;
}
static cufftHandle handle_of(void* plan) { return cufftHandle(reinterpret_cast<size_t>(plan) - 1); }
EXPORT int rocfft_execute(void* plan, void** in, void**, void*) {
  return cufftExecZ2Z(handle_of(plan), static_cast<cufftDoubleComplex*>(in[0]), static_cast<cufftDoubleComplex*>(in[0]), CUFFT_FORWARD);
}
EXPORT int rocfft_plan_destroy(void* plan) { return cufftDestroy(handle_of(plan)); }

EXPORT int rocrand_create_generator(curandGenerator_t* generator, int) { return curandCreateGenerator(generator, CURAND_RNG_PSEUDO_DEFAULT); }
EXPORT int rocrand_destroy_generator(curandGenerator_t generator) { return curandDestroyGenerator(generator); }
EXPORT int rocrand_set_seed(curandGenerator_t generator, unsigned long long seed) { return curandSetPseudoRandomGeneratorSeed(generator, seed); }
EXPORT int rocrand_generate_uniform(curandGenerator_t generator, float* out, size_t n) { return curandGenerateUniform(generator, out, n); }
EXPORT int rocrand_generate_normal(curandGenerator_t generator, float* out, size_t n, float mean, float deviation) {
  return curandGenerateNormal(generator, out, n, mean, deviation);
}
