"""`python -m cutap jupyter install`: a kernel of Jupyter that starts under cutap."""
import json
import os
import sys

from .program import program

USAGE = "python -m cutap jupyter install [--prefix DIR] [--output DIR]: a kernel that starts under cutap"


def data_folder():
    """Where Jupyter looks for kernels of this user."""
    given = os.environ.get("JUPYTER_DATA_DIR")
    if given:
        return given
    home = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    return os.path.join(home, "jupyter")


def install(folder, output):
    """Writes the kernel spec; its path. Recordings of the kernel go to `output`."""
    place = os.path.join(folder, "kernels", "cutap")
    os.makedirs(place, exist_ok=True)
    recording = os.path.join(output, "notebook.%p.cutap")
    spec = {
        "argv": [program(), "record", "-q", "--force", "--python", "-o", recording, "--", sys.executable, "-m",
                 "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python under cutap", "language": "python", "metadata": {"debugger": True},
    }
    path = os.path.join(place, "kernel.json")
    with open(path, "w") as file:
        json.dump(spec, file, indent=1)
    return path


def main(words):
    """The command's exit status."""
    if words[:1] != ["install"]:
        print(USAGE, file=sys.stderr)
        return 0 if words in (["-h"], ["--help"]) else 2
    folder, output, rest = data_folder(), os.path.expanduser("~"), words[1:]
    while rest:
        flag, rest = rest[0], rest[1:]
        if flag in ("--prefix", "--output") and rest:
            if flag == "--prefix":
                folder = os.path.join(rest[0], "share", "jupyter")
            else:
                output = os.path.abspath(rest[0])
            rest = rest[1:]
        else:
            print(f"cutap: jupyter install does not know {flag}; {USAGE}", file=sys.stderr)
            return 2
    print(f"cutap: {install(folder, output)} is written; choose the kernel Python under cutap in Jupyter, "
          "and %load_ext cutap gives %%cutap")
    return 0
