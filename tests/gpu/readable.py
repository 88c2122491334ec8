"""What a user of PyTorch sees first: lines of a training on a terminal, names of kernels, and the findings.

    tests/gpu/readable.py --cutap PATH --python PYTHON [--out DIR]

It records programs/demo_training.py, prints the recording on terminals of 120 and 200 columns, and counts lines, and
launch lines with and without the name of the kernel. `explain` and two reports follow. It also records a program that
waits for a long kernel and is killed, and prints what `explain` says of it. The output is Markdown."""

import argparse
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# A kernel of many seconds, and a wait for it.
HANG = """
import torch
x = torch.zeros(1, device="cuda")
torch.cuda._sleep(10**13)
print("waiting", flush=True)
torch.cuda.synchronize()
"""


def on_terminal(words, columns):
    """The output of a command on a terminal of this width, as lines without colours."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["PAGER"] = "cat"
        time.sleep(0.2)
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    output = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:
            break
        if not part:
            break
        output += part
    os.waitpid(pid, 0)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", output.decode(errors="replace"))
    return text.replace("\r", "").splitlines()


def main():
    parser = argparse.ArgumentParser()
    for flag in ("--cutap", "--python"):
        parser.add_argument(flag, required=True)
    parser.add_argument("--out", default=".")
    args = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="cutap-readable.")
    run = os.path.join(folder, "training.cutap")
    program = os.path.join(HERE, "programs/demo_training.py")
    subprocess.run([args.cutap, "record", "-q", "-o", run, "--", args.python, program], check=True)
    out = open(os.path.join(args.out, "readable.md"), "w")

    def write(text):
        print(text)
        print(text, file=out)

    def block(title, lines, most=200):
        write(f"\n## {title}\n\n```text\n" + "\n".join(line[:240] for line in lines[:most]) + "\n```")

    for columns in (120, 200):
        lines = on_terminal([args.cutap, "show", run], columns)
        launches = [line for line in lines if re.search(r"\bcu(da)?LaunchKernel\w*\b", line) and "}" not in line[:8]]
        named = [line for line in launches if "<<<" in line]
        wide = [line for line in lines if len(line) > columns]
        write(
            f"\n{columns} columns: {len(lines)} lines, {len(launches)} launch lines, {len(named)} with kernel and "
            f"configuration, {len(wide)} lines wider than the terminal"
        )
        if columns == 120:
            block("show, 120 columns", lines)
    for words in (["explain"], ["report", "--top", "10"], ["report", "--allocations"], ["report", "--by", "kernel", "--top", "5"]):
        block("cutap " + " ".join(words), on_terminal([args.cutap, *words, run], 120), 60)

    hang = os.path.join(folder, "hang.cutap")
    process = subprocess.Popen(
        [args.cutap, "record", "-q", "-o", hang, "--", args.python, "-c", HANG], stdout=subprocess.PIPE
    )
    process.stdout.readline()
    time.sleep(6)
    block("show of the recording while the program hangs, its end", on_terminal([args.cutap, "show", hang], 120)[-6:])
    block("ctl status", on_terminal([args.cutap, "ctl"], 120))
    subprocess.run(["pkill", "-KILL", "-f", "torch.cuda._sleep"], check=False)
    process.send_signal(signal.SIGTERM)
    process.wait()
    block("explain of a program that hung", on_terminal([args.cutap, "explain", hang], 120), 40)
    return 0


sys.exit(main())
