"""The worked questions of `cutap query --list`, asked of cutap query, DuckDB, Polars, pyarrow and Spark: the answers are
equal, and equal to the numbers of `cutap report` where it has them.

usage: engines.py CUTAP FOLDER RUN...
FOLDER gets the tables. `cargo xtask test --large` starts this with recordings of `steps.py` on the simulated driver.
"""

import csv
import io
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import polars
import spark
import with_pyarrow

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


def table_names(folder):
    return sorted(path.name for path in Path(folder).iterdir() if not path.name.startswith("_"))


def in_duckdb(folder, views):
    connection = duckdb.connect()
    for table in table_names(folder):
        files = f"{folder}/{table}/*/*/*.parquet"
        connection.sql(f"create view {table} as select * from read_parquet('{files}', hive_partitioning = true)")
    for view in views:
        connection.sql(view)
    return connection


def in_polars(folder):
    context = polars.SQLContext()
    for table in table_names(folder):
        files = f"{folder}/{table}/**/*.parquet"
        context.register(table, polars.scan_parquet(files, hive_partitioning=True))
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


def compare_with_spark(folder, views, questions, expected):
    """Says why, where there is no Spark."""
    why = spark.missing()
    if why:
        print(f"skipped: Spark is not asked, because {why}")
        return
    with tempfile.TemporaryDirectory() as logs, spark.Cluster(logs) as cluster:
        answers, executors = spark.answers(cluster, folder, table_names(folder), views, questions)
    for (text, _), answer, rows in zip(questions, answers, expected):
        assert rounded(answer) == rows, f"Spark: {text}\n{rounded(answer)}\n{rows}"
    assert executors == 2, f"{executors} executors answered, not those of both workers"
    print(f"{len(questions)} of the questions by Spark too, on {executors} executors of a standalone cluster")


def main():
    cutap, folder, runs = sys.argv[1], str(Path(sys.argv[2]).absolute()), sys.argv[3:]
    subprocess.run([cutap, "export", "--parquet", folder, *runs], check=True, capture_output=True)
    views, questions = listed(cutap)
    assert len(questions) == len(with_pyarrow.QUESTIONS) == 10, questions
    duck, polar = in_duckdb(folder, views), in_polars(folder)
    asked_of_polars, answers = 0, []
    for (text, sql), by_pyarrow in zip(questions, with_pyarrow.QUESTIONS):
        expected = of_cutap(cutap, folder, sql)
        assert expected, f"no recording has an answer: {text}"
        answers.append(expected)
        of_duckdb = rounded(duck.sql(sql).fetchall())
        assert of_duckdb == expected, f"DuckDB: {text}\n{of_duckdb}\n{expected}"
        if not any(word in sql for word in POLARS_LACKS):
            of_polars = rounded(polar.execute(sql, eager=True).rows())
            assert of_polars == expected, f"Polars: {text}\n{of_polars}\n{expected}"
            asked_of_polars += 1
        of_pyarrow = rounded(by_pyarrow(folder))
        assert of_pyarrow == expected, f"pyarrow: {text}\n{of_pyarrow}\n{expected}"
        print(f"{len(expected):4} rows  {text}")
    print(f"all of the questions by DuckDB and pyarrow too, {asked_of_polars} of them by Polars")
    compare_with_spark(folder, views, questions, answers)
    print(f"{compare_with_report(cutap, folder, runs)} functions as cutap report has them")


main()
