# Calls from 16 threads with generators, exceptions, code that is made and freed, deep recursion, finalizers that the
# garbage collector runs, a signal handler and forked children. Threads are in calls while the interpreter ends. The
# program must not fault, and it prints the same as without cutap. `tests/e2e/tests/python.rs` runs it.
import ctypes
import gc
import os
import random
import signal
import sys
import threading
import time

cuda = ctypes.CDLL("libcuda.so.1")
context = ctypes.c_void_p()
assert cuda.cuInit(0) == 0 and cuda.cuCtxCreate_v2(ctypes.byref(context), 0, 0) == 0
wait = cuda.cuCtxSynchronize
end = time.time() + float(sys.argv[1])


class Cycle:
    def __init__(self): self.own = self
    def __del__(self): wait()


def numbers(count):
    for n in range(count):
        wait()
        yield n


def recursive(depth):
    return wait() if depth == 0 else recursive(depth - 1)


def made(chance):
    scope = {"wait": wait}
    exec(f"def made_{chance.randrange(5)}():\n" + "\n" * chance.randrange(9) + "    wait()\n", scope)
    scope.popitem()[1]()


def caught():
    try:
        raise ValueError
    except ValueError:
        wait()


def work(seed):
    chance = random.Random(seed)
    kinds = [lambda: list(numbers(5)), Cycle, lambda: made(chance), caught, gc.collect,
             lambda: recursive(chance.randrange(300))]
    while time.time() < end:
        chance.choice(kinds)()


signal.signal(signal.SIGALRM, lambda *_: wait())
signal.setitimer(signal.ITIMER_REAL, .01, .003)
threads = [threading.Thread(target=work, args=(n,)) for n in range(16)]
[thread.start() for thread in threads]
for n in range(3):
    pid = os.fork()
    if pid == 0:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for _ in range(20):
            list(numbers(3)), Cycle(), gc.collect()
        os._exit(7)
    print("child", os.waitpid(pid, 0)[1] >> 8)
[thread.join() for thread in threads]
signal.setitimer(signal.ITIMER_REAL, 0)
for _ in range(4):
    threading.Thread(target=lambda: list(numbers(10**9)), daemon=True).start()
print("done")
