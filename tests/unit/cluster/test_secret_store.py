"""The generations of a directory of secrets, in its own record and in those of hosts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.secret_record import RECORD
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import secret_store
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.secret_store import (
    MOST_NUMBER,
    Generation,
    Store,
)

FIRST, SECOND, THIRD, FOREIGN = (
    Generation(name, number, "2026-11-01", "anna") for number, name in enumerate("abcx", 1)
)
STORE = Store((FIRST, SECOND, THIRD), digest="d1gest", replacing=("admin", "ledger"))
PRODUCTS = ["kafka", "spark"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_store_is_read_as_it_was_written(count: int) -> None:
    store = Store(STORE.generations[:count], STORE.digest, STORE.replacing)
    assert secret_store.parse(store.text()) == store


def test_the_present_generation_is_the_last_one() -> None:
    assert STORE.generation == THIRD
    changed = STORE.followed_by(FOREIGN, digest="other")
    assert changed.generation == FOREIGN
    assert changed.digest == "other"
    assert changed.replacing == STORE.replacing
    for generation in (*STORE.generations, FOREIGN):
        assert secret_store.contains(changed, generation)


def test_nothing_is_kept_where_there_is_no_text() -> None:
    assert secret_store.parse("") is None
    assert not secret_store.contains(None, FIRST)
    assert not secret_store.contains(STORE, FOREIGN)


@pytest.mark.parametrize("text", ["{", "[]", "7", "null", "{}", '{"generations": []}'])
def test_a_damaged_store_is_a_wrong_value(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        secret_store.parse(text)


@pytest.mark.parametrize(
    "wrong",
    [{"generations": []}, {"generations": [{}]}, {"generations": None}, {"more": 1}],
    ids=str,
)
def test_a_store_with_a_damaged_part_is_damaged(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"."):
        secret_store.parse(json.dumps({**json.loads(STORE.text()), **wrong}))


def record(**changed: Any) -> dict[str, Any]:
    """Return what a host has, changed by whoever has taken it over."""
    return {**json.loads(STORE.record(PRODUCTS)), **changed}


def test_a_host_has_the_present_generation_and_nothing_of_the_secrets() -> None:
    assert secret_store.deployed_with(record(), ["spark"]) == THIRD
    assert STORE.digest not in f"{STORE}{STORE!r}{STORE.record(PRODUCTS)}"


def test_a_record_of_other_products_is_not_for_these() -> None:
    assert secret_store.deployed_with(record(), ["hdfs"]) is None
    assert secret_store.deployed_with(record(products=[]), PRODUCTS) is None


@pytest.mark.parametrize("number", [1, 2, MOST_NUMBER])
def test_a_number_up_to_the_largest_is_valid(number: int) -> None:
    generation = secret_store.deployed_with(record(number=number), PRODUCTS)
    assert generation
    assert generation.number == number


@pytest.mark.parametrize("number", [0, -1, MOST_NUMBER + 1, 10**12, "7", True, 1.5, None])
def test_another_number_is_not(number: object) -> None:
    assert secret_store.deployed_with(record(number=number), PRODUCTS) is None


@pytest.mark.parametrize("key", ["name", "made", "by"])
@pytest.mark.parametrize("text", ["a\x1b[2J", "\n", "a" * 300, "a" * 10**6, 7, None, ["a"]])
def test_a_text_that_could_deceive_the_reader_of_a_message_makes_no_record(
    key: str, text: object
) -> None:
    assert secret_store.deployed_with(record(**{key: text}), PRODUCTS) is None


@pytest.mark.parametrize("key", ["name", "number", "made", "by", "products"])
def test_an_incomplete_record_is_none(key: str) -> None:
    data = record()
    del data[key]
    assert secret_store.deployed_with(data, PRODUCTS) is None
    assert secret_store.deployed_with({}, PRODUCTS) is None


@pytest.mark.parametrize("products", [None, 7, [["kafka"]]])
def test_a_record_whose_products_are_no_list_of_names_is_none(products: object) -> None:
    assert secret_store.deployed_with(record(products=products), PRODUCTS) is None


def test_hosts_with_generations_that_are_not_known_are_newer() -> None:
    generations = {"k1": FIRST, "k2": FOREIGN, "k3": None, "k4": THIRD, "k5": FOREIGN}
    assert secret_store.newer_hosts(STORE, generations) == {FOREIGN: ["k2", "k5"]}
    lost = secret_store.newer_hosts(None, generations)
    assert lost == {FIRST: ["k1"], FOREIGN: ["k2", "k5"], THIRD: ["k4"]}


def test_where_only_some_hosts_are_newer_they_may_be_the_wrong_ones() -> None:
    generations = {"k1": FOREIGN, "k2": THIRD, "k3": FOREIGN}
    newer = secret_store.newer_hosts(STORE, generations)
    assert RECORD in secret_store.doubt(newer, generations)
    everywhere = {"k1": FOREIGN, "k2": FOREIGN}
    newer = secret_store.newer_hosts(STORE, everywhere)
    assert secret_store.doubt(newer, everywhere) == ""
