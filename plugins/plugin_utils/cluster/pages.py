"""Where the pages of the documentation are read: in the repository, or on a site."""

from __future__ import annotations

ALERTS = "operate/alerts"
"""The page of the alerts."""


def address(site: str, page: str, entry: str) -> str:
    """Return the address of an entry of a page of docs/.

    `site` is where `build/site` of `./lab docs` is served. If it is empty, the address is the path
    of the page in the repository and in the collection.
    """
    path = f"docs/{page}.html" if site else f"docs/{page}.md"
    return f"{site.rstrip('/')}/{path}#{entry}" if site else f"{path}#{entry}"
