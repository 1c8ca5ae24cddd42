"""The rules about variables: whether a role documents them, and whether they have a legal value."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from ...module_utils.formats.key_table import nearest
from ...module_utils.formats.values import listing
from ..cluster.cluster import Cluster
from ..cluster.host import HostSettings
from ..cluster.inventory import CONNECTION, HostVariables
from ..cluster.registry import ENTRIES, JAVA_PRODUCTS
from ..cluster.service import Service
from ..cluster.variables import Invalid, Option, documented
from .engine import Finding, Findings, rule
from .groups import similar_group
from .shared import LOCKED, VAULT_FIX, host_variables, hosts

_IDS = ("kafka_node_id", "zookeeper_id")  # have rules of their own, which name a free id
_ACCOUNTS = tuple(f"{service}_{kind}" for service in JAVA_PRODUCTS for kind in ("user", "group"))
_ACCOUNT = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,30}")
_HIGHEST = 2**31 - 1
_DESCRIBED = {
    variable: group for entry in ENTRIES.values() for variable, group in entry.described.items()
}
_SIMILAR = 0.9  # a site has variables of its own
_LOWEST = {
    "host_memory_mb": 0,
    **{variable: lowest for entry in ENTRIES.values() for variable, lowest in entry.lowest.items()},
}


@rule("unknown-variable", each=host_variables)
def _unknown_variable(host: HostVariables) -> Findings:
    """Ansible ignores an unknown variable silently."""
    documented_names = sorted(documented())
    unresolved = {name.partition("[")[0] for name in host.unresolved}
    for name in sorted({*host.variables, *unresolved} - {*documented_names, *CONNECTION}):
        problem = f"No role has a variable {name}."
        near = nearest(name, documented_names)
        fix = f"Did you mean {near}? Otherwise delete it." if near else "Delete it."
        yield Finding(problem, fix, name)


@rule("similar-variable", each=host_variables)
def _similar_variable(host: HostVariables) -> Findings:
    """Ansible accepts a variable of any name, and Millrace would ignore it."""
    for name in sorted(host.others):
        near = "" if name.startswith("ansible_") else nearest(name, _known(), _SIMILAR)
        # A site names its own after a documented one, such as vault_kafka_users.
        if near and not (name.endswith(f"_{near}") or name.startswith(f"{near}_")):
            fix = f"Did you mean {near}? Otherwise choose a less similar name."
            yield Finding(f"No role has a variable {name}.", fix, name)


@functools.cache
def _known() -> list[str]:
    return sorted(documented())


def _hosts_and_services(cluster: Cluster) -> Iterable[tuple[str, HostVariables, list[Service]]]:
    for name, host in cluster.inventory.hosts.items():
        yield name, host, list(cluster.services(name).values())


@rule("variable-without-group", severity="warning")
def _variable_without_group(cluster: Cluster) -> Findings:
    """Nothing reads it: what it describes is nowhere, and the run ends well."""
    misspelt = {similar_group(str(name)) for name in cluster.inventory.groups}
    for variable, group in _DESCRIBED.items():
        if cluster.inventory.members(group) or group in misspelt:
            continue
        hosts = [name for name, host in host_variables(cluster) if host.variables.get(variable)]
        if hosts:
            problem = f"{variable} is set, and the group {group} has no host."
            yield Finding(
                problem, f"Add hosts to {group}, or delete {variable}.", variable, (*hosts,)
            )


@rule("misplaced-property", each=_hosts_and_services)
def _misplaced_property(host: HostVariables, services: list[Service]) -> Findings:
    """Ansible ignores it: a property is a key of `kafka_config` or `spark_config`."""
    for name in sorted(host.others):
        for service in services:
            if "." in name and name in service.table:
                fix = f"Put it below {service.product}_config."
                yield Finding(f"{name} is a property, not a variable.", fix, name)


@rule("unreadable-file", each=host_variables)
def _unreadable_file(host: HostVariables) -> Findings:
    """What it sets is not known; its hosts are checked with what other files set."""
    for path, reason in host.unreadable.items():
        fix = "Make it a YAML file of variables, in UTF-8, that Ansible can read."
        fix = VAULT_FIX if LOCKED in reason.lower() else fix
        yield Finding(f"{path} cannot be read: {reason}.", fix, path)


@rule("unresolved-variable", each=_hosts_and_services)
def _unresolved_variable(host: HostVariables, services: list[Service]) -> Findings:
    """Everything that depends on it would be wrong; the other rules check its default instead."""
    absent = tuple(
        f"{name}_" for name in {*JAVA_PRODUCTS} - {service.product for service in services}
    )
    for name, reason in host.unresolved.items():
        if name.startswith(absent) and name.partition("[")[0] in documented():
            continue  # nothing on this host reads it
        problem = f"{name} cannot be resolved: {reason}."
        fix = f"Correct the expression of {name}."
        if LOCKED in reason.lower():
            fix = VAULT_FIX
        yield Finding(problem, fix, name)


@rule("variable-value", each=lambda cluster: cluster.invalid.items())
def _variable_value(invalid: list[Invalid]) -> Findings:
    """The role would fail, or do something other than intended."""
    for variable in invalid:
        if variable.name not in _IDS:
            yield Finding(
                variable.message, _wanted(variable.name, documented()[variable.name]), variable.name
            )


@rule("variable-range", each=hosts)
def _variable_range(host: HostSettings) -> Findings:
    """The value is outside the valid range."""
    for name, lowest in _LOWEST.items():
        value = host.settings[name]
        if not lowest <= value <= _HIGHEST:
            fix = f"Set {name} to a number from {lowest} to {_HIGHEST}; the default is "
            yield Finding(f"{name} is {value}.", f"{fix}{documented()[name]['default']}.", name)


@rule("account-name", each=hosts)
def _account_name(host: HostSettings) -> Findings:
    """systemd creates no account with such a name (sysusers.d)."""
    for name, value in host.settings.items():
        if name in _ACCOUNTS and not _ACCOUNT.fullmatch(str(value)):
            fix = f"Set {name} to letters, digits, _ and -, at most 31; the default is "
            fix += f"{documented()[name]['default']}."
            yield Finding(f"{name} is {value!r}.", fix, name)


@rule("account-shared", each=_hosts_and_services, where="spark_user")
def _account_shared(_: HostVariables, services: list[Service]) -> Findings:
    """Spark's account has the user id spark_uid on every host, which one made for another service
    has not.
    """
    accounts = {
        service.product: str(service.settings[f"{service.product}_user"]) for service in services
    }
    name = accounts.pop("spark", "")
    for product in (owner for owner, account in accounts.items() if account == name):
        fix = f"Set spark_user: {'spark' if name != 'spark' else 'spark-jobs'}."
        yield Finding(f"{product}_user is {name} too.", fix)


def _wanted(name: str, option: Option) -> str:
    kind = option.get("type", "str")
    of = f" of {option['elements']}" if "elements" in option else ""
    if "options" in option:
        keys = (f"{key} ({suboption['type']})" for key, suboption in option["options"].items())
        of += f" with {listing(keys)}"
    fix = f"Set {name} to {'an' if kind == 'int' else 'a'} {kind}{of}"
    if "choices" in option:
        fix += f": {listing(option['choices'], 'or')}"
    if option.get("default") not in (None, "", {}, []):
        fix += f"; the default is {option['default']!r}"
    return f"{fix}."
