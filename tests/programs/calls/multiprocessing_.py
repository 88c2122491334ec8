"""multiprocessing in its three ways: each worker's calls are its own."""

import ctypes
import multiprocessing
import sys


def calls(number):
    driver = ctypes.CDLL("libcuda.so.1")
    version = ctypes.c_int()
    for _ in range(number):
        assert driver.cuDriverGetVersion(ctypes.byref(version)) == 0


if __name__ == "__main__":
    calls(3)
    for way in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(way)
        workers = [context.Process(target=calls, args=(number,)) for number in (40, 50)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
            assert worker.exitcode == 0
    sys.stdout.write("ok\n")
