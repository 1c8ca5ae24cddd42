"""Build the site of the documentation in build/site: `python docs/website.py`.

Its pages are docs/ and what they link to, at the same places as in the repository. Zensical fails
at a broken link or anchor; the checks here fail at what it accepts.
"""

from __future__ import annotations

import json
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parent.parent
SECTIONS = {
    "start": "Start",
    "deploy": "Deploy",
    "operate": "Operate",
    "develop": "Develop",
    "reference": "Reference",
    "explain": "Explain",
    "decisions": "Decisions",
}
"""Folder of docs/ -> its title."""
START = "docs/README.md"
"""The page that leads to all others, to the decisions by way of their list."""
PROJECT = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")
PAGE_BYTES = 300_000
"""How large the HTML of a page may be."""
SHIM = "docs/assets/iframe-worker.js"
"""Lets a page that was opened as a file search; Zensical would fetch it from elsewhere."""
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Element -> its attribute with the address of what a browser loads by itself."""


def linked(root: Path, page: str) -> Iterator[str]:
    """Yield the paths in the repository to which a page of it links."""
    text = (root / page).read_text(encoding="utf-8")
    text = re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.M | re.S)
    for target in re.findall(r"\]\(([^()\s#]+)", text):
        if "://" not in target:
            yield posixpath.normpath(posixpath.join(posixpath.dirname(page), target))


def sources(root: Path) -> list[str]:
    """Return the files of the site: the pages of docs/, and all that they link to, in turn."""
    pages = [path.relative_to(root).as_posix() for path in (root / "docs").rglob("*.md")]
    files = {SHIM, *pages}
    while pages:
        targets = {path for path in linked(root, pages.pop()) if (root / path).is_file()}
        pages += [path for path in targets - files if path.endswith(".md")]
        files |= targets
    return sorted(files)


def navigation(root: Path, pages: Sequence[str]) -> list[Mapping[str, Any]]:
    """Return the sections with their pages, in the order in which the start page leads to them.

    Raises:
        ValueError: names the pages to which it does not lead.

    """
    order = dict.fromkeys([START, *linked(root, START)])
    for index in [page for page in order if page.endswith("/README.md") and page != START]:
        order |= dict.fromkeys(linked(root, index))
    if lost := [page for page in pages if page.startswith("docs/") and page not in order]:
        message = f"{START} has no link to {', '.join(lost)}"
        raise ValueError(message)
    sections = {
        title: [page for page in order if page.startswith(f"docs/{folder}/")]
        for folder, title in SECTIONS.items()
    }
    sections["Project"] = [page for page in PROJECT if page in pages]
    return [
        {"Documentation": START},
        *({title: section} for title, section in sections.items() if section),
    ]


def configuration(root: Path, pages: Sequence[str]) -> Mapping[str, Any]:
    """Return the configuration of Zensical for build/ of a tree."""
    schemes = (("light", "default", "sun", "dark"), ("dark", "slate", "moon", "light"))
    return {
        "site_name": "Millrace",
        "docs_dir": "site-source",
        "site_dir": "site",
        "nav": [{"Millrace": "README.md"}, *navigation(root, pages)],
        "theme": {
            "font": False,
            "features": [
                "content.code.copy",
                "navigation.indexes",
                "navigation.prune",
                "navigation.tabs",
                "navigation.top",
                "search.highlight",
            ],
            "palette": [
                {
                    "media": f"(prefers-color-scheme: {scheme})",
                    "scheme": name,
                    "toggle": {"icon": f"lucide/{icon}", "name": f"Use {other} colours"},
                }
                for scheme, name, icon, other in schemes
            ],
        },
        "plugins": ["search", "offline", "gh-admonitions"],
        "extra": {"generator": False, "polyfills": [SHIM]},
        # Not the drawings of Mermaid: their program would be fetched from elsewhere.
        "markdown_extensions": [
            "admonition",
            "tables",
            {"toc": {"permalink": True}},
            "pymdownx.details",
            "pymdownx.superfences",
            {"pymdownx.highlight": {"pygments_lang_class": True}},
        ],
    }


class Page(HTMLParser):
    """What a page of the site loads, and where it leads."""

    def __init__(self, text: str) -> None:
        """Read the page."""
        super().__init__()
        self.loaded: list[str] = []
        """What a browser loads with it."""
        self.links: list[str] = []
        """The targets of its links."""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the address of an element that has one."""
        values = dict(attrs)
        if address := values.get(LOADED.get(tag, "")):
            self.loaded.append(address)
        if tag == "a" and (address := values.get("href")):
            self.links.append(address)


def problems(site: Path) -> list[str]:
    """Return what is wrong with a site: too large a page, an address that it does not have."""
    messages = []
    for path in sorted(site.rglob("*.html")):
        name, text = path.relative_to(site).as_posix(), path.read_text(encoding="utf-8")
        size = len(text.encode())
        if size > PAGE_BYTES:
            messages.append(f"{name} has {size:,} bytes, more than {PAGE_BYTES:,}: divide the page")
        page = Page(text)
        for address in sorted({*page.loaded, *page.links}):
            url = urlsplit(address)
            if url.netloc and address in page.loaded:
                messages.append(f"{name} loads {address}")
            if url.scheme or url.netloc or not url.path:
                continue
            folder = site if url.path.startswith("/") else path.parent
            if not (folder / unquote(url.path).lstrip("/")).is_file():
                messages.append(f"{name} leads to {address}, which is no file of the site")
    return messages


def build(root: Path, python: str = sys.executable) -> list[str]:
    """Write build/site of a tree with the Zensical of a Python, and return what is wrong with it."""
    files = sources(root)
    source, site = root / "build/site-source", root / "build/site"
    for folder in (source, site):
        shutil.rmtree(folder, ignore_errors=True)
    for file in files:
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / file, source / file)
    config = root / "build/site.yml"  # JSON is YAML
    pages = [file for file in files if file.endswith(".md")]
    try:
        config.write_text(json.dumps(configuration(root, pages), indent=2), encoding="utf-8")
    except ValueError as error:
        return [str(error)]
    command = [python, "-m", "zensical", "build", "--clean", "--strict", "-f", str(config)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    text = re.sub(r"\x1b\[[0-9;]*m", "", done.stdout + done.stderr)
    return problems(site) if done.returncode == 0 else [text.partition("Traceback")[0].rstrip()]


def main() -> int:
    """Build the site, or say why there is none."""
    messages = build(ROOT)
    sys.stderr.writelines(f"{problem}\n" for problem in messages)
    return 1 if messages else 0


if __name__ == "__main__":
    sys.exit(main())
