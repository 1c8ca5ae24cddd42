"""The preflight meets a host with real faults: it names each of them and changes nothing."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager

import pytest

from tests.support.lab.lab import lab, leftovers
from tests.support.lab.lab import succeed as lab_succeeds
from tests.support.recap import changed
from tests.support.wait import wait_for

pytestmark = pytest.mark.usefixtures("fetched_ahead")
ENV = {"LAB_NAME": "test-preflight", "LAB_TOPOLOGY": "single"}
HOST = "solo"
DATA = "/var/lib/kafka/data"
OTHER = "Qg3OEVBNTcwNTJENDM2MkA"
MOUNTS = {"host_mounts": [{"path": "/mnt/extra-1", "src": "tmpfs", "fstype": "tmpfs"}]}
NOBODYS = {"host_mounts": [{"path": "/mnt/absent"}]}
# What an installation writes; a preflight must leave it as it is.
STATE = "sudo find /etc /opt /usr/local/bin /srv -printf '%p %s %T@\\n' | sort | sha256sum"


def verb(*arguments: str, seconds: float) -> subprocess.CompletedProcess[str]:
    return lab(*arguments, seconds=seconds, env=ENV)


def succeed(*arguments: str, seconds: float = 60) -> str:
    return lab_succeeds(*arguments, seconds=seconds, env=ENV)


def on_host(command: str) -> str:
    return succeed("ssh", HOST, command)


@contextmanager
def fault(inject: str, proof: str, restore: str) -> Iterator[None]:
    """A fault on the host, proven to be there, and removed afterwards."""
    on_host(inject)
    try:
        wait_for(
            lambda: verb("ssh", HOST, proof, seconds=30).returncode == 0, seconds=10, what=proof
        )
        yield
    finally:
        on_host(restore)


def tmpfs() -> AbstractContextManager[None]:
    mount = f"sudo mkdir -p {DATA} && sudo mount -t tmpfs tmpfs {DATA}"
    return fault(mount, f"mountpoint -q {DATA}", f"sudo umount {DATA}")


def noexec() -> AbstractContextManager[None]:
    state = "findmnt -no OPTIONS /tmp | grep noexec"
    return fault("sudo mount -o remount,noexec /tmp", state, "sudo mount -o remount,exec /tmp")


def listener() -> AbstractContextManager[None]:
    inject = "sudo systemd-run --quiet --unit=squatter python3 -m http.server 9092"
    return fault(inject, "ss -ltn | grep :9092", "sudo systemctl stop squatter")


def foreign_directory() -> AbstractContextManager[None]:
    path = f"{DATA}/backup"
    return fault(f"sudo mkdir {path}", f"sudo test -d {path}", f"sudo rmdir {path}")


def another_cluster() -> AbstractContextManager[None]:
    meta = f"{DATA}/meta.properties"
    inject = (
        f"sudo cp -p {meta} /run/meta && sudo sed -i s/^cluster.id=.*/cluster.id={OTHER}/ {meta}"
    )
    proof = f"sudo grep -q {OTHER} {meta}"
    return fault(inject, proof, f"sudo mv /run/meta {meta}")


def refused(variables: Mapping[str, object]) -> set[str]:
    """Run everything; it must stop at the preflight and leave the host as it was.

    Returns the rules that refuse.
    """
    before = on_host(STATE)
    done = verb("run", "site", "-e", json.dumps(variables), seconds=120)
    assert done.returncode != 0, done.stdout[-4000:]
    assert "PLAY [Kafka]" not in done.stdout
    assert on_host(STATE) == before
    return set(re.findall(r"^ *\d+\. .*\[([a-z-]+)\]$", done.stdout, flags=re.M))


@pytest.fixture(scope="module", autouse=True)
def fresh_host() -> Iterator[None]:
    """A host as a fresh machine is."""
    verb("down", seconds=120)
    succeed("run", "../molecule/shared/create", seconds=300)
    yield
    verb("down", seconds=120)
    assert not leftovers(ENV["LAB_NAME"])


@pytest.fixture(scope="module")
def installed() -> None:
    """The same host with Kafka on it."""
    succeed("run", "site", "-e", json.dumps(MOUNTS), seconds=300)


def test_a_fresh_host_passes() -> None:
    before = on_host(STATE)
    output = succeed("run", "preflight")
    assert changed(output) == 0
    assert "root file system" in output, "a warning must be shown"
    assert on_host(STATE) == before


def test_check_mode_knows_that_a_mount_would_come_first() -> None:
    before = on_host(STATE)
    disk = "/srv/kafka/disk1"
    mounts = [{"path": disk, "src": "tmpfs", "fstype": "tmpfs"}]
    variables = {"host_mounts": mounts, "kafka_data_dirs": [f"{disk}/data"]}
    output = succeed("run", "site", "--check", "--diff", "-e", json.dumps(variables), seconds=120)
    assert f"+log.dirs={disk}/data" in output
    assert on_host(STATE) == before


def test_all_faults_of_a_fresh_host_are_in_one_message() -> None:
    with tmpfs(), noexec(), listener():
        assert refused(NOBODYS) == {"mount-missing", "data-in-memory", "tmp-noexec", "port-in-use"}


def test_an_installed_host_passes_while_kafka_runs(installed: None) -> None:
    output = succeed("run", "preflight")
    assert changed(output) == 0
    assert "foreign-file" not in output, "each file is Kafka's own"


def test_a_mount_is_a_unit_that_comes_back_at_boot(installed: None) -> None:
    assert "tmpfs" in on_host("findmnt --noheadings /mnt/extra-1")
    assert "enabled" in on_host("systemctl is-enabled 'mnt-extra\\x2d1.mount'")


def test_foreign_data_is_refused(installed: None) -> None:
    with foreign_directory(), another_cluster():
        assert refused(MOUNTS) == {"foreign-directory", "storage-of-another"}
    succeed("run", "preflight")
