"""The change of a cluster's CA: what nodes trust in each of its phases, and who signs.

These are the phases:

    trust      nodes and clients trust the former CA and the next one, the former one signs
    leaves     both are trusted, the next one signs
    finish     the next one alone is trusted, and signs
    withdraw   the former one alone is trusted again, and signs

A run enters one phase. No phase is entered before all nodes have the one before it, and nodes of
two phases that follow each other trust each other.
"""

from __future__ import annotations

from . import transition
from .inventory import Secrets
from .transition import Transition

TRUST, LEAVES, FINISH, WITHDRAW = "trust", "leaves", "finish", "withdraw"
FORMER, NEXT = "former", "next"
"""What the record holds: the certificates of both."""
_SIGNS = {TRUST: FORMER, LEAVES: NEXT, FINISH: NEXT, WITHDRAW: FORMER}
_TRUSTED = {TRUST: (FORMER, NEXT), LEAVES: (FORMER, NEXT), FINISH: (NEXT,), WITHDRAW: (FORMER,)}
_FORWARD = {TRUST: LEAVES, LEAVES: FINISH}
_BACK = {LEAVES: TRUST, TRUST: WITHDRAW}


class PhaseError(Exception):
    """A phase cannot be entered; the text says why."""


def current(secrets: Secrets) -> Transition | None:
    """Return the change that is under way, None if there is none.

    Raises:
        ValueError: its record is damaged; names the file.

    """
    found = transition.read(secrets, transition.AUTHORITY)
    if found and (found.phase not in _SIGNS or not {FORMER, NEXT} <= {*found.data}):
        message = (
            f"{secrets.directory}/{transition.AUTHORITY} is not a record of a change of the CA"
        )
        raise ValueError(message)
    return found


def begin(former: str, following: str) -> Transition:
    """Return the record of a change from one CA to another, both PEM."""
    return Transition(TRUST, data={FORMER: former, NEXT: following})


def signer(change: Transition) -> str:
    """Return the certificate of the CA that signs."""
    return str(change.data[_SIGNS[change.phase]])


def trusted(change: Transition) -> str:
    """Return the certificates of all CAs that nodes and clients trust."""
    texts = [str(change.data[name]) for name in _TRUSTED[change.phase]]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def signing(secrets: Secrets) -> str:
    """Return the certificate of the CA that signs now, all that is trusted if that is not known."""
    try:
        change = current(secrets)
    except ValueError:  # whoever changes something refuses it
        change = None
    return signer(change) if change else secrets.authority


def following(change: Transition, *, back: bool) -> Transition:
    """Return the record of the phase that the next run brings to all nodes.

    A phase that not all nodes have yet is repeated; from one that was entered forward a run may
    also go back, since the nodes of both trust each other.

    Raises:
        PhaseError: it is too late to go back.

    """
    if back and change.phase == FINISH:
        message = (
            "it is too late to go back: nodes may trust the new CA alone. Run it again without "
            "rotate_back, and then change the CA once more if you need the former one"
        )
        raise PhaseError(message)
    repeated = not change.complete and (not back or change.backward)
    steps = _BACK if back else _FORWARD
    if repeated or change.phase not in steps:
        return change
    return change.enter(steps[change.phase], backward=back)
