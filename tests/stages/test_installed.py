"""The collection built, installed and run by its playbooks' names, on a freshly installed host."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.faults.target import skip_unless_full
from tests.support.lab.lab import leftovers, succeed
from tests.support.lab.topology import ROOT
from tests.support.recap import changed

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-installed"
LAB = {"LAB_TOPOLOGY": "single", "LAB_NAME": NAME}
INVENTORY = ROOT / f".lab/{NAME}/inventory"
RELEASES = ("bookworm", "bullseye")
"""Debian 12, and Debian 11, whose Python 3.9 is the oldest on a host."""
Play = Callable[[str], str]


@pytest.fixture(scope="module")
def play(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Run a playbook of the installed collection, away from this repository; its output."""
    place = tmp_path_factory.mktemp("collection")
    tools = Path(sys.executable).parent
    # Without this repository's own settings, by which its collection is there already.
    (place / "ansible.cfg").touch()
    env = {
        "ANSIBLE_COLLECTIONS_PATH": str(place / "installed"),
        "ANSIBLE_CONFIG": str(place / "ansible.cfg"),
        "ANSIBLE_HOME": str(place / "home"),
        "MILLRACE_STATE": str(place / "state"),
    }
    galaxy = [str(tools / "ansible-galaxy"), "collection"]
    run([*galaxy, "build", "--output-path", str(place)], ROOT, env)
    [built] = place.glob("millrace-streaming-*.tar.gz")
    run([*galaxy, "install", "--no-deps", "-p", str(place / "installed"), str(built)], place, env)
    command = [str(tools / "ansible-playbook"), "-i", str(INVENTORY)]
    return lambda name: run([*command, f"millrace.streaming.{name}"], place, env)


def run(command: list[str], folder: Path, env: dict[str, str]) -> str:
    done = subprocess.run(  # noqa: S603 - our own commands
        command,
        cwd=folder,
        env={**os.environ, **env},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    return done.stdout


@pytest.fixture(params=RELEASES)
def host(request: pytest.FixtureRequest) -> Iterator[None]:
    """A host of a release of Debian, which has nothing but Python and SSH."""
    if request.param != RELEASES[0]:
        skip_unless_full()
    succeed("down", seconds=120, env=LAB)
    INVENTORY.mkdir(parents=True)
    variables = {"lab_release": request.param}
    (INVENTORY / "release.yml").write_text(yaml.safe_dump({"all": {"vars": variables}}))
    succeed("run", "../molecule/shared/create", seconds=600, env=LAB)
    yield
    succeed("down", seconds=120, env=LAB)
    assert not leftovers(NAME)


@pytest.mark.usefixtures("host")
def test_playbooks_work_from_the_installed_collection(play: Play) -> None:
    play("validate")
    play("site")
    assert changed(play("site")) == 0
    play("smoke")
    play("health")
