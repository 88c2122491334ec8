"""SHA256SUMS: the checksums of all packages in a folder."""
import hashlib
import os

PACKAGES = (".deb", ".tar.gz", ".whl")


def write(folder):
    lines = []
    for name in sorted(os.listdir(folder)):
        if name.endswith(PACKAGES):
            with open(os.path.join(folder, name), "rb") as file:
                lines.append(f"{hashlib.sha256(file.read()).hexdigest()}  {name}\n")
    with open(os.path.join(folder, "SHA256SUMS"), "w") as file:
        file.writelines(lines)
