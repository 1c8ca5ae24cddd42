"""The repository's own files, for the tests about its structure."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from tests.support.lab.topology import ROOT

ROLES = sorted(path.name for path in (ROOT / "roles").iterdir() if path.is_dir())
SCENARIOS = sorted(path.parent.name for path in ROOT.glob("molecule/*/molecule.yml"))


class Loader(yaml.CSafeLoader):
    """Reads Ansible's own tags as plain values."""


Loader.add_multi_constructor("!", lambda loader, _, node: loader.construct_scalar(node))


def parse(text: str) -> Any:
    return Loader(text).get_single_data()


def load(path: Path) -> Any:
    return parse(path.read_text())


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def walk(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping of a document, at any depth."""
    if isinstance(value, dict):
        yield value
    for child in value.values() if isinstance(value, dict) else value:
        if isinstance(child, dict | list):
            yield from walk(child)


def git_files(*options: str) -> list[str]:
    """What `git ls-files` says."""
    command = ["git", "ls-files", *options]
    return subprocess.run(
        command, cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.splitlines()


def tracked() -> list[Path]:
    """What a commit of this tree would hold."""
    names = git_files("--cached", "--others", "--exclude-standard")
    return [path for name in names if (path := ROOT / name).is_file()]
