from __future__ import annotations

import base64
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.heap import heap_mb
from ansible_collections.millrace.streaming.plugins.module_utils.uuids import (
    directory_id,
    is_cluster_id,
    random_cluster_id,
)

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        (CLUSTER, True),
        ("_kU3OEVBNTcwNTJENDM2Qg", True),
        ("-kU3OEVBNTcwNTJENDM2Qg", False),
        (CLUSTER + "==", False),
        (CLUSTER[:-1], False),
        (CLUSTER[:-1] + "h", False),
        ("MkU3OEVBNTcwNTJENDM2+g", False),
        ("MkU3OEVBNTcwNTJENDM2ä", False),
        ("A" * 22, False),
        ("A" * 21 + "Q", False),
        ("AAAAAAAAAAAAAAAAAAAAYw", False),
        ("AAAAAAAAAAAAAAAAAAAAZA", True),
        ("", False),
        (None, False),
    ],
)
def test_cluster_ids(text: Any, legal: bool) -> None:
    assert is_cluster_id(text) is legal


def test_random_ids_are_legal_and_differ() -> None:
    ids = {random_cluster_id() for _ in range(500)}
    assert len(ids) == 500
    assert all(map(is_cluster_id, ids))


def test_directory_ids_are_stable_distinct_and_legal() -> None:
    ids = [directory_id(CLUSTER, node) for node in range(500)]
    assert ids == [directory_id(CLUSTER, node) for node in range(500)]
    assert len(set(ids)) == 500
    assert all(len(base64.urlsafe_b64decode(text + "==")) == 16 for text in ids)
    assert not any(text.startswith("-") for text in ids)
    assert directory_id(random_cluster_id(), 1) not in ids


def test_a_directory_id_never_changes_between_releases() -> None:
    assert directory_id(CLUSTER, 1) == "KFpHj9DZUquEqnHlVq4t7A"


def test_directory_id_refuses_nonsense() -> None:
    with pytest.raises(ValueError, match="cluster id 'x'"):
        directory_id("x", 1)
    with pytest.raises(ValueError, match="node id -1"):
        directory_id(CLUSTER, -1)


@pytest.mark.parametrize(
    ("text", "mb"),
    [("512m", 512), ("2g", 2048), ("2G", 2048), ("1024k", 1), ("1048576K", 1024)],
)
def test_heap_mb(text: Any, mb: int) -> None:
    assert heap_mb(text) == mb


@pytest.mark.parametrize("text", ["", "512", "1.5g", "2 g", "2gb", "-1m", "0m", "100k", "1t", 512])
def test_heap_mb_names_the_value_and_the_legal_forms(text: Any) -> None:
    with pytest.raises(ValueError, match=r"legal: .*'512m', '2g'") as error:
        heap_mb(text)
    assert repr(text) in str(error.value)
