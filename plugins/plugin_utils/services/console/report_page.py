"""The page that shows a snapshot of a cluster: one file without anything from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

from ...cluster import files

_SOURCE = "apps/console/page/page"
# As text of a script these would end it, or begin a comment in which its end does not count.
_ESCAPED = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
_NO_SNAPSHOT = "null"


def page(snapshot: Mapping[str, Any] | None = None) -> str:
    """Return the page with a snapshot in it, or without one, which it then asks its server for.

    Only its own style and its own script are used, by their hashes: what a snapshot contains is
    never run. Without a snapshot it may ask the server that it came from, and no other.
    """
    style, script = (files.read(f"{_SOURCE}.{kind}") for kind in ("css", "js"))
    policy = [
        "default-src 'none'",
        f"style-src '{_hash(style)}'",
        f"script-src '{_hash(script)}'",
        "base-uri 'none'",
        "form-action 'none'",
        *([] if snapshot is not None else ["connect-src 'self'"]),
    ]
    replacements = {
        "@POLICY@": "; ".join(policy),
        "@STYLE@": style,
        "@SCRIPT@": script,
        "@SNAPSHOT@": _NO_SNAPSHOT if snapshot is None else as_script(snapshot),
    }
    frame = re.split("(@[A-Z]+@)", files.read(f"{_SOURCE}.html"))
    return "".join(replacements.get(piece, piece) for piece in frame)


def as_script(value: object) -> str:
    """Return a value as JSON that may stand in a script of a page."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    for sign, escaped in _ESCAPED.items():
        text = text.replace(sign, escaped)
    return text


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
