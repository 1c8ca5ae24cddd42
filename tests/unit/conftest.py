"""What unit tests of more than one folder share."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from ansible import constants
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# The same examples in every run, however busy the machine is.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture
def local_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which a run of Ansible keeps its state, one for each test."""
    place = tmp_path / "ansible-local"
    place.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(place))
    return place


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Spark in this process, once: a second session could not load the operators any more."""
    from pyspark.sql import SparkSession

    from flights.operators import compile_operators
    from flights.stream import CONF

    os.environ["PYSPARK_PYTHON"] = sys.executable  # for functions in Python
    jar = compile_operators(tmp_path_factory.mktemp("operators") / "operators.jar")
    builder = SparkSession.builder.master("local[2]").config(map=dict(CONF))
    builder = builder.config("spark.ui.enabled", "false").config("spark.driver.memory", "1g")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.jars", str(jar))
    builder = builder.config("spark.driver.host", "127.0.0.1")  # from where it loads that jar
    session = builder.config("spark.sql.shuffle.partitions", "1").getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()
