"""How a running broker gets the keys of its file, against a broker that validates as Kafka does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import dynamic_record, retry
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import configs, features
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.configs import Setting
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.snapshot import MIN_ISR
from ansible_collections.millrace.streaming.plugins.module_utils.operations import dynamic_config
from ansible_collections.millrace.streaming.plugins.module_utils.operations.dynamic_config import (
    Plan,
)
from ansible_collections.millrace.streaming.plugins.modules import kafka_dynamic_config
from ansible_collections.millrace.streaming.plugins.modules.kafka_dynamic_config import Run

from tests.unit.in_process import call_module
from tests.unit.module_runner import run_module, unreachable

THREADS, RATIO, LISTS = "num.io.threads", "log.cleaner.min.cleanable.ratio", "log.cleanup.policy"
RETENTION = "log.retention.ms"
KINDS = {THREADS: "INT", RATIO: "DOUBLE", LISTS: "LIST", RETENTION: "LONG", MIN_ISR: "INT"}
DEFAULTS = {THREADS: "8", RATIO: "0.5", LISTS: "delete", MIN_ISR: "1"}


@dataclass
class FakeBroker:
    """A broker with its static and its dynamic configuration."""

    static: dict[str, str] = field(default_factory=dict)
    """Its file as it started."""
    entries: dict[str, str] = field(default_factory=dict)
    """Its own dynamic entries."""
    of_all: dict[str, str] = field(default_factory=dict)
    """The dynamic entries of the cluster."""
    elr: bool = False
    writes: list[tuple[bool, dict[str, str | None]]] = field(default_factory=list)
    """The changes it took, with whether they were for the whole cluster."""

    def has_elr(self) -> bool:
        return self.elr

    def read(self, keys: list[str]) -> Mapping[str, Setting]:
        return {key: configs.setting(key, self.describe(key)) for key in keys if key in KINDS}

    def describe(self, key: str) -> Any:
        """As kafka-python gives it."""
        layers = {
            "DYNAMIC_BROKER_CONFIG": self.entries,
            "DYNAMIC_DEFAULT_BROKER_CONFIG": self.of_all,
            "STATIC_BROKER_CONFIG": self.static,
            "DEFAULT_CONFIG": DEFAULTS,
        }
        synonyms = [
            {"name": key, "value": layer[key], "source": source}
            for source, layer in layers.items()
            if key in layer
        ]
        if key == RETENTION:
            source = "STATIC_BROKER_CONFIG"
            synonyms.append({"name": "log.retention.hours", "value": "168", "source": source})
        value = synonyms[0]["value"] if synonyms and synonyms[0]["name"] == key else None
        return {"value": value, "config_type": KINDS[key], "synonyms": synonyms}

    def alter(
        self, changes: Mapping[str, str | None], *, cluster_wide: bool, validate_only: bool
    ) -> str:
        for key, value in changes.items():
            if value in ("bad", "666"):
                return f"Invalid value {value} for configuration {key}"
            if key == THREADS:
                below = self.of_all.get(key) or self.static.get(key) or DEFAULTS[key]
                now, then = int(self.entries.get(key) or below), int(value or below)
                if then > 2 * now:
                    return "value should not be greater than double the current value"
                if then < now // 2:
                    return "value should be at least half the current value"
        if not validate_only:
            self.writes.append((cluster_wide, dict(changes)))
            target = self.of_all if cluster_wide else self.entries
            for key, value in changes.items():
                target.pop(key, None)
                target.update({} if value is None else {key: value})
        return ""

    def restart(self, text: Mapping[str, str]) -> None:
        self.static = dict(text)


class Failed(Exception):
    """The module has failed; `changed` as it says."""

    changed = False


def fail(*, msg: str, changed: bool = False) -> None:
    error = Failed(msg)
    error.changed = changed
    raise error


class Host:
    """A host whose file the module applies to its broker."""

    def __init__(self, path: Path, broker: FakeBroker) -> None:
        self.broker, self.record, self.mark = broker, path / "keep/dynamic.json", path / "run/mark"
        self.file, self.keys = path / "server.properties", [*KINDS, "not.known"]
        self.mark.parent.mkdir()
        self.previous = path / "previous.json"

    def run(self, *lines: str, check: bool = False, cluster_wide: bool = False) -> Any:
        """Run the module with these lines in the file, which check mode has not written."""
        text = "\n".join(lines)
        if not check:
            self.file.write_text(text)
        params = {
            "node_id": 1,
            "keys": self.keys,
            "path": str(self.file),
            "content": text if check else None,
            "cluster_wide": cluster_wide,
            "restart_mark": str(self.mark),
            "record": str(self.record),
            "previous": str(self.previous),
        }
        module = SimpleNamespace(params=params, check_mode=check, _diff=True, fail_json=fail)
        broker: Any = self.broker
        return Run(module, broker).result()  # type: ignore[arg-type]  # what it uses of a module

    def marked_keys(self) -> list[str]:
        """Return the keys that a restart has to bring."""
        marked: list[str] = json.loads(self.mark.read_text())["paths"][str(self.file)]
        return marked


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path, FakeBroker(static={THREADS: "4"}))


# Plan


@pytest.mark.parametrize(
    ("kind", "first", "second", "equal"),
    [
        ("INT", "8", "08", True),
        ("int", "8", " +8 ", True),
        ("INT", "8", "9", False),
        ("INT", "1_0", "10", False),
        ("DOUBLE", "0.70", "0.7", True),
        ("DOUBLE", "1.7976931348623157E308", "1.7976931348623157e+308", True),
        ("DOUBLE", "x", "0.7", False),
        ("BOOLEAN", "TRUE", "true", True),
        ("LIST", "delete, compact", "delete,compact", True),
        ("LIST", "delete,compact", "compact,delete", False),
        ("LIST", "", "delete", False),
        ("STRING", "a ", "a", True),
        ("STRING", "a", "A", False),
        ("LONG", None, None, True),
        ("LONG", None, "1", False),
    ],
)
def test_values_are_compared_as_kafka_reads_them(
    kind: str, first: str | None, second: str | None, equal: bool
) -> None:
    assert dynamic_config.same(kind, first, second) is equal
    assert dynamic_config.same(kind, second, first) is equal


@pytest.mark.parametrize(
    ("layers", "file", "expected"),
    [
        ({}, {}, Plan()),
        ({"static": {RATIO: "0.5"}}, {RATIO: "0.50"}, Plan()),
        ({"static": {RATIO: "0.4"}}, {RATIO: "0.5"}, Plan(set={RATIO: ("0.4", "0.5")})),
        # What an operator set by hand stays, and so does what hides nothing.
        ({"entries": {RATIO: "0.3"}}, {}, Plan()),
        ({"of_all": {RATIO: "0.3"}}, {}, Plan()),
        ({"of_all": {RATIO: "0.3"}}, {RATIO: "0.3"}, Plan()),
        # The file of the inventory rules over entries.
        ({"entries": {RATIO: "0.3"}}, {RATIO: "0.4"}, Plan(set={RATIO: ("0.3", "0.4")})),
        ({"of_all": {RATIO: "0.3"}}, {RATIO: "0.4"}, Plan(set={RATIO: ("0.3", "0.4")})),
        # After a restart the entry says what the file says.
        (
            {"static": {RATIO: "0.4"}, "entries": {RATIO: "0.4"}},
            {RATIO: "0.4"},
            Plan(deleted=(RATIO,)),
        ),
        ({"entries": {RATIO: "0.3"}}, {RATIO: "0.5"}, Plan(deleted=(RATIO,))),
        (
            {"of_all": {RATIO: "0.3"}, "entries": {RATIO: "0.4"}, "static": {RATIO: "0.4"}},
            {RATIO: "0.4"},
            Plan(),
        ),
        # The key left the file since the start.
        ({"static": {RATIO: "0.4"}}, {}, Plan(set={RATIO: ("0.4", "0.5")})),
        ({"static": {RATIO: "0.4"}, "entries": {RATIO: "0.5"}}, {}, Plan()),
        ({"entries": {RATIO: "0.5"}}, {}, Plan(deleted=(RATIO,))),
        ({"of_all": {RATIO: "0.3"}, "entries": {RATIO: "0.5"}}, {}, Plan()),
        ({}, {RETENTION: "5"}, Plan(set={RETENTION: (None, "5")})),
        ({"entries": {RETENTION: "5"}}, {RETENTION: "5"}, Plan()),
        # What the file leaves to a provider only Kafka knows.
        ({"static": {RATIO: "0.4"}}, {RATIO: "${file:/s:r}"}, Plan()),
    ],
)
def test_plan(layers: Any, file: Any, expected: Plan) -> None:
    settings = FakeBroker(**layers).read(list(KINDS))
    assert dynamic_config.plan(KINDS, file, settings) == expected


def test_a_key_without_default_that_left_the_file_needs_a_restart() -> None:
    broker = FakeBroker(static={RETENTION: "5"}, entries={RETENTION: "6"})
    plan = dynamic_config.plan(KINDS, {}, broker.read(list(KINDS)))
    assert list(plan.refused) == [RETENTION]
    assert plan.deleted == (RETENTION,)


@pytest.mark.parametrize(
    ("layers", "file", "deleted", "refused"),
    [
        # Its entry would rule over the file for ever.
        ({"entries": {RATIO: "0.3"}}, {}, (RATIO,), []),
        ({"entries": {RATIO: "0.3"}, "static": {RATIO: "0.4"}}, {RATIO: "0.4"}, (RATIO,), []),
        # Without the entry the broker has what it started with, and not what the file says now.
        ({"entries": {RATIO: "0.3"}, "static": {RATIO: "0.4"}}, {RATIO: "0.3"}, (RATIO,), [RATIO]),
        ({"entries": {RATIO: "0.3"}}, {RATIO: "0.3"}, (RATIO,), [RATIO]),
        # Without an entry nothing is left to do, whatever the file says.
        ({"static": {RATIO: "0.4"}}, {RATIO: "0.9"}, (), []),
        ({}, {}, (), []),
    ],
)
def test_a_recorded_key_that_is_not_dynamic_any_more_loses_its_entry(
    layers: Any, file: Any, deleted: tuple[str, ...], refused: list[str]
) -> None:
    settings = FakeBroker(**layers).read(list(KINDS))
    plan = dynamic_config.plan({THREADS}, file, settings, recorded=[RATIO])
    assert (plan.deleted, list(plan.refused)) == (deleted, refused)
    assert not plan.set


def test_a_recorded_key_that_the_broker_does_not_know_is_passed_over() -> None:
    assert dynamic_config.plan([], {"gone": "1"}, {}, recorded=["gone"]) == Plan()


@pytest.mark.parametrize(
    ("layers", "file", "elr", "cluster_wide", "expected"),
    [
        ({"of_all": {MIN_ISR: "1"}}, "2", True, True, {MIN_ISR: ("1", "2")}),
        ({"of_all": {MIN_ISR: "1"}}, "2", True, False, {}),
        ({"of_all": {MIN_ISR: "2"}}, "2", True, True, {}),
        ({"of_all": {MIN_ISR: "2"}, "static": {MIN_ISR: "1"}}, "2", True, True, {}),
        ({"of_all": {MIN_ISR: "2"}, "static": {MIN_ISR: "1"}}, None, True, True, {}),
        ({"static": {MIN_ISR: "1"}}, "2", False, True, {}),
    ],
)
def test_min_insync_replicas_is_written_only_when_it_changes(
    layers: Any, file: str | None, elr: bool, cluster_wide: bool, expected: Any
) -> None:
    """Setting it again to the same value would forget all eligible leaders (KIP-966)."""
    settings = FakeBroker(**layers).read(list(KINDS))
    desired = {MIN_ISR: file} if file else {}
    plan = dynamic_config.plan(KINDS, desired, settings, elr=elr, cluster_wide=cluster_wide)
    assert plan.cluster == expected
    assert bool(plan.set) is not elr
    assert not plan.deleted


# The module


def test_a_change_is_made_once(host: Host) -> None:
    file = f"{THREADS}=6", f"{LISTS}=compact"
    planned = host.run(*file, check=True)
    assert (host.broker.writes, host.record.exists()) == ([], False)
    made = host.run(*file)
    assert made == planned
    assert made["changed"]
    assert made["set"] == {THREADS: ["4", "6"], LISTS: ["delete", "compact"]}
    assert made["diff"]["before"].splitlines() == [f"{LISTS}=delete", f"{THREADS}=4"]
    assert made["diff"]["after"].splitlines() == [f"{LISTS}=compact", f"{THREADS}=6"]
    assert host.broker.writes == [(False, {THREADS: "6", LISTS: "compact"})]
    assert not host.mark.exists()
    assert host.run(*file)["changed"] is False
    host.broker.restart({THREADS: "6", LISTS: "compact"})
    assert host.run(*file)["deleted"] == [LISTS, THREADS]
    assert host.run(*file)["changed"] is False
    assert host.broker.entries == {}


def test_one_refused_key_does_not_stop_the_others(host: Host) -> None:
    file = f"{LISTS}=bad", f"{THREADS}=5"
    planned = host.run(*file, check=True)
    assert not host.mark.exists()
    made = host.run(*file)
    assert made == planned
    assert (list(made["set"]), list(made["refused"])) == ([THREADS], [LISTS])
    assert host.marked_keys() == [LISTS]
    again = host.run(*file)
    assert (again["changed"], list(again["refused"])) == (False, [LISTS])


def test_former_files_are_kept_only_for_a_restart_that_is_to_come(host: Host) -> None:
    """A start that fails months later must not bring back the file of before an online change."""
    host.previous.touch()
    host.run(f"{THREADS}=8", check=True)
    assert host.previous.exists()
    host.run(f"{THREADS}=8")
    assert not host.previous.exists()
    host.previous.touch()
    host.run(f"{THREADS}=8", "not.known=1")
    assert host.mark.exists()
    assert host.previous.exists()


def test_the_old_entry_of_a_refused_key_does_not_rule_after_the_restart(host: Host) -> None:
    host.run(f"{LISTS}=compact")
    planned = host.run(f"{LISTS}=bad", check=True)
    made = host.run(f"{LISTS}=bad")
    assert made == planned
    assert (made["deleted"], list(made["refused"])) == ([LISTS], [LISTS])
    assert LISTS not in host.broker.entries


@pytest.mark.parametrize("threads", ["1", "37"])
def test_a_pool_of_threads_changes_by_degrees(host: Host, threads: str) -> None:
    planned = host.run(f"{THREADS}={threads}", check=True)
    made = host.run(f"{THREADS}={threads}")
    assert made == planned
    assert (made["set"], made["refused"]) == ({THREADS: ["4", threads]}, {})
    assert len(host.broker.writes) > 1
    back = host.run(f"{THREADS}=4")
    assert (back["deleted"], host.broker.entries) == ([THREADS], {})


class CrampedBroker(FakeBroker):
    """A broker that cannot make as many threads."""

    most = 0

    def alter(
        self, changes: Mapping[str, str | None], *, cluster_wide: bool, validate_only: bool
    ) -> str:
        by_degrees = super().alter(changes, cluster_wide=cluster_wide, validate_only=True)
        if not by_degrees and int(changes.get(THREADS) or 0) > self.most:
            return "unable to create native thread"
        return super().alter(changes, cluster_wide=cluster_wide, validate_only=validate_only)


@pytest.mark.parametrize(
    ("most", "remaining"),
    [
        (8, {}),
        (16, {THREADS: "16"}),  # Kafka does not go back to 4 at once
    ],
)
def test_an_entry_that_steps_have_made_does_not_stay_unknown(
    tmp_path: Path, most: int, remaining: dict[str, str]
) -> None:
    broker = CrampedBroker(static={THREADS: "4"})
    broker.most = most
    host = Host(tmp_path, broker)
    result = host.run(f"{THREADS}=37")
    assert (result["changed"], list(result["refused"])) == (True, [THREADS])
    assert (broker.entries, result["deleted"]) == (remaining, [] if remaining else [THREADS])
    # What is recorded is deleted once Kafka lets it.
    assert (THREADS in dynamic_record.read(host.record)) is bool(remaining)
    assert host.marked_keys() == [THREADS]


def test_a_number_that_is_refused_for_itself_is_not_approached(host: Host) -> None:
    assert list(host.run(f"{THREADS}=4", f"{MIN_ISR}=666")["refused"]) == [MIN_ISR]
    assert host.broker.writes == []


def test_a_key_that_leaves_the_file_before_a_restart_leaves_the_broker(host: Host) -> None:
    host.run(f"{THREADS}=4", f"{LISTS}=compact")
    host.broker.entries[RATIO] = "0.3"
    result = host.run(f"{THREADS}=4")
    assert result["deleted"] == [LISTS]
    assert host.broker.entries == {RATIO: "0.3"}
    # What an operator sets from now on is the operator's.
    host.broker.entries[LISTS] = "compact"
    assert host.run(f"{THREADS}=4")["changed"] is False


def test_a_key_that_is_not_dynamic_any_more_needs_a_restart_once(host: Host) -> None:
    """Another version of Millrace may leave out a key that an earlier one set."""
    file = f"{THREADS}=4", f"{LISTS}=compact"
    host.run(*file)
    host.keys.remove(LISTS)
    planned = host.run(*file, check=True)
    made = host.run(*file)
    assert made == planned
    assert (made["deleted"], list(made["refused"])) == ([LISTS], [LISTS])
    assert (host.broker.entries, host.marked_keys()) == ({}, [LISTS])
    again = host.run(*file)
    assert (again["changed"], again["refused"]) == (False, {})


def test_a_service_that_stopped_is_not_marked(host: Host) -> None:
    host.mark.parent.rmdir()
    assert host.run(f"{LISTS}=bad")["refused"]
    assert not host.mark.parent.exists()


def test_a_key_that_the_broker_does_not_know_comes_with_a_restart(host: Host) -> None:
    assert list(host.run(f"{THREADS}=4", "not.known=1")["refused"]) == ["not.known"]
    assert host.run(f"{THREADS}=4")["refused"] == {}


def test_only_the_broker_that_is_chosen_sets_min_insync_replicas_for_the_cluster(
    host: Host,
) -> None:
    host.broker.elr, host.broker.of_all[MIN_ISR] = True, "1"
    file = f"{THREADS}=4", f"{MIN_ISR}=2"
    assert host.run(*file)["changed"] is False
    planned = host.run(*file, check=True, cluster_wide=True)
    made = host.run(*file, cluster_wide=True)
    assert made == planned
    assert made["set"] == {MIN_ISR: ["1", "2"]}
    assert host.broker.writes == [(True, {MIN_ISR: "2"})]
    assert host.run(*file, cluster_wide=True)["changed"] is False


def test_without_eligible_leader_replicas_each_broker_sets_its_own(host: Host) -> None:
    host.run(f"{THREADS}=4", f"{MIN_ISR}=2", cluster_wide=True)
    assert host.broker.writes == [(False, {MIN_ISR: "2"})]


class Clock:
    """A time that passes only in sleep."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        fake = SimpleNamespace(monotonic=lambda: self.now, sleep=self.sleep)
        for user in (kafka_dynamic_config, retry):
            monkeypatch.setattr(user, "time", fake)

    def sleep(self, seconds: float) -> None:
        assert 0 < seconds <= 1
        self.now += seconds


class SlowBroker(FakeBroker):
    """A broker that shows a change only after it was asked so many times."""

    hidden = 0

    def read(self, keys: list[str]) -> Mapping[str, Setting]:
        now = super().read(keys)
        if self.writes and self.hidden > 0:
            self.hidden -= 1
            before = FakeBroker(self.static)
            return before.read(keys)
        return now


@pytest.mark.parametrize(("hidden", "shown"), [(0, True), (5, True), (90, True), (999, False)])
def test_a_change_is_waited_for_until_the_broker_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hidden: int, shown: bool
) -> None:
    clock, broker = Clock(monkeypatch), SlowBroker({THREADS: "4"})
    broker.hidden = hidden
    host = Host(tmp_path, broker)
    if shown:
        assert host.run(f"{THREADS}=6")["changed"]
        assert clock.now == pytest.approx(hidden / 10)
        return
    with pytest.raises(Failed) as failed:
        host.run(f"{THREADS}=6")
    assert THREADS in str(failed.value)
    assert failed.value.changed
    assert clock.now == pytest.approx(10, abs=0.2)


def test_what_is_about_to_be_set_is_recorded_before(host: Host) -> None:
    """An interrupted run would else leave entries that nobody deletes any more."""
    recorded: list[str] = []
    really = host.broker.alter

    def alter(changes: Mapping[str, str | None], **how: bool) -> str:
        recorded.append(host.record.read_text() if host.record.exists() else "")
        return really(changes, **how)

    host.broker.alter = alter  # type: ignore[method-assign]  # a stand-in
    host.run(f"{THREADS}=6", f"{LISTS}=compact")
    assert THREADS in recorded[0]
    assert LISTS in recorded[0]


class Asked:
    """A cluster that does not answer for a while."""

    def __init__(self, clock: Clock, silent: float) -> None:
        self._clock, self._silent = clock, silent

    def ask(self, question: Any) -> Any:
        if self._clock.now < self._silent:
            text = "k1:9092: refused"
            raise UnavailableError(text)
        return question(None)


@pytest.mark.parametrize(("silent", "answers"), [(0, True), (4.9, True), (5.5, False)])
def test_a_broker_may_be_silent_for_a_while(
    monkeypatch: pytest.MonkeyPatch, silent: float, answers: bool
) -> None:
    clock = Clock(monkeypatch)
    cluster: Any = Asked(clock, silent)
    broker = kafka_dynamic_config.Broker(cluster, 1, 5)
    monkeypatch.setattr(features, "finalized", lambda _: {features.ELR: 1})
    if answers:
        assert broker.has_elr()
        assert clock.now == pytest.approx(silent, abs=0.11)
        return
    with pytest.raises(UnavailableError):
        broker.has_elr()
    assert clock.now == pytest.approx(5, abs=0.2)


@pytest.mark.parametrize(("level", "elr"), [({}, False), ({"x": 1}, False), (0, False), (1, True)])
def test_eligible_leader_replicas_are_a_feature_above_0(
    monkeypatch: pytest.MonkeyPatch, level: Any, elr: bool
) -> None:
    levels = {features.ELR: level} if isinstance(level, int) else level
    monkeypatch.setattr(features, "finalized", lambda _: levels)
    cluster: Any = Asked(Clock(monkeypatch), 0)
    assert kafka_dynamic_config.Broker(cluster, 1, 5).has_elr() is elr


@pytest.fixture
def options(tmp_path: Path) -> dict[str, Any]:
    """Options that lead to no broker."""
    (tmp_path / "server.properties").touch()
    return {
        **unreachable(tmp_path),
        "node_id": 1,
        "keys": [THREADS],
        "path": str(tmp_path / "server.properties"),
        "record": str(tmp_path / "dynamic.json"),
        "wait": 0,
    }


@pytest.mark.parametrize("check", [False, True])
def test_a_broker_that_is_not_there_is_named(options: dict[str, Any], check: bool) -> None:
    result = run_module("kafka_dynamic_config", options, check=check)
    assert result["failed"]
    assert "broker 1" in result["msg"]
    assert "127.0.0.1:1" in result["msg"]


@pytest.mark.parametrize("name", ["node_id", "keys", "path"])
def test_what_the_module_cannot_do_without_is_asked_for(options: dict[str, Any], name: str) -> None:
    del options[name]
    result = run_module("kafka_dynamic_config", options)
    assert result["failed"]
    assert name in result["msg"]


def test_a_file_that_is_not_there_is_named(options: dict[str, Any]) -> None:
    Path(options["path"]).unlink()
    result = run_module("kafka_dynamic_config", options)
    assert result["failed"]
    assert options["path"] in result["msg"]


def test_names_of_keys_are_shown_and_no_content_is_logged(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    modules: list[Any] = []

    def work(module: Any, _: object) -> dict[str, Any]:
        modules.append(module)
        return {"changed": False, "keys": module.params["keys"]}

    monkeypatch.setattr(kafka_dynamic_config, "work", work)
    assert call_module(kafka_dynamic_config, options)["keys"] == [THREADS]
    (module,) = modules
    assert module.no_log
    assert module.params["cluster_wide"] is False


# Kafka's own rules, one function each


@pytest.mark.parametrize(
    ("now", "target", "step"),
    [
        ("8", "100", "16"),
        ("8", "17", "16"),
        ("8", "16", None),
        ("8", "8", None),
        ("8", "4", None),
        ("8", "3", "4"),
        ("9", "3", "4"),
        ("8", "1", "4"),
        ("1", "8", "2"),
        # Nothing that doubling or halving leads to.
        ("0", "8", None),
        ("8", "0", None),
        ("8", "-8", None),
        ("many", "8", None),
        (None, "8", None),
        ("8", None, None),
    ],
)
def test_a_step_is_the_double_or_the_half(
    now: str | None, target: str | None, step: str | None
) -> None:
    settings = {THREADS: Setting("INT", value=now, below=target)}
    refused = {THREADS: "value should not be greater than double the current value"}
    expected = {THREADS: step} if step else {}
    assert dynamic_config.steps(Plan(deleted=(THREADS,)), settings, refused) == expected
    if target is not None:
        made = Plan({THREADS: (now, target)})
        assert dynamic_config.steps(made, settings, refused) == expected
        assert dynamic_config.steps(made, settings, {THREADS: "it is no number"}) == {}


def sent(changes: dict[str, str | None], *needs: tuple[str, str]) -> tuple[list[set[str]], Any]:
    """Alter keys of which some need another one first; what was sent, and what was refused."""
    taken: set[str] = set()
    calls: list[set[str]] = []

    def send(request: Mapping[str, str | None]) -> str:
        calls.append(set(request))
        wrong = [
            key
            for key in request
            if any(key == dependent and by not in taken for dependent, by in needs)
        ]
        if wrong:
            return f"{wrong[0]} is refused"
        taken.update(request)
        return ""

    return calls, dynamic_config.alter(changes, send)


def test_keys_are_sent_together_and_one_by_one_only_where_that_is_refused() -> None:
    assert sent({}) == ([], {})
    assert sent({"a": "1", "b": None}) == ([{"a", "b"}], {})
    assert sent({"a": "1"}, ("a", "z")) == ([{"a"}], {"a": "a is refused"})
    calls, refused = sent({"a": "1", "b": "2"}, ("a", "z"), ("b", "z"))
    assert (calls, refused.keys()) == ([{"a", "b"}, {"a"}, {"b"}], {"a", "b"})


def test_a_key_that_needs_another_one_first_is_sent_again() -> None:
    calls, refused = sent({"a": "1", "b": "2", "c": "3"}, ("a", "b"), ("b", "c"))
    assert refused == {}
    assert calls == [{"a", "b", "c"}, {"a"}, {"b"}, {"c"}, {"a"}, {"b"}, {"a"}]
    calls, refused = sent({"a": "1", "b": "2"}, ("a", "z"))
    assert (refused.keys(), calls) == ({"a"}, [{"a", "b"}, {"a"}, {"b"}, {"a"}])


def test_a_broker_shows_a_change_when_all_of_it_is_there() -> None:
    settings = {
        THREADS: Setting("INT", value="9", entry="9"),
        RATIO: Setting("DOUBLE", value="0.5"),
    }
    assert dynamic_config.shown({THREADS: "9", RATIO: None}, settings)
    assert not dynamic_config.shown({THREADS: "8", RATIO: None}, settings)
    assert not dynamic_config.shown({THREADS: None}, settings)
    assert dynamic_config.shown({"not.known": "1"}, settings), (
        "it cannot show what it does not know"
    )


def test_a_key_that_is_passed_over_hides_none_after_it() -> None:
    settings = {
        key: Setting(KINDS[key], value="1", below="1", static="1") for key in (RATIO, THREADS)
    }
    settings[LISTS] = Setting("LIST", value="a", entry="a", below="a")
    desired = {RATIO: "${env:RATIO}", THREADS: "9"}
    made = dynamic_config.plan([RATIO, THREADS], desired, settings, recorded=[LISTS])
    assert (made.set, made.deleted) == ({THREADS: ("1", "9")}, (LISTS,))


def test_by_default_a_broker_sets_its_own_min_insync_replicas() -> None:
    settings = {MIN_ISR: Setting("INT", value="1", below="1")}
    assert dynamic_config.plan([MIN_ISR], {MIN_ISR: "2"}, settings).set == {MIN_ISR: ("1", "2")}
    assert not dynamic_config.plan([MIN_ISR], {MIN_ISR: "2"}, settings, elr=True).keys
