# /// probe
# summary: starts ROCm's debugger, profilers and monitors, those that the image has
# level: compile
# timeout: 120
# subject: container
# ///
# One that is not there is no fault. One that does not start is: a library of another release, a Python that is missing.
fail() { # kind, words
    printf '{"result": "failed", "cause": "%s: %s"}\n' "$1" "$(printf %s "$2" | tr -d '"\\' | tr -c '[:print:]' ' ')"
    exit 1
}

found=
for tool in rocgdb rocprof rocprofv2 rocprofv3 rocprof-sys-run rocm-smi amd-smi rocminfo hipconfig; do
    program=$(command -v "$tool" || command -v "/opt/rocm/bin/$tool") || continue
    case $tool in
    rocminfo) continue ;; # it asks the driver: the runtime probe's matter
    amd-smi) question=version ;;
    *) question=--version ;;
    esac
    "$program" $question >log 2>&1 </dev/null
    status=$?
    # what cannot be loaded or found; a tool that only does not know the question has started
    if [ $status -ge 126 ] || grep -q -E 'error while loading|ModuleNotFoundError|ImportError|cannot open shared object' log; then
        fail "tool does not start" "$tool ends with $status: $(grep -m 1 -E 'rror' log || tail -n 1 log)"
    fi
    found="$found $tool"
done
if [ -z "$found" ]; then
    echo '{"result": "skipped", "cause": "no tools: neither rocgdb nor a profiler nor a monitor is in the image"}'
    exit 0
fi
printf '{"result": "passed", "figures": {"started": "%s"}}\n' "${found# }"
