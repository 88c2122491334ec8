"""A standalone cluster of Spark on 127.0.0.1, one master and two workers, and the questions asked of it.

Spark is `pyspark` of PyPI; it needs Java 17 (Debian's openjdk-17-jre-headless). The cluster's processes end with the
`with` block, whatever happens in it.
"""

import os
import re
import shutil
import socket
import subprocess
import time
from pathlib import Path

# Seconds in which the cluster has to come up on a machine that is busy.
PATIENCE = 300


def missing():
    """Why there is no Spark here; None if there is."""
    try:
        import pyspark  # noqa: F401
    except ImportError:
        return "the Python module pyspark is not installed"
    return None if shutil.which("java") else "there is no java: apt-get install openjdk-17-jre-headless"


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Cluster:
    """Has the address of the master as `url`."""

    def __init__(self, folder, workers=2):
        import pyspark

        self.folder, self.workers, self.running = Path(folder), workers, []
        self.home = Path(pyspark.__file__).parent
        self.url = f"spark://127.0.0.1:{free_port()}"
        self.environment = {**os.environ, "SPARK_HOME": str(self.home), "SPARK_LOCAL_IP": "127.0.0.1"}

    def start(self, name, *words):
        log = self.folder / f"{name}.log"
        with log.open("wb") as file:
            command = [str(self.home / "bin/spark-class"), f"org.apache.spark.deploy.{words[0]}", *words[1:]]
            # The script becomes the JVM, so that its process id is the one to end.
            process = subprocess.Popen(command, env=self.environment, stdout=file, stderr=subprocess.STDOUT)
        self.running.append((process, log))
        return process, log

    def wait_for(self, process, log, words):
        begun = time.monotonic()
        while words not in log.read_text(errors="replace"):
            assert process.poll() is None, f"Spark ended: {log.read_text(errors='replace')[-2000:]}"
            assert time.monotonic() - begun < PATIENCE, f"no '{words}' in {log}: {log.read_text(errors='replace')[-2000:]}"
            time.sleep(0.2)

    def __enter__(self):
        try:
            port = self.url.rsplit(":", 1)[1]
            host = ["--host", "127.0.0.1"]
            master = self.start("master", "master.Master", *host, "--port", port, "--webui-port", "0")
            self.wait_for(*master, "New state: ALIVE")
            place = ["--cores", "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(self.folder / "work")]
            workers = [self.start(f"worker{n}", "worker.Worker", *host, *place, self.url) for n in range(self.workers)]
            for worker in workers:
                self.wait_for(*worker, "Successfully registered with master")
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        for process, _ in reversed(self.running):
            process.terminate()
        for process, _ in reversed(self.running):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.running = []


def in_sparks_words(sql):
    """Spark's regexp_replace replaces all matches without being asked to."""
    return re.sub(r", 'g'\)", ")", sql)


def answers(cluster, folder, tables, views, questions):
    """The rows of each question, and the executors that answered."""
    from pyspark.sql import SparkSession

    os.environ.update(SPARK_HOME=str(cluster.home), SPARK_LOCAL_IP="127.0.0.1")
    session = (
        SparkSession.builder.master(cluster.url)
        .appName("cutap")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.sql.shuffle.partitions", "4")
        # No question is asked before both workers have an executor.
        .config("spark.scheduler.minRegisteredResourcesRatio", "1.0")
        .config("spark.scheduler.maxRegisteredResourcesWaitingTime", f"{PATIENCE}s")
        .getOrCreate()
    )
    try:
        session.sparkContext.setLogLevel("ERROR")
        for table in tables:
            session.read.parquet(f"file://{folder}/{table}").createOrReplaceTempView(table)
        for view in views:
            session.sql(in_sparks_words(view).replace("create view", "create or replace temporary view", 1))
        rows = [[tuple(row) for row in session.sql(in_sparks_words(sql)).collect()] for _, sql in questions]
        # The driver is among the block managers.
        executors = session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    finally:
        session.stop()
    return rows, executors
