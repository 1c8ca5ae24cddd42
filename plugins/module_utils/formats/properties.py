"""Java properties text as Kafka reads it: parsing, escaping, and which keys differ in two texts."""

from __future__ import annotations

import re

_WHITESPACE = " \t\f"
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = {"\\": "\\\\", **{char: f"\\{letter}" for letter, char in _ESCAPES.items()}}
_KEY_SPECIAL = re.compile(r"[ =:#!]")
_NOT_ASCII = re.compile(r"[^\x20-\x7e]")
_LINE_END = re.compile(r"\r\n|\n|\r")
# A key, a separator, a value; a backslash takes the next character, if any, into the key.
_ENTRY = re.compile(r"((?:\\.?|[^\\ \t\f=:])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)


def parse_properties(text: str) -> dict[str, str]:
    r"""Return key -> value of a properties text; of a key given twice the last value counts.

    Follows java.util.Properties.load(Reader): comments (`#`, `!`), separators (`=`, `:`, blank),
    escapes (`\t \n \r \f \\ \uXXXX`) and continuation lines. Trailing blanks of a value are kept.

    Raises:
        ValueError: a unicode escape without four hexadecimal digits; names the line.

    """
    return dict(_entry(number, line) for number, line in _logical_lines(text))


def escape_value(text: str) -> str:
    r"""Return a value as it has to be written, so that `Properties.load` reads this text.

    The result is ASCII: a file is read as ISO-8859-1 by one program and as UTF-8 by another, and
    both know `\uXXXX` (java.util.Properties.store).
    """
    return f"\\{_escape(text)}" if text.startswith(" ") else _escape(text)


def escape_key(text: str) -> str:
    """Return a key as it has to be written, so that `Properties.load` reads this text."""
    return _KEY_SPECIAL.sub(r"\\\g<0>", _escape(text))


def _escape(text: str) -> str:
    escaped = "".join(_ESCAPED.get(char, char) for char in text)
    return _NOT_ASCII.sub(lambda match: _unicode_escape(match[0]), escaped)


def _unicode_escape(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def changed_keys(before: str, after: str) -> list[str]:
    """Return the sorted keys that were added, removed or given another value.

    A text that cannot be parsed counts as empty, so every key of the other one is reported.
    """
    old, new = parse_or_empty(before), parse_or_empty(after)
    return sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))


def parse_or_empty(text: str) -> dict[str, str]:
    """Return key -> value as `parse_properties`, of a text that cannot be parsed nothing."""
    try:
        return parse_properties(text)
    except ValueError:
        return {}


def _logical_lines(text: str) -> list[tuple[int, str]]:
    """Join continuation lines; drop comments and blank lines; keep the first line's number."""
    result: list[tuple[int, str]] = []
    pending: list[str] = []
    first = 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_WHITESPACE)
        if not pending:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            pending.append(line[:-1])
            continue
        result.append((first, "".join([*pending, line])))
        pending = []
    if pending:
        result.append((first, "".join(pending)))
    return result


def _entry(number: int, line: str) -> tuple[str, str]:
    match = _ENTRY.fullmatch(line)
    key, value = match.groups() if match else (line, "")
    return _unescape(number, key), _unescape(number, value)


def _unescape(number: int, text: str) -> str:
    def replace(match: re.Match[str]) -> str:
        digits, char = match.group(1), match.group(2)
        if digits is not None:
            return chr(int(digits, 16))
        if char == "u":
            message = f"line {number}: \\u must be followed by four hexadecimal digits"
            raise ValueError(message)
        return _ESCAPES.get(char, char)

    # Java's texts are UTF-16: a character beyond U+FFFF is two escapes.
    units = re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.?))", replace, text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
