# /// probe
# summary: configures and builds a project in CMake's HIP language for the planned targets
# level: compile
# needs: hipcc
# timeout: 300
# subject: container
# ///
# CMake has the language since 3.21. It looks for ROCm's clang itself; where it finds none, that is the image's fault.
fail() { # kind, words
    printf '{"result": "failed", "cause": "%s: %s"}\n' "$1" "$(printf %s "$2" | tr -d '"\\' | tr -c '[:print:]' ' ')"
    exit 1
}

command -v cmake >/dev/null || { echo '{"result": "skipped", "cause": "no CMake: it is not on PATH"}'; exit 0; }
command -v make >/dev/null || command -v ninja >/dev/null || { echo '{"result": "skipped", "cause": "no make and no ninja: CMake has nothing to build with"}'; exit 0; }
targets=$(printf '%s;' $ROCENV_TARGETS)
cat >CMakeLists.txt <<'PROJECT'
cmake_minimum_required(VERSION 3.21)
project(probe LANGUAGES HIP)
add_library(probe OBJECT kernel.hip)
PROJECT
printf '#include <hip/hip_runtime.h>\nextern "C" __global__ void twice(float* x) { x[threadIdx.x] *= 2.0f; }\n' >kernel.hip
cmake -S . -B build -DCMAKE_HIP_ARCHITECTURES="${targets%;}" >log 2>&1 || fail "CMake failed" "$(grep -A 2 -m 1 'CMake Error' log | tr '\n' ' ' || tail -n 1 log)"
cmake --build build >log 2>&1 || fail "compiler failed" "$(grep -m 1 -E 'error|Error' log || tail -n 1 log)"
object=$(find build -name 'kernel*.o')
for target in $ROCENV_TARGETS; do
    grep -q -a "amdgcn-amd-amdhsa--$target" "$object" || fail "wrong code objects" "CMake's object holds none for $target"
done
on=
[ -z "$ROCENV_STAND_IN" ] || on='"ran_on": "CPU", '
printf '{"result": "passed", %s"figures": {"cmake": "%s", "kernels_run": 0}}\n' "$on" "$(cmake --version | sed -n 's/cmake version //p')"
