"""One toolkit library of CUDA 12.x or 13.x, called once by ctypes: toolkit.py NAME FOLDER.

NAME is cublas, cufft, cusolver, cudnn, nvrtc or nvjitlink; FOLDER has the libraries. The output has results and no address,
so that two runs can be compared.
"""

import ctypes
import glob
import os
import sys

name, folder = sys.argv[1], sys.argv[2]
F, P, I = ctypes.c_float, ctypes.c_void_p, ctypes.c_int


def load(stem):
    found = [f for f in glob.glob(os.path.join(folder, f"lib{stem}.so.*")) if f.rsplit(".", 1)[1].isdigit()]
    if not found:
        sys.exit(f"toolkit.py: no lib{stem} in {folder}")
    return ctypes.CDLL(sorted(found)[0], mode=ctypes.RTLD_GLOBAL)


def checked(library, function, *arguments):
    status = getattr(library, function)(*arguments)
    if status:
        print(f"{function} = {status}")
        sys.exit(3)


class Memory:
    """Memory of the GPU, by the shared runtime."""

    def __init__(self):
        self.runtime = load("cudart")
        self.kept = []

    def put(self, values):
        host, place = (F * len(values))(*values), P()
        checked(self.runtime, "cudaMalloc", ctypes.byref(place), ctypes.c_size_t(4 * len(values)))
        checked(self.runtime, "cudaMemcpy", place, host, ctypes.c_size_t(4 * len(values)), I(1))
        self.kept.append(place)
        return place

    def show(self, what, place, count):
        host = (F * count)()
        checked(self.runtime, "cudaDeviceSynchronize")
        checked(self.runtime, "cudaMemcpy", host, place, ctypes.c_size_t(4 * count), I(2))
        print(what, " ".join(f"{x:.4g}" for x in host))

    def free(self):
        for place in self.kept:
            checked(self.runtime, "cudaFree", place)


def cublas():
    memory = Memory()
    load("cublasLt")
    lib, handle = load("cublas"), P()
    checked(lib, "cublasCreate_v2", ctypes.byref(handle))
    a, x, y = memory.put([1, 2, 3, 4]), memory.put([1, 1]), memory.put([5, 6])
    two, one = ctypes.byref(F(2)), ctypes.byref(F(1))
    checked(lib, "cublasSaxpy_v2", handle, I(2), two, x, I(1), y, I(1))
    checked(lib, "cublasSgemv_v2", handle, I(0), I(2), I(2), one, a, I(2), x, I(1), one, y, I(1))
    checked(lib, "cublasSger_v2", handle, I(2), I(2), one, x, I(1), y, I(1), a, I(2))
    dot = F()
    checked(lib, "cublasSdot_v2", handle, I(2), x, I(1), y, I(1), ctypes.byref(dot))
    c = memory.put([0, 0, 0, 0])
    checked(lib, "cublasSgemm_v2", handle, I(0), I(0), I(2), I(2), I(2), one, a, I(2), a, I(2), two, c, I(2))
    memory.show("y", y, 2)
    memory.show("c", c, 4)
    memory.show("a", a, 4)
    print("dot", dot.value)
    checked(lib, "cublasDestroy_v2", handle)
    memory.free()


def cufft():
    memory = Memory()
    lib, plan = load("cufft"), I()
    data = memory.put([1.0 if n % 16 == 0 else 0.0 for n in range(512)])
    checked(lib, "cufftPlan1d", ctypes.byref(plan), I(256), I(0x29), I(1))
    checked(lib, "cufftExecC2C", plan, data, data, I(-1))
    memory.show("spectrum", data, 8)
    checked(lib, "cufftDestroy", plan)
    memory.free()


def cusolver():
    memory = Memory()
    load("nvJitLink") if glob.glob(os.path.join(folder, "libnvJitLink.so.*")) else None
    for stem in ("cublasLt", "cublas", "cusparse"):
        load(stem)
    lib, handle, size = load("cusolver"), P(), I()
    checked(lib, "cusolverDnCreate", ctypes.byref(handle))
    a, info = memory.put([4, 2, 2, 5]), memory.put([0])
    checked(lib, "cusolverDnSpotrf_bufferSize", handle, I(0), I(2), a, I(2), ctypes.byref(size))
    work = memory.put([0] * max(size.value, 1))
    checked(lib, "cusolverDnSpotrf", handle, I(0), I(2), a, I(2), work, size, info)
    memory.show("factor", a, 4)
    checked(lib, "cusolverDnDestroy", handle)
    memory.free()


def cudnn():
    memory = Memory()
    lib, handle, shape = load("cudnn"), P(), P()
    checked(lib, "cudnnCreate", ctypes.byref(handle))
    checked(lib, "cudnnCreateTensorDescriptor", ctypes.byref(shape))
    checked(lib, "cudnnSetTensor4dDescriptor", shape, I(0), I(0), I(1), I(4), I(1), I(1))
    x, y = memory.put([-1, 0, 1, 2]), memory.put([0, 0, 0, 0])
    one, zero = ctypes.byref(F(1)), ctypes.byref(F(0))
    checked(lib, "cudnnSoftmaxForward", handle, I(1), I(1), one, shape, x, zero, shape, y)
    memory.show("softmax", y, 4)
    checked(lib, "cudnnDestroy", handle)
    memory.free()


SOURCE = b'extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }'


def nvrtc():
    lib, program, size = load("nvrtc"), P(), ctypes.c_size_t()
    checked(lib, "nvrtcCreateProgram", ctypes.byref(program), SOURCE, b"twice.cu", I(0), None, None)
    options = (ctypes.c_char_p * 1)(b"--gpu-architecture=sm_90")
    checked(lib, "nvrtcCompileProgram", program, I(1), options)
    checked(lib, "nvrtcGetPTXSize", program, ctypes.byref(size))
    print("PTX", size.value)
    checked(lib, "nvrtcGetCUBINSize", program, ctypes.byref(size))
    print("cubin", size.value)
    checked(lib, "nvrtcDestroyProgram", ctypes.byref(program))


PTX = b".version 7.8\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n"


def nvjitlink():
    lib, handle, size = load("nvJitLink"), P(), ctypes.c_size_t()
    version = "12_9" if os.path.exists(os.path.join(folder, "libnvJitLink.so.12")) else "13_0"
    options = (ctypes.c_char_p * 1)(b"-arch=sm_90")
    checked(lib, f"__nvJitLinkCreate_{version}", ctypes.byref(handle), ctypes.c_uint32(1), options)
    checked(lib, f"__nvJitLinkAddData_{version}", handle, I(2), PTX + b"\0", ctypes.c_size_t(len(PTX) + 1), b"nothing")
    checked(lib, f"__nvJitLinkComplete_{version}", handle)
    checked(lib, f"__nvJitLinkGetLinkedCubinSize_{version}", handle, ctypes.byref(size))
    print("cubin", size.value)
    checked(lib, f"__nvJitLinkDestroy_{version}", ctypes.byref(handle))


{"cublas": cublas, "cufft": cufft, "cusolver": cusolver, "cudnn": cudnn, "nvrtc": nvrtc, "nvjitlink": nvjitlink}[name]()
