"""The rules about how Ansible connects to hosts, by its own variables."""

from __future__ import annotations

import re

from ansible.module_utils.parsing.convert_bool import BOOLEANS, BOOLEANS_FALSE

from ...module_utils.formats.key_table import nearest
from ...module_utils.formats.values import listing
from ..cluster.cluster import Cluster
from ..cluster.inventory import HostVariables
from ..cluster.jvm_options import heap_mb
from .engine import Finding, Findings, rule
from .shared import host_variables

_NEARLY = 0.92
_PYTHON = re.compile(r"(?:\S*/)?python(?P<major>\d)(?:\.(?P<minor>\d+))?")
_OLDEST = (3, 9)
_CONTAINERS = tuple(
    f"{prefix}{name}"
    for prefix in ("", "containers.podman.", "community.docker.")
    for name in ("podman", "docker", "docker_api", "buildah")
)
_LAB_HEAP_MB = 512
_TRANSPORT = "/transport.yml:"  # in which a lab writes how its hosts are reached
_KNOWN = tuple(
    f"ansible_{name}"
    for name in (
        "host",
        "port",
        "user",
        "password",
        "connection",
        "timeout",
        "python_interpreter",
        "become",
        "become_user",
        "become_method",
        "become_password",
        "become_pass",
        "become_exe",
        "become_flags",
        "private_key_file",
        "pipelining",
        "remote_tmp",
        "ssh_host",
        "ssh_port",
        "ssh_user",
        "ssh_pass",
        "ssh_password",
        "ssh_args",
        "ssh_common_args",
        "ssh_extra_args",
        "ssh_private_key_file",
        "ssh_pipelining",
        "ssh_executable",
        "ssh_transfer_method",
        "ssh_timeout",
        "ssh_retries",
        "scp_extra_args",
        "sftp_extra_args",
        "shell_type",
        "shell_executable",
        "host_key_checking",
        "ssh_host_key_checking",
        "async_dir",
        "network_os",
    )
)


@rule("connection-variable", each=host_variables)
def _connection_variable(host: HostVariables) -> Findings:
    """Ansible ignores a name that it does not know silently."""
    for name in sorted(host.others - {*_KNOWN}):
        near = nearest(name, list(_KNOWN), _NEARLY)
        if name.startswith("ansible_") and near:
            yield Finding(f"Ansible has no variable {name}.", f"Did you mean {near}?", name)


@rule("connection-local", where="ansible_connection")
def _connection_local(cluster: Cluster) -> Findings:
    """Every host would be the control node, each installed over the other."""
    hosts = cluster.inventory.hosts
    local = [
        name
        for name in cluster.inventory.placed()
        if hosts[name].connection.get("ansible_connection") == "local"
    ]
    if len(local) > 1:
        fix = "Delete ansible_connection, or keep one host."
        yield Finding(f"{listing(local)} are the control node itself.", fix, hosts=tuple(local))


@rule("become", each=host_variables, where="ansible_become")
def _become(host: HostVariables) -> Findings:
    """It overrides what the playbooks ask for, and only root may write to /etc and /opt."""
    become, user = (host.connection.get(f"ansible_{name}") for name in ("become", "user"))
    off = str(become).strip().lower() in map(str, BOOLEANS_FALSE)  # as Ansible reads it
    if off and user not in (None, "root"):
        problem = f"ansible_become is {become}, and ansible_user is {user}."
        yield Finding(problem, "Delete ansible_become.")


@rule("python-interpreter", each=host_variables, where="ansible_python_interpreter")
def _python_interpreter(host: HostVariables) -> Findings:
    """Modules run on Python 3.9 or newer: every task on the host would fail."""
    text = str(host.connection.get("ansible_python_interpreter") or "")
    match = _PYTHON.fullmatch(text)
    if match and (int(match["major"]), int(match["minor"] or _OLDEST[1])) < _OLDEST:
        fix = "Delete it, or set /usr/bin/python3 if that is 3.9 or newer."
        yield Finding(f"ansible_python_interpreter is {text}.", fix)


@rule("become-value", each=host_variables, where="ansible_become")
def _become_value(host: HostVariables) -> Findings:
    """Ansible ends the first task on the host, and does not say where the value is written."""
    become = host.connection.get("ansible_become")
    legal = [str(boolean) for boolean in BOOLEANS]
    if become is not None and str(become).strip().lower() not in (*legal, "true", "false"):
        yield Finding(f"ansible_become is {become!r}.", "Set true or false, or delete it.")


@rule("lab-settings", severity="warning")
def _lab_settings(cluster: Cluster) -> Findings:
    """They are for hosts that `./lab` makes, and of their size; real machines have no use of
    them.
    """
    for name in cluster.inventory.placed():
        host = cluster.inventory.hosts[name]
        address = host.connection.get("ansible_host")
        of_lab = _TRANSPORT in host.places.get("ansible_host", "")
        is_real = not of_lab and (address is not None or "." in name)
        settings = sorted(variable for variable in host.others if variable.startswith("lab_"))
        transport = host.connection.get("ansible_connection")
        if is_real and transport in _CONTAINERS:
            problem = f"{transport} reaches containers of the control node, not a machine."
            yield Finding(problem, "Delete it.", "ansible_connection", (name,))
        if is_real and settings:
            for setting in settings:
                problem = f"{setting} has no effect on a machine that is no lab's."
                yield Finding(problem, "Delete it.", setting, (name,))
            for variable, heap in cluster.heaps(name).items():
                size = heap_mb(heap) if variable in host.variables else None
                if size is not None and size <= _LAB_HEAP_MB:
                    problem = f"{variable} {heap} is as small as in a lab."
                    fix = "Delete it for the default, or set what the host's memory allows."
                    yield Finding(problem, fix, variable, (name,))
