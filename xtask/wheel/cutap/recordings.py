"""Recordings as tables, findings and pictures."""
import builtins
import json
import os
import shutil
import subprocess
import sys

from . import arrow
from .program import program

TABLES = ("calls", "gpu", "functions", "kernels", "allocations", "errors", "collectives", "ranges", "processes",
          "threads", "notes")


class Error(RuntimeError):
    """What cutap could not do, in its own sentence."""


def _run(words, **more):
    done = subprocess.run([program(), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    # 1: something was found.
    if done.returncode not in (0, 1):
        raise Error(_sentence(done.stderr, done.returncode))
    return done.stdout


def _sentence(stderr, code):
    lines = stderr.decode(errors="replace").strip().splitlines()
    return "\n".join(lines) or f"cutap ended with exit code {code}"


def _json(words):
    return [json.loads(line) for line in _run(words).decode().splitlines() if line]


class Table:
    """A table of a recording. pandas, Polars, pyarrow and DuckDB read it by `__arrow_c_stream__`, without a copy."""

    def __init__(self, name, head, batches):
        self.name, self._batches = name, batches
        self._columns = [(column["name"], column["type"]) for column in head["columns"]]
        self._meanings = {column["name"]: column["meaning"] for column in head["columns"]}
        self.__doc__ = head.get("meaning")

    @property
    def column_names(self):
        """The names of its columns."""
        return [name for name, _ in self._columns]

    def meaning(self, column):
        """What a column is, with its unit."""
        return self._meanings[column]

    def __len__(self):
        return sum(batch.rows for batch in self._batches)

    def __repr__(self):
        return f"<cutap table {self.name}: {len(self)} rows, columns {', '.join(self.column_names)}>"

    def __getitem__(self, column):
        """All values of a column, as a list."""
        names = self.column_names
        if column not in names:
            raise KeyError(f"{self.name} has no column {column}; it has {', '.join(names)}")
        place = names.index(column)
        first, kind = sum(arrow.BUFFERS[kind] for _, kind in self._columns[:place]), self._columns[place][1]
        return [value for batch in self._batches for value in batch.values(first, kind)]

    def __iter__(self):
        """Rows as dictionaries."""
        names = self.column_names
        for batch in self._batches:
            columns, first = [], 0
            for _, kind in self._columns:
                columns.append(batch.values(first, kind))
                first += arrow.BUFFERS[kind]
            for row in zip(*columns):
                yield dict(zip(names, row))

    def __arrow_c_stream__(self, requested_schema=None):
        return arrow.stream_capsule(self)

    def __arrow_c_schema__(self):
        return arrow.schema_capsule(self)

    def to_arrow(self):
        """A `pyarrow.Table`."""
        import pyarrow
        return pyarrow.RecordBatchReader.from_stream(self).read_all()

    def to_pandas(self):
        """A `pandas.DataFrame`; it needs pyarrow."""
        return self.to_arrow().to_pandas()

    def to_polars(self):
        """A `polars.DataFrame`."""
        import polars
        return polars.DataFrame(self)


class Finding:
    """What `cutap explain` found: each field of its JSON line is an attribute."""

    def __init__(self, line):
        self._line = line

    def __getattr__(self, name):
        try:
            return self._line[name]
        except KeyError:
            raise AttributeError(f"a finding of type {self._line.get('type')} has no {name}; it has "
                                 + ", ".join(self._line)) from None

    def as_dict(self):
        """All fields."""
        return dict(self._line)

    def __repr__(self):
        return f"Finding({self._line!r})"


class Recording:
    """Recordings, run directories or processes by their PID; several are the ranks or processes of one job."""

    def __init__(self, paths):
        self.paths = [os.fspath(path) if not isinstance(path, int) else str(path) for path in paths]

    def __repr__(self):
        return f"cutap.open({', '.join(map(repr, self.paths))})"

    def table(self, name, filter=None):
        """A table by its name: `cutap.TABLES` has all. `filter` is that of `-e`."""
        words = [program(), "export", "--columns", name, *(["-e", filter] if filter else []), "--", *self.paths]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            head, batches, is_whole = arrow.read(child.stdout)
            stderr = child.stderr.read()
        if not is_whole:
            raise Error(_sentence(stderr, child.returncode))
        return Table(name, head, batches)

    def calls(self, filter=None):
        """Calls, with their arguments. `start_ns` and `duration_ns` are nanoseconds."""
        return self.table("calls", filter)

    def gpu(self, filter=None):
        """Kernels, copies and sets on the GPU, where they were recorded. Times are nanoseconds."""
        return self.table("gpu", filter)

    def functions(self, filter=None):
        """Sums of the calls of each function. Times are nanoseconds."""
        return self.table("functions", filter)

    def kernels(self, filter=None):
        """Sums of the launches of each kernel. Times are nanoseconds."""
        return self.table("kernels", filter)

    def allocations(self, filter=None):
        """Memory from the call that allocated it to the call that freed it; also blocks of PyTorch's pool. Bytes."""
        return self.table("allocations", filter)

    def errors(self, filter=None):
        """Calls that failed, by function and error."""
        return self.table("errors", filter)

    def collectives(self, filter=None):
        """Collectives of NCCL. Times are nanoseconds."""
        return self.table("collectives", filter)

    def ranges(self, filter=None):
        """Ranges and marks of NVTX. Times are nanoseconds."""
        return self.table("ranges", filter)

    def processes(self):
        """The processes of the run."""
        return self.table("processes")

    def threads(self):
        """Their threads."""
        return self.table("threads")

    def notes(self):
        """What the recording lacks, and why."""
        return self.table("notes")

    def report(self, *words):
        """The lines of `cutap report --json` with these flags, as dictionaries: `report("--leaks")`."""
        return [line for line in _json(["report", "--json", *words, "--", *self.paths]) if line.get("type") != "end"]

    def explain(self):
        """What `cutap explain` found. Times are nanoseconds, sizes bytes."""
        return [Finding(line) for line in _json(["explain", "--json", "--", *self.paths])]

    def query(self, sql):
        """Rows of `cutap query --json` as dictionaries. It needs the program cutap-query."""
        return _json(["query", "--json", *self.paths, sql])

    def view(self, path="cutap.html"):
        """Writes the picture of `cutap view`. In a notebook it is shown below the cell."""
        _run(["view", "-o", os.fspath(path), "--", *self.paths])
        return View(path)


class View:
    """A page of `cutap view`."""

    def __init__(self, path):
        self.path = os.fspath(path)

    def __repr__(self):
        return f"<cutap view {self.path}>"

    def _repr_html_(self):
        import html
        with builtins.open(self.path, encoding="utf-8") as file:
            page = html.escape(file.read(), quote=True)
        return f'<iframe srcdoc="{page}" width="100%" height="700" style="border:0"></iframe>'


def open(*paths):
    """Opens recordings, run directories or PIDs. Without one it is `run.cutap`."""
    if not paths:
        paths = ("run.cutap",)
    for path in paths:
        if not isinstance(path, int) and not os.path.exists(path):
            raise FileNotFoundError(f"{os.fspath(path)} is not there; cutap record writes recordings")
    return Recording(paths)


def is_recorded():
    """Whether this process runs under cutap."""
    try:
        with builtins.open("/proc/self/maps") as maps:
            return any("libcutap_preload" in line for line in maps)
    except OSError:
        return False


class recording:
    """`with cutap.recording():` records this block: cutap records from its beginning, and no call after its end.

    The program must run under cutap. `cutap record --delay 1000000 python train.py` records nothing before the block.
    """

    def __enter__(self):
        if not is_recorded():
            script = os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] not in ("", "-c") else "SCRIPT"
            raise Error("this process does not run under cutap, so no call can be recorded; start it with "
                        f"cutap record python {script}")
        _run(["ctl", str(os.getpid()), "on"])
        return self

    def __exit__(self, *_):
        _run(["ctl", str(os.getpid()), "off"])


def load_ipython_extension(ipython):
    """`%load_ext cutap`: `%%cutap` records the calls of a cell."""
    def cell(line, text):
        with recording():
            ipython.run_cell(text)
    ipython.register_magic_function(cell, "cell", "cutap")
