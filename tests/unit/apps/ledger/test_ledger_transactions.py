"""The worker that consumes, transforms and produces, with a cluster in memory in place of Kafka."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from apps.ledger import run as running
from apps.ledger import transactions
from apps.ledger.exactly_once import unproven, violations
from apps.ledger.history import History, Run
from apps.ledger.journal import Journal, load
from apps.ledger.readers import read_all
from apps.ledger.transactions import Pipeline, Worker
from tests.unit.apps.ledger.ledger_cluster import MOST, Cluster

RUN = Run("r", "t", 2, 400, 0.0, 0.0)
OUTPUT = replace(RUN, topic="t-out")
INPUTS = 300


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transactions, "BACKOFF_SECONDS", 0.0)


def worked(cluster: Cluster, folder: Path, seconds: float = 10.0) -> History:
    """What the pipeline makes of an input that is complete."""
    for number in range(INPUTS):
        cluster.logs[number % 2].append(f"r/p1/{number % 2}/{number // 2}".encode())

    def journal(name: str, run: Run) -> Journal:
        return Journal(folder / f"{name}.jsonl", asdict(run))

    journal("producer", RUN).close()
    pipeline = Pipeline(cluster, RUN, OUTPUT, journal)  # type: ignore[arg-type]  # a stand-in
    ends = {0: INPUTS // 2, 1: INPUTS // 2}
    pipeline.start()
    pipeline.finish(ends, 5.0, seconds)
    for name in ("final-1", "final-2"):
        read_all(cluster, RUN, journal(name, RUN), ends, 1e12)  # type: ignore[arg-type]  # a stand-in
    return load(folder)


def endings(history: History) -> Counter[str]:
    assert history.output
    return Counter(transaction.ending for transaction in history.output.transactions)


def test_each_input_is_worked_off_once(tmp_path: Path) -> None:
    cluster = Cluster()
    history = worked(cluster, tmp_path)
    assert history.output
    assert violations(history) == []
    assert unproven(history.output) == []
    assert endings(history) == {"committed": 15, "aborted": 3}
    reads = {reader.name: len(reader.reads) for reader in history.output.readers}
    assert reads == {
        "output-live": 2 * INPUTS,
        "output-final-1": 2 * INPUTS,
        "output-final-2": 2 * INPUTS,
        "output-uncommitted": 2 * INPUTS + 3 * 2 * 2 * MOST,
    }
    assert all(len(reader.moments) == len(reader.reads) for reader in history.output.readers)
    assert all(reader.done for reader in history.output.readers)
    assert cluster.steps["init"] == cluster.steps["close"] == 1


def test_each_step_is_on_disk_before_it_happens(tmp_path: Path) -> None:
    missing: list[str] = []

    def check(step: str, _: int) -> None:
        due = {"begin": "begin", "commit": "commit"}.get(step)
        lines = (tmp_path / "transactions.jsonl").read_text().splitlines() if due else []
        if due and due not in json.loads(lines[-1]):
            missing.append(step)

    worked(Cluster(check), tmp_path)
    assert not missing


ERRORS: list[tuple[str, Exception, str]] = [
    ("init", errors.KafkaTimeoutError("no coordinator"), ""),
    ("poll", OSError("reset"), ""),
    ("begin", errors.KafkaError("in an error state"), "aborted"),
    ("send", errors.KafkaTimeoutError("expired"), "aborted"),
    ("offsets", errors.CommitFailedError("rebalanced"), "aborted"),
    ("abort", errors.KafkaTimeoutError("no answer"), "aborted"),
    # Before it was done, and after.
    ("commit", errors.KafkaTimeoutError("no answer"), "unknown"),
    ("committed", RuntimeError("more than one request in flight"), "unknown"),
    ("ask", errors.KafkaTimeoutError("no coordinator"), ""),
]


@pytest.mark.parametrize(("step", "error", "ending"), ERRORS, ids=[step for step, *_ in ERRORS])
def test_an_error_costs_a_producer_and_nothing_else(
    tmp_path: Path, step: str, error: Exception, ending: str
) -> None:
    def fail(name: str, number: int) -> None:
        if name == step and number == 2:
            raise error

    cluster = Cluster(fail)
    cluster.steps["init"] = step == "init"
    history = worked(cluster, tmp_path)
    assert history.output
    assert violations(history) == []
    assert history.output.done
    counts = endings(history)
    assert counts["committed"] == 15 - (step == "committed")
    assert counts["unknown"] == (ending == "unknown")
    assert cluster.steps["init"] == 2 + (step == "init")
    text = (tmp_path / "transactions.jsonl").read_text()
    assert text.count('"error"') == 1


def test_the_last_commit_may_be_done_without_an_answer(tmp_path: Path) -> None:
    """Nothing comes any more then; only the committed offsets show that all is done."""

    def fail(name: str, number: int) -> None:
        if name == "committed" and number == 15:
            raise errors.KafkaTimeoutError("no answer")  # noqa: TRY003 - as the client

    history = worked(Cluster(fail), tmp_path)
    assert history.output
    assert history.output.done
    assert endings(history) == {"committed": 14, "aborted": 3, "unknown": 1}
    assert violations(history) == []


def test_a_second_worker_fences_the_first(tmp_path: Path) -> None:
    cluster = Cluster()

    def steal(name: str, number: int) -> None:
        if name == "offsets" and number == 4:
            cluster.transactional("t-out")

    cluster.trouble = steal
    history = worked(cluster, tmp_path)
    assert violations(history) == []
    assert history.output
    assert history.output.done
    assert "ProducerFenced" in (tmp_path / "transactions.jsonl").read_text()


@pytest.mark.parametrize(
    ("bug", "pattern"),
    [
        ("torn", "records of transaction"),
        ("dirty", "aborted"),
        ("offsets are lost", r"([2-9]|\d\d) records of input"),
    ],
)
def test_what_a_cluster_does_wrong_is_found(tmp_path: Path, bug: str, pattern: str) -> None:
    cluster = Cluster()
    cluster.bug = bug
    history = worked(cluster, tmp_path, seconds=1.0)
    assert any(re.search(pattern, violation.what) for violation in violations(history))


def test_a_worker_that_does_not_get_on_ends_at_its_deadline(tmp_path: Path) -> None:
    def fail(name: str, _: int) -> None:
        if name == "commit":
            raise errors.KafkaTimeoutError("no answer")  # noqa: TRY003 - as the client

    history = worked(Cluster(fail), tmp_path, seconds=0.5)
    assert history.output
    assert violations(history) == []
    assert "the transactions did not reach the end of their input" in unproven(history.output)


# A complete run


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster()
    monkeypatch.setattr(running, "Clients", lambda *_: cluster)
    return cluster


def options(folder: Path) -> running.Options:
    connection = Connection(("h:1",))
    return running.Options(
        connection, folder, rate=400, expect_changes=False, transactions=True, max_seconds=1.5
    )


def test_a_run_with_transactions_judges_them_too(tmp_path: Path, cluster: Cluster) -> None:
    assert running.Ledger(options(tmp_path)).run() == 0
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["verdict"], report["violations"]) == ("PASS", [])
    counts = report["counts"]
    assert counts["read_by_output-live"] == 2 * counts["acked"]
    assert min(counts["committed"], counts["aborted"]) > 1
    status = json.loads((tmp_path / "status.json").read_text())
    assert status["transactions"]["committed"] == counts["committed"]
    assert not cluster.topics


def test_a_worker_that_dies_ends_the_run(
    tmp_path: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(name: str, number: int) -> None:
        if name == "offsets" and number == 3:
            raise AssertionError

    monkeypatch.setattr(threading, "excepthook", lambda _: None)
    monkeypatch.setattr(running, "READ_SECONDS", 0.5)
    cluster.trouble = die
    assert running.Ledger(replace(options(tmp_path), max_seconds=60)).run() == 2
    status = json.loads((tmp_path / "status.json").read_text())
    assert (status["reason"], status["verdict"]) == ("the transactions have died", "UNKNOWN")


def test_a_worker_needs_a_group_of_its_own() -> None:
    """Else the load's own group reader would share the partitions with it."""
    groups: list[str | None] = []

    class Asked(Cluster):
        def consumer(self, group: str | None = None, isolation: str = "read_uncommitted") -> Any:
            groups.append(group)
            assert isolation == "read_committed"
            return super().consumer(group, isolation)

    Worker(Asked(), RUN, OUTPUT, None)  # type: ignore[arg-type]  # a stand-in
    assert groups == ["t-out"]
