from __future__ import annotations

import base64
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.uuids import (
    directory_id,
    is_cluster_id,
    kafka_text,
    random_cluster_id,
)

CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


@pytest.mark.parametrize(
    ("text", "legal"),
    [
        (CLUSTER, True),
        ("_kU3OEVBNTcwNTJENDM2Qg", True),
        ("-kU3OEVBNTcwNTJENDM2Qg", True),
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
    assert not any(text.startswith("-") for text in ids), "which a command line takes for an option"


def test_directory_ids_are_stable_distinct_and_legal() -> None:
    ids = [directory_id(CLUSTER, node) for node in range(500)]
    assert ids == [directory_id(CLUSTER, node) for node in range(500)]
    assert len(set(ids)) == 500
    assert all(len(base64.urlsafe_b64decode(text + "==")) == 16 for text in ids)
    assert not any(text.startswith("-") for text in ids)
    assert directory_id(random_cluster_id(), 1) not in ids


def test_a_directory_id_never_changes_between_releases() -> None:
    assert directory_id(CLUSTER, 1) == "KFpHj9DZUquEqnHlVq4t7A"


def test_a_uuid_in_its_usual_form_is_written_as_kafka_does() -> None:
    assert kafka_text("00000000-0000-0000-0000-000000000000") == "A" * 22
    assert kafka_text("324d5533-4f45-5642-4e54-637749544a45") == "Mk1VM09FVkJOVGN3SVRKRQ"
    with pytest.raises(ValueError, match="UUID"):
        kafka_text("x")
