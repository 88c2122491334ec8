"""Jobs that hang in a collective, each by a random mistake of one rank: `cutap where` must name the call and the rank
while the job hangs, and `cutap report --collectives` afterwards. No healthy rank may be named.

collectives.py PROGRAM ROUNDS RANKS [FLAG...]: PROGRAM is tests/programs/collectives/ranks.c beside its libnccl.so.2, or
built for NVIDIA's. Flags go to cutap record: --sim for the simulated driver, where no GPU is needed. JOBS: how many jobs
run at the same time (1). SEED: of the random mistakes (1). KINDS: which mistakes, of those below.
"""

import concurrent.futures
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time

LIMIT_S = 60
ALL_KINDS = "count datatype root function skipped missing stopped killed order no_receive"
KINDS = os.environ.get("KINDS", ALL_KINDS).split()


def expected(kind, wrong, step, ranks):
    """The last line, as a pattern."""
    call = 2 * step + (2 if kind == "root" else 1)
    if kind == "order":
        calls = [f"call {3 * step + 3} of comm#1", f"call {step + 1} of comm#2"]
        both = rf"({calls[0]} .*{calls[1]}|{calls[1]} .*{calls[0]})"
        return rf"^different order: rank {0 if ranks == 2 else wrong} called {both}"
    if kind == "no_receive":
        before = (wrong + ranks - 1) % ranks
        # Other ranks call the next collective once their own transfers are done.
        return rf"^not arrived: rank {wrong} has not received what rank {before} sent in comm#1"
    head = rf"call {call} of comm#1: "
    if kind in ("missing", "stopped", "killed"):
        return rf"^not arrived: {head}rank {wrong} did not "
    # With two ranks nobody knows which one is right.
    side = r"rank 0 .*, rank 1 " if ranks == 2 else rf"rank {wrong} [^,]*(\([^)]*\))?, ranks? "
    return rf"^first mismatch: {head}{side}"


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return [int(child) for child in file.read().split()]
    except OSError:
        return []


def is_program(pid, program):
    try:
        return os.path.samefile(f"/proc/{pid}/exe", program)
    except OSError:
        return False


def one_round(program, flags, ranks, kind, wrong, step):
    with tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/run.{rank}.cutap" for rank in range(ranks)]
        jobs = []
        for rank, file in enumerate(files):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(ranks), "WRONG": str(wrong)}
            if "--sim" in flags:
                del own["LOCAL_RANK"]
            command = ["cutap", "record", "-q", *flags, "-o", file, "--", program, kind, f"{folder}/id"]
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            jobs.append(subprocess.Popen(command, env={**os.environ, **own, "STEP": str(step)}, **quiet))
        wanted, last = expected(kind, wrong, step, ranks), ""

        def pids():
            return [[pid for pid in children(job.pid) if is_program(pid, program)] for job in jobs]

        end = time.monotonic() + LIMIT_S
        try:
            while time.monotonic() < end:
                runs = [str(own[0]) if own else file for own, file in zip(pids(), files)]
                said = subprocess.run(["cutap", "where", *runs], capture_output=True, text=True).stdout
                last = said.splitlines()[-1] if said else ""
                if re.search(wanted, last):
                    break
                # A rank that starts has not arrived yet; a mismatch that is none is wrong at any time.
                if last.startswith("first mismatch: "):
                    return f"where, too early: {last}"
                time.sleep(0.05)
            else:
                return f"where: {last}"
        finally:
            for own in pids():
                for pid in own:
                    os.kill(pid, signal.SIGKILL)
            for job in jobs:
                job.wait()
        said = subprocess.run(["cutap", "report", "--collectives", *files], capture_output=True, text=True)
        last = said.stdout.splitlines()[-1] if said.stdout else said.stderr
        return None if re.search(wanted, last) else f"report: {last}"


def main():
    program, rounds, ranks, *flags = sys.argv[1:]
    program, rounds, ranks = os.path.abspath(program), int(rounds), int(ranks)
    numbers = random.Random(int(os.environ.get("SEED", "1")))
    mistakes = [(numbers.choice(KINDS), numbers.randrange(ranks), numbers.randrange(1, 7)) for _ in range(rounds)]
    with concurrent.futures.ThreadPoolExecutor(int(os.environ.get("JOBS", "1"))) as pool:
        problems = list(pool.map(lambda mistake: one_round(program, flags, ranks, *mistake), mistakes))
    for n, (problem, (kind, wrong, step)) in enumerate(zip(problems, mistakes)):
        if problem:
            print(f"round {n}: {kind} of rank {wrong} at step {step}: {problem}", flush=True)
    wrong_answers = sum(problem is not None for problem in problems)
    print(f"{rounds - wrong_answers} of {rounds} mistakes were named")
    return wrong_answers > rounds // 100


if __name__ == "__main__":
    sys.exit(main())
