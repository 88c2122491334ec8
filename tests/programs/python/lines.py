# Calls from all kinds of Python code. For each it prints the frames that sys._getframe has, so that a wrong line, a
# frame too many or the name of a code object that was there before is seen. `tests/e2e/tests/python.rs` runs it.
import asyncio
import ctypes
import gc
import json
import os
import sys
import threading

DEEP, OLD = 200, sys.version_info < (3, 11)
cuda = ctypes.CDLL("libcuda.so.1")
calls, lock = [], threading.Lock()
tid = getattr(threading, "get_native_id", os.getpid)


def note(frame):
    """The frames from this one outwards are those of the next call in this thread."""
    frames = []
    while frame:
        code = frame.f_code
        frames.append([code.co_name if OLD else code.co_qualname, code.co_filename, frame.f_lineno])
        frame = frame.f_back
    with lock:
        calls.append([os.getpid(), tid(), frames])
    return True


def wait():
    return note(sys._getframe()) and cuda.cuCtxSynchronize()


class Layer:
    def forward(self): return wait()
    def __call__(self): return [self.forward() for _ in range(2)]
    def __enter__(self): return wait()
    def __exit__(self, *_): return wait() == 0
    def __del__(self): wait()


def numbers():
    for n in range(3):
        wait()
        yield n
        yield from (wait() + n for _ in range(2))


async def asynchronous():
    await asyncio.sleep(0)
    wait()
    await asyncio.gather(*[asyncio.sleep(0) for _ in range(3)])
    return wait()


def recursive(depth):
    return wait() if depth == 0 else recursive(depth - 1)


def spread(a, b):
    return (a,
            note(sys._getframe()) and cuda.cuCtxSynchronize(),
            b)


def failing():
    try:
        wait()
        with Layer():
            raise ValueError(wait())
        raise KeyError(wait())
    except KeyError:
        wait()
    finally:
        wait()


def größe_数_𝒻(): return wait()


def remade():
    """Functions that are freed and made again, most of them in the same place: other lines, names and files."""
    for n in range(150):
        source = "\n" * (n % 7) + f"def made_{n % 10}():\n" + "    x = 0\n" * (n % 5) + "    return wait()\n"
        scope = {"wait": wait}
        exec(compile(source, f"<made {n % 20:03}>", "exec"), scope)
        scope.popitem()[1]()
        del scope
        gc.collect(0)


def called_back():
    compared = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    words = (ctypes.c_int * 4)(3, 1, 2, 0)
    ctypes.CDLL(None).qsort(words, 4, 4, compared(lambda a, b: wait() or 0))


def in_threads():
    threads = [threading.Thread(target=lambda: [recursive(n % 5) for n in range(40)]) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]


def main():
    context = ctypes.c_void_p()
    assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
    layer = Layer()
    layer()
    list(numbers())
    asyncio.new_event_loop().run_until_complete(asynchronous())
    recursive(DEEP)
    failing(), größe_数_𝒻()
    (lambda: wait())()
    del layer
    exec("def f():\n\n    return wait()\nf()")
    remade(), called_back(), in_threads()
    note(sys._getframe()), cuda.cuMemFree_v2(ctypes.c_uint64(12345))
    for n in range(5):
        wait()


main()
spread(1, 2)
for call in calls:
    print(json.dumps(call))
sys.stdout.flush()
