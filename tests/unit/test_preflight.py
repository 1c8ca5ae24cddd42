"""What the preflight's two halves work out themselves; the rules judge it in tests/unit/rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.modules import preflight

from plugins.action.preflight import clock_offset, pem_stores


def test_the_clock_is_off_by_what_the_way_cannot_explain() -> None:
    assert clock_offset(100.0, 101.0, 102.0) == 0
    assert clock_offset(100.0, 99.0, 102.0) == -1
    assert clock_offset(100.0, 104.5, 102.0) == 2.5


def test_pem_stores_of_all_listeners_are_found() -> None:
    config = {
        "ssl.keystore.location": "/a.pem",
        "ssl.keystore.type": "PEM",
        "ssl.truststore.location": "/b.jks",
        "listener.name.client.ssl.truststore.location": "/c.pem",
        "listener.name.client.ssl.truststore.type": "PEM",
    }
    assert pem_stores(config) == {"/a.pem": True, "/c.pem": False}


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("__cluster_metadata-0/leader-epoch-checkpoint", "0\n1\n1 0\n", True),
        ("__cluster_metadata-0/leader-epoch-checkpoint", "0\n0\n", False),
        ("version-2/currentEpoch", "3", True),
        ("version-2/currentEpoch", "0", False),
        ("other", "", False),
    ],
)
def test_data_is_that_of_an_elected_quorum(
    tmp_path: Path, path: str, text: str, expected: bool
) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    assert preflight.elected(str(tmp_path)) is expected
