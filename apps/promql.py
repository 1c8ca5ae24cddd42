"""Queries of Prometheus, narrowed to some series: a cluster's own beside those of others."""

from __future__ import annotations

import re

# Words that are no name of a metric although no bracket follows them.
_KEYWORDS = re.compile(
    "and|avg|bool|bottomk|by|count|count_values|group|group_left|group_right|ignoring|inf|max|min"
    "|nan|offset|on|or|quantile|stddev|stdvar|sum|topk|unless|without"
)
# What is no name of a metric is skipped: texts, labels that group or match, ranges and numbers.
_TOKEN = re.compile(
    r"""
    (?P<skipped>
        "(?:\\.|[^"\\])*"
        | \b(?:by|on|without|ignoring|group_left|group_right)\s*\([^)]*\)
        | \[[^]]*\]
        | \b[0-9][\w.]*
    )
    | (?P<name>[a-zA-Z_:][\w:]*)?\{
    | (?P<word>[a-zA-Z_:][\w:]*)(?!\s*\(|[\w:])
    """,
    re.VERBOSE,
)
_CLOSING = re.compile(r'(?:[^"}]|"(?:\\.|[^"\\])*")*\}')


def scoped(query: str, matcher: str) -> str:
    """Return a query of which each selector has a further matcher, such as `cluster="a"`.

    It reads what the alerts and dashboards of Millrace are written in: texts have double quotes,
    and no brace but that of a selector is outside of them.
    """
    narrowed, position = [], 0
    while token := _TOKEN.search(query, position):
        narrowed.append(query[position : token.start()])
        position = token.end()
        if token["skipped"] or _KEYWORDS.fullmatch(token["word"] or ""):
            narrowed.append(token[0])
        elif token["word"]:
            narrowed.append(f"{token['word']}{{{matcher}}}")
        else:
            # Labels have no names of metrics among them.
            position = _closing(query, token.end())
            labels = query[token.end() : position].lstrip()
            comma = "" if labels == "}" else ", "
            narrowed.append(f"{token['name'] or ''}{{{matcher}{comma}{labels}")
    return "".join([*narrowed, query[position:]])


def _closing(query: str, start: int) -> int:
    """Return where a selector ends: after the first brace that is in no text."""
    closing = _CLOSING.match(query, start)
    return closing.end() if closing else len(query)
