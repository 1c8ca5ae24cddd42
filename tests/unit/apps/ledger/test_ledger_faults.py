"""What a suite writes about its faults is taken as it is meant, or refused by the field's name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from apps.ledger import faults
from apps.ledger.journal import JournalError
from tests.unit.apps.ledger.faults_draft import KILL, failed, skipped, suite
from tests.unit.apps.ledger.ledger_draft import WALL

Document = dict[str, Any]


def change(*path: str | int, to: object) -> Callable[[Document], None]:
    def do(document: Document) -> None:
        target: Any = document
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = to

    return do


def drop(*path: str | int) -> Callable[[Document], None]:
    def do(document: Document) -> None:
        target: Any = document
        for step in path[:-1]:
            target = target[step]
        del target[path[-1]]

    return do


def fault(field: str, to: object) -> Callable[[Document], None]:
    return change("faults", 1, field, to=to)


REFUSED: list[tuple[Callable[[Document], None], str]] = [
    (drop("kafka"), "kafka"),
    (drop("machine", "cores"), "machine.cores"),
    (drop("faults", 1, "node"), "faults[1].node"),
    (change("host", to="h"), "host"),
    (fault("gap", 1), "faults[1].gap"),
    (change("machine", to=[]), "machine"),
    (change("faults", to={}), "faults"),
    (change("faults", 0, to="kill"), "faults[0]"),
    (change("suite", to="soak"), "suite"),
    (change("date", to="21.11.2026"), "date"),
    (change("kafka", to=4.3), "kafka"),
    (change("machine", "cores", to=2.5), "machine.cores"),
    (fault("number", True), "faults[1].number"),
    (fault("limit_seconds", "10"), "faults[1].limit_seconds"),
    (fault("limit_seconds", -1), "faults[1].limit_seconds"),
    (fault("longest_gap", float("nan")), "faults[1].longest_gap"),
    (fault("start", float("inf")), "faults[1].start"),
    (fault("name", ""), "faults[1].name"),
    (fault("verdict", "ok"), "faults[1].verdict"),
    (fault("verdict", []), "faults[1].verdict"),
    (fault("healed", WALL), "faults[1].healed"),
    (fault("healthy", WALL + 0.75), "faults[1].healthy"),
    (fault("start", None), "faults[1].start"),
    (fault("healthy", None), "faults[1].healthy"),
    (fault("proof", " "), "faults[1].proof"),
    (fault("limit_seconds", 1.4), "faults[1].recovery_seconds"),
    (fault("limit_seconds", 0), "faults[1].recovery_seconds"),
]


@pytest.mark.parametrize(("damage", "field"), REFUSED)
def test_what_does_not_fit_is_refused_by_its_field(
    tmp_path: Path, damage: Callable[[Document], None], field: str
) -> None:
    document = json.loads(json.dumps(asdict(suite(KILL, KILL))))
    damage(document)
    (tmp_path / "faults.json").write_text(json.dumps(document))
    with pytest.raises(JournalError) as refusal:
        faults.load(tmp_path)
    assert str(refusal.value).startswith(f"faults.json: {field}: ")


@pytest.mark.parametrize("text", ["{", "[]"])
def test_a_file_that_is_no_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "faults.json").write_text(text)
    with pytest.raises(JournalError, match=r"faults\.json"):
        faults.load(tmp_path)


def test_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"faults\.json"):
        faults.load(tmp_path)


def test_what_was_saved_is_loaded(tmp_path: Path) -> None:
    run = suite(KILL, failed(KILL, "no leader"), skipped(KILL))
    faults.save(run, tmp_path)
    assert faults.load(tmp_path) == replace(run, faults=list(run.faults))
    faults.save(suite(), tmp_path)
    assert not faults.load(tmp_path).faults


def test_what_does_not_fit_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match=r"faults\[0\]\.proof"):
        faults.save(suite(replace(KILL, proof="")), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_window_is_what_is_known_of_its_time() -> None:
    assert KILL.window() == (WALL + 0.5, WALL + 2.0)
    assert failed(replace(KILL, healthy=None), "").window() == (WALL + 0.5, WALL + 1.0)
    assert failed(replace(KILL, healthy=None, healed=None), "").window() == (WALL + 0.5, WALL + 0.5)
    assert skipped(KILL).window() is None
    assert replace(KILL, verdict="skipped").window() is None
