"""Values as YAML gives them: what they are, and how a message or a file shows them."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from typing import Any

_INTEGER = re.compile(r"[+-]?[0-9]{1,4000}")  # Python reads no number of more than 4300 digits
_YAML_TYPES = {bool: "boolean", int: "integer", float: "number", str: "text", type(None): "nothing"}


def mapping(value: object) -> Mapping[Any, Any]:
    """Return a mapping unchanged, and an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def by_name(value: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a mapping with its keys as texts."""
    return {str(key): entry for key, entry in value.items()}


def sequence(value: object) -> list[Any]:
    """Return a list's items, and no items for anything else."""
    return list(value) if isinstance(value, (list, tuple)) else []


def texts(value: object) -> list[str]:
    """Return the entries of a list, or of a text with commas, without blanks and empty ones."""
    entries = value.split(",") if isinstance(value, str) else sequence(value)
    return [text for entry in entries if (text := str(entry).strip())]


def integer(value: object) -> int | None:
    """Return a whole number given as such or in digits, None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and _INTEGER.fullmatch(value):
        return int(value)
    return None


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_ipv6(address: str) -> bool:
    """Return whether a text is an IPv6 address, without brackets."""
    return isinstance(_address(address), ipaddress.IPv6Address)


def is_address(name: str) -> bool:
    """Return whether a text is an IP address, without brackets."""
    return _address(name) is not None


def is_public(address: str) -> bool:
    """Return whether a text is an IP address that the internet reaches, without brackets."""
    parsed = _address(address)
    return parsed is not None and parsed.is_global


def no_host(address: str) -> str:
    """Return why an IP address, without brackets, is not that of one host, empty if it may be."""
    parsed = _address(address)
    if parsed is None:
        return ""
    if parsed.is_unspecified:
        return "means every address of a host, and is none to connect to"
    if parsed.is_multicast or str(parsed) == "255.255.255.255":
        return "is an address of many hosts"
    zone = getattr(parsed, "scope_id", None)
    if parsed.version == 6 and parsed.is_link_local and not zone:
        return "is an address of one network link, which needs the interface after it (%eth0)"
    return ""


def bracketed(address: str) -> str:
    """Return a name or an address as it may stand before `:port`: IPv6 in brackets."""
    return f"[{address}]" if is_ipv6(address) else address


def canonical(address: str) -> str:
    """Return an address in the one notation by which two can be compared, without brackets."""
    inner = address.strip("[]")
    return str(ipaddress.ip_address(inner)) if is_ipv6(inner) else inner.lower()


def is_true(value: object) -> bool:
    """Return whether a value is true in any of the ways YAML and Jinja write it."""
    return str(value).lower() in ("true", "yes", "on", "1")


def listing(names: Iterable[object], last: str = "and") -> str:
    """Return names as prose: `a, b and c`."""
    *first, end = [str(name) for name in names] or [""]
    return f"{', '.join(first)} {last} {end}" if first else end


def one_line(text: str) -> str:
    """Return a text in one line, with a blank for what cannot be printed."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def visible(text: str) -> str:
    r"""Return a text with an escape, such as \x1b, for each character that cannot be seen.

    What others have written, such as names in a cluster, then neither ends a line nor controls a
    terminal.
    """
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def yaml_type(value: object) -> str:
    """Name the type that YAML gave a value."""
    for kind, name in _YAML_TYPES.items():
        if isinstance(value, kind):
            return name
    if isinstance(value, Mapping):
        return "mapping"
    return "list" if isinstance(value, (list, tuple)) else type(value).__name__


def property_text(value: object) -> str | None:
    """Return a value as a properties file holds it, None where there is none."""
    if value is None:
        return None
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (list, tuple)):
        return ",".join(str(item) for item in value)
    return str(value)
