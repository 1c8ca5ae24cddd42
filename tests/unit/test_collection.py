"""What the collection is made of when it is built: what its playbooks need, and its documents."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.support.lab.topology import ROOT
from tests.unit.tree import relative, tracked

PARTS = {
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "FILES.json",
    "LICENSE",
    "MANIFEST.json",
    "NOTICE",
    "README.md",
    "SECURITY.md",
    "ansible.cfg",
    "apps",
    "artifacts",
    "conftest.py",
    "docs",
    "examples",
    "inventories/vms_example",
    "inventories/vms_kafka",
    "meta",
    "playbooks",
    "plugins",
    "pyproject.toml",
    "requirements",
    "roles",
    "spark",
    "templates",
    "tests/__init__.py",
    "tests/cluster",
    "tests/support",
}
FOLDERS = ("inventories", "tests")
"""Of these only a part belongs to the collection."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    place = tmp_path_factory.mktemp("built")
    galaxy = Path(sys.executable).with_name("ansible-galaxy")
    command = [str(galaxy), "collection", "build", "--output-path", str(place)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [built] = place.glob("*.tar.gz")
    with tarfile.open(built) as archive:
        return {member.name for member in archive if member.isfile()}


def test_the_collection_has_what_belongs_to_it_alone(files: set[str]) -> None:
    def part(name: str) -> str:
        first, _, rest = name.partition("/")
        return f"{first}/{rest.partition('/')[0]}" if first in FOLDERS else first

    assert {part(name) for name in files} == PARTS


def test_it_has_all_that_its_playbooks_run(files: set[str]) -> None:
    folders = (
        "apps",
        "artifacts",
        "examples",
        "meta",
        "playbooks",
        "plugins",
        "requirements/control",
        "roles",
        "spark",
        "templates",
        "tests/cluster",
        "tests/support",
    )
    needed = {relative(path) for path in tracked() if relative(path).startswith(folders)}
    assert needed
    assert not needed - files


def test_what_git_does_not_have_is_not_in_it(files: set[str]) -> None:
    known = {relative(path) for path in tracked()}
    assert files - known == {"FILES.json", "MANIFEST.json"}


def test_the_metadata_name_no_invented_address() -> None:
    metadata = yaml.safe_load((ROOT / "galaxy.yml").read_text())
    assert not [value for value in metadata.values() if "example." in str(value)]
