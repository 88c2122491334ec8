import ctypes
cuda = ctypes.CDLL("libcuda.so.1")

def check(status):
    if status:
        raise RuntimeError(f"CUDA error {status}")

def tensor(size):
    pointer = ctypes.c_uint64()
    check(cuda.cuMemAlloc_v2(ctypes.byref(pointer), ctypes.c_size_t(size)))
    return pointer

def step(size):
    x = tensor(size)
    check(cuda.cuMemsetD8_v2(x, 0, ctypes.c_size_t(size)))
    return x

def main():
    context = ctypes.c_void_p()
    check(cuda.cuInit(0))
    check(cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0))
    kept = []
    for n in range(10):
        x = step(4 << 20)
        if n % 3 == 0:
            kept.append(x)
        else:
            cuda.cuMemFree_v2(x)
    cuda.cuMemFree_v2(ctypes.c_uint64(12345))

main()
