"""Put what `explain` found into aligned lines; hosts with equal answers share them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .explain import DEFAULT_LAYER, EFFECTS

Hosts = Mapping[str, Mapping[str, Any]]
Ports = Mapping[str, Sequence[Mapping[str, Any]]]


def report(explanation: Mapping[str, Any], *, properties: bool = True, ports: bool = False) -> str:
    """Return the text of an explanation, with the properties and the ports as asked for."""
    hosts: Hosts = explanation["hosts"]
    lines = [
        f"{name}: {variable} cannot be resolved or read and is left out: {why}"
        for name, host in hosts.items()
        for variable, why in host["unresolved"].items()
    ]
    lines += _headings(hosts)
    if properties:
        lines += _properties(hosts)
    if ports:
        lines += _ports(explanation["ports"])
    if explanation["changes"]:
        lines += _changes(hosts, explanation["changes"])
    return "\n".join(lines).strip("\n")


def _headings(hosts: Hosts) -> Iterator[str]:
    """Write what each host is."""
    kinds: dict[str, list[str]] = {}
    for name, host in hosts.items():
        roles = " and ".join(host["roles"] or [])
        mode = " with ZooKeeper" if host["mode"] == "zookeeper" else ""
        kind = f"Kafka {host['version']}{mode}, {roles}, profile {host['profile']}"
        kinds.setdefault(kind, []).append(name)
    for kind, names in kinds.items():
        yield f"{', '.join(names)}: {kind}"


def _properties(hosts: Hosts) -> Iterator[str]:
    """Write a table for each set of hosts, the largest set first."""
    keys = sorted({key for host in hosts.values() for key in host["properties"]})
    tables: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for key in keys:
        hosts_by_row: dict[tuple[str, ...], list[str]] = {}
        for name, host in hosts.items():
            if key in host["properties"]:
                hosts_by_row.setdefault(_row(key, host["properties"][key]), []).append(name)
        for row, holders in hosts_by_row.items():
            tables.setdefault(tuple(holders), []).append(row)
    if not keys:
        yield from ("", "No property of these hosts has such a key.")
    order = list(hosts)
    for names in sorted(tables, key=lambda names: (-len(names), order.index(names[0]))):
        yield from ("", f"On {', '.join(names)}:")
        yield from _aligned([("property", "layer", "update", "value"), *tables[names]])


def port_rows(ports: Ports) -> dict[tuple[str, ...], list[tuple[str, str, str]]]:
    """Return hosts -> port, who connects and the name of each; equal hosts share them."""
    hosts_by_rows: dict[tuple[tuple[str, str, str], ...], list[str]] = {}
    for host, endpoints in ports.items():
        rows = tuple(
            (str(endpoint["port"] or "any"), " and ".join(endpoint["callers"]), endpoint["name"])
            for endpoint in endpoints
        )
        hosts_by_rows.setdefault(rows, []).append(host)
    return {tuple(names): list(rows) for rows, names in hosts_by_rows.items()}


def _ports(ports: Ports) -> Iterator[str]:
    """Write what listens, a table for hosts that are equal."""
    for names, rows in port_rows(ports).items():
        yield from ("", f"On {', '.join(names)}:")
        yield from _aligned([("port", "who connects", "set by"), *rows])


def _row(key: str, answer: Mapping[str, Any]) -> tuple[str, ...]:
    notes = [answer["why"]] if answer["why"] else []
    notes += [
        f"over {earlier['layer']}: {_value(earlier['value'])}" for earlier in answer["overrides"]
    ]
    if answer["layer"] != DEFAULT_LAYER and answer["default"] not in (None, ""):
        notes.append(f"Kafka's default: {answer['default']}")
    value = _value(answer["value"]) + (f" ({'; '.join(notes)})" if notes else "")
    return key, answer["layer"], answer["update"] or "-", value


def _value(value: str | None) -> str:
    if value is None:
        return "unset"
    return " ".join(value.split("\n")) or "(empty)"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Write rows in columns; the last one has no fixed width."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield f"  {'  '.join([*cells, row[-1]])}".rstrip()


def _changes(hosts: Hosts, changes: Mapping[str, Mapping[str, list[str]]]) -> Iterator[str]:
    """Write for each changed key a summary, and from what to what on which hosts."""
    yield from ("", "Set in kafka_config:")
    for key, kinds in changes.items():
        counts = [f"{kind} {_count(kinds[kind])}" for kind in EFFECTS if kinds[kind]]
        yield from ("", f"  {key}: {', '.join(counts)}")
        hosts_by_step: dict[str, list[str]] = {}
        for name, host in hosts.items():
            hosts_by_step.setdefault(_step(host["changes"][key]), []).append(name)
        yield from (f"    {', '.join(names)}: {step}" for step, names in hosts_by_step.items())
    yield from _summary(hosts, changes)


def _step(effect: Mapping[str, Any]) -> str:
    outcome = f"{effect['kind']}, {effect['why']}"
    outcome += "".join(f". Warning: {note}" for note in effect["notes"])
    if effect["kind"] == "refused":
        return outcome
    return f"{_value(effect['before'])} -> {_value(effect['after'])}: {outcome}"


def _count(names: Sequence[str]) -> str:
    return f"on {len(names)} host{'s' if len(names) != 1 else ''}"


def _summary(hosts: Hosts, changes: Mapping[str, Mapping[str, list[str]]]) -> Iterator[str]:
    restart = [
        name for name in hosts if any(name in kinds["restart"] for kinds in changes.values())
    ]
    effects = {name: host["changes"].values() for name, host in hosts.items()}
    written = [name for name in hosts if any(effect["written"] for effect in effects[name])]
    yield ""
    if any(kinds["refused"] for kinds in changes.values()):
        yield "The rules refuse the inventory with these changes: no host would be touched."
        return
    yield f"Kafka must be restarted {_count(restart)}{_listed(restart)}."
    if written != restart:
        yield (
            "site.yml changes the others online; server.properties changes on "
            f"{len(written)} hosts{_listed(written)}."
        )


def _listed(names: Sequence[str]) -> str:
    return f": {', '.join(names)}" if names else ""
