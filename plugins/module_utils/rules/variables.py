"""The rules about variables: whether a role documents them, and whether they have a legal value."""

from __future__ import annotations

from collections.abc import Iterable

from ..model.cluster import Cluster
from ..model.host import HostSettings
from ..model.inventory import HostVariables
from ..model.key_table import nearest
from ..model.values import listing
from ..model.variables import RENAMED, Invalid, Option, documented
from .engine import Finding, Findings, rule

_IDS = ("kafka_node_id", "zookeeper_id")  # have rules of their own, which name a free id
_CONNECTION = ("ansible_host", "ansible_port")  # Ansible's own
_HIGHEST = 2**31 - 1
# Ports and ids have rules of their own.
_LOWEST = {
    "host_memory_mb": 0,
    "kafka_gate_timeout": 0,
    "kafka_isr_timeout": 0,
    "kafka_reboot_timeout": 1,
    "kafka_start_timeout": 1,
    "kafka_stop_timeout": 1,
    "spark_start_timeout": 1,
    "spark_uid": 1,
    "spark_worker_cores": 0,
    "zookeeper_start_timeout": 1,
    "zookeeper_stop_timeout": 1,
}


def _hosts(cluster: Cluster) -> Iterable[tuple[str, HostVariables]]:
    return cluster.inventory.hosts.items()


@rule("unknown-variable", each=_hosts)
def _unknown_variable(host: HostVariables) -> Findings:
    """Ansible ignores an unknown variable silently."""
    known = sorted(documented())
    unresolved = {name.partition("[")[0] for name in host.unresolved}
    for name in sorted({*host.variables, *unresolved} - {*known, *_CONNECTION}):
        what = f"No role has a variable {name}."
        near = nearest(name, known)
        fix = f"Did you mean {near}? Otherwise delete it." if near else "Delete it."
        if name in RENAMED:
            what = f"The variable {name} was renamed."
            fix = f"Set {RENAMED[name]} instead."
        yield Finding(what, fix, name)


@rule("unreadable-file", each=_hosts)
def _unreadable_file(host: HostVariables) -> Findings:
    """What it sets is not known; its hosts are checked with what other files set."""
    for path, reason in host.unreadable.items():
        fix = "Make it a YAML file of variables that Ansible can read; an encrypted one needs its "
        fix += "vault password."
        yield Finding(f"{path} cannot be read: {reason}.", fix, path)


@rule("unresolved-variable", each=_hosts)
def _unresolved_variable(host: HostVariables) -> Findings:
    """Everything that depends on it would be wrong; the other rules check its default instead."""
    for name, reason in host.unresolved.items():
        what = f"{name} cannot be resolved: {reason}."
        yield Finding(what, f"Correct the expression of {name}.", name)


@rule("variable-value", each=lambda cluster: cluster.invalid.items())
def _variable_value(invalid: list[Invalid]) -> Findings:
    """The role would fail, or do something other than intended."""
    for one in invalid:
        if one.name not in _IDS:
            yield Finding(one.message, _wanted(one.name, documented()[one.name]), one.name)


@rule("variable-range", each=lambda cluster: cluster.hosts.items())
def _variable_range(host: HostSettings) -> Findings:
    """The value is outside the valid range."""
    for name, lowest in _LOWEST.items():
        value = host.settings[name]
        if not lowest <= value <= _HIGHEST:
            fix = f"Set {name} to a number from {lowest} to {_HIGHEST}; the default is "
            yield Finding(f"{name} is {value}.", f"{fix}{documented()[name]['default']}.", name)


def _wanted(name: str, option: Option) -> str:
    kind = option.get("type", "str")
    of = f" of {option['elements']}" if "elements" in option else ""
    fix = f"Set {name} to {'an' if kind == 'int' else 'a'} {kind}{of}"
    if "choices" in option:
        fix += f": {listing(option['choices'], 'or')}"
    if option.get("default") not in (None, "", {}, []):
        fix += f"; the default is {option['default']!r}"
    return f"{fix}."
