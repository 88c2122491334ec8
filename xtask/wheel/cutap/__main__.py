"""`python -m cutap record train.py`: the same as `cutap record python train.py`, with this Python."""
import os
import sys

from . import program, words_with_python

RUNNERS = ("record", "trace", "run", "check")


def main():
    try:
        path = program()
    except FileNotFoundError as error:
        sys.exit(str(error))
    words = sys.argv[1:]
    if words[:1] == ["jupyter"]:
        from . import jupyter
        sys.exit(jupyter.main(words[1:]))
    if words and (words[0] in RUNNERS or words[0].endswith(".py")):
        words = words_with_python(words)
    os.execv(path, [path] + words)


if __name__ == "__main__":
    main()
