#!/usr/bin/python
"""Ansible module: what a host says of itself, for a support bundle."""

from __future__ import annotations

import base64
import json
import pwd
import re
import shutil
import time
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import as_user, operation_file, unit_ends
from ..module_utils.host.collect import (
    Bounds,
    Job,
    Piece,
    collect,
    file_end,
    of_command,
    of_commands,
    of_file,
    output,
)

DOCUMENTATION = r"""
module: support_host
short_description: What a host says of itself, for a support bundle
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reads the journals of the units of a host's services and of the kernel, how processes ended, and
    crash reports. Reads the files of services without those that hold secrets. Reads disks, memory,
    clock, network and processes of services, and the record of the last operation. On some hosts of
    Spark it reads the last events of applications.
  - Reads what M(millrace.streaming.report_host) reads, too.
  - Everything is read at the same time within bounds of time and size. What does not answer is left
    out, with the reason. Private keys are removed. Other secrets are not, so the task that calls it
    needs C(no_log), and what it returns is for M(millrace.streaming.support_bundle), which removes
    them.
options:
  window:
    description: How far to look back, for instance C(90m), C(24h) or C(7d).
    type: str
    default: 24h
"""

RETURN = r"""
pieces:
  description: The texts with their names and what is missing in them, as compressed JSON in Base64.
  returned: when the host has answered in time
  type: str
report:
  description: The result of M(millrace.streaming.report_host).
  returned: always
  type: dict
"""

LINES = 2000
KERNEL_LINES = 500
REPORTS = 3
EVENT_LOGS = 3
EVENT_BYTES = 2**17
_PROPERTIES = (
    "Id,LoadState,ActiveState,SubState,Result,NRestarts,MainPID,ExecMainCode,ExecMainStatus,"
    "ExecMainStartTimestamp,ExecMainExitTimestamp,MemoryCurrent,MemoryPeak,TasksCurrent,CPUUsageNSec,"
    "LimitNOFILE,UnitFileState,NeedDaemonReload"
)
_SYSCTL = r"^(vm\.|fs\.(file|nr|aio)|net\.core\.|net\.ipv4\.tcp_|kernel\.(pid_max|threads-max))"
_PROCESS = "pid,ppid,user:20,lstart,rss,nlwp,pcpu,args"


def of_system(params: dict[str, Any], since: int) -> Iterator[tuple[str, Job]]:
    """Yield what reads versions, units and the system below the services."""
    programs = [[java, "-version"] for java in params["javas"]]
    yield of_commands(
        "versions.txt",
        ["uname", "--all"],
        ["cat", "/etc/os-release"],
        ["ls", "-l", "/opt/millrace"],
        ["systemctl", "--version"],
        ["python3", "--version"],
        *programs,
    )
    units = params["units"]
    if units:
        yield of_command("units.txt", ["systemctl", "show", f"--property={_PROPERTIES}", *units])
    yield of_command(
        "failed-units.txt", ["systemctl", "list-units", "--failed", "--no-pager", "--plain"]
    )
    yield of_commands(
        "disks.txt",
        ["df", "--portability", "--print-type"],
        ["df", "--portability", "--inodes"],
        ["lsblk"],
        ["findmnt", "--real", "--output=TARGET,SOURCE,FSTYPE,OPTIONS"],
    )
    files = ["/proc/meminfo", "/proc/loadavg", "/proc/uptime"]
    files += [f"/proc/pressure/{name}" for name in ("cpu", "io", "memory")]
    yield of_commands("memory.txt", *(["cat", path] for path in files))
    yield of_commands(
        "kernel.txt",
        ["cat", "/proc/cmdline"],
        ["sysctl", "--all", "--pattern", _SYSCTL],
        ["cat", "/sys/kernel/mm/transparent_hugepage/enabled"],
    )
    yield of_commands("clock.txt", ["date", "--utc"], ["timedatectl"])
    yield of_commands(
        "network.txt",
        ["ip", "-brief", "address"],
        ["ss", "--summary"],
        ["ss", "--tcp", "--listening", "--numeric", "--processes"],
    )
    accounts = list(filter(is_account, params["accounts"]))
    if accounts:
        command = ["ps", "-ww", "-o", _PROCESS, "-u", ",".join(accounts)]
        yield of_command("processes.txt", command)
    kernel = ["journalctl", "--dmesg", f"--since=@{since}", f"--lines={KERNEL_LINES}"]
    yield of_command("journal/kernel.txt", [*kernel, *journal_options()])


def journal_options() -> list[str]:
    """Return how journals are shown."""
    return ["--no-pager", "--quiet", "--output=short-iso", "--no-hostname", "--utc"]


def is_account(name: str) -> bool:
    """Return whether there is an account."""
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def of_services(params: dict[str, Any], since: int) -> Iterator[tuple[str, Job]]:
    """Yield what reads the last operation, crashes, journals, logs and files of services."""
    yield of_file("operation.json", params["record"])
    yield "crashes/ends.txt", lambda _: ends(Path(params["crashes"]), since)
    yield "crashes", lambda bounds: reports(Path(params["crashes"]), since, bounds)
    for unit in params["units"]:
        command = ["journalctl", f"--unit={unit}", f"--since=@{since}", f"--lines={LINES}"]
        yield of_command(f"journal/{unit}.txt", [*command, *journal_options()], 10)
    for path in params["logs"]:
        yield of_file(f"logs/{Path(path).name}.txt", path)
    for path in params["files"]:
        yield of_file(f"files{path}.txt", path)
    if params["event_logs"]:
        yield (
            "spark-events",
            lambda bounds: events(
                params["event_logs"], params["spark_user"], params["spark_group"], since, bounds
            ),
        )


def ends(directory: Path, since: float) -> list[Piece]:
    """Return how units ended that nobody stopped, and what crashes left."""
    lines = [str(end) for end in unit_ends.ends(since, directory)]
    lines += [f"a crash left {path}" for path in unit_ends.reports(since, directory)]
    return [Piece("crashes/ends.txt", "".join(f"{line}\n" for line in lines))]


def reports(directory: Path, since: float, bounds: Bounds) -> list[Piece]:
    """Return the last crash reports; a heap dump, which holds all that was in memory, is none."""
    paths = [path for path in unit_ends.reports(since, directory) if path.endswith(".log")]
    return [
        Piece(f"crashes/{Path(path).parent.name}/{Path(path).name}.txt", *file_end(path, bounds))
        for path in paths[-REPORTS:]
    ]


def events(directory: str, user: str, group: str, since: int, bounds: Bounds) -> list[Piece]:
    """Return the last events of applications; jobs can write the directory, so Spark reads it."""
    find = ["find", directory, "-maxdepth", "2", "-type", "f", "-size", "+0"]
    find += ["-newermt", f"@{since}", "-printf", r"%T@ %p\n"]
    listed, note = output(as_user.as_user(user, group, find), 5, bounds)
    found = [re.fullmatch(r"([0-9.]+) (/.+)", line) for line in listed.splitlines()]
    logs = sorted((float(match[1]), match[2]) for match in found if match)
    pieces = [Piece("spark-events/README.txt", listed if not logs else "", note)] if note else []
    return pieces + [event_log(path, user, group, bounds) for _, path in logs[-EVENT_LOGS:]]


def event_log(path: str, user: str, group: str, bounds: Bounds) -> Piece:
    """Return the last events in a log."""
    name = f"spark-events/{'-'.join(Path(path).parts[-2:])}.txt"
    compressed = re.search(r"\.zstd?(?:\.|$)", path)
    if compressed and not shutil.which("zstd"):
        return Piece(name, note="not read: it is compressed, and this host has no zstd")
    read = 'zstd -dcq -- "$1" | tail -c "$2"' if compressed else 'tail -c "$2" -- "$1"'
    command = ["sh", "-c", read, "sh", path, str(EVENT_BYTES)]
    text, note = output(as_user.as_user(user, group, command), 8, bounds)
    if len(text.encode("utf-8", "replace")) >= EVENT_BYTES:
        _, _, text = text.partition("\n")
        note = note or "cut: the end of it"
    return Piece(name, text, note)


def pack(pieces: Iterable[Piece]) -> str:
    """Return pieces as the action takes them."""
    content = json.dumps([[piece.name, piece.text, piece.note] for piece in pieces])
    return base64.b64encode(zlib.compress(content.encode())).decode()


def main() -> None:
    """Run the module."""
    lists = ("units", "accounts", "logs", "files", "javas")
    module = AnsibleModule(
        argument_spec={
            **{name: {"type": "list", "elements": "str", "default": []} for name in lists},
            "seconds_back": {"type": "int", "required": True},
            "largest": {"type": "int", "required": True},
            "total": {"type": "int", "required": True},
            "deadline": {"type": "float", "required": True},
            "event_logs": {"type": "str", "default": ""},
            "spark_user": {"type": "str", "default": ""},
            "spark_group": {"type": "str", "default": ""},
            "record": {"type": "path", "default": operation_file.PATH},
            "crashes": {"type": "path", "default": str(unit_ends.CRASHES)},
        },
        supports_check_mode=True,
    )
    params = module.params
    since = int(time.time()) - params["seconds_back"]
    bounds = Bounds(time.monotonic() + params["deadline"], params["largest"])
    jobs = [*of_system(params, since), *of_services(params, since)]
    module.exit_json(changed=False, pieces=pack(collect(jobs, bounds, params["total"])))


if __name__ == "__main__":
    main()
