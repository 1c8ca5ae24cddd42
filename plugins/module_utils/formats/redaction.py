"""Texts without what looks like a secret: private keys, and values of what is called a password.

It knows no secret. Who knows those of a cluster removes them first: a value may hold any character,
and what looks like its end here may be in the middle of it.
"""

from __future__ import annotations

import re

MARK = "(secret)"
"""What stands in place of a secret."""
_BEGIN, _END = (
    re.compile(rf"-----{word} [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----") for word in ("BEGIN", "END")
)
_KINDS = ("api", "secret", "private", "access", "account", "session", "stored", "server", "auth")
_WORD = (
    r"(?:passw(?:or)?d|passphrase|pwd|secrets?|credentials?|token"
    rf"|(?:{'|'.join(_KINDS)})[._-]?key"
    r"|user[._]info|webhook[._]url|sas)"
)
# Of properties, JSON, YAML, options of a JVM or a program, and variables of an environment; quotes
# of JSON within JSON are escaped.
_VALUE = re.compile(
    rf"""(?P<name>{_WORD}\\*["']?[ \t]{{0,3}}[=:][ \t]{{0,3}})"""
    r"""(?!\$\{|[\[{])"""
    r"""(?:\\{0,15}"(?:\\.|[^"\\\n])*\\{0,15}"|'(?:\\.|[^'\\\n])*'"""
    r"""|\\{0,15}["'][^\n]+|[^\s"',;&}<]+)""",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"{_WORD}$", re.IGNORECASE)
_OPTION = re.compile(rf"(?P<name>(?<!\S)--?[\w-]*{_WORD}[ \t]+)(?!-)\S+", re.IGNORECASE)
_USER = re.compile(r"(?P<name>(?<![\w.-])user_[\w.-]+[ \t]?=[ \t]?)\\*[\"'][^\"'\n]*[\"']")
_LOGIN = re.compile(r"(?P<name>//[^/@:\s\"']*:)[^/@\s\"']+(?=@)")
_HEADER = re.compile(
    r"(?P<name>\b(?:Basic|Bearer|Digest)[ \t]+)[A-Za-z0-9+/=_.~-]{8,}", re.IGNORECASE
)
_JSON_WEB_TOKEN = re.compile(r"(?P<name>)(?<![\w-])eyJ[\w-]{8,}\.[\w-]+\.[\w-]*")
_HASH = re.compile(r"(?P<name>)\$(?:2[abxy]|5|6|y|argon2\w*)\$[\w./$,=+-]{16,}")
_PATTERNS = (_HEADER, _VALUE, _OPTION, _USER, _LOGIN, _JSON_WEB_TOKEN, _HASH)
_HINTS = (
    *("passw", "passphrase", "pwd", "secret", "credential", "token", "sas", "user_", "eyj", "@"),
    *("user.info", "webhook", "basic", "bearer", "digest", "$2", "$5$", "$6$", "$y$", "$argon2"),
    *(f"{kind}{separator}key" for kind in _KINDS for separator in ("", ".", "_", "-")),
)
"""A line without any of them matches no pattern; to search for them is a hundred times as quick."""
_ELEMENT = re.compile(
    rf"(?P<name><name>[^<]*{_WORD}</name>\s*<value>)[^<]*(?=</value>)", re.IGNORECASE
)


def is_secret_name(name: str) -> bool:
    """Return whether what has this name is called a secret."""
    return bool(_NAMED.search(name))


def without_private_keys(text: str) -> str:
    """Return a text without private keys in PEM, also of one whose first or last lines were cut."""
    pieces, place = [], 0
    end, begin = _END.search(text), _BEGIN.search(text)
    if end and (begin is None or end.start() < begin.start()):
        pieces.append(MARK)
        place = end.end()
    while begin := _BEGIN.search(text, place):
        pieces += [text[place : begin.start()], MARK]
        end = _END.search(text, begin.end())
        place = end.end() if end else len(text)
    return "".join([*pieces, text[place:]])


def without_secrets(text: str) -> str:
    """Return a text without private keys, and without values that their names call secret."""
    text = _ELEMENT.sub(_marked, without_private_keys(text))
    lower = text.lower()
    if len(lower) != len(text):  # of some letters of few languages
        return _without_values(text)
    pieces, place = [], 0
    for start, end in _lines_with_hints(lower):
        pieces += [text[place:start], _without_values(text[start:end])]
        place = end
    return "".join([*pieces, text[place:]])


def _lines_with_hints(lower: str) -> list[tuple[int, int]]:
    """Return where the lines begin and end that may match a pattern."""
    lines = set()
    for hint in _HINTS:
        place = lower.find(hint)
        while place >= 0:
            end = lower.find("\n", place)
            end = len(lower) if end < 0 else end
            lines.add((lower.rfind("\n", 0, place) + 1, end))
            place = lower.find(hint, end)
    return sorted(lines)


def _without_values(text: str) -> str:
    for pattern in _PATTERNS:
        text = pattern.sub(_marked, text)
    return text


def _marked(match: re.Match[str]) -> str:
    return f"{match['name']}{MARK}"
