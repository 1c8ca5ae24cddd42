"""What the pages of the documentation hold."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator


def blocks(text: str) -> Iterator[str]:
    """The contents of the shell blocks, continued lines joined."""
    for block in re.findall(r"^```sh\n(.*?)^```$", text, flags=re.M | re.S):
        yield block.replace("\\\n", " ")


def prose(text: str) -> str:
    """The text without its blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.M | re.S)


def commands(text: str) -> list[list[str]]:
    """The words of every command in a shell block, and of every `./lab` command in the text."""
    lines = [line for block in blocks(text) for line in block.splitlines() if line.strip()]
    quoted = re.findall(r"`([^`\n]+)`", prose(text))
    lines += [line for line in quoted if re.match(r"\./lab \w", line)]
    return [shlex.split(line, comments=True) for line in lines]
