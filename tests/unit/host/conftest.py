"""What tests of a host's files have in common: they are run as root, on somebody's machine."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

_CHANGES = ("unlink", "rmdir", "rename", "fchown", "fchmod")


@pytest.fixture(autouse=True)
def changes_stay_below_the_temporary_directory(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Let a bug in what removes and gives away fail its test, before it reaches the machine."""
    allowed = tmp_path_factory.getbasetemp().resolve()

    def fenced(name: str, change: Callable[..., None]) -> Callable[..., None]:
        def act(path: Any, *arguments: Any, **at: Any) -> None:
            if isinstance(path, int):
                place = Path(f"/proc/self/fd/{path}").resolve()
            else:
                directory = at.get("dir_fd", at.get("src_dir_fd"))
                base = Path() if directory is None else Path(f"/proc/self/fd/{directory}")
                place = base.resolve() / Path(path).name if directory else Path(path).absolute()
            if not place.is_relative_to(allowed):
                pytest.fail(f"{name} of {place}, which is none of the test's")
            change(path, *arguments, **at)

        return act

    for name in _CHANGES:
        monkeypatch.setattr(os, name, fenced(name, getattr(os, name)))
