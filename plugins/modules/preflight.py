#!/usr/bin/python
"""Ansible module: inspect a host before anything is changed on it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import platform
import pwd
import re
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.digests import secret_digest
from ..module_utils.formats.key_table import nearest
from ..module_utils.formats.pem import bodies
from ..module_utils.formats.properties import parse_or_empty
from ..module_utils.formats.values import integer, one_line
from ..module_utils.host import (
    files,
    jvm,
    key_stores,
    network,
    operation_file,
    paths,
    secret_record,
    storage,
    unit,
)
from ..module_utils.host import mounts as mount_table
from ..module_utils.host.spark_shared import MARK as SHARED_MARK

DOCUMENTATION = r"""
module: preflight
short_description: Inspect a host before anything is changed on it
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reports what only the host can know. Examples are whose data lies on its disks, its mounts,
    memory, limits, ports and clock, and what its Java, kernel and systemd take.
  - M(millrace.streaming.cluster) checks what was found on all hosts together; C(docs/reference/errors.md)
    lists the rules.
options:
  host:
    description: Another Kafka host, to which the task is delegated. What it holds decides whether
      a controller without data may vote.
    type: str
"""

JAVA_HOMES = "/usr/lib/jvm"
KERNEL_SETTINGS = "/proc/sys"
SERVER_PROPERTIES = "/etc/kafka/server.properties"
SPARK_DEFAULTS = "/etc/spark/spark-defaults.conf"
AUTHORITY = "/etc/kafka/certificates/ca.pem"
NODE_STORE = "/etc/kafka/certificates/node.pem"
ZOOKEEPER_CONFIG = "/etc/zookeeper/zoo.cfg"
ENSEMBLE_AUTHORITY = "/etc/zookeeper/certificates/zookeeper-ca.pem"
ENSEMBLE_CLIENTS = "/etc/zookeeper/certificates/zookeeper-clients.pem"
MEMBER_STORE = "/etc/zookeeper/certificates/zookeeper.pem"
TIME_SERVICES = ("systemd-timesyncd", "chrony", "chronyd", "ntpsec", "ntp", "openntpd")
LISTEN = "0A"  # in /proc/net/tcp
SYS_RESOURCE = 1 << 24
STA_UNSYNC = 0x40
LARGEST_ID = 100  # bytes
LARGEST_STATE = 2**20
STATUS_AT = 40  # of struct timex, where long has 8 bytes
SWAPPED = str.maketrans("./", "/.")
NEARLY = 0.9
GOOD_SCHEDULE = "daily"


def read(path: str, largest: int = paths.LARGEST) -> str:
    """Return a file's text of at most so many bytes, none where there is none to read."""
    try:
        return paths.read_text(path, "replace", largest)
    except OSError:
        return ""


def line_of(path: str, pattern: str) -> str:
    """Return what a pattern finds at the beginning of a line of a file, empty for nothing."""
    match = re.search(f"^{pattern}", read(path), re.MULTILINE)
    return match[1] if match else ""


def elected(path: str) -> bool:
    """Return whether a controller or ZooKeeper server here was part of a quorum that had a leader.

    Kafka's leader-epoch-checkpoint has a version, a count and that many epochs. It is empty after a
    snapshot was fetched, whose name then has an offset; that of the storage tool has none.
    ZooKeeper's currentEpoch is 0 until its first election.
    """
    metadata = Path(path, "__cluster_metadata-0")
    if any(checkpoint.stem.strip("0-") for checkpoint in metadata.glob("*-*.checkpoint")):
        return True
    epochs = read(f"{metadata}/leader-epoch-checkpoint").split()
    current = read(f"{path}/version-2/currentEpoch").strip()
    return (len(epochs) > 1 and epochs[1] != "0") or current not in ("", "0")


def quorum(path: str) -> dict[str, Any] | None:
    """Return what the rules ask of quorum-state in a data directory, None without one."""
    state = parsed(f"{path}/__cluster_metadata-0/quorum-state", LARGEST_STATE)
    if not isinstance(state.get("data_version"), int):
        return None
    # Whether there are voters: how deep they are nested is for the node's account to choose.
    return {
        "data_version": state["data_version"],
        "currentVoters": bool(state.get("currentVoters")),
    }


def inspect(path: str, mounts: list[mount_table.Mount], fstab: str) -> dict[str, object]:
    """Return how a data directory is, or the place where it would lie."""
    directory = Path(path)
    exists = directory.is_dir()
    nearest = next(ancestor for ancestor in (directory, *directory.parents) if ancestor.exists())
    # A link to a disk is that disk's.
    real = str(nearest.resolve())
    mount = mount_table.mount_of(real, mounts)
    space = os.statvfs(real)
    has_meta = (directory / storage.META).is_file()
    children = {entry.name: entry.is_dir() for entry in os.scandir(path)} if exists else {}
    partitions = {
        name for name, is_dir in children.items() if is_dir and storage.is_partition(name)
    }
    remaining = sorted({*children} - partitions)
    return {
        "path": path,
        "exists": exists,
        "parent": directory.parent.is_dir(),
        "meta": read(f"{path}/{storage.META}") if has_meta else None,
        "names": [name + ("/" if children[name] else "") for name in remaining],
        "partitions": [] if has_meta else sorted(partitions),
        "quorum": quorum(path),
        "myid": read(f"{path}/myid") or None,
        "elected": elected(path),
        "hdfs_id": line_of(f"{path}/current/VERSION", r"clusterID=(\S+)"),
        "mount": mount.path,
        "device": mount.device,
        "fstype": mount.fstype,
        "options": list(mount.options),
        "free": space.f_bavail * space.f_frsize,
        "size": space.f_blocks * space.f_frsize,
        "mounts_inside": mount_table.inside(real, mounts) if exists else [],
        "unmounted": mount_table.unmounted(path, fstab, mounts),
    }


def open_files() -> int | None:
    """Return how many files a service may open, which depends on what systemd itself may do."""
    limit = line_of("/proc/1/limits", r"Max open files\s+\S+\s+(\d+)")
    rights = line_of("/proc/1/status", r"CapEff:\s*([0-9a-f]+)")
    if int(rights or "0", 16) & SYS_RESOURCE:
        limit = read("/proc/sys/fs/nr_open")
    return int(limit) if limit else None


def absent_settings(names: list[str]) -> dict[str, str]:
    """Return the settings that the kernel does not have, each with a similar one that it has.

    Not those that may be missing (`-`), nor patterns, which are for whatever is there.
    """
    if not Path(KERNEL_SETTINGS).is_dir():
        return {}
    absent = [
        name
        for name in names
        if not name.startswith("-") and not set("*?[") & {*name} and not has_setting(name)
    ]
    similar = existing_settings() if absent else []
    return {name: nearest(swapped(setting_path(name)), similar, NEARLY) for name in absent}


def setting_path(name: str) -> str:
    """Return where a setting is below /proc/sys, as sysctl.d(5) reads its name.

    Where a slash comes first, slashes separate, and a dot is part of the name of a device. Where a
    dot comes first it is the other way round: a slash stands for the dot in such a name.
    """
    separator = re.search("[./]", name)
    return name if separator and separator[0] == "/" else swapped(name)


def swapped(text: str) -> str:
    """Return a text with dots for slashes and slashes for dots."""
    return text.translate(SWAPPED)


def has_setting(name: str) -> bool:
    """Return whether the kernel has a setting."""
    try:
        return Path(f"{KERNEL_SETTINGS}/{setting_path(name)}").is_file()
    except (OSError, ValueError):  # a text that cannot be a path
        return False


def existing_settings() -> list[str]:
    """Return the names of the kernel's settings, of devices only those for all of them."""
    names: list[str] = []
    for folder, folders, settings in os.walk(KERNEL_SETTINGS):
        of_devices = Path(folder).name in ("conf", "neigh")
        # To look into binfmt_misc would mount it.
        folders[:] = [
            name
            for name in folders
            if (name in ("all", "default") if of_devices else name != "binfmt_misc")
        ]
        below = folder[len(KERNEL_SETTINGS) :].lstrip("/")
        names += [swapped(f"{below}/{setting}") for setting in settings]
    return names


def refused_schedules(module: AnsibleModule) -> dict[str, str]:
    """Return the times that systemd refuses (OnCalendar), each with its message.

    Nothing can be said where systemd-analyze is missing, or does not even take a good one, as one
    that is too old. A text that cannot be printed is not asked for: the rules refuse it anyway.
    """
    program = module.get_bin_path("systemd-analyze")
    schedules = [text for text in module.params["schedules"] if text.isprintable()]
    if not program or not schedules or refusal(module, program, GOOD_SCHEDULE):
        return {}
    messages = {text: refusal(module, program, text) for text in schedules}
    return {text: message for text, message in messages.items() if message}


def refusal(module: AnsibleModule, program: str, schedule: str) -> str:
    """Return in one line what systemd says against a time, empty if it takes it."""
    code, _, message = module.run_command(
        # What follows -- is no option.
        [program, "calendar", "--iterations=1", "--", schedule],
        environ_update={"LC_ALL": "C"},
        expand_user_and_vars=False,
    )
    if not code:
        return ""
    return one_line(message) or f"systemd-analyze ended with {code}"


def synchronised() -> bool | None:
    """Whether the kernel's clock is synchronised (adjtimex(2)); None if that is not known."""
    words = (ctypes.c_long * 64)()
    try:
        clock_state = ctypes.CDLL(None).adjtimex(words)
    except (AttributeError, OSError):
        return None
    if clock_state < 0 or struct.calcsize("l") != 8:
        return None
    (status,) = struct.unpack_from("i", bytes(words), STATUS_AT)
    return not status & STA_UNSYNC


def time_service(module: AnsibleModule) -> str:
    """Return the time service that runs, empty if none does."""
    _, states, _ = module.run_command(["systemctl", "is-active", *TIME_SERVICES])
    active = [number for number, state in enumerate(states.split()) if state == "active"]
    return TIME_SERVICES[active[0]] if active else ""


def javas(configured: list[str]) -> dict[str, str]:
    """Return home -> version of each Java that is there, read without starting it."""
    homes = [*Path(JAVA_HOMES).glob("*"), *map(Path, configured)]
    return {
        str(home): line_of(f"{home}/release", r'JAVA_VERSION="?([^"\n]+)')
        for home in homes
        if (home / "bin/java").exists()
    }


def refused_java_options(homes: list[str], lists: list[str]) -> dict[str, dict[str, str]]:
    """Return home -> the lists of options that its Java refuses, each with its message."""
    if not lists:
        return {}
    return {home: jvm.refusals(home, lists) for home in homes if Path(home, "bin/java").exists()}


def our_users(units: str) -> set[int]:
    """Return the ids of the users whose processes are in a unit of ours, by a pattern of these."""
    of_unit = re.compile(rf"/({units})\.service")
    users = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if of_unit.search(read(f"{process}/cgroup")):
                users.add(process.stat().st_uid)
    return users


def listeners(ports: set[int], units: str) -> dict[int, str]:
    """Return port -> process, for those of the ports on which another process listens.

    A socket shows its user; its process can be hidden even from root, as in a container.
    """
    sockets: dict[str, int] = {}
    ours = our_users(units)
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        for line in read(table).splitlines()[1:]:
            fields = line.split()
            port = int(fields[1].rpartition(":")[2], 16)
            if fields[3] == LISTEN and port in ports and int(fields[7]) not in ours:
                sockets[f"socket:[{fields[9]}]"] = port
    processes = dict.fromkeys(sockets.values(), "an unknown process")
    for descriptor in Path("/proc").glob("[0-9]*/fd/*") if sockets else ():
        with contextlib.suppress(OSError):
            port = sockets.get(str(descriptor.readlink()), 0)
            process = descriptor.parts[2]
            if port:
                processes[port] = f"{read(f'/proc/{process}/comm').strip()} (process {process})"
    return processes


def nft(module: AnsibleModule) -> str | None:
    """Return the path of nftables' program, None where it is not installed."""
    path: str | None = module.get_bin_path("nft")
    return path


def refused_rules(module: AnsibleModule) -> str:
    """Return why nftables or the kernel refuses the rules of a firewall, empty if they do not.

    Nothing can be said where nftables is yet to be installed.
    """
    program, rules = nft(module), module.params["rules"]
    if not program or not rules:
        return ""
    # Not by standard input: a program that ends before it reads that would end the module.
    with tempfile.NamedTemporaryFile("w", dir=module.tmpdir, encoding="utf-8") as file:
        with paths.naming(file.name):
            file.write(rules)
            file.flush()
        code, _, message = module.run_command([program, "--check", "--file", file.name])
    return (message.strip() or f"nft ended with {code}") if code else ""


def store(module: AnsibleModule, settings: dict[str, Any]) -> dict[str, object]:
    """Read a PEM store: whether the user may, and what is wrong with its key and certificates."""
    user, path = module.params["kafka_user"], settings["path"]
    result: dict[str, object] = {"path": path, "exists": Path(path).is_file()}
    if not result["exists"]:
        return result
    if is_user(user):
        readable = ["runuser", "-u", user, "--", "test", "-r", path]
        result["readable"] = module.run_command(readable)[0] == 0
    try:
        text = Path(path).read_text(errors="replace")
    except OSError:  # root may be nobody where the file is
        return result
    if not settings["is_keystore"]:
        return {**result, **key_stores.trust_store(text)}
    trusted = settings["authorities"] or read(settings["truststore"])
    password, mutual = settings["password"], settings["mutual"]
    return {**result, **key_stores.key_store(text, password, trusted, mutual=mutual)}


def is_user(name: str) -> bool:
    """Return whether the host has a user."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def between_nodes() -> tuple[dict[str, str], dict[str, str]]:
    """Return how the Kafka node that is configured here talks to others.

    That is role -> listener, and listener -> protocol of all that it knows.
    """
    config = parse_or_empty(read(SERVER_PROPERTIES))
    pairs = config.get("listener.security.protocol.map", "").split(",")
    protocols = dict(pair.rpartition(":")[::2] for pair in pairs if pair)
    names = {
        "brokers": config.get("inter.broker.listener.name", ""),
        "controllers": config.get("controller.listener.names", "").partition(",")[0],
    }
    return {role: name for role, name in names.items() if name in protocols}, protocols


def authorizer() -> str | None:
    """Return the authorizer of the Kafka node that is configured here, None without a node."""
    config = parse_or_empty(read(SERVER_PROPERTIES))
    return config.get("authorizer.class.name", "") if config else None


def min_isr() -> int | None:
    """Return min.insync.replicas of the node that is configured here, None where it is not set."""
    return integer(parse_or_empty(read(SERVER_PROPERTIES)).get("min.insync.replicas"))


def system_python() -> list[int]:
    """Return the version of /usr/bin/python3, which drivers and executors of Spark run."""
    path = "/usr/bin/python3"
    if Path(path).resolve() == Path(sys.executable).resolve():
        return list(sys.version_info[:3])
    command = [path, "-c", "import sys; print(*sys.version_info[:3])"]
    try:
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return []
    return [int(number) for number in done.stdout.split()]


def spark_secret() -> str | None:
    """Return the digest of Spark's secret, empty where it has none, None where it is not there."""
    text = read(SPARK_DEFAULTS)
    secret = parse_or_empty(text).get("spark.authenticate.secret", "")
    if not text:
        return None
    return secret_digest(secret) if secret else ""


def ensemble_secured() -> bool | None:
    """Return whether the member of ZooKeeper that is configured here speaks TLS; None for none."""
    config = parse_or_empty(read(ZOOKEEPER_CONFIG))
    return config.get("sslQuorum") == "true" if config else None


def ensemble_client_secured() -> bool | None:
    """Return whether the broker that is configured here reaches ZooKeeper by TLS; None for none."""
    config = parse_or_empty(read(SERVER_PROPERTIES))
    if "zookeeper.connect" not in config:
        return None
    return config.get("zookeeper.ssl.client.enable") == "true"


def parsed(path: str, largest: int = paths.LARGEST) -> dict[str, Any]:
    """Return the JSON object in a file, empty where there is none to read."""
    with contextlib.suppress(ValueError, RecursionError):
        content = json.loads(read(path, largest))
        if isinstance(content, dict):
            return content
    return {}


def source_absent(source: str) -> bool:
    """Return whether a mount's source is a device that is not there."""
    kind, _, name = source.partition("=")
    by = {"UUID": "uuid", "LABEL": "label", "PARTUUID": "partuuid", "PARTLABEL": "partlabel"}
    path = f"/dev/disk/by-{by[kind]}/{name}" if name and kind in by else source
    return path.startswith("/") and not Path(path).exists()


def installed(link: str) -> str:
    """Return the name of the directory that a link names, nothing without one."""
    try:
        return Path(link).readlink().name
    except OSError:
        return ""


def is_of_site(path: str) -> bool:
    """Return whether the site has enabled a unit or written it; Millrace masks it."""
    file = Path(path)
    exists = os.path.lexists(file) or unit.boot_link(file).is_symlink()
    return exists and not unit.is_masked(file)


def files_current(desired: dict[str, Any]) -> bool:
    """Return whether files are as the module `service` would write them."""
    entries = files.entries_of(desired)
    return not files.plan(entries, files.Host(entries).read)


def inspection(module: AnsibleModule) -> dict[str, object]:
    """Return what the host is and has, as the class `Inspection` takes it: a part by each name."""
    params = module.params
    mounts = mount_table.parse_mountinfo(read("/proc/self/mountinfo"))
    return {
        "system": of_system(params["kernel_settings"], mounts),
        "clock": {
            "synchronised": synchronised(),
            "service": time_service(module),
        },
        "network": of_network(module),
        "disks": of_disks(params, mounts),
        "software": of_software(module),
        "kafka": of_kafka(module),
        "zookeeper": of_zookeeper(),
        "spark": of_spark(module),
        "operation": operation_file.read(Path(operation_file.PATH)),
        "secrets": parsed(secret_record.RECORD),
    }


def of_system(settings: list[str], mounts: list[mount_table.Mount]) -> dict[str, object]:
    """Return what the operating system is, and the machine or container that it runs on."""
    memory = line_of("/proc/meminfo", r"MemTotal:\s+(\d+) kB")
    release = read("/etc/os-release")
    return {
        "python": list(sys.version_info[:3]),
        "os_release": dict(re.findall(r'^(\w+)="?([^"\n]*)', release, re.MULTILINE)),
        "machine": platform.machine(),
        "cores": os.cpu_count() or 1,
        "memory_mb": int(memory) // 1024 if memory else None,
        "container": read("/run/systemd/container").strip(),
        "systemd": Path("/run/systemd/system").is_dir(),
        "selinux": read("/sys/fs/selinux/enforce").strip() == "1",
        "swap": [line.split()[0] for line in read("/proc/swaps").splitlines()[1:]],
        "open_files": open_files(),
        "tmp_options": list(mount_table.mount_of("/tmp", mounts).options),  # noqa: S108 - read only
        "absent_settings": absent_settings(settings),
    }


def of_network(module: AnsibleModule) -> dict[str, object]:
    """Return who listens on the ports, what names are to the host, and its firewall."""
    params = module.params
    return {
        "listeners": listeners(set(params["ports"]), params["units"]),
        "addresses": {name: network.addresses(name) for name in params["names"]},
        "sources": {name: network.sources(name) for name in params["peers"]},
        "nft": nft(module) is not None,
        "refused_rules": refused_rules(module),
        "firewall": [path for path in params["firewall"] if Path(path).exists()],
    }


def of_disks(params: dict[str, Any], mounts: list[mount_table.Mount]) -> dict[str, object]:
    """Return how the data directories are, and what is or would be mounted."""
    fstab = read("/etc/fstab")
    opt = next(
        directory
        for directory in (Path("/opt/millrace"), Path("/opt"), Path("/"))
        if directory.exists()
    )
    space = os.statvfs(opt)
    # lost+found on an empty disk does not count.
    held = {
        path: {child.name for child in Path(path).glob("*")} - {"lost+found"}
        for path in params["mounts"]
    }
    return {
        "directories": [inspect(path, mounts, fstab) for path in params["directories"]],
        "mount_points": [mount.path for mount in mounts],
        "absent_sources": [source for source in params["sources"] if source_absent(source)],
        "occupied": [path for path, children in held.items() if children],
        "opt_free": space.f_bavail * space.f_frsize,
    }


def of_software(module: AnsibleModule) -> dict[str, object]:
    """Return which programs, units and distributions there are."""
    params = module.params
    return {
        "javas": javas(params["java_homes"]),
        "refused_java_options": refused_java_options(params["java_homes"], params["java_options"]),
        "homes": {home: Path(home).is_dir() for home in params["homes"]},
        "installed": {Path(link).name: installed(link) for link in params["links"]},
        "programs": [path for path in params["programs"] if Path(path).exists()],
        "site_units": [Path(path).stem for path in params["masks"] if is_of_site(path)],
        "openssl": module.get_bin_path("openssl") is not None,
    }


def of_kafka(module: AnsibleModule) -> dict[str, object]:
    """Return how the Kafka node is configured that is there, and what the wanted stores hold."""
    roles, protocols = between_nodes()
    return {
        "between_nodes": roles,
        "protocols": protocols,
        "authorizer": authorizer(),
        "min_isr": min_isr(),
        "authorities": bodies(read(AUTHORITY)),
        "signed_by": bodies(read(NODE_STORE))[1:],
        "certificates": [store(module, settings) for settings in module.params["stores"]],
    }


def of_zookeeper() -> dict[str, object]:
    """Return how the member of ZooKeeper is configured that is there, and a broker as its client."""
    return {
        "secured": ensemble_secured(),
        "client_secured": ensemble_client_secured(),
        "authorities": bodies(read(ENSEMBLE_AUTHORITY)),
        "clients": bodies(read(ENSEMBLE_CLIENTS)),
        "member_signed_by": bodies(read(MEMBER_STORE))[1:],
    }


def of_spark(module: AnsibleModule) -> dict[str, object]:
    """Return what Spark has there, with the shared directory and the jobs that it is to have."""
    shared_dir = module.params["shared_dir"]
    mark = read(f"{shared_dir}/{SHARED_MARK}", LARGEST_ID).strip() if shared_dir else ""
    return {
        "python": system_python() if shared_dir else [],
        "shared_id": mark,
        "secret": spark_secret(),
        "refused_schedules": refused_schedules(module),
    }


def main() -> None:
    """Run the module with what the action asks for."""
    texts = {"type": "list", "elements": "str", "default": []}
    paths = (
        "directories",
        "homes",
        "java_homes",
        "links",
        "mounts",
        "sources",
        "firewall",
        "masks",
    )
    names = ("accounts", "names", "peers", "programs")
    judged = ("java_options", "kernel_settings", "schedules")
    text, no = {"type": "str", "default": ""}, {"type": "bool", "default": False}
    of_store = {
        "path": {"type": "str", "required": True},
        "is_keystore": no,
        "mutual": no,
        "truststore": text,
        "authorities": text,
        "password": {"type": "str", "no_log": True},
    }
    module = AnsibleModule(
        argument_spec={
            **dict.fromkeys((*paths, *names, *judged), texts),
            "ports": {"type": "list", "elements": "int", "default": []},
            "files": {"type": "dict", "default": {}},
            "stores": {"type": "list", "elements": "dict", "default": [], "options": of_store},
            "rules": text,
            "shared_dir": text,
            "units": text,
            "kafka_user": {"type": "str", "default": "kafka"},
        },
        supports_check_mode=True,
    )
    current = files_current(module.params.pop("files"))
    inspected = inspection(module)
    former = [path for path in module.params["accounts"] if Path(path).exists()]
    # Last, so that the control node can compare it with the arrival of the answer.
    module.exit_json(
        changed=False,
        inspection=inspected,
        former_monitoring=former,
        files_current=current,
        time=time.time(),
    )


if __name__ == "__main__":
    main()
