#!/bin/bash
# Runs the examples of the documents that need a GPU (blocks `console exempt=gpu`), and fails if one of them fails or
# prints nothing.
#     tests/gpu/docs.sh --cutap PATH [--program VECTOR]
# VECTOR is the program of docs/tutorial/first-trace.md; without it, it is built with nvcc's static runtime.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
exec python3 -B "$here/docs.py" "$@"
