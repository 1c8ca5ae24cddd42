"""A change of a running cluster that takes several rolling changes: which of its phases is current.

Its record is a file of the secrets, so that every run, whatever it does, configures the nodes as
the current phase wants them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from .inventory import Secrets

SECURITY, AUTHORITY = "security_change.json", "ca_change.json"
"""The names of the records among the secrets."""
RECORDS = (SECURITY, AUTHORITY)


@dataclass(frozen=True)
class Transition:
    """The record: its phase, whether every node runs in that phase, and what the phases need.

    `backward` says whether it was entered from the phase after it.
    """

    phase: str
    complete: bool = False
    backward: bool = False
    data: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def text(self) -> str:
        """Return it as `read` takes it."""
        return json.dumps(asdict(self), indent=2) + "\n"

    def enter(self, phase: str, *, backward: bool = False) -> Transition:
        """Return the record of another phase, which no node has yet."""
        return replace(self, phase=phase, complete=False, backward=backward)


def read(secrets: Secrets, name: str) -> Transition | None:
    """Return the record of a change that is under way, None if there is none.

    Raises:
        ValueError: it is damaged; names the file.

    """
    text = secrets.texts.get(name, "")
    if not text:
        return None
    try:
        return Transition(**json.loads(text))
    except (ValueError, TypeError) as error:
        message = f"{secrets.directory}/{name} cannot be read: {error}"
        raise ValueError(message) from error
