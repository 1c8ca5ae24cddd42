"""Read Ansible's inventory for the model: each variable resolved, or why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.inventory.manager import InventoryManager
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultHelper
from ansible.plugins.loader import init_plugin_loader
from ansible.template import Templar
from ansible.utils.collection_loader._collection_config import AnsibleCollectionConfig
from ansible.vars.hostvars import HostVars
from ansible.vars.manager import VariableManager

from ..module_utils.model import kafka, spark, zookeeper
from ..module_utils.model.inventory import HostVariables, Inventory
from ..module_utils.model.variables import PREFIXES, defaults, documented

CONNECTION = ("ansible_host", "ansible_port")
CLUSTER_ID_FILE = "kafka_cluster_id.txt"
LAYERS = (*kafka.LAYERS, *zookeeper.LAYERS, *spark.LAYERS)


def from_hostvars(
    hostvars: HostVars,
    groups: Mapping[str, Iterable[str]],
    overrides: Mapping[str, Any],
    play: Mapping[str, Any] | None = None,
) -> Inventory:
    """Return the inventory of a run.

    `overrides` are variables that a play sets for every host, which may refer to those of `play`.
    """
    hosts: dict[str, HostVariables] = {}
    directory = ""
    for host in hostvars:
        name = str(host)
        own = raw_of(hostvars, name)
        directory = directory or str(own.get("inventory_dir") or "")
        hosts[name] = read_host(name, own, hostvars, overrides, play or {})
    members = {str(group): [str(host) for host in found] for group, found in groups.items()}
    return Inventory(members, hosts, directory, kept_cluster_id(directory))


def from_directory(path: Path) -> Inventory:
    """Return the inventory of a directory or file, as a run with it and without a play sees it."""
    if not AnsibleCollectionConfig.collection_finder:
        init_plugin_loader()
    loader = DataLoader()
    manager = InventoryManager(loader=loader, sources=[str(path)])
    variables = VariableManager(loader=loader, inventory=manager)
    return from_hostvars(HostVars(manager, variables, loader), manager.get_groups_dict(), {})


def raw_of(hostvars: HostVars, name: str) -> Any:  # noqa: ANN401 - Ansible's
    """Return a host's variables as they are written.

    Raises:
        AnsibleActionFail: a file with them cannot be read; names the host.

    """
    try:
        return hostvars.raw_get(name)
    except AnsibleError as error:
        files = "its file in host_vars, or one of its groups in group_vars"
        message = f"The variables of {name} cannot be read ({files}): {error}"
        raise AnsibleActionFail(message) from error


def read_host(
    name: str,
    own: Mapping[str, Any],
    hostvars: HostVars,
    overrides: Mapping[str, Any],
    play: Mapping[str, Any],
) -> HostVariables:
    """Return a host's variables, resolved one by one from how they are written."""
    raw = {**own, **overrides}
    scope = {**defaults(), **raw, "hostvars": hostvars}
    templar = Templar(loader=hostvars._loader, variables=scope)
    of_play = Templar(loader=hostvars._loader, variables={**play, **scope})
    values: dict[str, Any] = {}
    unresolved: dict[str, str] = {}
    for variable in sorted(str(one) for one in raw if str(one).startswith(PREFIXES)):
        resolver = of_play if variable in overrides else templar
        try:
            values[variable] = plain(resolver.template(raw[variable]))
        except AnsibleError as error:
            parts = raw[variable]
            if variable not in kafka.LAYERS or not isinstance(parts, Mapping):
                unresolved[variable] = f"{error}".rstrip(". ") + written_at(parts)
                continue
            values[variable] = {}
            for key, part in parts.items():
                try:
                    values[variable][str(key)] = plain(resolver.template(part))
                except AnsibleError as wrong:
                    # As what Kafka fills in at its start: it is set, and nothing judges its value.
                    values[variable][str(key)] = "${unresolved}"
                    reason = f"{wrong}".rstrip(". ") + written_at(part)
                    unresolved[f"{variable}[{key}]"] = reason
    connection: dict[str, Any] = {}
    for variable in CONNECTION:
        if variable in raw:
            try:
                connection[variable] = plain(templar.template(raw[variable]))
            except AnsibleError as error:
                unresolved[variable] = f"{error}".rstrip(". ") + written_at(raw[variable])
    return HostVariables(name, values, unresolved, connection, hidden_places(raw))


def plain(value: Any) -> Any:  # noqa: ANN401 - any variable
    """Return a copy in Python's own types; Ansible's are filled in when they are read."""
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(part) for part in value]
    for kind in (bool, int, float, str):
        if isinstance(value, kind):
            return kind(value)
    return value


def written_at(value: object) -> str:
    """Return where a value stands, as ` (file:line)`; empty where Ansible does not know."""
    from ansible._internal._datatag._tags import Origin

    found = Origin.get_tag(value)
    if found is None and isinstance(value, Mapping):
        found = next((tag for one in value.values() if (tag := Origin.get_tag(one))), None)
    if not found:
        return ""
    return f" ({found.path}:{found.line_num})" if found.path else f" ({found.description})"


def hidden_places(raw: Mapping[str, Any]) -> frozenset[str]:
    """Return the places of values that come from a vault or an expression.

    `raw` are a host's variables as they are written, before any expression is worked out. A place
    is `variable[key]`, or the variable alone where the whole of it is an expression.
    """
    places = set()
    for layer in LAYERS:
        config = raw.get(layer)
        if isinstance(config, Mapping):
            places |= {f"{layer}[{key}]" for key, value in config.items() if _is_hidden(value)}
        elif config is not None:
            places.add(layer)
    return frozenset(places)


def _is_hidden(value: object) -> bool:
    # An encrypted value is no str, and would be decrypted by being made one.
    if VaultHelper.get_ciphertext(value, with_tags=False):
        return True
    return isinstance(value, str) and "{{" in value


def play_overrides(task_vars: Mapping[str, Any]) -> dict[str, Any]:
    """Return the documented variables that this play sets itself, as they are written.

    A role's defaults are no such variables: the model has them from the argument specs.
    """
    host = str(task_vars["inventory_hostname"])
    own = task_vars["hostvars"].raw_get(host)
    return {
        name: task_vars[name]
        for name, option in documented().items()
        if name.startswith(PREFIXES)
        and name in task_vars
        and (name not in own or own[name] is not task_vars[name])
        and task_vars[name] != own.get(name, option.get("default"))
    }


def kept_cluster_id(directory: str) -> str:
    """Return the cluster id that is kept beside an inventory, empty if there is none."""
    try:
        return (Path(directory) / CLUSTER_ID_FILE).read_text("utf-8", "replace").strip()
    except OSError:
        return ""
