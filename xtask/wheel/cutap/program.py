"""Where the program `cutap` is that came with this package."""
import os
import shutil
import sys
import sysconfig


def program():
    """The path of the program `cutap` that came with this package."""
    given = os.environ.get("CUTAP_PROGRAM")
    if given:
        return given
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
