# Each table of a recording, as pyarrow, Polars, pandas and DuckDB read it and as the module has it itself.
# `tests/e2e/tests/python_module.rs` runs it: arrow.py RECORDING.
import gc
import sys
import threading

import cutap
import duckdb
import polars
import pyarrow
from cutap import arrow

run = cutap.open(sys.argv[1])
for name in cutap.TABLES:
    table = run.table(name)
    whole = table.to_arrow()
    whole.validate(full=True)
    frame = table.to_polars()
    assert whole.num_rows == len(table) == len(frame) == len(table.to_pandas()), name
    assert whole.column_names == table.column_names == frame.columns, name
    for theirs, own in zip(whole.drop_columns(["time"] if "time" in whole.column_names else []).to_pylist(), table):
        assert all(own[key] == value for key, value in theirs.items()), (name, theirs, own)
calls = run.calls()
for _ in range(100):
    calls.__arrow_c_stream__(), calls.__arrow_c_schema__()


def read():
    for _ in range(10):
        assert len(polars.DataFrame(calls)) == len(calls)


threads = [threading.Thread(target=read) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
whole = pyarrow.RecordBatchReader.from_stream(calls).read_all()
assert duckdb.from_arrow(whole).aggregate("count(*)").fetchall() == [(len(calls),)]
# A column outlives its table, and what nothing refers to is given back.
column = whole.column("function")
del whole, calls, table, frame
gc.collect()
assert column[0].as_py() == "cuInit" and arrow._alive
del column
gc.collect()
assert not arrow._alive, arrow._alive
print("ok")
