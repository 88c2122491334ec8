"""The parent uses CUDA. Forked children do not, and end by os._exit. Spawned children do. Then the parent continues."""

import multiprocessing
import os


def by_spawn(number, answers):
    import torch

    x = torch.full((1000,), float(number), device="cuda")
    answers.put((number, float((x * 2).sum())))


def by_multiprocessing_fork(number):
    os._exit(40 + number)


def main():
    import torch

    x = torch.arange(1000.0, device="cuda")
    print("parent:", float(x.sum()))
    for number in range(3):
        child = os.fork()
        if child == 0:
            # No exit handler of the parent may run here.
            sum(range(100000))
            os._exit(number)
        print("forked child:", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    fork = multiprocessing.get_context("fork")
    for number in range(2):
        child = fork.Process(target=by_multiprocessing_fork, args=(number,))
        child.start()
        child.join()
        print("forked process:", child.exitcode)
    spawn = multiprocessing.get_context("spawn")
    answers = spawn.Queue()
    children = [spawn.Process(target=by_spawn, args=(number, answers)) for number in (1, 2)]
    for child in children:
        child.start()
    print("spawned children:", sorted(answers.get() for _ in children))
    for child in children:
        child.join()
        print("spawned child: exit", child.exitcode)
    for _ in range(10):
        x = x * 0.5 + 1
    print(f"parent: {float(x.sum()):.4f}")


if __name__ == "__main__":
    main()
