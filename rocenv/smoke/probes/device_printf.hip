// /// probe
// summary: prints from every thread of a kernel; each line must come out once, with its numbers
// level: kernel
// needs: hipcc
// timeout: 120
// ///
// On AMD this is a call from the GPU to the host, which needs atomic operations over PCIe where HIP uses hostcall: a GPU
// in a slot without them computes and cannot print.
#include "prelude.hpp"

__global__ void tell(int salt) {
  const int i = int(blockIdx.x * blockDim.x + threadIdx.x);
  printf("line %d: %d %.3f %s\n", i, i * 7 + salt, i * 0.125, "from the GPU");
}

static const int kLines = 4 * 64;

// What the kernel prints to standard output, which is a file meanwhile.
static std::string printed(int salt) {
  std::FILE* file = std::tmpfile();
  if (!file) throw Fault{3, "no temporary file: the folder for them cannot be written to"};
  std::fflush(stdout);
  const int real = dup(1);
  dup2(fileno(file), 1);
  hipLaunchKernelGGL(tell, dim3(4), dim3(64), 0, 0, salt);
  const hipError_t launched = hipGetLastError(), ended = hipDeviceSynchronize();
  std::fflush(stdout);
  dup2(real, 1);
  close(real);
  std::string text;
  std::rewind(file);
  for (int c; (c = std::fgetc(file)) != EOF;) text += char(c);
  std::fclose(file);
  ok(launched, "the launch of a kernel that prints"), ok(ended, "hipDeviceSynchronize");
  return text;
}

static void check(int device, Figures& figures) {
  const int salt = 1000 + device;
  std::string text = "\n" + printed(salt);
  figures("lines", kLines);
  for (int i = 0; i < kLines; i++) {
    char line[96];
    std::snprintf(line, sizeof line, "\nline %d: %d %.3f from the GPU\n", i, i * 7 + salt, i * 0.125);
    const size_t first = text.find(line);
    if (first == std::string::npos) wrong("line " + std::to_string(i) + " did not come out as it was printed");
    if (text.find(line, first + 1) != std::string::npos) wrong("line " + std::to_string(i) + " came out twice");
  }
  if (std::count(text.begin(), text.end(), '\n') != kLines + 1) wrong("more lines came out than were printed");
}

int main(int argc, char** argv) { return on_every_gpu(argc, argv, check); }
