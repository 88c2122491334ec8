"""cutap: strace, ltrace and policy for CUDA. `python -m cutap --help` lists the commands.

    import cutap
    run = cutap.open("run.cutap")
    run.calls(filter="cuMem*").to_polars()

Times are nanoseconds and sizes bytes.
"""
import os
import shutil
import sys

from .program import program
from .recordings import TABLES, Error, Finding, Recording, Table, View, is_recorded, load_ipython_extension, open
from .recordings import recording

__version__ = "@VERSION@"
__all__ = ["TABLES", "Error", "Finding", "Recording", "Table", "View", "is_recorded", "load_ipython_extension", "open",
           "program", "recording", "words_with_python"]


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
