"""The origins of rows of graphs are the same if `cutap ctl PID off` covered the capture."""

import os
import signal
import subprocess
import time

import tools
from tools import python, result


def wait_for(path, started, seconds=60):
    end = time.monotonic() + seconds
    while not os.path.exists(path):
        if started.poll() is not None or time.monotonic() > end:
            return None
        time.sleep(0.02)
    with open(path, encoding="ascii") as file:
        return file.read().strip()


def decoded(name, is_switched):
    """Records the decode loop; with `is_switched`, recording is off while it captures."""
    folder = os.path.join(tools.WORK, "pause." + name)
    os.makedirs(folder)
    command = [
        tools.CUTAP,
        "record",
        *tools.ENGINE,
        "--gpu-time",
        "-o",
        tools.file_of(name),
        "--",
        *python("gpu_time_decode.py"),
    ]
    tools.log("$ " + " ".join(command))
    with open(os.path.join(folder, "out"), "w", encoding="utf-8") as out:
        started = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            env={**os.environ, "GPU_TIME_PAUSE": folder},
            start_new_session=True,
        )
        tools.groups.add(started.pid)
        for number, word in ((1, "off"), (2, "on")):
            pid = wait_for(f"{folder}/ready{number}", started)
            if pid is None:
                break
            if is_switched and tools.cutap("ctl", pid, word, limit=20).code != 0:
                tools.say(f"  cutap ctl {word} failed")
            # A thread sees the switch a little later than `ctl` ends.
            time.sleep(1 if is_switched else 0)
            with open(f"{folder}/go{number}", "w", encoding="ascii"):
                pass
        try:
            code = started.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(started.pid, signal.SIGKILL)
            code = None
    with open(os.path.join(folder, "out"), encoding="utf-8") as out:
        tools.log(f"exit {code}\n" + out.read()[-2000:])
    return code


def origins(name):
    """The calls of each node, by the order of the executable graphs."""
    found = {}
    graphs = tools.lines_of("report", "--graphs", "--json", tools.file_of(name), having=('"type":"gpu_graph"',))
    for number, graph in enumerate(sorted(graphs, key=lambda graph: graph["graph"])):
        for node in graph["nodes"]:
            found[number, node["node"]] = node["work"], tuple(node["path"] or ())
    return found


def calls(name):
    return sum(
        1 for _ in tools.lines_of("show", "--json", "-e", "driver:*", tools.file_of(name), having=('"type":"call"',))
    )


def main():
    codes = decoded("on", False), decoded("off", True)
    on, off = origins("on"), origins("off")
    without = [sum(not path for _, path in found.values()) for found in (on, off)]
    different = [node for node in on.keys() | off.keys() if on.get(node) != off.get(node)]
    text = f"exit {codes[0]} and {codes[1]}, {len(on)} nodes and with off {len(off)}, "
    text += f"without origin {without[0]} and {without[1]}, different {len(different)}; "
    text += f"calls recorded {calls('on')}, with off {calls('off')}; with off: {tools.rows('off').text()}"
    if different:
        node = min(different)
        text += f"; first: {node} {on.get(node)} {off.get(node)}"
    result(codes == (0, 0) and bool(on) and not different and without == [0, 0], "off", text)


main()
