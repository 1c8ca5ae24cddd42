"""What the preflight's module finds on a host, here on this machine; what a mount table says."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible.errors import AnsibleFilterError
from ansible_collections.millrace.streaming.plugins.module_utils import mount_table, preflight

from plugins.filter.host import mount_files, mount_unit
from tests.unit.module_runner import ROOT, run_module

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 8:16 / /data rw,noatime - xfs /dev/sdb ro
24 22 8:17 / /my\\040disk rw - xfs /dev/sdb1 rw
25 22 0:5 / /data rw - tmpfs tmpfs rw
26 25 8:18 / /data/kafka/more rw - xfs /dev/sdc rw
broken
"""
FSTAB = """\
# /data3 is not here yet
UUID=1 / ext4 defaults 0 1
/dev/sdb /data xfs defaults 0 0
/dev/sdd /data2 xfs defaults 0 0
/dev/sde /data3 xfs noauto 0 0
/dev/sdf none swap sw 0 0
"""


def found(**args: Any) -> dict[str, Any]:
    """What the module tells of this machine."""
    result = run_module("preflight", args)
    assert "found" in result, result
    assert result["changed"] is False
    answer: dict[str, Any] = result["found"]
    return answer


def test_the_answer_is_a_snapshot() -> None:
    one = preflight.snapshot(found(), offset=0.25)
    assert one.clock.offset == 0.25
    assert one.python >= (3, 11)
    assert one.os_id
    assert "/" in one.mount_points
    assert one.open_files is None or one.open_files > 0


def test_a_data_directory_is_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("t-0", "__cluster_metadata-0", "backup"):
        (data / name).mkdir(parents=True)
    (data / "myid").write_text("3\n")
    state = '{"data_version": 1}'
    (data / "__cluster_metadata-0/quorum-state").write_text(state)
    (there,) = found(directories=[str(data)])["directories"]
    assert there["exists"]
    assert there["meta"] is None
    assert there["names"] == ["backup/", "myid"]
    assert there["partitions"] == ["__cluster_metadata-0", "t-0"]
    assert there["quorum"] == {"data_version": 1}
    assert there["myid"] == "3\n"
    assert there["size"] > there["free"] > 0
    (data / "meta.properties").write_text("version=1\n")
    (again,) = found(directories=[str(data)])["directories"]
    assert again["meta"] == "version=1\n"
    assert again["partitions"] == []


def test_a_directory_to_come_is_judged_by_its_place(tmp_path: Path) -> None:
    here, absent = found(directories=[str(tmp_path), f"{tmp_path}/a/b"])["directories"]
    assert not absent["exists"]
    assert here["parent"]
    assert not absent["parent"]
    assert absent["device"] == here["device"] != ""


def test_somebody_on_a_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listeners = found(ports=[port, 1])["listeners"]
    assert list(listeners) == [str(port)]
    assert f"(process {os.getpid()})" in listeners[str(port)]
    assert found(ports=[port])["listeners"] == {}


def test_names_are_resolved_on_the_host() -> None:
    names = found(names=["localhost", "10.0.0.1", "not-there.invalid"])["addresses"]
    assert "127.0.0.1" in names["localhost"]
    assert (names["10.0.0.1"], names["not-there.invalid"]) == (["10.0.0.1"], [])


def test_what_is_installed_is_what_the_link_names(tmp_path: Path) -> None:
    (tmp_path / "kafka").symlink_to("/opt/millrace/kafka-4.3.1-0123456789ab")
    (tmp_path / "spark").mkdir()
    links = [f"{tmp_path}/{name}" for name in ("kafka", "spark", "zookeeper")]
    installed = {"kafka": "kafka-4.3.1-0123456789ab", "spark": "", "zookeeper": ""}
    assert found(links=links)["installed"] == installed


def test_java_is_read_from_its_release_file(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/java").touch()
    (tmp_path / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.4"\n')
    java = found(java_home=str(tmp_path))["java"]
    assert (java["exists"], java["version"]) == (True, "21.0.4")
    assert not found(java_home=f"{tmp_path}/absent")["java"]["exists"]


def test_what_a_mount_needs_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    (tmp_path / "empty/lost+found").mkdir(parents=True)
    paths = [f"{tmp_path}/{name}" for name in ("full", "empty", "absent")]
    sources = [str(tmp_path), f"{tmp_path}/absent", "UUID=not-there", "server:/export"]
    answer = found(mounts=paths, sources=sources, homes=paths)
    assert answer["occupied"] == [paths[0]]
    assert answer["absent_sources"] == [f"{tmp_path}/absent", "UUID=not-there"]
    assert answer["homes"] == dict(zip(paths, (True, True, False), strict=True))


def test_a_certificate_is_read(tmp_path: Path) -> None:
    pem, key = tmp_path / "store.pem", tmp_path / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "10"]
    names = ["-subj", "/CN=k1", "-addext", "subjectAltName=DNS:k1,IP:10.0.0.1"]
    subprocess.run(  # noqa: S603 - fixed words
        [*command, *names, "-keyout", key, "-out", pem], check=True, capture_output=True
    )
    stores = {"stores": [str(pem), f"{tmp_path}/absent"], "keystores": [str(pem)]}
    there, absent = found(**stores, kafka_user="nobody-of-this-name")["certificates"]
    assert 9 < there["days_left"] <= 10
    assert there["names"] == ["k1", "10.0.0.1"]
    assert not absent["exists"]


def test_the_mount_on_top_holds_a_path() -> None:
    mounts = mount_table.parse_mountinfo(MOUNTINFO)
    assert mount_table.mount_of("/data/kafka", mounts).fstype == "tmpfs"
    assert mount_table.mount_of("/data/kafka", mounts[:2]).options == ("rw", "noatime", "ro")
    assert mount_table.mount_of("/database", mounts).path == "/"
    assert mount_table.mount_of("/my disk/x", mounts).device == "8:17"
    assert mount_table.inside("/data/kafka", mounts) == ["/data/kafka/more"]


def test_what_fstab_promises_and_nobody_mounted() -> None:
    mounts = mount_table.parse_mountinfo(MOUNTINFO)
    assert mount_table.unmounted("/data2/kafka", FSTAB, mounts) == "/data2"
    assert mount_table.unmounted("/data/kafka", FSTAB, mounts) == ""
    assert mount_table.unmounted("/data3/kafka", FSTAB, mounts) == ""


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("/data", "data.mount"),
        ("/srv/kafka_1/", "srv-kafka_1.mount"),
        ("/data-1/x y", "data\\x2d1-x\\x20y.mount"),
        ("/.hidden", "\\x2ehidden.mount"),
    ],
)
def test_a_mount_unit_has_systemds_name(path: str, unit: str) -> None:
    assert mount_unit(path) == unit


@pytest.mark.parametrize("path", ["/", "data", ""])
def test_a_path_that_cannot_be_a_unit_is_refused(path: str) -> None:
    with pytest.raises(AnsibleFilterError):
        mount_unit(path)


def test_mounts_become_units() -> None:
    mounts = [
        {"path": "/data", "src": "UUID=1%2", "fstype": "xfs", "opts": "noatime,nodiratime"},
        {"path": "/data2", "src": "/dev/sdb"},
        {"path": "/others"},
    ]
    files = mount_files(mounts)
    assert list(files) == [f"/etc/systemd/system/{name}.mount" for name in ("data", "data2")]
    first, second = (entry["content"] for entry in files.values())
    assert "What=UUID=1%%2\nWhere=/data\nType=xfs\nOptions=noatime,nodiratime\n" in first
    assert "What=/dev/sdb\nWhere=/data2\nOptions=noatime\n" in second
    assert "WantedBy=local-fs.target" in second


def test_one_run_tells_the_problems_of_all_hosts(tmp_path: Path) -> None:
    """The first host's failure does not hide the second's; a wrong one is the whole task's."""
    hosts = {}
    for name in ("k1", "k2"):
        data = tmp_path / name
        (data / f"junk-of-{name}").mkdir(parents=True)
        described = {"node_id": 1, "roles": ["broker"], "data_dirs": [str(data)]}
        hosts[name] = {"ansible_connection": "local", "described": described}
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"all": {"hosts": hosts}}))
    task = {"millrace.streaming.preflight": {"kafka": "{{ described }}"}}
    play = {"hosts": "all", "gather_facts": False, "any_errors_fatal": True, "tasks": [task]}
    playbook = tmp_path / "play.json"
    playbook.write_text(json.dumps([play]))
    done = subprocess.run(  # noqa: S603 - fixed words
        [Path(sys.executable).with_name("ansible-playbook"), "-i", inventory, playbook],
        env={
            **os.environ,
            "ANSIBLE_COLLECTIONS_PATH": str(ROOT / "collections"),
            "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
            "ANSIBLE_REMOTE_TMP": str(tmp_path / "remote"),
            "ANSIBLE_NOCOLOR": "1",
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2, done.stdout + done.stderr
    for name in hosts:
        assert f"fatal: [{name}]: FAILED!" in done.stdout
        assert (
            f"{tmp_path}/{name} holds junk-of-{name}, which is no topic-partition." in done.stdout
        )
