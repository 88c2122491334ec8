"""26 million rows of a graph of 200 empty kernels: bad times, memory of the GPU, bytes of a row, and whether the
collector keeps up.
"""

import os
import re

import tools
from tools import build, result, say

SECONDS = tools.number("STRESS_SECONDS", 45)
REPLAYS = tools.number("STRESS_REPLAYS", 130_000)
NODES = 200
# The goal.
BYTES_OF_A_ROW = 12


def replayed(program, name, seconds, **variables):
    """Records the loop; its line, the rows, the file's bytes a row, and what could be wrong."""
    done = tools.record(name, [program, "stress", str(REPLAYS), str(seconds)], seconds + 90, **variables)
    said = re.search(r"(\d+) replays, (\d+) kernels in .*", done.out)
    if done.code != 0 or not said:
        result(False, "stress " + name, f"exit {done.code}: {done.last_error()}")
        return
    say("  program: " + said[0])
    kernels = int(said[2])
    rows = tools.rows(name, 150)
    size = os.path.getsize(tools.file_of(name))
    each = size / max(rows.all, 1)
    text = f"{rows.all} rows of {kernels} kernels, {each:.2f} bytes a row, dropped by CUPTI {rows.dropped}, "
    text += f"from start to file {done.seconds:.0f} s; {rows.text()}"
    result(rows.are_good(kernels) and each <= BYTES_OF_A_ROW, "stress " + name, text)
    if not os.environ.get("GPU_TIME_KEEP"):
        os.remove(tools.file_of(name))


def main():
    program = build("replay", "gpu_time_replay.cu")
    if not program:
        return
    say("  without cutap: " + tools.plain([program, "stress", str(REPLAYS), "5"]).out.strip())
    replayed(program, "replays", SECONDS)
    replayed(program, "buffers", SECONDS / 3, CUTAP_CUPTI_BUFFERS=8)


main()
