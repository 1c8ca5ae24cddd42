"""Each rule about hosts by one that it refuses and one that it lets pass."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    errors,
    report,
    warning_lines,
    warnings,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import (
    InspectedHost,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.system import java_version

from tests.unit.inspections import directory_at, inspection_with
from tests.unit.rules.draft import Draft
from tests.unit.rules.host_cases import CASES, JAVA_17, Case, members
from tests.unit.rules.host_draft import (
    CONTAINER,
    DATA,
    OTHER_ID,
    host,
    inspected,
    meta,
    mounted,
    problems,
)


def messages(rule: str, hosts: list[InspectedHost]) -> list[str]:
    """What a rule finds on hosts."""
    return [" ".join(one.lines()) for one in problems(hosts) if one.rule == rule]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.parts[0][:40]}")
def test_rule(case: Case) -> None:
    found = messages(case.rule, case.bad)
    assert len(found) == 1
    assert [part for part in case.parts if part not in found[0]] == [], found[0]
    assert messages(case.rule, case.good) == []


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == {one.name for one in RULES if not one.on_cluster}


def test_a_good_host_has_no_problem() -> None:
    assert problems(host(exists=True, meta=meta(), software_javas={JAVA_17: "17.0.9"})) == []


def test_a_container_is_not_refused_for_its_machine() -> None:
    """The same limits, once a machine's own and once a container's."""
    found: dict[str, Any] = {
        "system_open_files": 20_000,
        "clock_synchronised": False,
        "clock_offset": 9.0,
        "clock_service": "chrony",
        "system_absent_settings": {"vm.swapiness": "vm.swappiness"},
    }
    own = problems(host(**found))
    assert sorted(one.severity for one in own) == ["error", "error", "error", "warning"]
    contained = problems(host(**found, **CONTAINER))
    assert [one.severity for one in contained] == ["warning"] * 4


def test_every_problem_is_reported_and_warnings_apart() -> None:
    found = problems(
        host(meta=meta(cluster=OTHER_ID, node=9), names=("junk/",), system_systemd=False, mount="/")
    )
    text = report(found, "The hosts have", "nothing was changed")
    assert "4 problems" in text
    assert f"kafka_data_dirs, {DATA} of k1" in text
    assert [one.rule for one in warnings(found)] == ["data-on-root"]
    assert len(warning_lines(found)) == 1
    assert "data-on-root" not in text


def test_hosts_share_a_problem() -> None:
    disk = directory_at("/var/lib/kafka/data", exists=True, mount="/")
    found = problems(
        inspected(Draft(), dict.fromkeys(("k1", "k2"), inspection_with(disks_directories=(disk,))))
    )
    [root] = [one for one in found if one.rule == "data-on-root"]
    assert root.hosts == ("k1", "k2")


def test_a_majority_counts_no_disk_that_is_yet_to_be_mounted() -> None:
    draft = Draft()
    mounted({"path": "/var/lib/kafka", "src": "/dev/sdb"})(draft)
    assert errors(problems(members(draft, k1=False, k2=True, k3=False))) == []


def test_the_metadata_directory_holds_the_quorum() -> None:
    draft = Draft().variable("kafka_metadata_dir", "/data/meta")
    found = {
        name: inspection_with(
            disks_directories=(
                directory_at("/var/lib/kafka/data", exists=True, elected=True),
                directory_at("/data/meta", exists=True, elected=name == "k2"),
            )
        )
        for name in ("k1", "k2", "k3")
    }
    [problem] = errors(problems(inspected(draft, found)))
    assert (problem.rule, problem.hosts) == ("majority-without-data", ("k1", "k3"))


def test_the_java_that_runs_is_the_one_found_else_the_one_to_be_installed() -> None:
    [there] = host(software_javas={JAVA_17: "21.0.4"})
    [absent] = host()
    [old] = host(software_javas={JAVA_17: "1.8.0_392"})
    assert [java_version(one) for one in (there, absent, old)] == [21, 17, 8]
