"""The worked questions of `cutap query --list`, asked of cutap query, DuckDB and Polars: the answers are equal, and
equal to the numbers of `cutap report` where it has them.

usage: engines.py CUTAP FOLDER RUN...
FOLDER gets the tables. `cargo xtask test --large` starts this with recordings of the simulated driver.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import duckdb
import polars

# What Polars' SQL lacks, by the words in a query.
POLARS_LACKS = ("over (", "steps", "gaps")


def output(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def listed(cutap):
    """The SQL of the views, and the questions with theirs."""
    views, questions = [], []
    for block in output(cutap, "query", "--list").split("\n\n"):
        lines = block.strip().split("\n")
        if not lines[0].startswith("-- "):
            continue
        sql = "\n".join(lines[1:])
        if sql.startswith("create view"):
            views.append(sql)
        else:
            questions.append((lines[0][3:], sql))
    return views, questions


def rounded(rows):
    return [tuple(round(cell, 6) if isinstance(cell, float) else cell for cell in row) for row in rows]


def of_cutap(cutap, folder, sql):
    lines = output(cutap, "query", "--json", folder, sql).splitlines()
    return rounded(tuple(json.loads(line).values()) for line in lines)


def in_duckdb(folder, views):
    connection = duckdb.connect()
    for table in sorted(path.name for path in Path(folder).iterdir() if not path.name.startswith("_")):
        files = f"{folder}/{table}/*/*/*.parquet"
        connection.sql(f"create view {table} as select * from read_parquet('{files}', hive_partitioning = true)")
    for view in views:
        try:
            connection.sql(view)
        except duckdb.CatalogException:
            # The view reads the GPU's work, and no run has any.
            pass
    return connection


def in_polars(folder):
    context = polars.SQLContext()
    for table in (path for path in Path(folder).iterdir() if not path.name.startswith("_")):
        context.register(table.name, polars.scan_parquet(f"{table}/**/*.parquet", hive_partitioning=True))
    return context


def compare_with_report(cutap, folder, runs):
    """Calls and errors of each function, by the table of functions and by the report."""
    sql = "select function, sum(calls), sum(errors) from functions group by function"
    tables = {row[0]: row[1:] for row in of_cutap(cutap, folder, sql)}
    report = {}
    for run in runs:
        for row in csv.DictReader(io.StringIO(output(cutap, "report", "--csv", run))):
            calls, errors = report.get(row["name"], (0, 0))
            report[row["name"]] = (calls + int(row["calls"]), errors + int(row["errors"]))
    differing = {name: (tables.get(name), of) for name, of in report.items() if tables.get(name) != of}
    assert report and not differing, f"the report has other numbers: {differing}"
    return len(report)


def main():
    cutap, folder, runs = sys.argv[1], sys.argv[2], sys.argv[3:]
    subprocess.run([cutap, "export", "--parquet", folder, *runs], check=True, capture_output=True)
    views, questions = listed(cutap)
    assert len(questions) == 10, questions
    duck, polar = in_duckdb(folder, views), in_polars(folder)
    asked_of_polars = 0
    for text, sql in questions:
        expected = of_cutap(cutap, folder, sql)
        if not ("gaps" in sql and "gpu" not in [path.name for path in Path(folder).iterdir()]):
            assert rounded(duck.sql(sql).fetchall()) == expected, f"DuckDB: {text}"
        if not any(word in sql for word in POLARS_LACKS):
            assert rounded(polar.execute(sql, eager=True).rows()) == expected, f"Polars: {text}"
            asked_of_polars += 1
        print(f"{len(expected):4} rows  {text}")
    functions = compare_with_report(cutap, folder, runs)
    print(f"{asked_of_polars} of the questions by Polars too; {functions} functions as cutap report has them")


main()
