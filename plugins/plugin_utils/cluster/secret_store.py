"""The generation of a directory of secrets, by which an older copy of it is known.

Each change of the directory is a generation with a random name of its own, which says nothing about
the secrets. The directory keeps the names of all of them, hosts have that of the one with which
they were deployed: a directory without it is older, or another one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol

from ...module_utils.host.secret_record import RECORD

FILE = "store.json"
"""Its name among the secrets."""
MOST_NUMBER = 2**31
NEWER_COMMIT = "take the commit with that generation (git pull)"
"""How to get newer secrets where they are encrypted."""
_MOST_CHARACTERS = 300


class Cipher(Protocol):
    """Encryption of each of the secrets as it is stored."""

    def encrypt(self, text: str) -> str:
        """Return a text as it is stored."""

    def decrypt(self, content: bytes) -> str:
        """Return the text of what is stored.

        Raises:
            ValueError: says why it cannot be decrypted.

        """


@dataclass(frozen=True)
class Generation:
    """A state of the directory."""

    name: str
    """Its random name."""
    number: int
    made: str
    """When it was made."""
    by: str
    """Who made it."""

    def __str__(self) -> str:
        """Return it as a message names it."""
        return f"generation {self.number} (made {self.made} by {self.by})"


@dataclass(frozen=True)
class Store:
    """The generations of a directory of secrets."""

    generations: tuple[Generation, ...]
    """Its generations, the present one last."""
    digest: str = field(default="", repr=False)
    """That of what it holds."""
    replacing: tuple[str, ...] = ()
    """The users of Kafka whose password may replace another one there: rotate_secrets.yml has made
    it, and Kafka may not have it yet."""

    @property
    def generation(self) -> Generation:
        """The present one."""
        return self.generations[-1]

    def text(self) -> str:
        """Return it as `parse` takes it."""
        return _json(asdict(self))

    def followed_by(self, *generations: Generation, digest: str) -> Store:
        """Return it after a change."""
        return replace(self, generations=(*self.generations, *generations), digest=digest)

    def record(self, products: Iterable[str]) -> str:
        """Return what a host with these products gets of it."""
        return _json({"products": sorted(products), **asdict(self.generation)})


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"


def parse(text: str) -> Store | None:
    """Return what a directory keeps, None where it keeps nothing.

    Raises:
        ValueError: it is damaged.

    """
    if not text:
        return None
    try:
        data = json.loads(text)
        generations = tuple(Generation(**entry) for entry in data.pop("generations"))
        replacing = tuple(data.pop("replacing"))
        return Store(**data, generations=(generations[0], *generations[1:]), replacing=replacing)
    except (LookupError, TypeError, AttributeError) as error:
        raise ValueError(str(error)) from error


def deployed_with(record: Mapping[str, Any], products: Iterable[str]) -> Generation | None:
    """Return the generation in the record of a host, None without one or where it is damaged.

    Whoever has taken a host over can write anything there. `products` are those that the host is
    to have: the record is not for them where another inventory has deployed others there.
    """
    try:
        generation = Generation(*(record[key] for key in ("name", "number", "made", "by")))
        return generation if _is_valid(generation) and {*record["products"]} & {*products} else None
    except (LookupError, TypeError):
        return None


def _is_valid(generation: Generation) -> bool:
    texts: tuple[object, ...] = (generation.name, generation.made, generation.by)
    number: object = generation.number
    return (
        all(
            isinstance(text, str) and text.isprintable() and len(text) < _MOST_CHARACTERS
            for text in texts
        )
        and type(number) is int
        and 1 <= number <= MOST_NUMBER
    )


def contains(store: Store | None, generation: Generation) -> bool:
    """Return whether a directory is of a generation, or came after it."""
    return store is not None and generation.name in [
        recorded.name for recorded in store.generations
    ]


def newer_hosts(
    store: Store | None, generations: Mapping[str, Generation | None]
) -> dict[Generation, list[str]]:
    """Return the hosts with each generation that a directory does not come after.

    `generations` is host -> the one in its record.
    """
    newer: dict[Generation, list[str]] = {}
    for host, generation in generations.items():
        if generation and not contains(store, generation):
            newer.setdefault(generation, []).append(host)
    return newer


def doubt(
    newer: Mapping[Generation, Sequence[str]], generations: Mapping[str, Generation | None]
) -> str:
    """Return what else may be true where only some of the hosts are newer, else an empty text."""
    if sum(map(len, newer.values())) == len(generations):
        return ""
    return (
        " Not all hosts have a newer one: a host that has may have been taken over, or belong to "
        f"another inventory. Then remove {RECORD} there."
    )
