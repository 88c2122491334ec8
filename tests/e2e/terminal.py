"""Types into an interactive shell on a terminal and prints what could be seen; the test compares with and without cutap.

    terminal.py COMMAND    Ctrl-Z, fg, Ctrl-C, then the exit code; COMMAND prints "waiting" and then waits
"""
import os
import pty
import select
import signal
import sys
import time

command = sys.argv[1]
shell, terminal = pty.fork()
if shell == 0:
    # What runs in the background of a shell ignores Ctrl-C, and so does what it starts.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    os.environ.update(PS1="", TERM="dumb", NO_COLOR="1")
    os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])

seen = ""


def until(text, seconds=20):
    """Reads until the text has come since the last call."""
    global seen
    end = time.time() + seconds
    while text not in seen:
        if not select.select([terminal], [], [], max(0, end - time.time()))[0]:
            sys.exit(f"{text!r} did not come; the terminal shows:\n{seen}")
        seen += os.read(terminal, 4096).decode(errors="replace")
    seen = seen.split(text, 1)[1]
    print(text)


def type_in(keys):
    os.write(terminal, keys.encode())


type_in("stty -echo\n")
time.sleep(0.3)
type_in(command + "\n")
until("waiting")
time.sleep(0.2)
type_in("\x1a")
until("Stopped")
type_in('echo "stopped $(jobs -s | wc -l)"\n')
until("stopped 1")
type_in("fg >/dev/null\n")
time.sleep(0.3)
type_in("\x03")
type_in('echo "code $?"\n')
until("code 130")
type_in('echo "left $(jobs | wc -l)"\n')
until("left 0")
type_in("exit\n")
