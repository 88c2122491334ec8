"""Clocks of the SMs in a recording of a busy GPU, compared with those of nvidia-smi at the same time."""

import os
import shutil
import statistics
import subprocess
import threading
import time

import tools
from tools import result

SECONDS = int(os.environ.get("GPU_TIME_CLOCK_SECONDS", "10"))
QUERY = "uuid,clocks.sm,clocks.max.sm"
# The clocks of a GPU under load move by some steps of 15 MHz from one moment to the next.
NEAR = 0.05


class Asked:
    """What nvidia-smi says, about once a second, from now on."""

    def __init__(self):
        self.rows, self.is_over = [], threading.Event()
        self.thread = threading.Thread(target=self.ask, daemon=True)
        self.thread.start()

    def ask(self):
        command = ["nvidia-smi", "--query-gpu=" + QUERY, "--format=csv,noheader,nounits"]
        while not self.is_over.wait(1):
            begin = time.monotonic_ns()
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=20)
            for line in done.stdout.splitlines():
                words = [word.strip() for word in line.split(",")]
                if len(words) == 3 and words[1].isdigit() and words[2].isdigit():
                    self.rows.append((begin, words[0], int(words[1]), int(words[2])))

    def end(self):
        self.is_over.set()
        self.thread.join(25)
        return self.rows


def built():
    target = os.path.join(tools.WORK, "gpu_time_busy")
    done = tools.run(["gcc", "-O1", "-o", target, tools.program("gpu_time_busy.c"), "-ldl"], 60)
    return target if done.code == 0 else None


def main():
    program = built()
    if program is None:
        result(False, "clocks build", "gcc cannot build gpu_time_busy.c; the log has its words")
        return
    asked = Asked() if shutil.which("nvidia-smi") and not tools.ENGINE else None
    pause = ["2000"] if tools.ENGINE else []
    done = tools.record("clocks", [program, str(SECONDS), *pause], 45)
    said = asked.end() if asked else []
    samples = list(tools.lines_of("show", "--json", "-e", "cuInit", tools.file_of("clocks"), having=('"gpu_clock"',)))
    own = [of for of in samples if of["device"] == 0]
    text = f"exit {done.code}, {done.out.strip()}, samples {len(samples)}, of device 0 {len(own)}"
    is_good = done.code == 0 and len(own) >= SECONDS - 2
    result(is_good, "clocks are there", text if is_good else f"{text}; {done.last_error()}")
    if not own:
        return
    uuid, highest = own[0]["uuid"], own[0]["max_sm_mhz"]
    plausible = all(100 <= of["sm_mhz"] <= 4000 and of["sm_mhz"] <= (highest or 4000) * 1.02 for of in own)
    reasons_of = (["not known"] if of["reasons"] is None else of["reasons"] for of in own)
    reasons = sorted({reason for reasons in reasons_of for reason in reasons})
    one = own[len(own) // 2]
    about = f"{min(of['sm_mhz'] for of in own)} to {max(of['sm_mhz'] for of in own)} MHz of {highest}, {uuid}, "
    about += f"reasons {', '.join(reasons) or 'none'}, {one['celsius']} C, {one['milliwatts']} mW"
    result(plausible, "clocks are plausible", about)
    report = tools.cutap("report", "--by", "kernel", tools.file_of("clocks"))
    line = next((line for line in report.out.splitlines() if line.startswith("SM clocks at work: ")), "no line")
    notes = tools.cutap("report", "--notes", tools.file_of("clocks")).out.splitlines()
    notes = [line for line in notes if "SM clock" in line]
    tools.say(f"  {line}; notes: {'; '.join(notes) or 'none'}")
    if asked is None:
        result(None, "clocks as nvidia-smi", "there is no nvidia-smi, or this is the simulated driver")
        return
    at_work = [of for of in own if (of["busy_percent"] or 0) >= 50]
    result(len(at_work) >= SECONDS - 4, "clocks see the work", f"{len(at_work)} samples with 50 % or more of work")
    mine = [row for row in said if row[1] == uuid]
    if not at_work or not mine:
        text = f"{len(at_work)} samples at work, {len(mine)} answers of nvidia-smi for {uuid}"
        result(False, "clocks as nvidia-smi", text)
        return
    begin, end = at_work[0]["ns"], at_work[-1]["ns"]
    during = [row[2] for row in mine if begin <= row[0] <= end]
    ours = statistics.median(of["sm_mhz"] for of in at_work)
    theirs = statistics.median(during) if during else 0
    is_near = theirs > 0 and abs(ours - theirs) <= NEAR * theirs
    is_same_highest = {row[3] for row in mine} == {highest}
    text = f"median {ours:.0f} MHz, nvidia-smi {theirs:.0f} MHz of {len(during)} answers; highest {highest} and "
    text += ", ".join(str(mhz) for mhz in sorted({row[3] for row in mine}))
    result(is_near and is_same_highest, "clocks as nvidia-smi", text)


main()
