"""Each rule about hosts by one that it refuses and one that it lets pass."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.catalogue import RULES
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.engine import (
    errors,
    report_lines,
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
    return [" ".join(problem.lines()) for problem in problems(hosts) if problem.rule == rule]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.rule}: {case.parts[0][:40]}")
def test_rule(case: Case) -> None:
    lines = messages(case.rule, case.bad)
    assert len(lines) == 1
    assert [phrase for phrase in case.parts if phrase not in lines[0]] == [], lines[0]
    assert messages(case.rule, case.good) == []


def test_every_rule_has_a_case() -> None:
    assert {case.rule for case in CASES} == {rule.name for rule in RULES if not rule.on_cluster}


def test_a_good_host_has_no_problem() -> None:
    assert problems(host(exists=True, meta=meta(), software_javas={JAVA_17: "17.0.9"})) == []


def test_a_container_is_not_refused_for_its_machine() -> None:
    """The same limits, once a machine's own and once a container's."""
    limits: dict[str, Any] = {
        "system_open_files": 20_000,
        "clock_synchronised": False,
        "clock_offset": 9.0,
        "clock_service": "chrony",
        "system_absent_settings": {"vm.swapiness": "vm.swappiness"},
    }
    on_machine = problems(host(**limits))
    severities = sorted(problem.severity for problem in on_machine)
    assert severities == ["error", "error", "error", "warning"]
    contained = problems(host(**limits, **CONTAINER))
    assert [problem.severity for problem in contained] == ["warning"] * 4


def test_every_problem_is_reported_and_warnings_apart() -> None:
    reported = problems(
        host(meta=meta(cluster=OTHER_ID, node=9), names=("junk/",), system_systemd=False, mount="/")
    )
    lines = [line for _, line in report_lines(reported, "The hosts have", "nothing was changed")]
    text = "\n".join(lines)
    assert "4 problems" in lines[0]
    assert f"kafka_data_dirs, {DATA} of k1" in text
    assert [problem.rule for problem in warnings(reported)] == ["data-on-root"]
    assert len(warning_lines(reported)) == 1
    assert "data-on-root" not in text


def test_hosts_share_a_problem() -> None:
    disk = directory_at("/var/lib/kafka/data", exists=True, mount="/")
    reported = problems(
        inspected(Draft(), dict.fromkeys(("k1", "k2"), inspection_with(disks_directories=(disk,))))
    )
    [root] = [problem for problem in reported if problem.rule == "data-on-root"]
    assert root.hosts == ("k1", "k2")


def test_a_majority_counts_no_disk_that_is_yet_to_be_mounted() -> None:
    draft = Draft()
    mounted({"path": "/var/lib/kafka", "src": "/dev/sdb"})(draft)
    assert errors(problems(members(draft, k1=False, k2=True, k3=False))) == []


def test_the_metadata_directory_holds_the_quorum() -> None:
    draft = Draft().variable("kafka_metadata_dir", "/data/meta")
    inspections = {
        name: inspection_with(
            disks_directories=(
                directory_at("/var/lib/kafka/data", exists=True, elected=True),
                directory_at("/data/meta", exists=True, elected=name == "k2"),
            )
        )
        for name in ("k1", "k2", "k3")
    }
    [problem] = errors(problems(inspected(draft, inspections)))
    assert (problem.rule, problem.hosts) == ("majority-without-data", ("k1", "k3"))


def test_the_java_that_runs_is_the_one_found_else_the_one_to_be_installed() -> None:
    [installed] = host(software_javas={JAVA_17: "21.0.4"})
    [absent] = host()
    [old] = host(software_javas={JAVA_17: "1.8.0_392"})
    assert [java_version(node) for node in (installed, absent, old)] == [21, 17, 8]
