"""The page about what lies on a host, made of the model of an inventory that has every service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
    from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.service import Part

# Directories below /etc that belong to the system.
_SHARED = ("/etc/sysusers.d", "/etc/tmpfiles.d", "/etc/needrestart", "/etc/nftables.d")


def services(cluster: Cluster, defaults: Mapping[str, Any]) -> list[list[str]]:
    """Return a row for each product: title, account, units, configuration, data, ports.

    `defaults` has the variables of all roles: a directory is shown where it is without being set.
    """
    return [
        [
            parts[0].title,
            f"`{parts[0].user}`",
            _listed(unit for part in parts for unit in part.units),
            _listed(path for part in parts for path in _config_dirs(part)),
            ", ".join(dict.fromkeys(text for part in parts for text in _data(part, defaults))),
            ", ".join(
                dict.fromkeys(
                    f"{port} (`{name}`)" for part in parts for name, port in part.ports.items()
                )
            ),
        ]
        for parts in _by_product(cluster).values()
    ]


def configuration(cluster: Cluster) -> list[list[str]]:
    """Return a row for each configuration file: path, mode, owner and group, what is special."""
    rows: dict[str, list[str]] = {}
    for parts in _by_product(cluster).values():
        for part in parts:
            for path, entry in part.files().items():
                above = [str(parent) for parent in PurePosixPath(path).parents]
                if {*above} & {*_config_dirs(part)} and "content" in entry:
                    row = [f"`{path}`", _access(entry), _remarks(entry)]
                    # On some hosts a file holds more than on others.
                    rows[path] = max(
                        rows.get(path, row), row, key=lambda candidate: len(candidate[2])
                    )
    return list(rows.values())


def _by_product(cluster: Cluster) -> dict[str, list[Part]]:
    by_product: dict[str, list[Part]] = {}
    for host in cluster.hosts:
        for product, part in cluster.deployed(host).items():
            by_product.setdefault(product, []).append(part)
    return by_product


def _config_dirs(part: Part) -> list[str]:
    """Return the directories right below /etc that are a part's own."""
    entries = part.state["files"].items()
    return [
        path
        for path, entry in entries
        if entry.get("state") == "directory"
        and PurePosixPath(path).parent == PurePosixPath("/etc")
        and path not in _SHARED
    ]


def _data(part: Part, defaults: Mapping[str, Any]) -> Iterator[str]:
    """Yield the directories that a part's account writes to, with the variable of each."""
    variables = {path: variable for variable, path in part.data_directories}
    for path, entry in part.state["files"].items():
        is_own = entry.get("state") == "directory" and entry.get("owner") == part.user
        if not is_own or path.startswith(("/etc/", "/opt/", "/var/lib/millrace/")):
            continue
        base = next((root for root in variables if PurePosixPath(path).is_relative_to(root)), "")
        if not base:
            yield f"`{path}`"
            continue
        default = defaults[variables[base]]
        start = default[0] if isinstance(default, list) else default
        text = f"`{start}{path.removeprefix(base)}`"
        yield f"{text} (`{variables[base]}`)" if path == base else text


def _access(entry: Mapping[str, Any]) -> str:
    owner, mode = entry.get("owner") or "root", entry.get("mode") or "0644"
    return f"`{mode}` {owner}:{entry.get('group') or owner}"


def _remarks(entry: Mapping[str, Any]) -> str:
    remarks = {
        "holds secrets": entry.get("secret"),
        "read at a start": entry.get("restart") and not entry.get("dynamic"),
        "some keys are changed online": entry.get("dynamic"),
    }
    return ", ".join(text for text, holds in remarks.items() if holds)


def _listed(words: Iterator[str]) -> str:
    return ", ".join(f"`{word}`" for word in dict.fromkeys(words))
