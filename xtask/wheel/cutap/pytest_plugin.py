"""A plugin of pytest. `@pytest.mark.cutap(no_errors=True, max={"cudaMalloc": 3})` checks the calls of a test.

A marked test runs in a separate process under `cutap record`, so that calls of other tests neither count nor prepare
anything. The rules are those of `cutap check`, on the time of the test without its fixtures.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import pytest

from .program import program
from .recordings import Error, open as open_recording

SWITCHES = ("no_errors", "no_leaks", "no_sync")
COUNTS = {"max": "<=", "min": ">="}
LISTS = ("no_sync_in", "explain", "like", "rules")
# The file to which the process of a marked test writes its reports.
REPORTS = "CUTAP_PYTEST_REPORTS"
CHILD = "cutap-child"


def pytest_addoption(parser):
    group = parser.getgroup("cutap")
    group.addoption("--cutap-output", metavar="DIR", help="keep the recordings of these tests in DIR")


def pytest_configure(config):
    config.addinivalue_line("markers", "cutap(no_errors=True, no_leaks=True, no_sync=True, max={FILTER: N}, ...): rules "
                            "of cutap check on the calls of this test")
    # No other pytest that the test may start writes there.
    path = os.environ.pop(REPORTS, None)
    if path:
        config.pluginmanager.register(_Child(config, path), CHILD)


def rules(mark):
    """The words of `cutap check` for a mark."""
    words = []
    for name, value in mark.kwargs.items():
        flag = "--" + name.replace("_", "-")
        if name in SWITCHES and isinstance(value, (bool, str)):
            words += [flag if value is True else f"{flag}={value}"] if value else []
        elif name in COUNTS and isinstance(value, dict):
            words += [word for filter, limit in value.items() for word in (flag, f"{filter}{COUNTS[name]}{limit}")]
        elif name in LISTS and isinstance(value, (str, os.PathLike, list, tuple)):
            several = value if isinstance(value, (list, tuple)) else [value]
            words += [word for one in several for word in (flag, os.fspath(one))]
        else:
            raise ValueError(f"the mark cutap cannot take {name}={value!r}; it takes no_errors=True, no_leaks=True, "
                             "no_sync=True, max={FILTER: N}, min={FILTER: N}, no_sync_in=RANGE, explain=RULE, "
                             "like=FILE, rules=FILE")
    if mark.args:
        raise ValueError(f"the mark cutap takes names, and {mark.args[0]!r} has none: write no_errors=True")
    return words


class _Child:
    """In the process of a marked test: writes its reports, and when the test itself ran."""

    def __init__(self, config, path):
        self.config, self.path, self.times = config, path, None

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        begin = time.time_ns()
        yield
        self.times = [begin, time.time_ns()]

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report):
        data = self.config.hook.pytest_report_to_serializable(config=self.config, report=report)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps({"report": data, "times": self.times}) + "\n")


def pytest_runtest_protocol(item, nextitem):
    mark = item.get_closest_marker("cutap")
    if mark is None or item.config.pluginmanager.hasplugin(CHILD):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in _reports(item, mark):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _failure(item, text):
    return pytest.TestReport(item.nodeid, item.location, dict.fromkeys(item.keywords, 1), "failed", text, "call")


def _reports(item, mark):
    """The reports of a marked test. Rules that do not hold make its call fail."""
    given, folder = item.config.getoption("--cutap-output"), tempfile.mkdtemp(prefix="cutap-pytest-")
    recording = os.path.join(os.path.abspath(given or folder), re.sub(r"[^\w.-]+", "_", item.nodeid) + ".cutap")
    is_kept = bool(given)
    try:
        words = rules(mark)
        os.makedirs(os.path.dirname(recording), exist_ok=True)
        reports, times, text = _run(item, recording, os.path.join(folder, "reports"))
        if not any(report.when == "teardown" for report in reports):
            is_kept = True
            reports.append(_failure(item, f"the process of this test ended early; its calls are in {recording}\n{text}"))
        for report in reports:
            broken = report.when == "call" and report.passed and _check(words, recording, times)
            if broken:
                is_kept = True
                report.outcome, report.longrepr = "failed", f"{broken}\nthe calls are in {recording}"
        return reports
    except (ValueError, OSError, Error) as error:
        return [_failure(item, str(error))]
    finally:
        if given or not is_kept:
            shutil.rmtree(folder, ignore_errors=True)


def _run(item, recording, path):
    """Runs one test under `cutap record`: its reports, when it ran, and what it printed."""
    config = item.config
    flags = [str(word) for word in config.invocation_params.args]
    for path_of_all in reversed(config.option.file_or_dir):
        # The last such word: an earlier one may be the value of a flag.
        if path_of_all in flags:
            del flags[len(flags) - 1 - flags[::-1].index(path_of_all)]
    if config.pluginmanager.hasplugin("xdist"):
        flags += ["-n0"]
    record = [program(), "record", "-q", "--force", "--python", "-o", recording]
    # A cache of its own: what failed last is the business of the process that runs all.
    flags += [f"--rootdir={config.rootpath}", "-o", f"cache_dir={path}.cache"]
    test = [sys.executable, "-m", "pytest", *flags, f"{item.fspath}::{item.nodeid.split('::', 1)[1]}"]
    done = subprocess.run([*record, "--", *test], cwd=str(config.invocation_params.dir),
                          env={**os.environ, REPORTS: path}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    reports = [config.hook.pytest_report_from_serializable(config=config, data=line["report"]) for line in lines]
    for report in reports:
        # JSON has no tuples, and pytest asks for one: where and why a test was skipped.
        report.longrepr = tuple(report.longrepr) if isinstance(report.longrepr, list) else report.longrepr
    return reports, lines[-1]["times"] if lines else None, done.stdout.decode(errors="replace")


def _check(words, recording, times):
    """What `cutap check` says of rules that do not hold; nothing if all do."""
    start = min(process["time"] for process in open_recording(recording).processes()) * 1000
    window = [f"--{name}={max(moment - start, 0)}ns" for name, moment in zip(("from", "to"), times)]
    done = subprocess.run([program(), "check", *words, *window, recording], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, "GITHUB_ACTIONS": ""})
    return done.stdout.decode(errors="replace") if done.returncode else ""
