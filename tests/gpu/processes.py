"""Runs one program with a time limit and says what happened.

Output goes to files and not to pipes, so that a forgotten grandchild cannot hold a
run open. Every process of a run carries a marker in its environment: only processes
with that marker are ever looked at or killed, also those that left the session.
"""

import os
import signal
import subprocess
import tempfile
import threading
import time
import uuid
from dataclasses import dataclass

MARKER = "CUTAP_GPU_TEST_RUN"


@dataclass
class Run:
    """What one run of one program gave."""

    argv: list
    code: object  # exit code, or None after a time-out
    out: bytes
    err: bytes
    wall: float
    dump: str = ""  # state of the processes when the limit was reached
    left: str = ""  # processes that outlived the program

    @property
    def hung(self):
        return self.code is None


def run(argv, limit, env=None, cwd=None):
    """Runs argv for at most limit seconds; always returns, and leaves no process."""
    token = uuid.uuid4().hex
    full = dict(os.environ, PYTHONFAULTHANDLER="1", PYTHONDONTWRITEBYTECODE="1")
    full.update(env or {})
    full[MARKER] = token
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        child = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env=full,
            cwd=cwd,
            start_new_session=True,
        )
        ended = []
        # A thread, because Popen.wait with a limit polls and is up to 50 ms late.
        waiter = threading.Thread(target=lambda: ended.append((child.wait(), time.monotonic())))
        waiter.start()
        waiter.join(limit)
        dump = left = ""
        if ended:
            code, end = ended[0]
            left = _wait_for_others(token)
        else:
            code, end = None, time.monotonic()
            dump = _dump(token)
            _python_stacks(token, child.pid)
        _kill(token)
        waiter.join()
        out.seek(0)
        err.seek(0)
        return Run(argv, code, out.read(), err.read(), end - begin, dump, left)


def _read(path, limit=65536):
    try:
        with open(path, "rb") as f:
            return f.read(limit).decode("utf-8", "replace")
    except OSError:
        return ""


def _marked(token):
    """Processes of this run, found by the marker; zombies have no environment and are not listed."""
    needle = f"{MARKER}={token}"
    pids = [int(p) for p in os.listdir("/proc") if p.isdigit()]
    return [p for p in pids if needle in _read(f"/proc/{p}/environ", 1 << 22)]


def _wait_for_others(token):
    """Gives a collector two seconds to finish, then names what is still there."""
    until = time.monotonic() + 2.0
    pids = _marked(token)
    while pids and time.monotonic() < until:
        time.sleep(0.05)
        pids = _marked(token)
    return _dump(token) if pids else ""


def _kill(token):
    """Kills until none is left: a process may be forking while it is looked for."""
    for _ in range(50):
        pids = _marked(token)
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.05)


def _python_stacks(token, front):
    """SIGABRT makes Python's faulthandler write the stacks of all threads to stderr."""
    for pid in _marked(token):
        if pid != front and "python" in _read(f"/proc/{pid}/comm"):
            try:
                os.kill(pid, signal.SIGABRT)
            except ProcessLookupError:
                pass
    time.sleep(1.0)


def _where(pid, address):
    """The mapped file that holds an address, with the offset in it."""
    for line in _read(f"/proc/{pid}/maps", 1 << 24).splitlines():
        fields = line.split(None, 5)
        low, high = (int(x, 16) for x in fields[0].split("-"))
        if low <= address < high:
            name = fields[5] if len(fields) > 5 else "anonymous memory"
            return f"{name}+0x{address - low + int(fields[2], 16):x}"
    return f"0x{address:x}"


def _dump(token):
    """State of every thread of every process of the run, as far as /proc tells it."""
    lines = []
    for pid in _marked(token):
        command = _read(f"/proc/{pid}/cmdline").replace("\0", " ").strip()
        lines.append(f"process {pid}: {command}")
        try:
            threads = sorted(os.listdir(f"/proc/{pid}/task"), key=int)
        except OSError:
            continue
        for tid in threads:
            base = f"/proc/{pid}/task/{tid}"
            status = dict(
                line.split(":", 1) for line in _read(f"{base}/status").splitlines() if ":" in line
            )
            call = _read(f"{base}/syscall").split()
            place = _where(pid, int(call[-1], 16)) if len(call) > 2 else "?"
            lines.append(
                f"  thread {tid} {status.get('Name', '?').strip()}:"
                f" state {status.get('State', '?').strip()},"
                f" waits in {_read(f'{base}/wchan') or '?'},"
                f" syscall {call[0] if call else '?'} at {place},"
                f" switches {status.get('voluntary_ctxt_switches', '?').strip()}"
            )
            stack = _read(f"{base}/stack").splitlines()
            lines.extend(f"    {frame}" for frame in stack[:8])
    return "\n".join(lines)
