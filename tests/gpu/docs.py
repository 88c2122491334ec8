"""Runs the examples of the documents that need a GPU; see docs.sh."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A training step, where PyTorch is installed; else a program without CUDA, which cutap traces too.
TRAIN = """
try:
    import torch
    weight = torch.ones(8, 8, device="cuda", requires_grad=True)
    (weight @ weight).sum().backward()
    print(float(weight.grad.sum()))
except ImportError:
    print("no PyTorch")
"""


def examples(page):
    """The commands of the page's blocks `console exempt=gpu`, each with its line."""
    inside = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            inside = not inside and line.split()[:2] == ["```console", "exempt=gpu"]
        elif inside and line.startswith("$ "):
            yield number, line[2:]


def vector(folder):
    """Builds the program of the tutorial with the toolkit's static runtime."""
    nvcc = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    source = ROOT / "tests/programs/demo/vector.c"
    subprocess.run([nvcc, "-g", "-o", folder / "vector", source], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cutap", required=True)
    parser.add_argument("--program")
    words = parser.parse_args()
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        if words.program:
            shutil.copy(words.program, folder / "vector")
        else:
            vector(folder)
        shutil.copy(folder / "vector", folder / "app")
        (folder / "train.py").write_text(TRAIN)
        os.symlink(pathlib.Path(words.cutap).resolve(), folder / "cutap")
        environment = dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")
        for page in sorted(ROOT.glob("docs/tutorial/*.md")) + sorted(ROOT.glob("docs/how-to/*.md")):
            for number, command in examples(page):
                done = subprocess.run(
                    ["bash", "-c", command], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                )
                good = done.returncode == 0 and done.stdout.strip()
                failed += not good
                print(f"{'ok' if good else 'FAILED'}  {page.relative_to(ROOT)}:{number}  {command}")
                if not good:
                    print(done.stdout)
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
