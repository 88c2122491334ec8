"""What the parts of gpu_time.sh share: programs are built, run and recorded, and what a recording says of its rows is
read.

GPU_TIME_CUTAP, GPU_TIME_WORK and GPU_TIME_LOG are set by gpu_time.sh. GPU_TIME_ENGINE=--sim runs the C programs on the
simulated driver, as a test of these scripts alone; GPU_TIME_PROGRAMS names a folder with other programs for such a
test. Details go to the log; only what `say` and `result` print is shown.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

CUTAP, WORK, LOG = (os.environ.get("GPU_TIME_" + name, "") for name in ("CUTAP", "WORK", "LOG"))
ENGINE = os.environ.get("GPU_TIME_ENGINE", "").split()
TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PROGRAMS = os.environ.get("GPU_TIME_PROGRAMS") or os.path.join(TESTS, "programs")
sys.path.insert(0, TESTS)
import machine

ROWS = re.compile(
    r"(\d+) of (\d+) rows of GPU time have their call, (\d+) have bad times(?:; CUPTI's clock is known to ([^;\n]*))?"
)
SHOWN = 300
LOGGED = 4000
# The process groups that run; each run has a separate one, so that a limit ends all of its processes.
groups = set()


def _stop(*_):
    for group in list(groups):
        os.killpg(group, signal.SIGKILL)
    os._exit(124)


signal.signal(signal.SIGTERM, _stop)


def say(text):
    print(text[:SHOWN], flush=True)


def result(is_good, name, text):
    """A line that gpu_time.sh counts; None: it could not be tried."""
    say(f"{'SKIP' if is_good is None else 'PASS' if is_good else 'FAIL'} {name}: {text}")


def tried(function, name, *arguments):
    """Its answer for `result`; what it raises is a failure of this case, not of the part."""
    try:
        return function(name, *arguments)
    except Exception as error:  # noqa: BLE001
        return False, str(getattr(name, "name", name)), f"{type(error).__name__}: {error}"


def log(text):
    with open(LOG or os.devnull, "a", encoding="utf-8") as file:
        file.write(text + "\n")


def number(name, default):
    """A size of the test, which the environment may change."""
    return type(default)(os.environ.get("GPU_TIME_" + name, default))


def program(name):
    return os.path.join(PROGRAMS, name)


def python(name, *arguments):
    return [sys.executable, program(name), *arguments]


@dataclass
class Run:
    """How a program ended; the code is None if it was stopped at its limit."""

    code: int | None
    out: str
    err: str
    seconds: float

    def last_error(self):
        lines = [line for line in (self.err + self.out).splitlines() if line.strip()]
        return lines[-1].strip()[:160] if lines else "no output"


def run(command, limit=100, **variables):
    """Runs it in a separate process group, in the work folder. Its output goes to files, which no child can block."""
    begin = time.monotonic()
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    os.makedirs(WORK, exist_ok=True)
    place = os.path.join(WORK, f"output.{time.monotonic_ns()}.{os.getpid()}")
    with open(place + ".out", "wb") as out, open(place + ".err", "wb") as err:
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=WORK, env=environment, start_new_session=True
        )
        groups.add(started.pid)
        try:
            code = started.wait(limit)
        except subprocess.TimeoutExpired:
            code = None
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
        groups.discard(started.pid)
    texts = []
    for ending in (".out", ".err"):
        with open(place + ending, encoding="utf-8", errors="replace") as file:
            texts.append(file.read())
        os.remove(place + ending)
    done = Run(code, texts[0], texts[1], time.monotonic() - begin)
    log(f"$ {' '.join(command)}\nexit {code}, {done.seconds:.1f} s\n{done.out[-LOGGED:]}{done.err[-LOGGED:]}")
    return done


def file_of(name):
    return os.path.join(WORK, name + ".cutap")


def record(name, command, limit=150, flags=("--gpu-time",), names_cupti=True, **variables):
    """Records into NAME.cutap. A program that links no libcupti may find none beside its runtime, so one is named."""
    if names_cupti and cupti():
        variables.setdefault("CUTAP_CUPTI", cupti())
    return run([CUTAP, "record", *ENGINE, *flags, "-o", file_of(name), "--", *command], limit, **variables)


def plain(command, limit=100, **variables):
    """Without GPU time; on the simulated driver it must be recorded."""
    if ENGINE:
        return record(f"plain{time.monotonic_ns()}", command, limit, ("-q",), **variables)
    return run(command, limit, **variables)


def cutap(*arguments, limit=100):
    return run([CUTAP, *arguments], limit)


def lines_of(*arguments, limit=100, having=("",)):
    """The JSON lines of a command that have one of these texts, one after another, since all may not fit the memory."""
    command = ["timeout", str(limit), CUTAP, *arguments]
    log("$ " + " ".join(command))
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as started:
        for line in started.stdout:
            if any(text.encode() in line for text in having):
                yield json.loads(line)
    if started.returncode != 0:
        say(f"  {' '.join(arguments)[:100]} ended with {started.returncode}")


@dataclass
class Rows:
    """What the notes say of the rows of a recording."""

    with_call: int = 0
    all: int = 0
    bad: int = 0
    clock: str = ""
    why: str = ""  # The first line on what is missing.
    dropped: int = 0

    def are_good(self, exact=None):
        complete = self.all > 0 and self.with_call * 1000 >= self.all * 999 and self.bad == 0
        return complete and exact in (None, self.all)

    def text(self):
        share = f"{100 * self.with_call / self.all:.2f} %" if self.all else "none"
        why = f"; {self.why}" if self.why else ""
        return f"rows {self.all}, with call {self.with_call} ({share}), bad {self.bad}, clock {self.clock or '?'}{why}"


def rows(name, limit=100):
    """The rows of NAME.cutap."""
    notes = cutap("report", "--notes", file_of(name), limit=limit)
    found, of = ROWS.search(notes.out + notes.err), Rows()
    if found:
        of = Rows(*(int(found[n]) for n in (1, 2, 3)), (found[4] or "").strip())
    about = (
        "no GPU times",
        "row of GPU time",
        "rows of GPU time",
        "records of CUPTI",
        "record of CUPTI",
        "rows are missing",
    )
    missing = [
        line
        for line in notes.out.splitlines()
        if line.startswith(about) or (not ROWS.search(line) and "GPU time" in line)
    ]
    lost = re.search(r"(\d+) rows? of GPU time (?:was|were) dropped", notes.out)
    of.dropped = int(lost[1]) if lost else 0
    of.why = missing[0] if missing else ""
    return of


def build(name, source, *flags):
    """A C program by nvcc or gcc: its path, or None, which is a failure that is printed."""
    target = os.path.join(WORK, name)
    if os.path.exists(target):
        return target
    if source.endswith(".cu"):
        command = ["nvcc", "-O1", "-arch=" + os.environ.get("GPU_TIME_ARCH", "native")]
    else:
        command = ["gcc", "-O1", "-shared", "-fPIC"]
    made = run(
        [*command, *flags, "-o", target, program(source), *([] if source.endswith(".cu") else ["-ldl", "-lpthread"])],
        100,
    )
    if made.code == 0:
        return target
    result(False, "build " + name, made.last_error())
    return None


def cupti():
    """The libcupti that CUPTI_LIB names, that of the Python packages or of the toolkit, or ''."""
    return os.environ.get("CUPTI_LIB") or machine.find_cupti() or ""
