"""What unit tests of more than one folder share."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible import constants


@pytest.fixture
def local_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory in which a run of Ansible keeps its state, one for each test."""
    place = tmp_path / "ansible-local"
    place.mkdir()
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(place))
    return place
