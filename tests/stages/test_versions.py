"""Every KRaft version on one host, one after the other, and the default from the archive."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.formats import key_table
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import (
    KAFKA,
    SPARK,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import (
    known_bad,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    cache_directory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.spark import (
    key_table as spark_key_table,
)

from tests.support.lab import archive
from tests.support.lab.lab import succeed
from tests.support.lab.topology import ROOT

pytestmark = pytest.mark.usefixtures("fetched_ahead")
LAB = {"LAB_TOPOLOGY": "single", "LAB_NAME": "test-versions"}
INVENTORY = ROOT / ".lab/test-versions/inventory"
CACHE = Path(cache_directory("")) / "artifacts"
STATIC = "4.0.2"
WITH_GUIDE = ("-e", '{"smoke_tests": ["tests/cluster", "tests/guide/test_clients.py"]}')
OTHERS = [version for version in KAFKA.supported if version != KAFKA.default]


def lab(*arguments: str, seconds: float) -> str:
    return succeed(*arguments, seconds=seconds, env=LAB)


def choose(**variables: Any) -> None:
    """Write variables into the lab's own inventory, where every play and test reads them."""
    holes = known_bad.holes("kafka", variables.get("kafka_version", KAFKA.default))
    variables["accepted_risks"] = {hole["id"]: "nobody else reaches the lab" for hole in holes}
    INVENTORY.mkdir(parents=True, exist_ok=True)
    (INVENTORY / "version.yml").write_text(yaml.safe_dump({"all": {"vars": variables}}))


def checksum(version: str) -> str:
    return (ROOT / f"artifacts/kafka/{version}/SHA256").read_text()[:12]


@pytest.fixture(scope="module")
def official(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """The default version's archive and its sha512; the cache forgets it afterwards."""
    version = KAFKA.default
    home = CACHE / f"kafka-{version}-{checksum(version)}.tar"
    if not home.is_file():
        command = [str(ROOT / "artifacts/pack"), "kafka", version, str(home)]
        subprocess.run(command, check=True, env={**os.environ, "PYTHON": sys.executable})
    path = tmp_path_factory.mktemp("mirror") / f"kafka_2.13-{version}.tgz"
    sha512 = archive.pack(home, version, path)
    yield path, sha512
    for cached in CACHE.glob(f"kafka-{version}-{sha512[:12]}.*"):
        cached.unlink()


@pytest.fixture(scope="module", autouse=True)
def a_host(official: tuple[Path, str]) -> Iterator[None]:
    """A host with Kafka from the archive: hosts, site and smoke, as `up` does them."""
    lab("down", seconds=120)
    path, sha512 = official
    with archive.serve(path.parent) as url:
        choose(
            kafka_distribution_source="archive",
            kafka_archive={"url": f"{url}/{path.name}", "sha512": sha512},
        )
        lab("up", seconds=600)
    yield
    lab("down", seconds=120)


@pytest.fixture
def nothing_stays() -> Iterator[None]:
    yield
    words = ("-e", "teardown_confirm=true", "-e", "kafka_remove_data=true")
    lab("run", "teardown", *words, seconds=120)


def kraft_version() -> str:
    """The finalized level: 0 is a static quorum, 1 a dynamic one (KIP-853)."""
    words = "--bootstrap-server $KAFKA_BOOTSTRAP --command-config $KAFKA_CLIENT_CONFIG describe"
    described = lab("ssh", "solo", f"sudo bash -lc 'kafka-features.sh {words}'", seconds=60)
    match = re.search(r"kraft\.version\s.*?FinalizedVersionLevel: (\d+)", described)
    assert match
    return match[1]


def installed() -> tuple[str, str]:
    """The home that the running node uses, and the version that its tools report."""
    home = lab("ssh", "solo", "basename $(readlink /opt/millrace/kafka)", seconds=30).strip()
    running = lab("ssh", "solo", "systemctl show -p ExecStart kafka", seconds=30)
    assert f"/{home}/libs/" in running
    return home, lab("ssh", "solo", "kafka-topics.sh --version", seconds=30).strip()


@pytest.mark.usefixtures("nothing_stays")
def test_archive(official: tuple[Path, str]) -> None:
    home, version = installed()
    assert home == f"kafka-{KAFKA.default}-{official[1][:12]}"
    assert version == KAFKA.default
    lab("run", "smoke", "-e", '{"smoke_tests": ["tests/guide/test_clients.py"]}', seconds=120)


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("version", OTHERS)
def test_version(version: str) -> None:
    # One of them as clusters were formatted before the quorum was dynamic.
    choose(kafka_version=version, kafka_quorum="static" if version == STATIC else "dynamic")
    lab("run", "site", seconds=300)
    lab("run", "smoke", *WITH_GUIDE, seconds=300)
    assert installed() == (f"kafka-{version}-{checksum(version)}", version)
    assert kraft_version() == ("0" if version == STATIC else "1")


@pytest.mark.parametrize("version", KAFKA.supported)
def test_key_table_is_what_the_binary_prints(version: str) -> None:
    table = key_table.TABLES / f"{version}.json"
    before = table.read_text()
    lab("keys", version, seconds=120)
    assert table.read_text() == before


@pytest.mark.parametrize("version", SPARK.supported)
def test_key_table_of_spark_is_what_the_binary_takes(version: str) -> None:
    table = spark_key_table.TABLES / f"{version}.json"
    before = table.read_text()
    lab("keys", "spark", version, seconds=300)
    assert table.read_text() == before
