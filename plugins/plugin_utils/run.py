"""The cluster of a run of Ansible: resolved once, and read by every task of it.

A cluster contains secrets. It is stored in the temporary directory of the run, which is left behind
if the run is killed, encrypted with a key that is in the memory of its processes alone.
"""

import dataclasses
import fcntl
import hashlib
import os
import pickle
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible import constants
from ansible.errors import AnsibleActionFail
from cryptography.fernet import Fernet, InvalidToken

from ..module_utils.host import network
from ..module_utils.host.paths import naming
from .ansible_internals import HostVars
from .cluster import cluster
from .cluster.cluster import Cluster
from .cluster.host import Facts
from .cluster.inventory import Secrets
from .inventory import reading as inventory
from .rules.inspection import Inspection
from .secrets.store import authority_days, authority_error

# Ansible imports an action before it starts the process of its first task, which inherits the key.
_KEY = Fernet(Fernet.generate_key())
RESOLVER = "timeout:1 attempts:5"
"""resolv.conf(5): a query that is lost is repeated after 1 s; by default it is after 5 s."""
INSPECTION = "__host_preflight_result"
"""The variable in which the role host registers what was found on a host."""
OUTSIDE = "__host_outside_run"
"""The same of the loop over Kafka hosts outside the run."""


def current(task_vars: Mapping[str, Any]) -> Cluster:
    """Return the cluster of this run, resolved if no task has done it yet."""
    overrides = inventory.play_overrides(task_vars)
    path = _path(overrides)
    with _lock(path):
        if path.is_file():
            return _load(path)
        hostvars, groups = task_vars["hostvars"], task_vars["groups"]
        facts = {name: inspection.facts for name, inspection in inspections(hostvars).items()}
        read = inventory.from_hostvars(hostvars, groups, overrides, task_vars)
        resolved = cluster.resolve(read, facts)
        if fields := _from_control_node(resolved):
            resolved = cluster.resolve(dataclasses.replace(read, **fields), facts)
        _store(path, resolved)
    return resolved


def _from_control_node(resolved: Cluster) -> dict[str, Any]:
    """Return fields of an inventory that the control node finds out: addresses, state of the CA."""
    names = resolved.unresolved_names
    os.environ.setdefault("RES_OPTIONS", RESOLVER)
    with ThreadPoolExecutor(max_workers=32) as pool:  # a name server may let each of them wait
        found_addresses = pool.map(network.addresses, names)
        seen = {
            "resolved": dict(zip(names, found_addresses, strict=True)),
            "authority_error": authority_error(resolved),
            "authority_days": authority_days(resolved),
        }
    return {name: value for name, value in seen.items() if value}


def inspections(hostvars: HostVars) -> dict[str, Inspection]:
    """Return host -> what the play has found on it, of those inspected in this run."""
    raw = {str(host): inventory.raw_of(hostvars, str(host))[0] for host in hostvars}
    registered = {name: variables.get(INSPECTION) for name, variables in raw.items()}
    return _inspections(
        {name: inventory.plain(result) for name, result in registered.items() if result}
    )


def outside(task_vars: Mapping[str, Any]) -> dict[str, Inspection]:
    """Return Kafka host -> what was found on it, of those outside the run that were asked."""
    results = inventory.plain(task_vars.get(OUTSIDE) or {}).get("results", [])
    return _inspections({result["item"]: result for result in results})


def _inspections(results: Mapping[str, Mapping[str, Any]]) -> dict[str, Inspection]:
    return {
        name: inspection_of(name, result)
        for name, result in results.items()
        if "inspection" in result
    }


def inspection_of(host: str, result: Mapping[str, Any]) -> Inspection:
    """Return what a result of the action preflight says of a host.

    Raises:
        AnsibleActionFail: names the host and the fields that the result lacks.

    """
    try:
        return Inspection.of(result["inspection"], result["clock_offset"])
    except ValueError as error:
        message = f"{host}: {error}"
        raise AnsibleActionFail(message) from error


def renew(
    task_vars: Mapping[str, Any],
    facts: Mapping[str, Facts],
    cluster_id: str = "",
    secrets: Secrets | None = None,
) -> Cluster:
    """Return the cluster with what was found on hosts since, and keep it for the tasks to come.

    `cluster_id` and `secrets` were generated since.
    """
    path = _path(inventory.play_overrides(task_vars))
    before = current(task_vars)
    former = {name: host.facts for name, host in before.hosts.items() if host.facts is not None}
    new_inventory = before.inventory
    if cluster_id:
        new_inventory = dataclasses.replace(new_inventory, cluster_id=cluster_id)
    if secrets:
        new_inventory = dataclasses.replace(new_inventory, secrets=secrets)
    resolved = cluster.resolve(new_inventory, {**former, **facts})
    with _lock(path):
        _store(path, resolved)
    return resolved


def validated(task_vars: Mapping[str, Any]) -> Path:
    """Return the file that exists once the rules have found no error in the cluster of this run."""
    path = _path(inventory.play_overrides(task_vars))
    return path.with_name(f"{path.name}.validated")


def _path(overrides: Mapping[str, Any]) -> Path:
    # Variables of a play make another cluster of the same inventory.
    words = repr(sorted(overrides.items())) if overrides else ""
    name = hashlib.sha256(words.encode()).hexdigest()[:12]
    run = constants.DEFAULT_LOCAL_TMP  # type: ignore[attr-defined]  # set when Ansible starts
    return Path(run) / f"millrace-{name}"


@contextmanager
def _lock(path: Path) -> Iterator[None]:
    """Let one task of this run resolve or renew at a time."""
    with path.with_name(f"{path.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _load(path: Path) -> Cluster:
    try:
        text = _KEY.decrypt(path.read_bytes())
    except InvalidToken as error:
        message = f"{path} was not written by this run"
        raise AnsibleActionFail(message) from error
    resolved: Cluster = pickle.loads(text)  # noqa: S301 - written by this run, whose key it has
    return resolved


def _store(path: Path, resolved: Cluster) -> None:
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with naming(draft), os.fdopen(descriptor, "wb") as stream:
        stream.write(_KEY.encrypt(pickle.dumps(resolved)))
    draft.replace(path)
