#!/usr/bin/env python3
"""Other projects' own tests on the simulated driver, each twice: under `cutap trace --sim`, and without cutap's preload.

    run.py cudarc --cutap PATH [--out DIR] [--only WORD]   the library tests of crate cudarc, one process a test
    run.py cupy   --cutap PATH [--out DIR] [--only WORD]   CuPy's tests/cupy_tests/cuda_tests, one process a file

Both need Python 3.10 or newer with pip; cudarc also needs cargo and gcc. What they fetch (5 GB, with NVIDIA's libraries of
CUDA 12.9) goes to $CUTAP_CACHE/suites, else to .cache/suites in the repository. No kernel runs, so some tests must
fail: expected.txt says which and why. The exit code is 0 if these fail and no others, and every test ends with and
without the preload alike; 1 if not; 3 if something could not be fetched.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
from pathlib import Path

CUDARC, CUPY = "0.19.10", "14.2.0"
FEATURES = ("std,driver,runtime,nvrtc,cublas,cublaslt,curand,cudnn,cufft,cusolver,cusolvermg,cusparse,nccl,cufile,nvtx,"
            "cupti,cutensor,f16,cuda-12090,dynamic-loading")
WHEELS = ["cuda-runtime-cu12==12.9.79", "cublas-cu12==12.9.3.13", "curand-cu12==10.3.10.19", "cudnn-cu12==9.28.0.42",
          "nccl-cu12==2.32.3", "cuda-nvrtc-cu12==12.9.86", "cufft-cu12==11.4.1.4", "cusolver-cu12==11.7.5.82",
          "cusparse-cu12==12.5.10.65", "nvjitlink-cu12==12.9.86", "cufile-cu12==1.14.1.1",
          "cuda-cupti-cu12==12.9.79", "nvtx-cu12==12.4.127"]  # the last version with libnvToolsExt
PYTHON = [f"cupy-cuda12x=={CUPY}", "numpy==2.4.6", "pytest==9.2.0"]
LIMIT = 300  # seconds a process
# libcufile reads this file to its end, which never comes on a kernel without modules
NO_MODULES = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
FILE *fopen(const char *path, const char *mode) {
    FILE *(*real)(const char *, const char *) = dlsym(RTLD_NEXT, "fopen");
    return real(strcmp(path, "/proc/modules") ? path : "/dev/null", mode);
}
FILE *fopen64(const char *path, const char *mode) { return fopen(path, mode); }
"""


def must(command, **how):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, **how)
    if done.returncode != 0:
        print(f"run.py: {shlex.join(map(str, command))} failed with {done.returncode}", file=sys.stderr)
        sys.exit(3)
    return done.stdout


def once(place, make):
    """A folder that `make` fills, aside, the first time."""
    if not place.is_dir():
        place.parent.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".fetch-", dir=place.parent))
        make(work)
        work.rename(place)
    return place


def packages(cache):
    def make(work):
        wanted = PYTHON + [f"nvidia-{w}" for w in WHEELS]
        must([sys.executable, "-m", "pip", "install", "-q", "--no-cache-dir", "--only-binary=:all:", "--target", work, *wanted])
        (work / "links").mkdir()
        for library in work.glob("nvidia/*/lib/lib*.so.*"):
            (work / "links" / (library.name.split(".so.")[0] + ".so")).symlink_to(f"../{library.relative_to(work)}")

    return once(cache / "packages-12.9", make)


def cudarc_tests(cache):
    """The program with the library's tests."""
    def make(work):
        (work / "lib.rs").touch()
        (work / "Cargo.toml").write_text('[package]\nname = "fetch"\nversion = "0.0.0"\nedition = "2021"\n[lib]\npath = "lib.rs"\n'
                                         f'[dependencies]\ncudarc = {{ version = "={CUDARC}", default-features = false, '
                                         'features = ["std", "driver", "cuda-12090", "dynamic-loading"] }\n[workspace]\nexclude = ["source"]\n')
        told = json.loads(must(["cargo", "metadata", "--format-version", "1"], cwd=work))
        found = [p["manifest_path"] for p in told["packages"] if p["name"] == "cudarc"]
        shutil.copytree(Path(found[0]).parent, work / "source")

    source = once(cache / f"cudarc-{CUDARC}", make) / "source"
    target = source.parent / "target"
    said = must(["cargo", "test", "--lib", "--no-run", "--message-format=json", "--no-default-features", "--features", FEATURES],
                cwd=source, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    built = [json.loads(line).get("executable") for line in said.splitlines() if line.startswith("{")]
    return next(b for b in built if b)


def cupy_tests(cache):
    """The folder `tests` of CuPy's source package, which no wheel has."""
    def make(work):
        must([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", "cupy", "-d", work, f"cupy=={CUPY}"],
             env={**os.environ, "CUPY_INSTALL_USE_STUB": "1"})  # its set-up looks for no CUDA then
        shutil.unpack_archive(work / f"cupy-{CUPY}.tar.gz", work)
        source = work / f"cupy-{CUPY}"
        for name in ("tests", "pyproject.toml"):  # without the package beside them, whose parts in C are not built
            (source / name).rename(work / name)
        shutil.rmtree(source)

    return once(cache / f"cupy-{CUPY}", make)


class Driver:
    """The simulated driver, with cutap's preload or without."""

    def __init__(self, cutap, packages, work):
        self.cutap, self.work = cutap, work
        said = must([cutap, "env", "--sim", "-o", work / "run"])
        simulated = re.search(r"LD_LIBRARY_PATH='([^']*)'", said)[1]
        libraries = ":".join([str(packages / "links"), *map(str, sorted(packages.glob("nvidia/*/lib")))])
        self.common = {**os.environ, "CUTAP_SIM_DEVICES": "4", "CUPY_TEST_GPU_LIMIT": "4", "CUTAP_SIM_REPORT": "1",
                       "PYTHONPATH": str(packages), "CUPY_CACHE_DIR": str(work / "kernels"), "LD_LIBRARY_PATH": libraries}
        self.alone = {**self.common, "LD_LIBRARY_PATH": f"{simulated}:{libraries}"}
        if not Path("/proc/modules").exists():
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", work / "modules.so", "-x", "c", "-"], input=NO_MODULES, text=True, check=True)
            self.common["LD_PRELOAD"] = self.alone["LD_PRELOAD"] = str(work / "modules.so")
        self.defaults = {}

    def run(self, command, traced):
        """Exit code (None: too long) and all that it said."""
        if traced:
            command = [self.cutap, "trace", "--sim", "-o", "/dev/null", "--", *command]
        with open(self.work / "said", "w+b") as said:
            child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, cwd=self.work,
                                     env=self.common if traced else self.alone, start_new_session=True)
            try:
                code = child.wait(LIMIT)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, 9)
                code = child.wait() and None
            said.seek(0)
            text = said.read().decode(errors="replace")
        for name, times in re.findall(r"\b(cu\w+) x(\d+)", "".join(re.findall(r"answered by default: .*", text))):
            self.defaults[name] = self.defaults.get(name, 0) + int(times)
        return code, text


def ended(code):
    return "hangs" if code is None else f"dies of signal {-code}" if code < 0 else f"ends with {code}"


def cudarc(driver, cache, only):
    program = cudarc_tests(cache)
    listed = must([program, "--list"], env=driver.alone)
    for name in (line[:-6] for line in listed.splitlines() if line.endswith(": test")):
        if only in name:
            results = []
            for traced in (True, False):
                # those that are ignored want a process of their own, which they have
                code, text = driver.run([program, "--include-ignored", "--exact", name], traced)
                end = re.search(r"^test result: (?:ok|FAILED)\. (\d) passed; (\d) failed", text, re.M)
                outcome = {("1", "0"): "passed", ("0", "1"): "failed"}.get(end and end.groups())
                results.append((outcome if outcome and code in (0, 101) else ended(code), text))
            yield name, *results


def cupy_file(driver, tests, file, traced):
    report = driver.work / "report.xml"
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--tb=short", "-c",
               str(tests / "pyproject.toml"), "--rootdir", str(tests), f"--junitxml={report}", str(file)]
    code, text = driver.run(command, traced)
    if code not in (0, 1) or not report.exists():
        return {file.stem: (ended(code), text)}
    results = {}
    for case in xml.parse(report).iter("testcase"):
        bad = [(child.tag, child.get("message", "")) for child in case if child.tag in ("failure", "error", "skipped")]
        outcome = {"failure": "failed", "error": "failed", "skipped": "skipped"}[bad[0][0]] if bad else "passed"
        name = case.get("classname").removeprefix("tests.cupy_tests.cuda_tests.") + "::" + case.get("name")
        results[name] = outcome, bad[0][1] if bad else ""
    return results


def cupy(driver, cache, only):
    tests = cupy_tests(cache)
    for file in sorted((tests / "tests/cupy_tests/cuda_tests").rglob("test_*.py")):
        if only in str(file):
            ways = [cupy_file(driver, tests, file, traced) for traced in (True, False)]
            for name in dict.fromkeys([*ways[0], *ways[1]]):
                yield name, *(way.get(name, ("missing", "")) for way in ways)


def expectations(suite):
    """(expression, class, sure, why) for each line."""
    found = []
    for line in (Path(__file__).parent / "expected.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            own, kind, pattern, why = re.fullmatch(r"(\w+) (\S+) (.*?)  +(.*)", line).groups()
            if own == suite:
                found.append((re.escape(pattern).replace(r"\*", ".*"), kind[0], "?" not in kind, why))
    return found


def expected(known, name):
    return next((k for k in known if re.fullmatch(k[0], name)), None)


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("suite", choices=["cudarc", "cupy"])
    words.add_argument("--cutap", required=True, type=Path)
    words.add_argument("--out", type=Path, help="a folder for what tests that did not pass said")
    words.add_argument("--only", default="", help="tests (cudarc) or files (CuPy) whose name has this")
    words = words.parse_args()
    root = Path(__file__).resolve().parents[2]
    cache = Path(os.environ.get("CUTAP_CACHE", root / ".cache")).resolve() / "suites"
    known, counts, wrong = expectations(words.suite), {}, []
    with tempfile.TemporaryDirectory(prefix="cutap-suites-") as work:
        driver = Driver(words.cutap.resolve(), packages(cache), Path(work))
        for name, (traced, said), (alone, _) in {"cudarc": cudarc, "cupy": cupy}[words.suite](driver, cache, words.only):
            entry = expected(known, name)
            good = traced in ("passed", "skipped")
            kind = traced if good else f"{entry[1]}" if entry else "?"
            counts[kind] = counts.get(kind, 0) + 1
            if traced != alone and not (entry and not entry[2]):
                wrong.append(f"{name}: {traced} traced, {alone} without the preload")
            if not good and not entry:
                wrong.append(f"{name}: {traced}, which is not expected")
            if good and entry and entry[2]:
                wrong.append(f"{name}: {traced}, which expected.txt does not expect ({entry[3]})")
            if words.out and not good:
                words.out.mkdir(parents=True, exist_ok=True)
                (words.out / (re.sub(r"\W+", "-", name)[:150] + ".txt")).write_text(f"{name}: {traced}\n\n{said}\n")
            print(f"{traced:8} {'' if good or not entry else entry[1]:2} {name}", flush=True)
    version = {"cudarc": f"cudarc {CUDARC}", "cupy": f"CuPy {CUPY}"}[words.suite]
    print(f"\n{version}: " + ", ".join(f"{n} {kind if len(kind) > 1 else 'not passed, class ' + kind}" for kind, n in sorted(counts.items(), key=lambda c: -c[1])))
    print("answered by default: " + (", ".join(f"{name} x{n}" for name, n in sorted(driver.defaults.items())) or "none"))
    print(*wrong or ["all as expected, with and without the preload"], sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
