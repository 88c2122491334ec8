"""SIGKILL in mid-training: all rows but those of the last 1.2 s are in the file."""

import os
import signal
import subprocess
import time

import tools
from tools import python, result

SECONDS = 4
NOT_DELIVERED_NS = 1_200_000_000


def killed():
    """Runs the loop and kills it; when that was, and the steps that the program printed."""
    command = [
        tools.CUTAP,
        "record",
        *tools.ENGINE,
        "--gpu-time",
        "-o",
        tools.file_of("kill"),
        "--",
        *python("gpu_time_kill.py"),
    ]
    tools.log("$ " + " ".join(command))
    os.makedirs(tools.WORK, exist_ok=True)
    steps, pid, at = [], 0, 0
    with open(os.path.join(tools.WORK, "kill.err"), "w", encoding="utf-8") as err:
        started = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True
        )
        tools.groups.add(started.pid)
        for line in started.stdout:
            words = line.split()
            if words[:1] == ["pid"]:
                pid = int(words[1])
            elif words[:1] == ["step"]:
                steps.append(int(words[2]))
                if steps[-1] - steps[0] > SECONDS * 1e9 and at == 0:
                    at = time.monotonic_ns()
                    os.kill(pid, signal.SIGKILL)
        code = started.wait(60)
    with open(os.path.join(tools.WORK, "kill.err"), encoding="utf-8") as err:
        tools.log(f"exit {code}\n" + err.read()[-2000:])
    return at, steps, code


def main():
    at, steps, code = killed()
    if not at:
        result(False, "kill", f"the program ended by itself, with {code} after {len(steps)} steps")
        return
    launches = with_row = old = old_without = 0
    newest_row = last_launch = 0
    for line in tools.lines_of(
        "show", "--json", "-e", "cuLaunchKernel*", tools.file_of("kill"), having=('"type":"row"', '"type":"call"')
    ):
        if line["type"] == "row":
            newest_row = max(newest_row, line["end_ns"] or 0)
            continue
        launches += 1
        last_launch = max(last_launch, line["start_ns"])
        has_row = line.get("gpu_rows", 0) > 0
        with_row += has_row
        if line["start_ns"] < at - NOT_DELIVERED_NS:
            old += 1
            old_without += not has_row
    text = f"{len(steps)} steps, {launches} launches recorded, {with_row} with a row; {old} launches are older than "
    text += f"1.2 s, {old_without} of them without a row; newest row {(at - newest_row) / 1e6:.0f} ms before the kill, "
    text += "newest launch "
    text += f"{(at - last_launch) / 1e6:.0f} ms; {tools.rows('kill').text()}"
    result(old > 1000 and old_without == 0, "kill", text)


main()
