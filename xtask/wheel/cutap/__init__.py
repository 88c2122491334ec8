"""cutap: strace, ltrace and policy for CUDA. `python -m cutap --help` lists the commands."""
import os
import shutil
import sys
import sysconfig

__version__ = "@VERSION@"


def program():
    """The path of the program `cutap` that came with this package."""
    package = os.path.dirname(os.path.abspath(__file__))
    user = os.name + "_user"
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", user) if user in sysconfig.get_scheme_names() else None,
        # pip install --target FOLDER
        os.path.join(os.path.dirname(package), "bin"),
        os.path.dirname(sys.executable),
    ]
    for folder in folders:
        path = folder and os.path.join(folder, "cutap")
        if path and os.access(path, os.X_OK):
            return path
    path = shutil.which("cutap")
    if path is None:
        raise FileNotFoundError("cutap: its program is not in " + ", ".join(f for f in folders if f)
                                + " and not on PATH; install the package cutap again")
    return path


def words_with_python(words):
    """The words of a command line. A Python file in the place of the program gets this Python in front of it."""
    for n, word in enumerate(words):
        if word.startswith("-"):
            continue
        if word.endswith(".py") and os.path.isfile(word):
            return words[:n] + [sys.executable] + words[n:]
        # The program, unless it is a command of cutap.
        if n > 0 and shutil.which(word):
            break
    return words
