"""Guards against molecule's traps: in each of them a scenario is green while nothing ran."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.support.lab.skips import LACKS
from tests.support.lab.topology import ROOT
from tests.unit.tree import SCENARIOS, load, relative

BASE = ROOT / ".config/molecule/config.yml"
# What molecule runs without a playbook of its own.
BUILT_IN = {"dependency", "syntax", "idempotence", "check"}


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(base)
    for key, value in over.items():
        old = both.get(key)
        both[key] = merged(old, value) if isinstance(old, dict) else value
    return both


def molecule_problems(config: Mapping[str, Any]) -> list[str]:
    """Why a scenario of this (merged) configuration might prove nothing."""
    problems = []
    playbooks = config["ansible"]["playbooks"]
    sequence = [action.split() for action in config["scenario"]["test_sequence"]]
    names = [action for action, *_ in sequence]
    for action, path in playbooks.items():
        file = Path(path.replace("${MOLECULE_PROJECT_DIRECTORY}", str(ROOT)))
        if not file.is_file():
            problems.append(f"{action}: there is no {path}")
        if action not in names:
            problems.append(f"{action}: its playbook never runs")
    testinfra = config.get("verifier", {}).get("name") == "testinfra"
    for action, *arguments in sequence:
        if action not in BUILT_IN | playbooks.keys() and not (action == "verify" and testinfra):
            problems.append(f"{action}: no base playbook, so it would be skipped")
        for argument in arguments:
            target = ROOT / argument
            if action == "verify" and testinfra and not any(target.glob("test_*.py")):
                problems.append(f"{action}: {argument} is no directory of tests")
            if not target.exists():
                problems.append(f"{action}: there is no {argument}")
    order = ["create", "check", "converge", "idempotence", "verify"]
    places = [names.index(name) for name in order if name in names]
    if len(places) < len(order) or places != sorted(places) or names[-1] != "destroy":
        problems.append(f"{names} does not go through {[*order, 'destroy']}, in this order")
    before = names[: names.index("check")] if "check" in names else []
    if set(before) - {"destroy", "create", "syntax"}:
        problems.append("check has to find fresh hosts")
    if testinfra and "ansible-inventory" not in config["verifier"].get("options", {}):
        problems.append("testinfra would see no hosts: set verifier.options.ansible-inventory")
    return problems


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_proves_something(name: str) -> None:
    config = load(ROOT / f"molecule/{name}/molecule.yml")
    assert config.get("scenario", {}).get("name", name) == name
    assert not molecule_problems(merged(load(BASE), config))


def test_every_topology_has_its_scenario() -> None:
    inventories = [path.parent for path in ROOT.glob("inventories/*/hosts.yml")]
    lab = {path.name for path in inventories if has_lab_image(path)}
    assert "default" in SCENARIOS
    assert set(SCENARIOS) <= {path.name for path in inventories}
    # One machine alone is the stage `machine`, whose minutes are counted.
    assert lab <= {*SCENARIOS, "vm"}


def has_lab_image(inventory: Path) -> bool:
    return any("lab_image:" in path.read_text() for path in inventory.rglob("*.yml"))


def test_molecule_runs_without_workers() -> None:
    callers = [ROOT / "lab", *ROOT.glob(".ci/*"), *ROOT.glob("tests/stages/*.py")]
    assert not [relative(path) for path in callers if "--workers" in path.read_text()]


# What a scenario may leave out


def reasons(tree: ast.AST) -> Iterator[str]:
    """Yield, as regular expressions, the plain texts of a source and its f-strings for `skip`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.escape(node.value)
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "pytest.skip":
            for text in node.args:
                if isinstance(text, ast.JoinedStr):
                    yield "".join(
                        re.escape(str(value.value)) if isinstance(value, ast.Constant) else ".*"
                        for value in text.values
                    )


@cache
def given_reasons() -> list[re.Pattern[str]]:
    """The reasons that the tests of hosts give, among all their texts."""
    folders = ("cluster", "delivery", "failover", "guide", "machines", "support", "upgrade")
    sources = [path for name in folders for path in ROOT.glob(f"tests/{name}/**/*.py")]
    texts = {text for path in sources for text in reasons(ast.parse(path.read_text()))}
    return [*map(re.compile, texts)]


@pytest.mark.parametrize("reason", LACKS)
def test_a_test_that_may_be_skipped_gives_that_reason(reason: str) -> None:
    shown = reason.replace(".*", "no route")
    assert any(pattern.fullmatch(shown) for pattern in given_reasons())


@pytest.mark.parametrize(
    ("reason", "is_given"),
    [("no Kafka here", True), ("none", True), ("a: b", False), ("no Kafka is here at all", False)],
)
def test_a_reason_that_nobody_gives_is_found(reason: str, is_given: bool) -> None:
    source = "pytest.skip(f'no {what} here'); return_ = 'none'; print(f'{one}: {other}')"
    assert any(re.fullmatch(text, reason) for text in reasons(ast.parse(source))) is is_given


# Every guard is able to fail

SEQUENCE = ["destroy", "create", "check", "converge", "idempotence", "verify", "destroy"]


def config(
    sequence: list[str] = SEQUENCE, verifier: Mapping[str, Any] | None = None, **playbooks: str
) -> dict[str, Any]:
    """A sound configuration, with changes."""
    site = "${MOLECULE_PROJECT_DIRECTORY}/playbooks/site.yml"
    actions = dict.fromkeys(["create", "converge", "verify", "destroy"], site) | playbooks
    return {
        "ansible": {"playbooks": actions},
        "scenario": {"test_sequence": sequence},
        "verifier": verifier or {"name": "ansible"},
    }


def test_a_sound_configuration_has_no_problem() -> None:
    assert not molecule_problems(config())


def changed(old: str, new: str) -> list[str]:
    return " ".join(SEQUENCE).replace(old, new, 1).split()


TESTINFRA = {"name": "testinfra", "options": {"ansible-inventory": "x"}}


@pytest.mark.parametrize(
    ("wrong", "expected"),
    [
        (config(verify="no.yml"), "verify: there is no no.yml"),
        (config(prepare="lab"), "prepare: its playbook never runs"),
        (config([*SEQUENCE[:2], "prepare", *SEQUENCE[2:]]), "prepare: no base playbook"),
        (config([*SEQUENCE[:-1], "side_effect lab", "destroy"]), "side_effect: no base playbook"),
        (
            config([*SEQUENCE[:-1], "side_effect no.yml", "destroy"], side_effect="lab"),
            "there is no no.yml",
        ),
        (
            config([*SEQUENCE[:-2], "verify roles", "destroy"], TESTINFRA),
            "roles is no directory of tests",
        ),
        (config(verifier={"name": "testinfra"}), "set verifier.options.ansible-inventory"),
        (config(changed("check converge", "converge check")), "check has to find fresh hosts"),
        (config(changed("check", "")), "does not go through"),
        (config(changed("idempotence", "")), "does not go through"),
        (config(changed("idempotence verify", "verify idempotence")), "does not go through"),
        (config(SEQUENCE[:-1]), "does not go through"),
    ],
)
def test_each_guard_finds_what_it_is_for(wrong: dict[str, Any], expected: str) -> None:
    assert [problem for problem in molecule_problems(wrong) if expected in problem], (
        molecule_problems(wrong)
    )


def test_a_scenarios_own_keys_are_judged_too() -> None:
    over = merged(config(), {"scenario": {"test_sequence": ["converge"]}})
    assert over["ansible"] == config()["ansible"]
    assert molecule_problems(over)
