"""How a running cluster gets other listeners while nodes and clients can always connect.

That is which phase follows which, and what has to be true before.

Pure: the caller looks at the nodes, stores the record, and rolls. `former` are the listeners that
were there before, `desired` those of the inventory; the model's listeners.py says what a phase is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...module_utils.formats.values import listing
from ..cluster.transition import Transition
from ..services.kafka.listeners import ADDED, ENDED, FORMER, MOVED, Listener, Listeners, conflict

AFTER = {FORMER: ADDED, ADDED: MOVED}
BEFORE = {ADDED: FORMER, MOVED: ADDED}
SHOWN = 10
"""Addresses of connected clients that a message shows."""


class ImpossibleError(Exception):
    """The change cannot be made; the text says why, and what to do."""


@dataclass(frozen=True)
class Running:
    """What a node is configured with."""

    listeners: Listeners
    peers: Mapping[int, Sequence[str]]
    """Who is connected to the listeners that leave: port -> addresses."""


def begin(nodes: Mapping[str, Running], desired: Listeners) -> Transition | None:
    """Return the first phase of the change, None where the nodes have the wanted listeners.

    Raises:
        ImpossibleError: a wanted listener takes the name or port of one that is there, the nodes
            differ, or none has a listener.

    """
    former = _common(nodes, desired)
    leaving = former.open_ports().keys() - desired.open_ports().keys()
    if _between(former) == _between(desired) and not leaving:
        return None
    if both := conflict(desired, former):
        desired_text, former_text = map(_text, both)
        message = (
            f"{desired_text} is wanted, and the nodes have {former_text}: both are needed for a "
            "while. Set kafka_listeners, or kafka_controller_listener, with another name and port"
        )
        raise ImpossibleError(message)
    return Transition(ADDED, data=former.data())


def forward(
    change: Transition | None,
    nodes: Mapping[str, Running],
    desired: Listeners,
    *,
    disconnect: bool = False,
) -> Transition | None:
    """Return the phase to bring the nodes to now, None where there is nothing to change.

    A phase that some nodes may not have yet is repeated. With `disconnect` the former listeners are
    closed although clients are connected to them.

    Raises:
        ImpossibleError: as `begin`, or clients use a listener that is to be closed.

    """
    if change is None or (change.complete and change.phase == ENDED):
        return begin(nodes, desired)
    if not change.complete:
        return change
    if _is_undone(change, nodes, desired):
        return begin(nodes, desired)
    if change.phase in AFTER:
        return change.enter(AFTER[change.phase])
    if (used := _used(nodes, _former(change))) and not disconnect:
        message = (
            f"clients are connected to listeners that are to be removed: {'; '.join(used)}. Move "
            "them, or close the listeners all the same with -e secure_disconnect=true"
        )
        raise ImpossibleError(message)
    return change.enter(ENDED)


def back(change: Transition | None) -> Transition:
    """Return the phase before, of which `FORMER` is the first.

    A way back that some nodes may not have gone yet is repeated.

    Raises:
        ImpossibleError: there is none.

    """
    if change is None or change.phase == ENDED:
        message = "no change is under way: there is nothing to take back"
        raise ImpossibleError(message)
    if change.backward and not change.complete:
        return change
    return change.enter(BEFORE.get(change.phase, change.phase), backward=True)


def completed(change: Transition) -> Transition:
    """Return the record when all nodes run in its phase; back at the start the change has ended."""
    phase = ENDED if change.phase == FORMER else change.phase
    return replace(change, phase=phase, complete=True)


def _is_undone(change: Transition, nodes: Mapping[str, Running], desired: Listeners) -> bool:
    """Return whether no node has what the change has added, as after an open inventory."""
    added = _every(desired) - _every(_former(change))
    present = set().union(*(_every(node.listeners) for node in nodes.values()))
    return bool(added) and added.isdisjoint(present)


def _every(listeners: Listeners) -> set[Listener]:
    return {*listeners.brokers, *listeners.controllers}


def _former(change: Transition) -> Listeners:
    return Listeners.from_data(change.data)


def _between(listeners: Listeners) -> tuple[str, ...]:
    """Return the names of the listeners by which nodes talk to each other."""
    return (
        listeners.between_brokers.upper(),
        *(listener.name for listener in listeners.controllers[:1]),
    )


def _common(nodes: Mapping[str, Running], desired: Listeners) -> Listeners:
    """Return what all nodes listen on; where there is no controller, the wanted one of it."""
    configured = [node.listeners for node in nodes.values() if _every(node.listeners)]
    if not configured:
        message = "no node is configured yet: run site.yml, which deploys a secured cluster"
        raise ImpossibleError(message)
    return Listeners(
        _same("brokers", (listeners.brokers for listeners in configured)),
        _same("controllers", (listeners.controllers for listeners in configured))
        or desired.controllers,
        next((listeners.between_brokers for listeners in configured if listeners.brokers), ""),
    )


def _same(role: str, listener_sets: Iterable[tuple[Listener, ...]]) -> tuple[Listener, ...]:
    distinct = {listeners for listeners in listener_sets if listeners}
    if len(distinct) > 1:
        texts = (listing(map(_text, listeners)) for listeners in distinct)
        message = (
            f"the {role} have different listeners, {' and '.join(sorted(texts))}: run site.yml "
            "with the inventory by which they were deployed"
        )
        raise ImpossibleError(message)
    return next(iter(distinct), ())


def _used(nodes: Mapping[str, Running], former: Listeners) -> list[str]:
    """Return who is connected to which former listener, of all nodes, a text each."""
    names = {listener.port: listener.name for listener in (*former.brokers, *former.controllers)}
    clients: dict[str, set[str]] = {}
    for node in nodes.values():
        for port, addresses in node.peers.items():
            clients.setdefault(names.get(port, str(port)), set()).update(addresses)
    return [
        f"{name} by {listing(sorted(addresses)[:SHOWN])}"
        + (f" and {len(addresses) - SHOWN} more" if len(addresses) > SHOWN else "")
        for name, addresses in sorted(clients.items())
        if addresses
    ]


def _text(listener: Listener) -> str:
    return f"{listener.name}://:{listener.port} ({listener.protocol})"
