"""Each host's variables, converted to the types that the roles document."""

from __future__ import annotations

from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats import values
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import (
    HostVariables,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.variables import (
    convert,
    defaults,
    documented,
    settings,
)


def test_every_documented_variable_has_a_value() -> None:
    values, invalid = settings(HostVariables("k1"))
    assert values == defaults()
    assert values.keys() == documented().keys()
    assert values["kafka_data_dirs"] == ["/var/lib/kafka/data"]
    assert invalid == []


def test_values_are_converted_as_the_argument_specs_say() -> None:
    variables = {"kafka_stop_timeout": "60", "kafka_gate_strict": "yes", "spark_worker_cores": 2}
    values, invalid = settings(HostVariables("k1", variables))
    assert invalid == []
    assert (values["kafka_stop_timeout"], values["kafka_gate_strict"]) == (60, True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kafka_stop_timeout", "soon"),
        ("kafka_profile", "fast"),
        ("kafka_listeners", [{"name": "CLIENT"}]),
        ("kafka_listeners", "CLIENT"),
    ],
)
def test_an_invalid_value_is_named_and_its_default_taken(name: str, value: object) -> None:
    values, invalid = settings(HostVariables("k1", {name: value}))
    assert [problem.name for problem in invalid] == [name]
    assert values[name] == defaults()[name]


def test_a_variable_without_a_value_has_its_default() -> None:
    values, _ = settings(HostVariables("k1", {"kafka_profile": None}))
    assert values["kafka_profile"] == defaults()["kafka_profile"]


def test_a_path_is_the_hosts_and_not_expanded_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    variables = {"kafka_data_dirs": ["~/data", "$HOME/data"]}
    assert settings(HostVariables("k1", variables))[0]["kafka_data_dirs"] == [
        "~/data",
        "$HOME/data",
    ]


def test_a_secret_that_is_refused_is_not_shown() -> None:
    _, errors = convert("kafka_password", "hunter2", {"type": "dict", "no_log": True})
    assert len(errors) == 1
    assert "hunter2" not in errors[0]


# Values as YAML gives them


@pytest.mark.parametrize(
    ("value", "written"),
    [(True, "true"), ("True", "True"), ([1, "a"], "1,a"), (3, "3"), ("", ""), (None, None)],
)
def test_properties_hold_values_as_kafka_reads_them(value: object, written: str | None) -> None:
    assert values.property_text(value) == written


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3), ("3", 3), ("-3", -3), (True, None), ("3.5", None), (3.5, None), ("", None)],
)
def test_a_whole_number_is_one_in_digits_too(value: object, number: int | None) -> None:
    assert values.integer(value) == number


@pytest.mark.parametrize(
    ("names", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), ("abc", "a, b and c")]
)
def test_names_are_listed_as_prose(names: Any, text: str) -> None:
    assert values.listing(names) == text
