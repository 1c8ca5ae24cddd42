"""What makes the connectors of a group those of the inventory."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.operations import connectors
from ansible_collections.millrace.streaming.plugins.module_utils.operations.connectors import (
    Found,
    Step,
    Wanted,
)

CLASS = "io.debezium.connector.jdbc.JdbcSinkConnector"
CONFIG = {"connector.class": CLASS, "topics": "orders", "name": "orders"}


def wanted(state: str = "running", **config: str) -> Wanted:
    return Wanted("orders", {**CONFIG, **config}, state)


def found(state: str = "RUNNING", *tasks: str, **config: str) -> Found:
    return Found({**CONFIG, **config}, state, dict(enumerate(tasks)))


def sent(desired: Wanted, now: Found | None, restart: str = "none") -> list[str]:
    steps = connectors.steps([desired], {} if now is None else {"orders": now}, restart)
    return [f"{step.method} {step.path}" for step in steps]


@pytest.mark.parametrize(
    ("desired", "now", "expected"),
    [
        pytest.param(wanted(), found(), [], id="as-wanted"),
        pytest.param(wanted("paused"), found("PAUSED", "PAUSED"), [], id="paused-already"),
        pytest.param(wanted(), None, ["POST /connectors"], id="new"),
        pytest.param(
            wanted(topics="a,b"), found(), ["PUT /connectors/orders/config"], id="changed"
        ),
        pytest.param(
            wanted("paused"), found("RUNNING"), ["PUT /connectors/orders/pause"], id="pause"
        ),
        pytest.param(
            wanted("stopped"), found("PAUSED"), ["PUT /connectors/orders/stop"], id="stop"
        ),
        pytest.param(wanted(), found("STOPPED"), ["PUT /connectors/orders/resume"], id="resume"),
        pytest.param(
            wanted("stopped", topics="b"),
            found(),
            ["PUT /connectors/orders/config", "PUT /connectors/orders/stop"],
            id="changed-and-stopped",
        ),
        pytest.param(wanted("absent"), found(), ["DELETE /connectors/orders"], id="removed"),
        pytest.param(wanted("absent"), None, [], id="removed-already"),
        # Somebody wants it to run, although it does not.
        pytest.param(wanted(), found("FAILED"), [], id="failed"),
        pytest.param(wanted(), found("UNASSIGNED"), [], id="unassigned"),
    ],
)
def test_only_what_differs_is_sent(desired: Wanted, now: Found | None, expected: list[str]) -> None:
    assert sent(desired, now) == expected


def test_a_new_connector_begins_in_its_state() -> None:
    """Otherwise it would work until it is stopped."""
    (step,) = connectors.steps([wanted("stopped")], {})
    assert step.body["initial_state"] == "STOPPED"
    assert step.body["config"] == CONFIG


def test_what_failed_is_restarted_when_it_is_asked_for() -> None:
    failed = found("RUNNING", "RUNNING", "FAILED")
    assert sent(wanted(), failed) == []
    path = "POST /connectors/orders/restart?includeTasks=true&onlyFailed="
    assert sent(wanted(), failed, "failed") == [f"{path}true"]
    assert sent(wanted(), found("RUNNING", "RUNNING"), "failed") == []
    assert sent(wanted("stopped"), found("STOPPED"), "failed") == []


def test_a_connector_that_runs_is_restarted_once() -> None:
    path = "POST /connectors/orders/restart?includeTasks=true&onlyFailed=false"
    assert sent(wanted(), found(), "all") == [path]
    assert sent(wanted(topics="b"), found(), "all") == ["PUT /connectors/orders/config"]
    assert sent(wanted("stopped"), found("STOPPED"), "all") == []


def test_what_is_new_is_validated_and_nothing_else() -> None:
    now = {"orders": found()}
    assert connectors.to_validate([wanted()], now) == []
    assert connectors.to_validate([wanted("absent", topics="b")], now) == []
    for state in ("running", "paused", "stopped"):
        assert connectors.to_validate([wanted(state, topics="b")], now)
        assert connectors.to_validate([wanted(state)], {})


def test_secrets_are_kept_as_long_as_a_connector_refers_to_them() -> None:
    def secret(name: str) -> dict[str, str]:
        return {"password": f"${{file:/secrets/{name}:password}}"}

    now = {"orders": found(**secret("orders")), "left-alone": found(**secret("left-alone"))}
    assert connectors.files_used([], now) == {"/secrets/orders", "/secrets/left-alone"}
    assert connectors.files_used([wanted(**secret("new"))], now) == {
        "/secrets/new",
        "/secrets/left-alone",
    }
    assert connectors.files_used([wanted("absent")], now) == {"/secrets/left-alone"}


def test_the_plugins_errors_are_read_although_it_answers_with_success() -> None:
    response = {
        "error_count": 1,
        "configs": [
            {"value": {"name": "tasks.max", "errors": ["Invalid value\nmany"]}},
            {"value": {"name": "topics", "errors": []}},
        ],
    }
    assert connectors.errors(response) == ["tasks.max: Invalid value many"]


@pytest.mark.parametrize("name", [CLASS, "JdbcSinkConnector", "JdbcSink"])
def test_a_class_has_short_names(name: str) -> None:
    desired = Wanted("orders", {"connector.class": name}, "running")
    assert not connectors.unknown_class(desired, [CLASS])
    assert connectors.unknown_class(desired, ["org.example.Other"])


def test_the_difference_shows_no_secret_that_somebody_has_set() -> None:
    config = {"database.password": "geheim", "url": "jdbc:x://db/x?password=geheim"}
    (difference,) = connectors.diff([wanted()], {"orders": found(**config)})
    assert config.keys() <= {line.partition(" = ")[0] for line in difference["before"].splitlines()}
    assert "geheim" not in str(difference)


def test_there_is_no_difference_where_nothing_is_done() -> None:
    assert connectors.diff([wanted()], {"orders": found("FAILED")}) == []
    assert connectors.diff([wanted("absent")], {}) == []


def test_an_answer_is_read() -> None:
    response = {
        "orders": {
            "info": {"config": CONFIG},
            "status": {
                "connector": {"state": "RUNNING"},
                "tasks": [{"id": 0, "state": "FAILED"}],
            },
        }
    }
    assert connectors.read(response) == {"orders": found("RUNNING", "FAILED")}


SOURCE = {
    "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
    "database.dbname": "flights",
    "database.hostname": "p1",
}


def left(state: str, config: Mapping[str, str]) -> list[str]:
    """What a connector of the group leaves that the inventory has in a state."""
    return connectors.left_behind(
        [Wanted("changes", config, state)], {"changes": Found(config, "")}
    )


@pytest.mark.parametrize(
    ("config", "slot"), [({}, "debezium"), ({"slot.name": "orders"}, "orders")]
)
def test_a_removed_source_leaves_a_slot_that_is_named(config: dict[str, str], slot: str) -> None:
    (text,) = left("absent", SOURCE | config)
    for fragment in (f"pg_drop_replication_slot('{slot}')", "flights", "p1"):
        assert fragment in text


def test_what_stays_or_drops_its_slot_leaves_nothing() -> None:
    assert not left("stopped", SOURCE)
    assert not left("absent", SOURCE | {"slot.drop.on.stop": "true"})
    assert not left("absent", {"connector.class": "FileStreamSource"})
    assert not connectors.left_behind([Wanted("changes", SOURCE, "absent")], {})


def test_other_values_of_a_source_are_named_and_its_short_names_are_known() -> None:
    for name in ("PostgresConnector", "Postgres"):
        assert left("absent", SOURCE | {"connector.class": name})
    assert left("absent", SOURCE | {"slot.drop.on.stop": "false"})
    assert not left("absent", SOURCE | {"slot.drop.on.stop": "TRUE"})


def test_each_connector_that_goes_is_judged_by_itself() -> None:
    drops = SOURCE | {"slot.drop.on.stop": "true"}
    existing = {"a": SOURCE, "b": drops, "c": {"connector.class": CLASS}, "d": SOURCE}
    texts = connectors.left_behind(
        [Wanted(name, {}, "absent") for name in existing],
        {name: Found(config, "RUNNING") for name, config in existing.items()},
    )
    assert [text.partition(" ")[0] for text in texts] == ["a", "d"]


@pytest.mark.parametrize(
    ("method", "path", "status", "why", "early"),
    [
        ("DELETE", "/connectors/a/offsets", 400, "", True),
        ("DELETE", "/connectors/a/offsets", 500, "It can be safely retried", True),
        ("DELETE", "/connectors/a/offsets", 500, "disk full", False),
        ("DELETE", "/connectors/a/offsets", 404, "It can be safely retried", False),
        ("DELETE", "/connectors/a", 400, "", False),
        ("PUT", "/connectors/a/offsets", 400, "", False),
    ],
)
def test_a_refusal_may_be_early(
    method: str, path: str, status: int, why: str, *, early: bool
) -> None:
    assert Step("a", "", method, path).is_early(status, why) is early


def test_a_name_is_one_part_of_a_path() -> None:
    assert connectors.path("a/b c?", "/stop") == "/connectors/a%2Fb%20c%3F/stop"


@pytest.mark.parametrize("state", ["RUNNING", "PAUSED", "STOPPED", "FAILED"])
def test_offsets_are_reset_of_a_connector_that_is_stopped(state: str) -> None:
    running = {"left": found("RUNNING", "RUNNING")}
    steps, after = connectors.reset("orders", {"orders": found(state, "RUNNING"), **running})
    sent = [f"{step.method} {step.path}" for step in steps]
    stop = [] if state == "STOPPED" else ["PUT /connectors/orders/stop"]
    assert sent == [*stop, "DELETE /connectors/orders/offsets"]
    assert after == {"orders": found("STOPPED"), **running}


def test_a_connector_without_a_status_was_started_by_no_worker() -> None:
    now = connectors.without_status({"config": {"tasks.max": 2}})
    assert (now.config, now.tasks) == ({"tasks.max": "2"}, {})
    assert now.state not in ("RUNNING", "PAUSED", "STOPPED", "FAILED")


def test_a_connector_that_failed_itself_is_restarted_when_it_is_asked_for() -> None:
    path = "POST /connectors/orders/restart?includeTasks=true&onlyFailed=true"
    assert sent(wanted(), found("FAILED"), "failed") == [path]
    assert sent(wanted(topics="b"), found("FAILED"), "failed") == ["PUT /connectors/orders/config"]
    assert sent(wanted(), found("RUNNING", "FAILED"), "none") == []
    assert sent(wanted("paused"), found("PAUSED", "FAILED"), "failed") == []


def test_every_connector_has_its_steps() -> None:
    both = [wanted(), Wanted("new", {}, "paused")]
    steps = connectors.steps(both, {"orders": found("STOPPED")})
    assert [step.name for step in steps] == ["orders", "new"]
    assert steps[1].body == {"name": "new", "config": {}, "initial_state": "PAUSED"}


def test_what_is_changed_is_sent_whole() -> None:
    (step,) = connectors.steps([wanted(topics="b")], {"orders": found()})
    assert step.body == {**CONFIG, "topics": "b"}


def test_a_plugin_without_a_class_is_unknown() -> None:
    assert connectors.unknown_class(Wanted("orders", {}, "running"), [CLASS])


def test_the_difference_shows_the_state_that_somebody_has_asked_for() -> None:
    (difference,) = connectors.diff([wanted("paused")], {"orders": found("FAILED")})
    assert "state = running" in difference["before"]
    assert "state = paused" in difference["after"]
    (difference,) = connectors.diff([wanted()], {"orders": found("STOPPED")})
    assert "state = stopped" in difference["before"]
    (difference,) = connectors.diff([wanted()], {})
    assert difference["before"] == ""
    assert f"connector.class = {CLASS}" in difference["after"]
    (difference,) = connectors.diff([wanted("absent")], {"orders": found()})
    assert difference["after"] == ""


def test_what_is_no_secret_is_shown() -> None:
    assert "topics = orders\n" in connectors.text(CONFIG)


def test_an_answer_of_a_plugin_without_errors_has_none() -> None:
    response = {"configs": [{"value": {"name": "a", "errors": None}}]}
    assert connectors.errors(response) == []
