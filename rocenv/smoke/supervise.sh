# Runs one probe inside a container and leaves nothing of it behind.
#
# The probe's text comes on standard input, which then stays open for as long as somebody listens. Its end ends the
# probe: so a rocenv that was killed leaves no process in the container. (busybox's `head -c` reads beyond what it was
# asked for, so nothing may follow the text.)
# Arguments: the seconds the probe may take, the bytes of its text, its kind (sh, py, hip), and what it needs.
# The last line on standard output is `#missing NEED` where the image lacks something, or `#end STATUS OVERRIDES`:
# what the probe ended with, and the values of HSA_OVERRIDE_GFX_VERSION (and its forms for one node) in effect.
# Everything here works in dash, bash and busybox.
limit=$1 size=$2 kind=$3
shift 3
exec 3<&0 </dev/null 4>&2 2>/dev/null
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
probe=$(head -c "$size" <&3)
overrides=${HSA_OVERRIDE_GFX_VERSION-} node=0
while [ $node -lt 64 ]; do
    eval "overrides=\"\$overrides \${HSA_OVERRIDE_GFX_VERSION_$node-}\"" node=$((node + 1))
done
for version in $overrides; do # 9.0.10 makes a GPU look like a gfx90a: code for that is wanted too
    case $version in *[!0-9.]*) continue ;; [0-9]*.[0-9]*.[0-9]*) ;; *) continue ;; esac
    ROCENV_TARGETS="$ROCENV_TARGETS gfx$(IFS=.; set -- $version; printf '%d%x%x' "$1" "$2" "$3")"
done

pythons() { # every Python of the image, the one on PATH first
    seen=:
    for candidate in "$(command -v python3)" /opt/venv/bin/python /opt/conda/envs/*/bin/python /opt/conda/bin/python; do
        case $seen in *:"${candidate%/*}":*) continue ;; esac
        [ -x "$candidate" ] && echo "$candidate" && seen=$seen${candidate%/*}:
    done
}

with_torch() { # the first of the given Pythons that has torch; a single one is not asked, the probe itself will tell
    for candidate; do
        [ $# = 1 ] || "$candidate" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' || continue
        echo "$candidate" && return
    done
    return 1
}

first_of() { # the first of the given programs that is there
    for candidate; do
        command -v "$candidate" && return
    done
    return 1
}

find_need() {
    case $1 in
    python) python=$(first_of $(pythons)) ;;
    torch) python=$(with_torch $(pythons)) ;;
    hipcc) hipcc=$(first_of hipcc /opt/rocm/bin/hipcc /opt/rocm-*/bin/hipcc /opt/rocm/core-*/bin/hipcc) && export ROCENV_HIPCC="$hipcc" ;;
    esac
}

compiler_failed() { # the compiler's first complaint, as an answer
    complaint=$(grep -m 1 -E 'error|Error|cannot' "$2" || tail -n 1 "$2")
    printf '{"result": "failed", "cause": "%s: %s"}\n' "$1" "$(printf %s "$complaint" | tr -d '"\\' | tr -c '[:print:]' ' ')"
}

on_the_gpu() { # compile for the planned targets and run
    for target in $ROCENV_TARGETS; do
        set -- "$@" "--offload-arch=$target"
    done
    "$hipcc" "$@" -std=c++17 -O2 -o on_gpu probe.hip >compiler.log 2>&1 ||
        { compiler_failed "compiler failed" compiler.log; return 1; }
    [ -n "$ROCENV_STAND_IN" ] || ./on_gpu "$ROCENV_TARGETS"
}

on_the_cpu() { # look for the code objects that the compiler made, and run the same source as plain C++
    for target in $ROCENV_TARGETS; do
        grep -q -a "amdgcn-amd-amdhsa--$target" on_gpu || { echo "no code object for $target" >compiler.log; compiler_failed "no code for this GPU" compiler.log; return 5; }
    done
    host=$(first_of c++ g++ clang++ /usr/bin/clang++-* /opt/rocm/llvm/bin/clang++) &&
        "$host" -x c++ -DROCENV_CPU -std=c++17 -O1 -o on_cpu probe.hip >compiler.log 2>&1 ||
        { compiler_failed "compiler failed" compiler.log; return 1; }
    ./on_cpu "$ROCENV_TARGETS"
}

run_probe() {
    case $kind in
    sh) sh -c "$probe" ;;
    py) "$python" -c "$probe" ;;
    hip) printf '%s\n' "$probe" >probe.hip && on_the_gpu && { [ -z "$ROCENV_STAND_IN" ] || on_the_cpu; } ;;
    esac
}

sweep() { # end every process that carries this run's mark, wherever it has hidden, but for this one
    for round in 1 2 3 4 5 6 7 8 9; do # one may have forked while the others were looked for
        found=
        for left in $(grep -ls "ROCENV_PROBE=$ROCENV_PROBE" /proc/[0-9]*/environ); do
            left=${left#/proc/} left=${left%/environ}
            [ "$left" = $$ ] || { kill -KILL "$left" && found=yes; }
        done
        [ "$found" ] || return
    done
}

folder=$(mktemp -d) && cd "$folder" && export TMPDIR="$folder"
for need; do
    find_need "$need" || { rm -rf "$folder"; printf '\n#missing %s\n' "$need"; exit 0; }
done
run_probe 3<&- 2>&4 4>&- &
running=$!
{ sleep "$limit"; kill -KILL $running; } >/dev/null 3<&- 4>&- &
{ read -r _ <&3; kill -KILL $running; } >/dev/null 4>&- &
wait $running
status=$?
sweep
cd / && [ -n "$folder" ] && rm -rf "$folder"
printf '\n#end %s %s\n' "$status" "$overrides"
