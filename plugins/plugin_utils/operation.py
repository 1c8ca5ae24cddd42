"""The record of the operation that this run of Ansible does: who, what, plan, done, left.

The control node keeps it for the run's tasks; the module `kafka_node` writes it on hosts, where it
is the lock of the cluster.
"""

import contextlib
import ctypes
import fcntl
import getpass
import json
import os
import signal
import socket
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ansible import constants, context

from ..module_utils.host.operation_file import FINISHED, RUNNING, STOPPED, holder, is_silent
from ..module_utils.host.paths import naming
from .cluster.cluster import Cluster
from .files import create

LONG_QUIET_SECONDS = 3600
PR_SET_PDEATHSIG = 1  # prctl(2)
MAX_LOCK_HOSTS = 3
"""Hosts that hold the lock where there are no controllers."""


def current(what: str) -> dict[str, Any]:
    """Return the record of this run's operation, begun if it is the first one that asks."""
    path = _path()
    if path.is_file():
        existing: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return existing
    record = {
        "id": uuid.uuid4().hex,
        "state": RUNNING,
        "what": what,
        "who": operator(),
        "machine": _machine(),
        "pid": os.getppid(),
        "process_started": _start_of(os.getppid()),
        "command": _command(),
        "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "plan": [],
        "done": [],
        "left": [],
        "node": "",
        "reason": "",
        # Nothing rewrites it while a version is unpacked or health is watched; restarts set less.
        "quiet_seconds": LONG_QUIET_SECONDS,
    }
    # A task of another host may have created it at the same time.
    return record if create(path, json.dumps(record)) else current(what)


def operator() -> str:
    """Return who runs Ansible, and where."""
    try:
        account = getpass.getuser()
    except (KeyError, OSError):  # of a container without an entry for it
        account = f"account {os.getuid()}"
    return f"{account} on {socket.gethostname()}"


def has_begun() -> bool:
    """Return whether this run has an operation."""
    return _path().is_file()


def save(record: Mapping[str, Any]) -> None:
    """Keep the record for the tasks to come."""
    # Tasks of several hosts may do so at the same time, each in a process of its own.
    draft = _path().with_suffix(f".{os.getpid()}")
    with naming(draft):
        draft.write_text(json.dumps(dict(record)), encoding="utf-8")
    draft.replace(_path())


def change(changed: Callable[[Mapping[str, Any]], Mapping[str, Any]]) -> dict[str, Any]:
    """Keep what a function returns of the record, and return it; one task at a time does so."""
    with _path().with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        record = {**current(""), **changed(current(""))}
        save(record)
    return record


def ended(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record whose operation is over: finished, or stopped before its last step."""
    if record["state"] == FINISHED:
        return {**record, "node": ""}
    reason = (
        record["reason"] or "a task outside the restart of a node failed; see the output of the run"
    )
    return {**record, "state": STOPPED, "node": "", "reason": reason}


def lock_hosts(cluster: Cluster) -> list[str]:
    """Return the hosts that hold the lock of a cluster: a majority of them has to be taken."""
    controllers = cluster.inventory.members("kafka_controllers")
    return list(controllers or cluster.inventory.members("kafka_brokers")[:MAX_LOCK_HOSTS])


def is_dead(last: Mapping[str, Any], *, all_read: bool) -> bool:
    """Return whether another operation's process is gone, by the record that it wrote last.

    On another machine only the age of its record shows that, if every host's record was read.
    """
    if last.get("machine") == _machine():
        pid, started = int(last.get("pid") or 0), last.get("process_started")
        return not _runs(pid) or bool(started and started != _start_of(pid))
    return all_read and is_silent(last)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return pid > 0


def _start_of(pid: int) -> str:
    """Return when a process began, in ticks since the boot; empty where that is not known.

    Numbers of processes are used again.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # The name before it may hold spaces and brackets; field 22 (proc_pid_stat(5)).
    return text.rpartition(")")[2].split()[19]


def describe(record: Mapping[str, Any]) -> str:
    """Return an operation in one line, for a message."""
    done, remaining = (", ".join(record.get(key, ())) or "nothing" for key in ("done", "left"))
    return (
        f"{record.get('what')}, started {record.get('started')} by {record.get('who')} "
        f"({record.get('command')}); done: {done}; left: {remaining}"
    )


def lock(cluster: Cluster, nodes: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Return the state of the lock: taken, held by another operation, or abandoned by one.

    `nodes` is host -> what the module kafka_node found there. `message` says why the lock is not
    taken, `refused` the same where this operation may not go on.
    """
    hosts = lock_hosts(cluster)
    reached = [host for host in hosts if host in nodes]
    lost = [host for host in reached if nodes[host]["holder"]]
    if len(reached) - len(lost) > len(hosts) // 2:
        return {"lock": "taken", "message": "", "refused": ""}
    if not lost:
        away = ", ".join(host for host in hosts if host not in nodes)
        text = (
            f"The cluster lock needs a majority of {', '.join(hosts)}, but {away} "
            "cannot be reached. Nothing was changed."
        )
        return {"lock": "incomplete", "message": text, "refused": text}
    other_operation = nodes[lost[0]]["holder"]
    # It rewrites its record on the host that it is working on.
    records = [node["previous_operation"] for node in nodes.values()]
    copies = [record for record in records if record.get("id") == other_operation["id"]]
    last = min(copies, key=lambda record: float(record["age"]))
    described = describe(other_operation)
    if is_dead(last, all_read=all(host in nodes for host in cluster.kafka)):
        text = f"The lock of the cluster is taken over from a dead operation: {described}"
        return {
            "lock": "abandoned",
            "holder": other_operation["id"],
            "message": text,
            "refused": text,
        }
    text = (
        f"Another operation holds the cluster lock: {described}. Nothing was changed. Run "
        "this again after it has ended."
    )
    return {"lock": "held", "holder": other_operation["id"], "message": text, "refused": text}


def took_over(lock: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the record says of a dead operation whose lock is taken over, if there is one.

    It has records of its own on the hosts where it has worked, which hold no lock.
    """
    return {"took_over": lock["holder"]} if lock["lock"] == "abandoned" else {}


def at_work(cluster: Cluster, records: Mapping[str, Mapping[str, Any]]) -> str:
    """Describe the other operation that works on a cluster, empty if none does.

    `records` is host -> the record that was found there. Without those of all hosts, an operation
    whose records are too old counts as dead all the same, so that none blocks for ever.
    """
    own_id = str(current("")["id"]) if has_begun() else ""
    kafka_records = {name: record for name, record in records.items() if name in cluster.kafka}
    running = [record for record in kafka_records.values() if holder(record, own_id)]
    hosts = lock_hosts(cluster)
    free = [
        host for host in hosts if host in kafka_records and not holder(kafka_records[host], own_id)
    ]
    if not running or len(free) > len(hosts) // 2:
        return ""
    last = min(running, key=lambda record: float(record["age"]))
    return "" if is_dead(last, all_read=True) else describe(last)


def die_with_ansible() -> None:
    """Make this worker end when Ansible is killed; it would otherwise go on with the operation."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def resume_command(playbook: str) -> str:
    """Return the command that resumes this run, with its inventory and limit."""
    return _words(f"playbooks/{playbook}.yml")


def _command() -> str:
    """Return the command of this run without -e: the record is public, and -e may be secret."""
    return _words(*context.CLIARGS.get("args", ()))


def _words(*playbooks: str) -> str:
    words = ["ansible-playbook"]
    for source in context.CLIARGS.get("inventory") or ():
        words += ["-i", source]
    if context.CLIARGS.get("subset"):
        words += ["--limit", context.CLIARGS["subset"]]
    return " ".join([*words, *playbooks])


def _path() -> Path:
    run = constants.DEFAULT_LOCAL_TMP  # type: ignore[attr-defined]  # set when Ansible starts
    return Path(run) / "millrace-operation.json"


def _machine() -> str:
    """Return what identifies this machine, and this container among those of the machine."""
    identifiers = [socket.gethostname()]
    for path in ("/etc/machine-id", "/proc/sys/kernel/random/boot_id"):
        with contextlib.suppress(OSError):
            identifiers.append(Path(path).read_text().strip())
    with contextlib.suppress(OSError):
        identifiers.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(identifiers)
