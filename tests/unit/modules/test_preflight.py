"""What the module preflight finds on a host, here on this machine."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import bodies
from ansible_collections.millrace.streaming.plugins.module_utils.host import secret_record
from ansible_collections.millrace.streaming.plugins.module_utils.host.spark_shared import (
    MARK as SHARED_MARK,
)
from ansible_collections.millrace.streaming.plugins.modules import preflight
from ansible_collections.millrace.streaming.plugins.plugin_utils.rules.inspection import Inspection
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    issue,
    new_authority,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from tests.unit.cluster.small import kafka
from tests.unit.cluster.systemd_analyze import needs_systemd
from tests.unit.in_process import call_module


def inspected(**options: Any) -> dict[str, Any]:
    """What the module finds on this machine."""
    result = call_module("preflight", options)
    assert "inspection" in result, result
    assert result["changed"] is False
    assert result["time"] > 0
    answer: dict[str, Any] = result["inspection"]
    return answer


def test_the_answer_is_an_inspection(tmp_path: Path) -> None:
    answer = inspected(directories=[str(tmp_path)], stores=[{"path": "/absent.pem"}])
    inspection = Inspection.of(answer, 0.25)
    assert inspection.clock.offset == 0.25
    assert inspection.system.python >= (3, 11)
    assert inspection.system.os_release["ID"]
    assert "/" in inspection.disks.mount_points
    assert inspection.system.open_files is None or inspection.system.open_files > 0
    assert inspection.facts.cores == os.cpu_count()
    assert (inspection.facts.memory_mb or 0) > 0
    assert [directory.path for directory in inspection.disks.directories] == [str(tmp_path)]
    assert [certificate.exists for certificate in inspection.kafka.certificates] == [False]


@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="no Python of the system here")
def test_the_python_of_sparks_jobs_is_the_systems(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    shown = subprocess.run(["/usr/bin/python3", "-V"], capture_output=True, text=True, check=True)
    assert Inspection.of(inspected(shared_dir=str(tmp_path)), 0.0).facts.python in shown.stdout
    assert Inspection.of(inspected(), 0.0).spark.python == ()
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    assert preflight.system_python() == list(sys.version_info[:3])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"name": "a"}', {"name": "a"}),
        ("", {}),
        ("[1]", {}),
        ('{"name"', {}),
        ("[" * 99999, {}),
        (None, {}),
    ],
    ids=["record", "empty", "list", "damaged", "nested", "none"],
)
def test_with_which_secrets_the_host_was_deployed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, expected: dict[str, Any]
) -> None:
    record = tmp_path / "secrets.json"
    monkeypatch.setattr(secret_record, "RECORD", str(record))
    if text is not None:
        record.write_text(text)
    assert inspected()["secrets"] == expected


def test_the_id_of_a_shared_directory_is_read(tmp_path: Path) -> None:
    assert inspected(shared_dir=str(tmp_path))["spark"]["shared_id"] == ""
    (tmp_path / SHARED_MARK).write_text("1-2\n")
    assert inspected(shared_dir=str(tmp_path))["spark"]["shared_id"] == "1-2"
    assert inspected()["spark"]["shared_id"] == ""


def test_an_id_that_is_too_large_is_none(tmp_path: Path) -> None:
    (tmp_path / ".millrace-id").write_text("a" * 5000)
    assert inspected(shared_dir=str(tmp_path))["spark"]["shared_id"] == ""


def test_accounts_of_what_watched_the_host_once(tmp_path: Path) -> None:
    there, gone = tmp_path / "console.conf", tmp_path / "metrics.conf"
    there.touch()
    answer = call_module("preflight", {"accounts": [str(there), str(gone)]})
    assert answer["former_monitoring"] == [str(there)]


def test_a_data_directory_is_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    for name in ("t-0", "__cluster_metadata-0", "backup"):
        (data / name).mkdir(parents=True)
    (data / "myid").write_text("3\n")
    state = '{"data_version": 1}'
    (data / "__cluster_metadata-0/quorum-state").write_text(state)
    (there,) = inspected(directories=[str(data)])["disks"]["directories"]
    assert there["exists"]
    assert there["meta"] is None
    assert there["names"] == ["backup/", "myid"]
    assert there["partitions"] == ["__cluster_metadata-0", "t-0"]
    assert there["quorum"] == {"data_version": 1, "currentVoters": False}
    assert there["myid"] == "3\n"
    assert there["size"] > there["free"] > 0
    (data / "meta.properties").write_text("version=1\n")
    (again,) = inspected(directories=[str(data)])["disks"]["directories"]
    assert again["meta"] == "version=1\n"
    assert again["partitions"] == []


@pytest.mark.parametrize("state", ["", "[]", "{", '"text"', "[" * 100000, '{"data_version":[]}'])
def test_a_quorum_state_that_is_none_is_left_out(tmp_path: Path, state: str) -> None:
    (tmp_path / "__cluster_metadata-0").mkdir()
    (tmp_path / "__cluster_metadata-0/quorum-state").write_text(state)
    (there,) = inspected(directories=[str(tmp_path)])["disks"]["directories"]
    assert there["quorum"] is None


def test_a_directory_to_come_is_judged_by_its_place(tmp_path: Path) -> None:
    here, absent = inspected(directories=[str(tmp_path), f"{tmp_path}/a/b"])["disks"]["directories"]
    assert not absent["exists"]
    assert here["parent"]
    assert not absent["parent"]
    assert absent["device"] == here["device"] != ""


def test_a_link_to_a_disk_is_that_disks(tmp_path: Path) -> None:
    (tmp_path / "disk").symlink_to("/proc")
    linked, real = inspected(directories=[f"{tmp_path}/disk", "/proc"])["disks"]["directories"]
    assert linked["mount"] == real["mount"] == "/proc"


@pytest.mark.parametrize(
    ("path", "text", "expected"),
    [
        ("__cluster_metadata-0/leader-epoch-checkpoint", "0\n1\n1 0\n", True),
        ("__cluster_metadata-0/leader-epoch-checkpoint", "0\n0\n", False),
        ("__cluster_metadata-0/00000000000000000000-0000000000.checkpoint", "", False),
        ("__cluster_metadata-0/00000000000000004711-0000000003.checkpoint", "", True),
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


def test_somebody_on_a_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        listeners = inspected(ports=[port, 1])["network"]["listeners"]
    assert list(listeners) == [str(port)]
    assert str(os.getpid()) in listeners[str(port)]
    assert inspected(ports=[port])["network"]["listeners"] == {}


def test_names_are_resolved_on_the_host() -> None:
    names = inspected(names=["localhost", "10.0.0.1", "not-there.invalid"])["network"]["addresses"]
    assert "127.0.0.1" in names["localhost"]
    assert (names["10.0.0.1"], names["not-there.invalid"]) == (["10.0.0.1"], [])


def test_what_is_installed_is_what_the_link_names(tmp_path: Path) -> None:
    (tmp_path / "kafka").symlink_to("/opt/millrace/kafka-4.3.1-0123456789ab")
    (tmp_path / "spark").mkdir()
    links = [f"{tmp_path}/{name}" for name in ("kafka", "spark", "zookeeper")]
    installed = {"kafka": "kafka-4.3.1-0123456789ab", "spark": "", "zookeeper": ""}
    assert inspected(links=links)["software"]["installed"] == installed


def test_files_need_no_change_if_content_and_mode_are_as_wanted(tmp_path: Path) -> None:
    path = tmp_path / "millrace.conf"
    wanted = {str(path): {"content": "vm.swappiness=1\n"}}
    assert call_module("preflight", {"files": wanted})["files_current"] is False
    path.write_text("vm.swappiness=1\n")
    path.chmod(0o644)
    assert call_module("preflight", {"files": wanted})["files_current"] is True
    path.chmod(0o600)
    assert call_module("preflight", {"files": wanted})["files_current"] is False
    path.chmod(0o644)
    path.write_text("vm.swappiness=60\n")
    assert call_module("preflight", {"files": wanted})["files_current"] is False


def test_java_is_read_from_its_release_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of packages, and the one that the inventory names; none is started."""
    packages, own = tmp_path / "jvm", tmp_path / "own"
    monkeypatch.setattr(preflight, "JAVA_HOMES", str(packages))
    for home in (packages / "java-17", own):
        (home / "bin").mkdir(parents=True)
        (home / "bin/java").touch()
    (packages / "without-a-program").mkdir()
    (own / "release").write_text('IMPLEMENTOR="X"\nJAVA_VERSION="21.0.4"\n')
    both = {str(packages / "java-17"): "", str(own): "21.0.4"}
    assert inspected(java_homes=[str(own)])["software"]["javas"] == both
    software = inspected(java_homes=[f"{tmp_path}/absent"])["software"]
    assert list(software["javas"]) == [str(packages / "java-17")]


def test_what_a_mount_needs_is_found(tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    (tmp_path / "empty/lost+found").mkdir(parents=True)
    paths = [f"{tmp_path}/{name}" for name in ("full", "empty", "absent")]
    sources = [str(tmp_path), f"{tmp_path}/absent", "UUID=not-there", "server:/export"]
    answer = inspected(mounts=paths, sources=sources, homes=paths)
    assert answer["disks"]["occupied"] == [paths[0]]
    assert answer["disks"]["absent_sources"] == [f"{tmp_path}/absent", "UUID=not-there"]
    assert answer["software"]["homes"] == dict(zip(paths, (True, True, False), strict=True))


def test_stores_are_read(tmp_path: Path) -> None:
    authority = new_authority("Site")
    names = ("k1", "10.0.0.1", "2001:db8::1")
    pem, trusted, junk = (tmp_path / f"{name}.pem" for name in ("store", "ca", "junk"))
    pem.write_text(issue(authority, Certificate("k1/node", "", "x", names, client=True)))
    trusted.write_text(authority.certificate)
    junk.write_text("junk")
    own = {"is_keystore": True, "password": "", "mutual": True}
    stores = [
        {**own, "path": str(pem), "truststore": str(trusted)},
        {**own, "path": str(pem), "authorities": new_authority("Other").certificate},
        {"path": str(trusted)},
        {"path": str(junk)},
        {"path": f"{tmp_path}/absent"},
    ]
    answer = Inspection.of(inspected(stores=stores, kafka_user="nobody-of-this-name"), 0.0)
    good, foreign, ca, wrong, absent = answer.kafka.certificates
    assert (good.wrong, good.refused) == ("", "")
    assert 390 < (good.days_left or 0) < 400
    assert good.names == ("DNS:k1", "IP:10.0.0.1", "IP:2001:db8::1")
    assert "none of the CAs" in foreign.refused
    assert (ca.wrong, ca.names) == ("", None)
    assert "no certificate" in wrong.wrong
    assert not absent.exists


def test_the_password_of_a_key_is_not_in_the_answer(tmp_path: Path) -> None:
    pem = tmp_path / "store.pem"
    pem.write_text(issue(new_authority("Site"), Certificate("k1", "", "x", ("k1",), client=True)))
    store = {"path": str(pem), "is_keystore": True, "password": "hunter22"}
    answer = inspected(stores=[store])
    assert "is not encrypted" in answer["kafka"]["certificates"][0]["wrong"]
    assert "hunter22" not in str(answer)


def configured(folder: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> dict[str, str]:
    """Return how a host with this configuration of Kafka talks to others."""
    path = folder / "server.properties"
    path.write_text(text)
    monkeypatch.setattr(preflight, "SERVER_PROPERTIES", str(path))
    node = inspected()["kafka"]
    return {role: node["protocols"][name] for role, name in node["between_nodes"].items()}


PROTOCOLS = "listener.security.protocol.map=CLIENT:SASL_SSL,INTERNAL:SSL,CONTROLLER:PLAINTEXT\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "inter.broker.listener.name=INTERNAL\ncontroller.listener.names=CONTROLLER\n",
            {"brokers": "SSL", "controllers": "PLAINTEXT"},
        ),
        ("inter.broker.listener.name=CLIENT\n", {"brokers": "SASL_SSL"}),
        ("controller.listener.names=CONTROLLER\n", {"controllers": "PLAINTEXT"}),
        ("controller.listener.names=CONTROLLER,OTHER\n", {"controllers": "PLAINTEXT"}),
        ("inter.broker.listener.name=GONE\n", {}),
        ("", {}),
    ],
)
def test_how_nodes_talk_to_each_other_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: dict[str, str]
) -> None:
    assert configured(tmp_path, monkeypatch, PROTOCOLS + text) == expected


@pytest.mark.parametrize("text", ["", "inter.broker.listener.name=CLIENT\n", "\\u12\n\x00"])
def test_a_configuration_without_protocols_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    assert configured(tmp_path, monkeypatch, text) == {}


def test_a_host_without_kafka_talks_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "SERVER_PROPERTIES", f"{tmp_path}/absent")
    assert inspected()["kafka"]["between_nodes"] == {}


def test_protocols_are_read_from_what_the_model_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = kafka(1, 1, kafka_security="standard").kafka["b1"]
    text = str(node.files()["/etc/kafka/server.properties"]["content"])
    expected = {"brokers": "SSL", "controllers": "SSL"}
    assert configured(tmp_path, monkeypatch, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("node.id=1\nauthorizer.class.name=a.B\n", "a.B"), ("node.id=1\n", ""), ("", None)],
)
def test_the_authorizer_of_a_configured_node_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str | None
) -> None:
    configured(tmp_path, monkeypatch, text)
    assert inspected()["kafka"]["authorizer"] == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("min.insync.replicas=2\n", 2), ("node.id=1\n", None), ("", None)]
)
def test_the_minimum_of_replicas_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: int | None
) -> None:
    configured(tmp_path, monkeypatch, text)
    assert inspected()["kafka"]["min_isr"] == expected


def test_the_authorities_that_a_node_trusts_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ca.pem"
    monkeypatch.setattr(preflight, "AUTHORITY", str(path))
    assert inspected()["kafka"]["authorities"] == []
    both = "".join(new_authority(name).certificate for name in ("one", "other"))
    path.write_text(both)
    assert inspected()["kafka"]["authorities"] == bodies(both)
    path.write_text("damaged\n")
    assert inspected()["kafka"]["authorities"] == []
    path.unlink()
    path.mkdir()
    assert inspected()["kafka"]["authorities"] == []


def test_the_authority_that_has_signed_a_nodes_certificate_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, authority = tmp_path / "node.pem", new_authority("one")
    monkeypatch.setattr(preflight, "NODE_STORE", str(path))
    assert inspected()["kafka"]["signed_by"] == []
    path.write_text(issue(authority, Certificate("k1/node", "", "k1", ("k1",), client=True)))
    answer = inspected()
    assert answer["kafka"]["signed_by"] == bodies(authority.certificate)
    assert "PRIVATE" not in str(answer)


def test_the_authorities_of_a_member_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While they are changed it trusts two, of which one has signed its certificate."""
    former, following = (new_authority(name) for name in ("one", "other"))
    texts = {
        "ENSEMBLE_AUTHORITY": former.certificate + following.certificate,
        "ENSEMBLE_CLIENTS": following.certificate,
        "MEMBER_STORE": issue(former, Certificate("x", "", "x", ("z1",), client=True)),
    }
    for name, text in texts.items():
        path = tmp_path / name
        path.write_text(text)
        monkeypatch.setattr(preflight, name, str(path))
    member = inspected()["zookeeper"]
    first, second = bodies(former.certificate + following.certificate)
    assert member["authorities"] == [first, second]
    assert member["clients"] == [second]
    assert member["member_signed_by"] == [first]


# The firewall


def program_that(folder: Path, name: str, command: str) -> str:
    """Put a program in the place of the system's own, and return a path of programs."""
    program = folder / name
    program.write_text(f"#!/bin/sh\n{command}\n")
    program.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_rules_that_nftables_takes_are_not_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = f'[ "$1 $2" = "--check --file" ] && cat "$3" > {tmp_path}/read'
    monkeypatch.setenv("PATH", program_that(tmp_path, "nft", command))
    answer = inspected(rules="table inet x\n")
    assert answer["network"]["nft"]
    assert answer["network"]["refused_rules"] == ""
    assert (tmp_path / "read").read_text().strip() == "table inet x"


def test_the_reason_why_rules_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", program_that(tmp_path, "nft", "echo no kernel support >&2; exit 1"))
    assert inspected(rules="table inet x\n")["network"]["refused_rules"] == "no kernel support"
    assert inspected()["network"]["refused_rules"] == "", "without a firewall nothing is asked"


def test_the_address_from_which_the_host_connects() -> None:
    sources = inspected(peers=["127.0.0.1", "absent.invalid"])["network"]["sources"]
    assert sources == {"127.0.0.1": ["127.0.0.1"], "absent.invalid": []}


def test_units_that_the_site_runs_are_known(tmp_path: Path) -> None:
    (tmp_path / "multi-user.target.wants").mkdir()
    for name in ("enabled", "masked"):
        (tmp_path / f"multi-user.target.wants/{name}.service").symlink_to(f"/lib/{name}.service")
    (tmp_path / "masked.service").symlink_to("/dev/null")
    (tmp_path / "written.service").touch()
    names = ("enabled", "masked", "written", "absent")
    masks = [str(tmp_path / f"{name}.service") for name in names]
    assert inspected(masks=masks)["software"]["site_units"] == ["enabled", "written"]


def test_a_firewall_that_is_there(tmp_path: Path) -> None:
    there, absent = tmp_path / "there", tmp_path / "absent"
    there.touch()
    assert inspected(firewall=[str(there), str(absent)])["network"]["firewall"] == [str(there)]


# What Java takes


@pytest.mark.skipif(not shutil.which("java"), reason="no java here")
def test_the_java_of_this_machine_is_asked_about_options() -> None:
    home = str(Path(shutil.which("java") or "").resolve().parents[1])
    answer = inspected(java_homes=[home, "/absent"], java_options=["-Xss1m", "-Xss4"])
    refused = answer["software"]["refused_java_options"]
    assert {java: [*options] for java, options in refused.items()} == {home: ["-Xss4"]}
    assert "too small" in refused[home]["-Xss4"]


def test_without_options_no_java_is_asked() -> None:
    assert inspected(java_homes=["/usr"])["software"]["refused_java_options"] == {}


# What the kernel has


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A kernel with some settings."""
    for name in (
        "vm/swappiness",
        "net/ipv4/conf/all/forwarding",
        "net/ipv4/conf/eth0.1/forwarding",
        "net/ipv4/conf/eth0.1/rp_filter",
        "fs/binfmt_misc/register",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr(preflight, "KERNEL_SETTINGS", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(
    "name",
    [
        "vm.swappiness",
        "vm/swappiness",
        # A dot of a device's name is a slash where dots separate, and else a dot.
        "net.ipv4.conf.eth0/1.forwarding",
        "net/ipv4/conf/eth0.1/forwarding",
        # Those that may be missing.
        "-vm.swapiness",
        "net.ipv4.conf.wlan*.forwarding",
        "net.ipv4.conf.wlan[01].forwarding",
    ],
)
def test_a_setting_that_the_kernel_has_is_not_looked_for(
    settings: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(preflight, "existing_settings", pytest.fail)
    assert inspected(kernel_settings=[name])["system"]["absent_settings"] == {}


@pytest.mark.parametrize(
    ("name", "similar"),
    [
        ("vm.swapiness", "vm.swappiness"),
        ("vm/swapiness", "vm.swappiness"),
        ("net.ipv4.conf.all.forwardin", "net.ipv4.conf.all.forwarding"),
        ("net.ipv4.conf.eth0.1.forwarding", ""),
        # Not what a device has.
        ("net.ipv4.conf.eth0/1.rp_filte", ""),
        ("fs.binfmt_misc.registe", ""),
        ("net.netfilter.nf_conntrack_max", ""),
        ("vm", ""),
        ("", ""),
        ("a\0b", ""),
        ("a" * 5000, ""),
    ],
    ids=lambda text: text[:40],
)
def test_a_setting_that_the_kernel_does_not_have(settings: Path, name: str, similar: str) -> None:
    answer = inspected(kernel_settings=["vm.swappiness", name])
    assert answer["system"]["absent_settings"] == {name: similar}


def test_without_its_files_nothing_is_known_of_a_kernel(
    settings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preflight, "KERNEL_SETTINGS", f"{settings}/absent")
    assert inspected(kernel_settings=["vm.swapiness"])["system"]["absent_settings"] == {}


def test_the_kernel_of_this_machine_is_asked() -> None:
    answer = inspected(kernel_settings=["vm.swappiness", "vm.swapiness"])
    assert answer["system"]["absent_settings"] == {"vm.swapiness": "vm.swappiness"}


# What systemd takes

ANALYZE = """
echo "$*" >> {folder}/asked
[ "$1 $2 $3 $# $LC_ALL" = "calendar --iterations=1 -- 4 C" ] || exit 9
[ "$4" = silent ] && exit 3
[ "$4" = daily ] && exit
printf "Failed to parse '%s':\\n\\033[31mInvalid argument\\n" "$4" >&2
exit 1
"""


def test_times_that_systemd_refuses_and_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyze = ANALYZE.format(folder=tmp_path)
    monkeypatch.setenv("PATH", program_that(tmp_path, "systemd-analyze", analyze))
    answer = inspected(schedules=["daily", "dialy", "--help", "$HOME", "silent", "a\0b", "a\nb"])
    assert answer["spark"]["refused_schedules"] == {
        **{
            text: f"Failed to parse '{text}': [31mInvalid argument"
            for text in ("dialy", "--help", "$HOME")
        },
        "silent": "systemd-analyze ended with 3",
    }
    assert "a" not in {line.rpartition(" ")[2] for line in asked(tmp_path)}


def asked(folder: Path) -> list[str]:
    """What systemd was asked."""
    path = folder / "asked"
    return path.read_text().splitlines() if path.exists() else []


def test_without_a_time_systemd_is_not_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    analyze = ANALYZE.format(folder=tmp_path)
    monkeypatch.setenv("PATH", program_that(tmp_path, "systemd-analyze", analyze))
    assert inspected()["spark"]["refused_schedules"] == {}
    assert asked(tmp_path) == []


def test_a_systemd_that_takes_no_time_at_all_refuses_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before 242 it did not know --iterations."""
    command = "echo unrecognized option >&2; exit 1"
    monkeypatch.setenv("PATH", program_that(tmp_path, "systemd-analyze", command))
    assert inspected(schedules=["dialy"])["spark"]["refused_schedules"] == {}


def test_without_systemd_analyze_no_time_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program_that(tmp_path, "systemctl", "echo inactive")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert inspected(schedules=["dialy"])["spark"]["refused_schedules"] == {}


@needs_systemd
def test_the_systemd_of_this_machine_is_asked() -> None:
    refused = [
        "dialy",
        "25:00",
        "Fri..Mon 06:30",
        "06:30 Mars/Olympus",
        "-h",
        "--version",
    ]
    taken = ["daily", "Mon..Fri 06:30", "*-*-01 00:00 UTC"]
    answer = inspected(schedules=[*taken, *refused])["spark"]["refused_schedules"]
    assert sorted(answer) == sorted(refused)
    assert all(text in message for text, message in answer.items())
