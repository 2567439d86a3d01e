// /// probe
// summary: multiplies matrices in tiles in fp64, fp32, fp16 and bf16 and checks each element against the CPU
// level: kernel
// needs: hipcc
// timeout: 240
// ///
// Each element: |c - ref| <= gamma_K * sum |a||b|, gamma_K = K*u / (1 - K*u) (Higham, Accuracy and Stability, 3.5), which
// holds for any order of the K additions; u = 2^-53 for fp64 and 2^-24 for the others, which are summed in fp32.
// Inputs are exact in their type, products of fp16 and bf16 are exact in fp32, the result is kept as
// it was summed: nothing else rounds. fp32's and fp64's products round once, which gamma_K counts; fma rounds less.
#include "prelude.hpp"
#ifndef ROCENV_CPU
#include <hip/hip_fp16.h>
#endif

static const int kTile = 16;

struct Bf16 {  // its own bits: HIP's type for it has changed from release to release
  unsigned short bits;
};
__device__ inline double widened(double x) { return x; }
__device__ inline float widened(float x) { return x; }
__device__ inline float widened(__half x) { return __half2float(x); }
__device__ inline float widened(Bf16 x) {
  union { unsigned bits; float value; } whole = {unsigned(x.bits) << 16};
  return whole.value;
}
template <class T> T narrowed(double x) { return T(x); }
template <> __half narrowed(double x) { return __float2half(float(x)); }
template <> Bf16 narrowed(double x) {
  const float rounded = float(x);
  unsigned bits;
  std::memcpy(&bits, &rounded, sizeof bits);
  return Bf16{(unsigned short)(bits >> 16)};
}
template <class T> struct SummedIn { using type = float; };
template <> struct SummedIn<double> { using type = double; };

template <class T>
__global__ void gemm(const T* a, const T* b, typename SummedIn<T>::type* c, int M, int N, int K) {
  using Sum = typename SummedIn<T>::type;
  __shared__ Sum rows[kTile][kTile + 1], columns[kTile][kTile + 1];
  const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * kTile + y, column = blockIdx.x * kTile + x;
  Sum sum = 0;
  for (int k0 = 0; k0 < K; k0 += kTile) {
    rows[y][x] = row < M && k0 + x < K ? widened(a[row * K + k0 + x]) : Sum(0);
    columns[y][x] = column < N && k0 + y < K ? widened(b[(k0 + y) * N + column]) : Sum(0);
    __syncthreads();  // the tile is whole
    for (int k = 0; k < kTile; k++) sum += rows[y][k] * columns[k][x];
    __syncthreads();  // and read by all
  }
  if (row < M && column < N) c[row * N + column] = sum;
}

// A value in (-1, 1) that has this many binary digits and no more: narrowing it to its type changes nothing.
static double drawn(unsigned i, unsigned salt, int digits) {
  if (digits >= 24) return double(value(i, salt)) + (digits > 24 ? double(value(i, salt + 1)) / (1 << 24) : 0);
  const int steps = 1 << digits;
  return double(int(mixed(i, salt) % (2 * steps - 1)) - steps + 1) / steps;
}

template <class T>
void multiply(const char* kind, int digits, Figures& figures) {
  using Sum = typename SummedIn<T>::type;
  const int M = LARGE_OR_SMALL(387, 35), N = LARGE_OR_SMALL(323, 50), K = LARGE_OR_SMALL(259, 67);  // multiples of no tile
  std::vector<double> a(M * K), b(K * N);
  std::vector<T> narrow_a(M * K), narrow_b(K * N);
  for (int i = 0; i < M * K; i++) narrow_a[i] = narrowed<T>(a[i] = drawn(i, 7, digits));
  for (int i = 0; i < K * N; i++) narrow_b[i] = narrowed<T>(b[i] = drawn(i, 70, digits));
  Buffer<T> left(narrow_a), right(narrow_b);
  Buffer<Sum> product(M * N);
  LAUNCH_TOGETHER(gemm<T>, dim3((N + kTile - 1) / kTile, (M + kTile - 1) / kTile), dim3(kTile, kTile), 0, left.at, right.at, product.at, M, N, K);
  const std::vector<Sum> c = product.read();
  const double roundings = K * std::ldexp(1.0, sizeof(Sum) == 8 ? -53 : -24), gamma = roundings / (1 - roundings);
  double worst = 0;
  for (int i = 0; i < M; i++)
    for (int j = 0; j < N; j++) {
      long double sum = 0, size = 0;  // 64 digits on x86; where a long double is a double, it errs as much again
      for (int k = 0; k < K; k++) {
        const long double term = (long double)a[i * K + k] * b[k * N + j];
        sum += term, size += std::fabs(term);
      }
      const double error = double(std::fabs((long double)c[i * N + j] - sum) / (gamma * size * (sizeof size > 8 ? 1 : 2)));
      if (!(error <= 1))  // so that a NaN is wrong
        wrong(std::string("element at row ") + std::to_string(i) + ", column " + std::to_string(j) + " of a " + kind + " product");
      worst = std::max(worst, error);
    }
  figures(std::string(kind) + "_error_of_bound", worst);
}

static void check(int, Figures& figures) {
  multiply<double>("fp64", 53, figures);
  multiply<float>("fp32", 24, figures);
  multiply<__half>("fp16", 11, figures);
  multiply<Bf16>("bf16", 8, figures);
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
