"""Makes cubins with NVRTC. Usage: build.py LIBNVRTC OUT [ARCH] [SOURCE] [INCLUDE...] (sm_90, kernels.cu)."""
import ctypes
import pathlib
import sys


def main():
    library, out, *rest = sys.argv[1:]
    arch, source, *include = rest + ["sm_90", "kernels.cu"][len(rest):]
    nvrtc = ctypes.CDLL(library)
    text = (pathlib.Path(__file__).parent / source).read_bytes()
    program = ctypes.c_void_p()
    check(nvrtc, nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, source.encode(), 0, None, None))
    relocatable = b"true" if source.startswith("relocatable") else b"false"
    flags = [b"-arch=" + arch.encode(), b"--std=c++17", b"-default-device", b"--relocatable-device-code=" + relocatable]
    flags += [b"-I" + path.encode() for path in include]
    result = nvrtc.nvrtcCompileProgram(program, len(flags), (ctypes.c_char_p * len(flags))(*flags))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    print(log.value.decode(), end="")
    check(nvrtc, result)
    check(nvrtc, nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size)))
    cubin = ctypes.create_string_buffer(size.value)
    check(nvrtc, nvrtc.nvrtcGetCUBIN(program, cubin))
    pathlib.Path(out).write_bytes(cubin.raw)
    print(out, size.value)


def check(nvrtc, result):
    if result:
        nvrtc.nvrtcGetErrorString.restype = ctypes.c_char_p
        raise SystemExit(nvrtc.nvrtcGetErrorString(result).decode())


main()
