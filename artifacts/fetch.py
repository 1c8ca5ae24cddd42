"""Fetch a file once and keep it only if it is the one that was reviewed.

    python artifacts/fetch.py SOURCE SHA512 OUT

SOURCE is a URL or a path. An interrupted run leaves OUT.part, which the next one writes anew.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import sys
import urllib.request
from pathlib import Path

TIMEOUT = 60.0
"""Seconds of silence after which a server is given up."""


def sha512_of(path: Path) -> str:
    """Return a file's sum in lower case."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha512").hexdigest()


def fetch(source: str, sha512: str, out: Path) -> None:
    """Fetch `out` unless it is already there with the wanted checksum.

    Raises:
        ValueError: the checksum is not a SHA-512, or `source` has another one.
        OSError: `source` cannot be read.

    """
    expected = sha512.lower()
    if not re.fullmatch(r"[0-9a-f]{128}", expected):
        message = f"sha512 is {sha512!r}; write the 128 hexadecimal digits published with {source}"
        raise ValueError(message)
    if out.is_file() and sha512_of(out) == expected:
        return
    url = source if re.match(r"\w+://", source) else Path(source).expanduser().resolve().as_uri()
    partial_file = out.with_name(out.name + ".part")
    partial_file.parent.mkdir(parents=True, exist_ok=True)
    with urllib.request.urlopen(url, timeout=TIMEOUT) as stream, partial_file.open("wb") as file:  # noqa: S310 - any scheme that the operator names; the sum decides
        shutil.copyfileobj(stream, file)
    got = sha512_of(partial_file)
    if got != expected:
        partial_file.unlink()
        message = f"{source} has the sha512 {got}, expected {expected}; nothing of it was used"
        raise ValueError(message)
    partial_file.replace(out)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description="Fetch a file and check its sha512.")
    parser.add_argument("source", help="URL or path")
    parser.add_argument("sha512", help="the published checksum")
    parser.add_argument("out", type=Path, help="file to write")
    options = parser.parse_args(arguments)
    try:
        fetch(options.source, options.sha512, options.out)
    except (OSError, ValueError) as error:
        words = str(error) if options.source in str(error) else f"{options.source}: {error}"
        parser.exit(1, f"{words}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
