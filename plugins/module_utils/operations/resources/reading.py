"""Reading what a cluster has of the resources that are compared, each kind once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Protocol, TypeVar

from ...kafka import acls, quotas, resource_configs, topics
from ...kafka.answers import RefusedError, UnsupportedError
from ...kafka.topics import Contents
from .configs import CLIENT_METRICS, GROUPS
from .plan import ClusterResources, Desired
from .topics import Question

NO_AUTHORIZER = "the cluster has no authorizer and keeps no ACLs: set authorizer.class.name"
NOT_LISTED = "this version of Kafka does not list them: those without an entry are not seen"
RESOURCE_TYPES: Mapping[str, int] = {
    GROUPS: resource_configs.GROUP,
    CLIENT_METRICS: resource_configs.CLIENT_METRICS,
}

T = TypeVar("T")


class Ask(Protocol):
    """Asks a cluster, again for a while where no broker answers."""

    def __call__(self, question: Callable[[Any], T]) -> T:
        """Return what a question gets from an admin client.

        Raises:
            UnavailableError: no broker answers.

        """


def read(ask: Ask, kinds: Collection[str], desired: Desired) -> ClusterResources:
    """Return what the cluster has of some kinds; of groups and client metrics also those described.

    Raises:
        UnavailableError: no broker answers.

    """
    return _Reading(ask).read(kinds, desired)


def contents(ask: Ask, questions: Mapping[str, Question]) -> dict[str, Contents]:
    """Return what topics hold.

    Raises:
        UnavailableError: no broker answers.

    """
    answers = {}
    for name, question in questions.items():

        def answer(admin: Any, name: str = name, question: Question = question) -> Contents:
            return topics.contents(
                admin, name, older_than_ms=question.older_than_ms, keys=question.keys
            )

        try:
            answers[name] = ask(answer)
        except RefusedError:
            answers[name] = Contents()
    return answers


class _Reading:
    """One reading, and what could not be read."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._hidden: dict[str, str] = {}
        self._unsupported: dict[str, str] = {}

    def read(self, kinds: Collection[str], desired: Desired) -> ClusterResources:
        existing_acls = self._shown("acls", kinds, acls.read_all)
        if existing_acls is None and "acls" in kinds and "acls" not in self._hidden:
            self._unsupported["acls"] = NO_AUTHORIZER
        return ClusterResources(
            topics=self._shown("topics", kinds, topics.read),
            acls=existing_acls,
            quotas=self._shown("quotas", kinds, quotas.read),
            groups=self._configs(GROUPS, kinds, (entry.name for entry in desired.groups)),
            client_metrics=self._configs(
                CLIENT_METRICS, kinds, (entry.name for entry in desired.client_metrics)
            ),
            hidden=self._hidden,
            unsupported=self._unsupported,
        )

    def _shown(self, kind: str, kinds: Collection[str], question: Callable[[Any], T]) -> T | None:
        """Return what a question gets, None where it is refused or the kind is not compared."""
        if kind not in kinds:
            return None
        try:
            return self._ask(question)
        except RefusedError as error:
            self._hidden[kind] = str(error)
        except UnsupportedError as error:
            self._unsupported[kind] = str(error)
        return None

    def _configs(
        self, kind: str, kinds: Collection[str], described: Iterable[str]
    ) -> Mapping[str, Mapping[str, str]] | None:
        resource_type = RESOURCE_TYPES[kind]
        listed = self._shown(
            kind, kinds, lambda admin: resource_configs.names(admin, resource_type)
        )
        if listed is None and kind in kinds and kind not in self._unsupported:
            self._hidden.setdefault(kind, NOT_LISTED)
        names = sorted({*(listed or ()), *described})
        return self._shown(
            kind, kinds, lambda admin: resource_configs.read(admin, resource_type, names)
        )
