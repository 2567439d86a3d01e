// /// probe
// summary: two streams that wait for each other through events, and the same work captured as a graph
// level: kernel
// needs: hipcc
// timeout: 180
// ///
// Arithmetic modulo 2^32 that does not commute: a kernel that runs too early, twice or not at all changes the result.
// One kernel is slow, so that whoever does not wait for it reads old values.
#include "prelude.hpp"

__global__ void change(unsigned* p, unsigned n, unsigned times, unsigned plus) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = p[i] * times + plus;
}
__global__ void change_slowly(unsigned* p, unsigned n, unsigned times, unsigned plus) {
  const long long start = clock64();
  while (clock64() - start < 1500000) {}  // some milliseconds
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) p[i] = p[i] * times + plus;
}
__global__ void join(const unsigned* p, unsigned* q, unsigned n) {
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) q[i] = q[i] * 5u + p[i];
}

static const unsigned kElements = LARGE_OR_SMALL(1u << 20, 1u << 14);

struct Work {
  hipStream_t one, two;
  hipEvent_t changed, joined;
  Buffer<unsigned> p{kElements}, q{kElements};
  Work() {
    OK(hipStreamCreateWithFlags(&one, hipStreamNonBlocking)), OK(hipStreamCreateWithFlags(&two, hipStreamNonBlocking));
    OK(hipEventCreateWithFlags(&changed, hipEventDisableTiming)), OK(hipEventCreateWithFlags(&joined, hipEventDisableTiming));
  }
  ~Work() {
    (void)hipEventDestroy(changed), (void)hipEventDestroy(joined);
    (void)hipStreamDestroy(one), (void)hipStreamDestroy(two);
  }
  void round() {  // the first stream changes p; the second waits and joins; the first waits for that
    LAUNCH(change, kElements / 256, 256, one, p.at, kElements, 3u, 1u);
    LAUNCH(change_slowly, 64, 256, one, p.at, kElements, 7u, 2u);
    OK(hipEventRecord(changed, one));
    OK(hipStreamWaitEvent(two, changed, 0));
    LAUNCH(join, kElements / 256, 256, two, p.at, q.at, kElements);
    OK(hipEventRecord(joined, two));
    OK(hipStreamWaitEvent(one, joined, 0));
    LAUNCH(change, kElements / 256, 256, one, p.at, kElements, 11u, 4u);
  }
  void start(const std::vector<unsigned>& data) { p.write(data), q.write(data), OK(hipDeviceSynchronize()); }
  void judge(std::vector<unsigned> data, int rounds, const char* of_p, const char* of_q) {
    std::vector<unsigned> other = data;
    for (int r = 0; r < rounds; r++)
      for (unsigned i = 0; i < kElements; i++) {
        data[i] = (data[i] * 3u + 1u) * 7u + 2u;
        other[i] = other[i] * 5u + data[i];
        data[i] = data[i] * 11u + 4u;
      }
    same(p.read(), data, of_p), same(q.read(), other, of_q);
  }
};

static void check(int, Figures& figures) {
  std::vector<unsigned> data(kElements);
  for (unsigned i = 0; i < kElements; i++) data[i] = mixed(i, 3);
  Work work;
  Stopwatch watch;
  work.start(data);
  OK(hipEventRecord(watch.from, work.one));
  for (int i = 0; i < 5; i++) work.round();
  OK(hipEventRecord(watch.to, work.one));
  OK(hipEventSynchronize(watch.to));
  float milliseconds = -1;
  OK(hipEventElapsedTime(&milliseconds, watch.from, watch.to));
  if (!(milliseconds > 0)) wrong("the time between two events is " + std::to_string(milliseconds) + " ms");
  figures("round_us", milliseconds * 200);
  work.judge(data, 5, "values after two streams", "joined values after two streams");

  hipGraph_t graph;
  hipGraphExec_t ready;
  work.start(data);
  OK(hipStreamBeginCapture(work.one, hipStreamCaptureModeThreadLocal));
  work.round();
  OK(hipStreamEndCapture(work.one, &graph));
  OK(hipGraphInstantiate(&ready, graph, nullptr, nullptr, 0));
  OK(hipEventRecord(watch.from, work.one));
  for (int i = 0; i < 10; i++) OK(hipGraphLaunch(ready, work.one));
  OK(hipEventRecord(watch.to, work.one));
  OK(hipStreamSynchronize(work.one));
  OK(hipEventElapsedTime(&milliseconds, watch.from, watch.to));
  figures("graph_round_us", milliseconds * 100);
  work.judge(data, 10, "values after a graph", "joined values after a graph");
  OK(hipGraphExecDestroy(ready));
  OK(hipGraphDestroy(graph));
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
