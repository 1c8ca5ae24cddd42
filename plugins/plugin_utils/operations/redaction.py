"""Texts without the secrets of a cluster, in any of the forms in which a program writes them."""

from __future__ import annotations

import base64
import html
import json
import re
import urllib.parse
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...module_utils.formats import secret_texts
from ...module_utils.formats.properties import escape_value
from ...module_utils.formats.redaction import MARK, is_secret_name, without_secrets
from ...module_utils.formats.values import mapping, sequence
from ..cluster.inventory import Secrets
from ..cluster.secret_variables import CONFIGS, FILES, OPTIONS, PASSWORDS, RECEIVERS, TEXTS

SHORT = 8
"""A secret with fewer characters is one only as a whole word."""
_SHORTEST = 3
"""What has fewer characters keeps no secret, and would be found everywhere."""
_KEY_LINE = 16
"""Characters of a line of a key that is not found in other texts by chance."""
_KEYS = re.compile(r"-----BEGIN [^-]*PRIVATE KEY-----(.*?)-----END", re.DOTALL)


def of_file(text: str) -> list[str]:
    """Return the secrets in a file of the store: the lines of private keys, or its text."""
    if "-----BEGIN" in text:
        lines = (line.strip() for body in _KEYS.findall(text) for line in body.splitlines())
        return [line for line in lines if len(line) >= _KEY_LINE]
    return [text.strip()]


def of_store(secrets: Secrets) -> Iterator[str]:
    """Yield what a directory of secrets holds, of what is read for a run."""
    for texts in (secrets.certificates, secrets.passwords, secrets.texts):
        for text in texts.values():
            yield from of_file(text)


def of_variables(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the secrets among the variables of a host, resolved."""
    for variable in CONFIGS:
        for key, value in mapping(values.get(variable)).items():
            yield from secret_texts.of_property(str(key), value)
    for variable in FILES:
        for entries in mapping(values.get(variable)).values():
            yield from map(str, mapping(entries).values())
    for variable in PASSWORDS:
        for entry in map(mapping, sequence(values.get(variable))):
            yield str(entry.get("password") or "")
    for variable in OPTIONS:
        yield from secret_texts.of_options(values.get(variable))
    for variable in RECEIVERS:
        yield from (text for _, text in secret_texts.of_receivers(values.get(variable)))
    for variable in TEXTS:
        yield from of_file(str(values.get(variable) or ""))


def forms(secret: str) -> set[str]:
    """Return a secret as programs write it: as it is, quoted, escaped, in Base64 and in hex."""
    quoted = {
        secret,
        json.dumps(secret)[1:-1],
        json.dumps(secret, ensure_ascii=False)[1:-1],
        escape_value(secret),
        html.escape(secret),
        html.escape(secret, quote=False),
        secret.replace("'", "''"),
        secret.replace("'", "'\"'\"'"),
        repr(secret)[1:-1],
        re.sub(r'[\\"`$]', r"\\\g<0>", secret),
    }
    # Options of JAAS are quoted once more in a file of properties or in JSON.
    quoted |= {json.dumps(text)[1:-1] for text in quoted} | {escape_value(text) for text in quoted}
    encoded = {urllib.parse.quote(text, safe=safe) for text in (secret,) for safe in ("", "/")}
    encoded.add(urllib.parse.quote_plus(secret))
    encoded |= {re.sub("%..", lambda match: match[0].lower(), text) for text in encoded}
    content = secret.encode("utf-8", "surrogateescape")
    digits = {content.hex(), content.hex().upper()}
    return quoted | encoded | _in_base64(content) | {t for t in digits if len(t) >= SHORT}


def _in_base64(content: bytes) -> set[str]:
    """Return what all texts in Base64 have in common that hold a secret, wherever it begins."""
    found = {base64.b64encode(content).decode()}
    for before, mixed in enumerate((0, 2, 3)):
        text = base64.b64encode(b"\0" * before + content).decode()
        last = len(text.rstrip("=")) - (1 if (before + len(content)) % 3 else 0)
        if len(text[mixed:last]) >= SHORT:
            found.add(text[mixed:last])
    return found | {text.translate(str.maketrans("+/", "-_")) for text in found}


def _parts(secret: str) -> set[str]:
    """Return a secret without blanks around it, and its long lines, which a journal separates."""
    lines = (line.strip() for line in secret.splitlines())
    return {secret.strip(), *(line for line in lines if len(line) >= _KEY_LINE)}


class Redaction:
    """Removes secrets from texts."""

    def __init__(self, secrets: Iterable[str]) -> None:
        """Take the secrets as they are."""
        texts = {
            text
            for secret in {part for secret in secrets for part in _parts(secret)}
            if len(secret) >= _SHORTEST
            for text in forms(secret)
        }
        self._long = _pattern(text for text in texts if len(text) >= SHORT)
        words = sorted((text for text in texts if len(text) < SHORT), key=len, reverse=True)
        any_word = "|".join(map(re.escape, words))
        self._short = (
            re.compile(
                r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2}))"
                rf"(?:{any_word})(?![A-Za-z0-9])"
            )
            if words
            else None
        )

    def known(self, text: str) -> str:
        """Return a text without the secrets."""
        for pattern in (self._long, self._short):
            if pattern:
                text = pattern.sub(MARK, text)
        return text

    def text(self, text: str) -> str:
        """Return a text without the secrets, and without all that looks like one."""
        return without_secrets(self.known(text))

    def value(self, value: Any) -> Any:
        """Return plain data with each text in it so, and those that their keys call secret."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {
                self._key(str(key)): self._entry(str(key), entry) for key, entry in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self.value(entry) for entry in value]
        return value

    def _key(self, key: str) -> str:
        """Return a key; a short word names a part of the data, whoever has it as a password."""
        return key if len(key) < SHORT and key.isalpha() else self.text(key)

    def _entry(self, key: str, entry: Any) -> Any:
        is_hidden = isinstance(entry, str) and entry and is_secret_name(key)
        return MARK if is_hidden else self.value(entry)


def _pattern(texts: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches any of the texts, the longest first.

    There are thousands in a large cluster: their first two characters lead to the few that count.
    """
    tree: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for text in texts:
        tree[text[0]][text[1]].append(text[2:])
    branches = []
    for first, seconds in tree.items():
        ends = [
            f"{re.escape(second)}(?:{'|'.join(map(re.escape, sorted(rest, key=len, reverse=True)))})"
            for second, rest in seconds.items()
        ]
        branches.append(f"{re.escape(first)}(?:{'|'.join(ends)})")
    return re.compile("|".join(branches)) if branches else None
