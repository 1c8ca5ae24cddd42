"""What unit tests of more than one folder share."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible import constants
from hypothesis import HealthCheck, settings

# The same examples in every run, however busy the machine is.
settings.register_profile(
    "repeatable", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("repeatable")


@pytest.fixture
def local_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which a run of Ansible keeps its state, one for each test."""
    place = tmp_path / "ansible-local"
    place.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(place))
    return place
