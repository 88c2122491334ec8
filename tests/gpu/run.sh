#!/usr/bin/env bash
# Tests cutap on this machine's GPU: one command, one report.
#
#   tests/gpu/run.sh --cutap PATH [--out DIR] [--only NAME] [--python PYTHON] [--built DIR]
#                    [--limit SECONDS] [--budget SECONDS] [--nsys NSYS]
#
# Needs a GPU with its driver, Python 3.9 or newer and a C compiler; uses PyTorch, CuPy,
# JAX, nvcc, CUPTI and Nsight Systems where they are and says what it skips and why. --built names a folder
# of programs compiled elsewhere (saxpy_static, saxpy_shared, driver_api, cold_capture, cupti_counter.so);
# what is missing there is built here. It writes only to --out and to a temporary folder.
# CUTAP_GPU_TEST_ANYWAY=1 goes on where no GPU is found (to test these scripts themselves).
# Exit code: 0 all the same with and without cutap, 1 something differs, 2 could not test.
set -u

here=$(cd "$(dirname "$0")" && pwd)
python=python3
prebuilt=
pass=()
have_cutap=

fail() {
    echo "run.sh: $1" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    -h | --help)
        sed -n '2,12s/^# \{0,1\}//p' "$0"
        exit 0
        ;;
    --cutap | --out | --only | --limit | --budget | --nsys | --python | --built)
        [ $# -ge 2 ] || fail "$1 needs a value"
        case $1 in
        --python) python=$2 ;;
        --built) prebuilt=$2 ;;
        --cutap) have_cutap=1 pass+=("$1" "$2") ;;
        *) pass+=("$1" "$2") ;;
        esac
        shift 2
        ;;
    *) fail "unknown argument $1; see run.sh --help" ;;
    esac
done
[ -n "$have_cutap" ] || fail "say which cutap to test: --cutap PATH"
command -v "$python" >/dev/null || fail "there is no $python; name one with --python"
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || fail "$python is older than Python 3.9"
# Device nodes prove nothing: libcuda makes them itself when root asks it. Ask the driver.
if [ -z "${CUTAP_GPU_TEST_ANYWAY:-}" ] && ! why=$("$python" "$here/has_gpu.py"); then
    fail "$why; nothing was tested"
fi

built=$(mktemp -d "${TMPDIR:-/tmp}/cutap-gpu-built.XXXXXX") || exit 2
trap 'rm -rf "$built"' EXIT
[ -z "$prebuilt" ] || cp -- "$prebuilt"/* "$built"/ || fail "cannot copy from $prebuilt"

skipped() { echo "$1: $2" >>"$built/skipped"; }

# build NAME COMMAND...: keeps the compiler's message, so that a skip has a reason.
build() {
    local name=$1
    shift
    [ ! -e "$built/$name" ] || return 0
    if ! "$@" -o "$built/$name" >"$built/log.$name" 2>&1; then
        skipped "$name" "$(tr '\n' ' ' <"$built/log.$name" | cut -c 1-300)"
        return 1
    fi
}

# The first of these files that exists.
first() {
    local file
    for file in "$@"; do
        [ ! -e "$file" ] || { echo "$file" && return 0; }
    done
    return 1
}

cc=$(command -v "${CC:-cc}" || command -v gcc || command -v clang)
libcuda=$(ldconfig -p 2>/dev/null | sed -n 's/.*libcuda\.so\.1 .*x86-64.*=> //p' | head -n 1)
if [ -z "$libcuda" ]; then
    IFS=: read -r -a folders <<<"${LD_LIBRARY_PATH:-}"
    libcuda=$(first "${folders[@]/%//libcuda.so.1}" /usr/local/nvidia/lib64/libcuda.so.1 \
        /usr/lib/x86_64-linux-gnu/libcuda.so.1 /usr/lib64/libcuda.so.1 /usr/lib/wsl/lib/libcuda.so.1)
fi
if [ -z "$cc" ]; then
    for name in cupti_counter.so driver_api cold_capture; do
        [ -e "$built/$name" ] || skipped "$name" "there is no C compiler (cc, gcc, clang)"
    done
else
    build cupti_counter.so "$cc" -O2 -shared -fPIC "$here/cupti_counter.c" -ldl -lpthread
    for name in nothing refuse_large; do
        build "hook_$name.so" "$cc" -O2 -shared -fPIC -I "$here/../../crates/hook/include" \
            "$here/../programs/hooks/$name.c"
    done
    for name in driver_api cold_capture; do
        if [ -n "$libcuda" ]; then
            build "$name" "$cc" -O2 "$here/programs/$name.c" "$libcuda" -ldl \
                -Wl,--unresolved-symbols=ignore-in-shared-libs
        else
            [ -e "$built/$name" ] || skipped "$name" "libcuda.so.1 was not found to link with"
        fi
    done
fi

site=$("$python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
nvcc=$(command -v nvcc || first /usr/local/cuda/bin/nvcc "$site"/nvidia/cu*/bin/nvcc /opt/cuda/bin/nvcc)
if [ -z "$nvcc" ]; then
    for name in saxpy_static saxpy_shared; do
        [ -e "$built/$name" ] || skipped "$name" "there is no nvcc, and --built has none"
    done
else
    PATH=$(dirname "$nvcc"):$PATH
    root=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
    folders=()
    for folder in "$root/lib64" "$root/lib" "$root/targets/x86_64-linux/lib"; do
        [ ! -d "$folder" ] || folders+=("-L$folder" -Xlinker -rpath -Xlinker "$folder")
    done
    # A Python package has no link name libcudart.so: then the file itself is linked.
    shared=(-cudart shared)
    if ! first "$root"/lib64/libcudart.so "$root"/targets/*/lib/libcudart.so >/dev/null; then
        file=$(first "$root"/lib/libcudart.so.*) && shared=(-cudart none -Xlinker "$file")
    fi
    source=$here/programs/saxpy.cu
    # Each compiles in its own folder of temporary files, so both may at once.
    { build saxpy_static "$nvcc" -arch=native "$source" -cudart static "${folders[@]}" ||
        build saxpy_static "$nvcc" "$source" -cudart static "${folders[@]}"; } &
    { build saxpy_shared "$nvcc" -arch=native "$source" "${shared[@]}" "${folders[@]}" ||
        build saxpy_shared "$nvcc" "$source" "${shared[@]}" "${folders[@]}"; } &
    wait
fi

"$python" -B "$here/compare.py" --built "$built" "${pass[@]}"
