"""Writes cutap as a Debian package and as a tarball: packages.py PROGRAM VERSION FOLDER. It prints their paths.

Both have the same tree: the program, its man pages, and completions for bash, zsh and fish. SHA256SUMS of the folder
has the checksums of all packages there. The same program and commit give the same bytes.
"""
import gzip
import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile

import elf
import sums

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMPLETIONS = {"bash": "share/bash-completion/completions/cutap", "zsh": "share/zsh/vendor-completions/_cutap",
               "fish": "share/fish/vendor_completions.d/cutap.fish"}
# Debian's packages with the libraries that the program may need. The first one has all of glibc.
LIBRARIES = {"libgcc_s.so.1": "libgcc-s1 | libgcc1"}
OF_GLIBC = ("libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
            "ld-linux-x86-64.so.2")
DESCRIPTION = """strace, ltrace and policy for CUDA
 cutap prints the CUDA calls of an unmodified program while it runs: toolkit
 libraries, runtime and driver, nested, with arguments, results and times. It
 also records them, finds likely problems, and can change or refuse calls."""
COPYRIGHT = """Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: cutap

Files: *
Copyright: the authors of cutap
License: Expat or Apache-2.0

License: Apache-2.0
 On Debian systems the text of the Apache License is in
 /usr/share/common-licenses/Apache-2.0.

License: Expat
"""


def tree(path):
    """Where the files of the package go below /usr, with their contents. The program itself writes most of them."""
    def says(*words):
        return subprocess.run([path, *words], stdout=subprocess.PIPE, check=True).stdout

    def packed(content):
        return gzip.compress(content, 9, mtime=0)

    def text(name):
        with open(os.path.join(ROOT, name), "rb") as file:
            return file.read()
    with open(path, "rb") as file:
        files = {"bin/cutap": file.read()}
    files.update((place, says("completions", shell)) for shell, place in COMPLETIONS.items())
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([path, "man", folder], stderr=subprocess.DEVNULL, check=True)
        for page in os.listdir(folder):
            with open(os.path.join(folder, page), "rb") as file:
                files[f"share/man/man1/{page}.gz"] = packed(file.read())
    lines = [f" {line}" if line else " ." for line in text("LICENSE-MIT").decode().splitlines()]
    files["share/doc/cutap/copyright"] = (COPYRIGHT + "\n".join(lines) + "\n").encode()
    files["share/doc/cutap/changelog.gz"] = packed(text("CHANGELOG.md"))
    return dict(sorted(files.items()))


def mode(place):
    return 0o755 if place.startswith("bin/") else 0o644


def depends(program):
    """What Debian must have for a program and the files inside it."""
    words = ["libc6 (>= {}.{})".format(*elf.newest_glibc(program))]
    for library in elf.needed(program):
        if library in LIBRARIES:
            words.append(LIBRARIES[library])
        elif library not in OF_GLIBC:
            sys.exit(f"the program needs {library}, and no package of Debian is known for it")
    return ", ".join(words)


def debian(files, version, target, when):
    """Writes a Debian package, by dpkg-deb."""
    with tempfile.TemporaryDirectory() as stage:
        os.chmod(stage, 0o755)
        size = sum(len(content) for content in files.values()) // 1024 + len(files)
        control = {"Package": "cutap", "Version": version, "Architecture": "amd64", "Section": "devel",
                   "Priority": "optional", "Maintainer": "the authors of cutap <cutap@localhost>",
                   "Depends": depends(files["bin/cutap"]), "Installed-Size": size, "Description": DESCRIPTION}
        digests = [f"{hashlib.md5(content).hexdigest()}  usr/{place}\n" for place, content in files.items()]
        staged = {f"usr/{place}": (content, mode(place)) for place, content in files.items()}
        staged["DEBIAN/control"] = "".join(f"{name}: {value}\n" for name, value in control.items()).encode(), 0o644
        staged["DEBIAN/md5sums"] = "".join(digests).encode(), 0o644
        for place, (content, bits) in staged.items():
            path = os.path.join(stage, place)
            os.makedirs(os.path.dirname(path), 0o755, exist_ok=True)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, bits)
        subprocess.run(["dpkg-deb", "--build", "--root-owner-group", "-Zxz", stage, target], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})


def tarball(files, folder, target, when):
    """Writes the same files below one folder."""
    with open(target, "wb") as out, gzip.GzipFile("", "wb", 9, out, when) as packed, \
            tarfile.open(fileobj=packed, mode="w") as archive:
        for place, content in files.items():
            entry = tarfile.TarInfo(f"{folder}/{place}")
            entry.size, entry.mode, entry.mtime = len(content), mode(place), when
            archive.addfile(entry, io.BytesIO(content))


def main(path, version, folder):
    os.umask(0o022)
    path = os.path.abspath(path)
    log = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%ct"], stdout=subprocess.PIPE)
    when = int(log.stdout.strip() or 0)
    os.makedirs(folder, exist_ok=True)
    files = tree(path)
    stem = f"cutap-{version}-x86_64-linux"
    archive = os.path.join(folder, f"{stem}.tar.gz")
    tarball(files, stem, archive, when)
    print(archive)
    package = os.path.join(folder, f"cutap_{version}_amd64.deb")
    debian(files, version, package, when)
    print(package)
    sums.write(folder)
    print(os.path.join(folder, "SHA256SUMS"))


if __name__ == "__main__":
    main(*sys.argv[1:])
