"""The change of a cluster's CAs: what is trusted in each of its phases, and who signs.

These are the phases:

    trust      everybody trusts the former CAs and the next ones, the former ones sign
    leaves     both are trusted, the next ones sign
    finish     the next ones alone are trusted, and sign
    withdraw   the former ones alone are trusted again, and sign

A run enters one phase. No phase is entered before all hosts have the one before it, and processes
of two phases that follow each other trust each other. A CA is known by the name of its file among
the secrets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ..services.connect import model as connect
from ..services.kafka.security import AUTHORITY_FILE
from ..services.zookeeper import tls as zookeeper_tls
from . import transition
from .inventory import Secrets
from .transition import Transition

TRUST, LEAVES, FINISH, WITHDRAW = "trust", "leaves", "finish", "withdraw"
FORMER, NEXT = "former", "next"
"""What the record holds: the certificates of both, by the names of their files."""
CHOICES = {
    "kafka": (AUTHORITY_FILE,),
    "connect": (connect.AUTHORITY_FILE,),
    "zookeeper": (zookeeper_tls.AUTHORITY_FILE, zookeeper_tls.CLIENTS_AUTHORITY_FILE),
}
"""How an operator names CAs -> their files."""
_SIGNS = {TRUST: FORMER, LEAVES: NEXT, FINISH: NEXT, WITHDRAW: FORMER}
_TRUSTED = {TRUST: (FORMER, NEXT), LEAVES: (FORMER, NEXT), FINISH: (NEXT,), WITHDRAW: (FORMER,)}
_FORWARD = {TRUST: LEAVES, LEAVES: FINISH}
_BACK = {LEAVES: TRUST, TRUST: WITHDRAW}


class PhaseError(Exception):
    """A phase cannot be entered; the text says why."""


def authorities(secrets: Secrets) -> dict[str, str]:
    """Return the certificates of all CAs, empty where there is none."""
    return {
        AUTHORITY_FILE: secrets.authority,
        connect.AUTHORITY_FILE: secrets.connect_authority,
        zookeeper_tls.AUTHORITY_FILE: secrets.zookeeper_authority,
        zookeeper_tls.CLIENTS_AUTHORITY_FILE: secrets.zookeeper_clients_authority,
    }


def current(secrets: Secrets) -> Transition | None:
    """Return the change that is under way, None if there is none.

    Raises:
        ValueError: its record is damaged; names the file.

    """
    change = transition.read(secrets, transition.AUTHORITY)
    if change is None:
        return None
    # Before CAs were changed together, a record was that of Kafka's alone.
    data = {
        generation: {AUTHORITY_FILE: texts} if isinstance(texts, str) else texts
        for generation, texts in change.data.items()
    }
    generations = [
        texts for generation in (FORMER, NEXT) if isinstance(texts := data.get(generation), dict)
    ]
    names = [{*texts} for texts in generations if texts]
    is_known = len(names) == len((FORMER, NEXT)) and names[0] == names[1] <= {*authorities(secrets)}
    if change.phase not in _SIGNS or not is_known:
        message = (
            f"{secrets.directory}/{transition.AUTHORITY} is not a record of a change of the CA"
        )
        raise ValueError(message)
    return replace(change, data=data)


def begin(former: Mapping[str, str], following: Mapping[str, str]) -> Transition:
    """Return the record of a change of CAs to others, all by their names."""
    return Transition(TRUST, data={FORMER: dict(former), NEXT: dict(following)})


def changed(change: Transition | None) -> list[str]:
    """Return the names of the CAs that a change replaces."""
    return [*change.data[FORMER]] if change else []


def signer(change: Transition, name: str) -> str:
    """Return the certificate of the CA that signs."""
    return str(change.data[_SIGNS[change.phase]][name])


def trusted(change: Transition, name: str) -> str:
    """Return the certificates of all CAs that are trusted for one of them."""
    texts = [str(change.data[generation][name]) for generation in _TRUSTED[change.phase]]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in texts)


def signing(secrets: Secrets, name: str = AUTHORITY_FILE) -> str:
    """Return the certificate of the CA that signs now, all that is trusted if that is not known."""
    try:
        change = current(secrets)
    except ValueError:  # whoever changes something refuses it
        change = None
    return (
        signer(change, name) if name in changed(change) and change else authorities(secrets)[name]
    )


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
