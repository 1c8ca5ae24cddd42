"""Each check of the preflight by a host that it refuses and one that it lets pass."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils import (
    preflight_judge,
    preflight_system,
)
from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    Clock,
    Host,
    Snapshot,
    Wish,
)
from ansible_collections.millrace.streaming.plugins.module_utils.preflight_judge import CHECKS

from plugins.action.preflight import clock_offset, pem_stores, shared
from tests.unit.preflight_cases import (
    CASES,
    CONTAINER,
    DATA,
    KAFKA,
    OPENJDK,
    OTHER,
    SPARK,
    Case,
    host,
    meta,
)
from tests.unit.preflight_cases_versions import VERSION_CASES

ALL_CASES = [*CASES, *VERSION_CASES]


def told(name: str, one: Host) -> list[str]:
    """What a check says of a host."""
    return [f"{p.what} {p.fix}" for p in preflight_judge.judge(one) if p.check == name]


@pytest.mark.parametrize(
    "case", [*CASES, *VERSION_CASES], ids=lambda case: f"{case.check}: {case.says[:40]}"
)
def test_check(case: Case) -> None:
    found = told(case.check, case.bad)
    assert len(found) == 1
    assert case.says in found[0]
    assert told(case.check, case.good) == []


def test_every_check_has_a_case() -> None:
    assert {case.check for case in ALL_CASES} == {one.name for one in CHECKS}
    assert len(CHECKS) > 25


def test_a_good_host_has_no_problem() -> None:
    assert preflight_judge.judge(host(exists=True, meta=meta(), codename="bookworm")) == []


def test_a_container_is_not_refused_for_its_machine() -> None:
    """The same limits, once a machine's own and once a container's."""
    found = {"open_files": 20_000, "clock": Clock(False, "chrony", 9.0)}
    time = {"time_service": "chrony"}
    own = preflight_judge.judge(host(host=time, **found))
    assert [problem.severity for problem in own] == ["error", "error", "warning"]
    contained = preflight_judge.judge(host(host=time, **found, **CONTAINER))
    assert [problem.severity for problem in contained] == ["warning"] * 3


def test_the_report_has_every_problem_of_the_host() -> None:
    bad = host(meta=meta(cluster=OTHER, node=9), names=("junk/",), systemd=False, mount="/")
    text = preflight_judge.report(preflight_judge.judge(bad))
    assert text.startswith("The host has 4 problems; nothing was changed.")
    for number in range(1, 5):
        assert f"\n{number}. " in text
    assert "[foreign-directory]\n   where: kafka_data_dirs, /data/kafka\n   why:   " in text
    assert text.endswith("is on the root file system. Give it a disk of its own (host_mounts). "
                         "[data-on-root]")  # fmt: skip


def test_hosts_share_a_warning_and_different_javas_are_named() -> None:
    warned = [problem.as_dict() for problem in preflight_judge.judge(host(mount="/"))]
    results: dict[str, dict[str, Any]] = {
        "k1": {"java": 17, "problems": warned},
        "k2": {"java": 21, "problems": warned},
        "k3": {"java": 17, "problems": []},
        "k4": {"java": None},
    }
    first, second = preflight_judge.summary(results)
    assert first.startswith(f"k1 and k2: {DATA} is on the root file system.")
    assert second.startswith("Java 17 on k1 and k3 and Java 21 on k2")
    assert preflight_judge.summary({"k3": results["k3"]}) == []


def test_the_clock_is_off_by_what_the_way_cannot_explain() -> None:
    assert clock_offset(100.0, 101.0, 102.0) == 0
    assert clock_offset(100.0, 99.0, 102.0) == -1
    assert clock_offset(100.0, 104.5, 102.0) == 2.5


def test_pem_stores_of_all_listeners_are_found() -> None:
    config = {
        "ssl.keystore.location": "/a.pem",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": "/b.jks",
        "listener.name.client.ssl.truststore.location": "/c.pem",
        "listener.name.client.ssl.truststore.type": "PEM",
    }
    assert pem_stores(config) == {"/a.pem": True, "/c.pem": False}


def test_others_reach_the_roles_that_several_hosts_have() -> None:
    groups = {"all": ["a", "b"], "zookeeper": ["a"], "spark_masters": ["a"], "spark_workers": ["b"]}
    assert shared(groups, "a") == ("kafka", "spark")
    assert shared({"all": ["a"], "zookeeper": ["a"]}, "a") == ()


def test_ports_homes_and_directories_come_from_the_descriptions() -> None:
    wish = Wish(kafka={**KAFKA, "metadata_dir": DATA}, spark={**SPARK, "data_dirs": ["/srv"]})
    assert wish.data_dirs() == [("kafka_data_dirs", DATA), ("spark_shared_dir", "/srv")]
    assert wish.ports() == {9092: "kafka_listeners (CLIENT)", 7077: "spark_master_port"}
    assert wish.homes() == {"kafka": "/opt/millrace/kafka-4"}
    assert preflight_system.java_major(Host(wish, Snapshot(java=OPENJDK))) == 17
