"""What unit tests of more than one folder share."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pytest
from ansible import constants
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    cache_directory,
)
from hypothesis import HealthCheck, settings

from tests.support.lab.topology import ROOT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HERE = Path(__file__).parent
QUICK: Mapping[str, str] = {
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # For a minute and a few records, to compile expressions costs more than it brings.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # The default starts programs (readlink) for each file of a checkpoint.
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing"
        ".FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
}
"""What makes Spark quick for a unit test; the results are the same."""

# As on hosts, which have no compiled library.
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"

# The same examples in every run, however busy the machine is.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests on Spark first: one process starts it, and others run what is at the end."""
    items.sort(key=lambda item: not _starts_spark(item))


def _starts_spark(item: pytest.Item) -> bool:
    return item.path.is_relative_to(HERE) and "spark" in getattr(item, "fixturenames", ())


@pytest.fixture(autouse=True)
def forgotten_secrets() -> None:
    """Let Ansible forget the secrets of tests before: since 2.22 it masks them in all it shows."""
    with contextlib.suppress(ImportError):
        masker = import_module("ansible.module_utils.secrets")._secret_masker
        type(masker).__init__(masker)


@pytest.fixture
def local_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which a run of Ansible keeps its state, one for each test."""
    place = tmp_path / "ansible-local"
    place.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(place))
    return place


def avro() -> Path:
    """Fetch Spark's jar for Avro, which the pyspark package lacks, in the version of the recipe.

    Once: it is kept in the cache, and several runs may begin at the same time.
    """
    [recipe] = ROOT.glob("artifacts/spark/*/pom.xml")
    folder = Path(cache_directory("")) / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    jar = folder / f"spark-avro_2.13-{recipe.parent.name}.jar"
    with (folder / "lock").open("w") as lock, TemporaryDirectory(dir=folder) as place:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not jar.exists():
            copy = ["mvn", "-q", "-B", "-f", str(recipe), "dependency:copy-dependencies"]
            copy += ["-DincludeArtifactIds=spark-avro_2.13", f"-DoutputDirectory={place}"]
            subprocess.run(copy, check=True, stdout=subprocess.DEVNULL)
            (Path(place) / jar.name).rename(jar)
    return jar


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark in this process, once: a second session could not load the operators any more."""
    from pyspark.sql import SparkSession

    from flights.operators import compile_operators
    from flights.stream import CONF

    os.environ["PYSPARK_PYTHON"] = sys.executable  # for functions in Python
    # On a host the modules of a job lie beside those that jobs share, and are sent with them.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT / "spark"), str(ROOT / "spark/lib")])
    folder = tmp_path_factory.mktemp("jars")
    jars = f"{compile_operators(folder / 'operators.jar')},{avro()}"
    builder = SparkSession.builder.master("local[2]").config(map={**CONF, **QUICK})
    builder = builder.config("spark.driver.memory", "1g").config("spark.jars", jars)
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1")
    # From where it loads that jar.
    session = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
