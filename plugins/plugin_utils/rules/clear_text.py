"""The rules about secrets of the inventory: who can read them, and whether they are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...module_utils.formats import secret_texts
from ...module_utils.formats.values import mapping, sequence
from ..cluster.cluster import Cluster
from ..cluster.inventory import Expression, HostVariables
from ..cluster.secret_variables import CONFIGS, FILES, LOGINS, OPTIONS, PASSWORDS, RECEIVERS, TEXTS
from ..services.kafka import node as kafka
from ..services.spark.security import SECRET
from .engine import Finding, Findings, rule
from .shared import host_variables

_MADE = ", or delete it: then Millrace makes one."
# What can be done besides encrypting it, by the place or the variable.
_INSTEAD = {
    **dict.fromkeys(kafka.LAYERS, ", or refer to a config provider."),
    **dict.fromkeys(
        RECEIVERS, ", or write it into a file on the hosts and set the key that ends with _file."
    ),
    **dict.fromkeys((*PASSWORDS, *TEXTS, f"spark_config[{SECRET}]"), _MADE),
}


@dataclass(frozen=True)
class _Secret:
    """A secret."""

    name: str
    """What to call it."""
    where: str
    """Its place."""
    text: str
    made_of: Expression | None
    """Its expression, None for a text as it is."""

    @property
    def source(self) -> str | None:
        """Where it is written in clear text, empty if that is its place, None if it is hidden."""
        if self.made_of is None:
            return ""
        for text, source in self.made_of.clear.items():
            secrets = (*secret_texts.of_options(text), *secret_texts.of_address(text))
            if self.text in (text, *secrets):
                return source
        if self.made_of.hidden:
            return None
        around = [source for text, source in self.made_of.clear.items() if self.text in text]
        return next(iter((*around, *self.made_of.clear.values())), "")


def _secrets(cluster: Cluster) -> Iterator[tuple[str, _Secret]]:
    """Yield the secrets that the inventory gives each host."""
    for host, written in host_variables(cluster):
        for name, where, place, text in _texts(written):
            variable = place.partition("[")[0]
            made_of = written.expressions.get(place, written.expressions.get(variable))
            yield host, _Secret(name, where, text, made_of)


def _texts(written: HostVariables) -> Iterator[tuple[str, str, str, str]]:
    """Yield each secret: what to call it, where to say it is, its place, its text."""
    yield from _texts_of_properties(written.variables)
    yield from _texts_of_entries(written.variables)
    for variable in OPTIONS:
        for text in secret_texts.of_options(written.variables.get(variable)):
            yield f"A secret in {variable}", variable, variable, text
    for variable in RECEIVERS:
        for key, text in secret_texts.of_receivers(written.variables.get(variable)):
            yield f"{key} of {variable}", variable, variable, text
    for variable in TEXTS:
        if (value := written.variables.get(variable)) is not None:
            yield variable, variable, variable, str(value)


def _texts_of_properties(values: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the secrets among the properties of services, and in files of secrets."""
    for variable in CONFIGS:
        for key, value in mapping(values.get(variable)).items():
            place = f"{variable}[{key}]"
            for text in secret_texts.of_property(str(key), value):
                yield str(key), place, place, text
    for variable in FILES:
        for name, entries in mapping(values.get(variable)).items():
            place = f"{variable}[{name}]"
            for key, text in mapping(entries).items():
                yield f"{key} of {place}", place, place, str(text or "")


def _texts_of_entries(values: Mapping[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the passwords of users."""
    for variable, key in PASSWORDS.items():
        for user in map(mapping, sequence(values.get(variable))):
            if user.get("password") is not None:
                name = str(user.get(key))
                place = f"{variable}[{name}]"
                yield f"The password of {name}", variable, place, str(user["password"])


@rule("secret-visible", each=_secrets)
def _secret_visible(secret: _Secret) -> Findings:
    """Anyone who can read the inventory's repository would know it."""
    source = secret.source
    if secret.text and source is not None:
        yield _visible(secret.name, secret.where, source)


def _visible(name: str, where: str, source: str) -> Finding:
    instead = _INSTEAD.get(where, _INSTEAD.get(where.partition("[")[0], "."))
    problem = f"{name} is not encrypted{f': it is in {source}' if source else ''}."
    return Finding(problem, f"Encrypt it with ansible-vault encrypt_string{instead}", where)


@rule("login-visible", each=host_variables)
def _login_visible(host: HostVariables) -> Findings:
    """Anyone who can read the inventory's repository could log in to the hosts, or become root."""
    for name in LOGINS:
        made_of = host.expressions.get(name)
        if made_of and any(made_of.clear) and not made_of.hidden:
            source = next(place for text, place in made_of.clear.items() if text)
            yield _visible(name, name, source)


@rule("secret-empty", each=_secrets)
def _secret_empty(secret: _Secret) -> Findings:
    """The secret would be replaced by a generated one, or by none."""
    chosen = secret.made_of is None or "" in secret.made_of.clear
    if not secret.text and (secret.where in PASSWORDS or not chosen):
        fix = "Set it, or what its expression refers to, or delete it."
        yield Finding(f"{secret.name} is empty.", fix, secret.where)
