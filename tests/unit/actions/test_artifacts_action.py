"""Every distribution of the cluster is packed on the control node before a host is touched."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils import artifacts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    Distribution,
)

from tests.unit.in_process import AnsibleRun

pytestmark = pytest.mark.usefixtures("local_tmp")
HOSTS = """\
kafka_brokers: {hosts: {k1: {kafka_node_id: 1}, k2: {kafka_node_id: 2}}}
zookeeper: {hosts: {z1: {zookeeper_id: 1}}}
"""


@pytest.mark.parametrize("packed", [[], ["/cache/kafka.tar"]])
@pytest.mark.parametrize("check", [False, True])
def test_what_was_packed_is_reported(
    packed: list[str], check: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    products: list[str] = []

    def have(distributions: Iterable[Distribution], _: Any) -> list[str]:
        products.extend(distribution.product for distribution in distributions)
        return packed

    monkeypatch.setattr(artifacts, "have", have)
    (tmp_path / "hosts.yml").write_text(HOSTS)
    result = AnsibleRun(tmp_path / "hosts.yml").task("artifacts", "localhost", check=check)
    assert result == {"changed": bool(packed), "packed": packed, "boms": []}
    assert sorted(products) == ["kafka", "zookeeper"]


def test_the_packages_of_jobs_are_packed_when_they_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each set once, whatever the number of its jobs, and none of a job that is to go."""
    tarballs: list[str] = []

    def have(distributions: Iterable[Distribution], _: Any) -> list[str]:
        tarballs.extend(str(distribution.tarball) for distribution in distributions)
        return []

    monkeypatch.setattr(artifacts, "have", have)
    jobs = []
    for name, text in {"a": "one", "b": "one", "c": "two", "d": "three", "e": ""}.items():
        path = tmp_path / f"{text}.txt"
        path.write_text(text)
        state = "absent" if name == "d" else "present"
        needed = f", requirements: {path}" if text else ""
        jobs.append(f"{{name: {name}, source: {tmp_path}, state: {state}{needed}}}")
    (tmp_path / "hosts.yml").write_text(
        "spark_masters: {hosts: {m1: }}\n"
        f"all: {{vars: {{service_cache: {tmp_path}, spark_jobs: [{', '.join(jobs)}]}}}}\n"
    )
    AnsibleRun(tmp_path / "hosts.yml").task("artifacts", "localhost", jobs=True)
    assert len(tarballs) == len(set(tarballs)) == 2
    assert all("python-packages" in path for path in tarballs)
