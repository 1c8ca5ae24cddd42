"""The site of the documentation in a real browser: served, and opened as files."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from docs import website
from tests.support.browser import Browser, browser
from tests.support.lab.topology import ROOT

PYTHON = str(ROOT / ".venv/docs/bin/python")
RULE = "quorum-data-unknown"
# Zensical shows answers in a shadow tree.
FOUND = """
const all = [...document.querySelectorAll("*")];
const roots = [document, ...all.map((one) => one.shadowRoot).filter((root) => root)];
const links = roots.flatMap((root) => [...root.querySelectorAll("a")]);
return links.map((link) => link.href).find((href) => href.includes(arguments[0])) || "";
"""
FOLLOWED = """
const links = [...document.querySelectorAll("nav a")];
const link = links.find((one) => one.innerText.trim() === "%s");
link?.click();
return link !== undefined;
"""
LOADED = "return performance.getEntriesByType('resource').map((one) => one.name)"
READY = "return document.readyState === 'complete'"


@pytest.fixture(scope="module")
def site() -> Path:
    assert website.build(ROOT, PYTHON) == []
    return ROOT / "build/site"


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as session:
        yield session


def search(chromium: Browser, words: str, page: str) -> str:
    """Type words into the search of the page; the link of the answer that is on another page."""
    chromium.settle(READY)
    chromium.run("document.querySelector('.md-search__button').click()")
    chromium.press(words)
    chromium.settle(f"return (function () {{ {FOUND} }})('{page}')")
    return str(chromium.run(FOUND, page))


def test_a_broken_link_and_a_broken_anchor_fail_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs/start").mkdir(parents=True)
    (tmp_path / "docs/assets").mkdir()
    shutil.copy(ROOT / website.SHIM, tmp_path / website.SHIM)
    page = tmp_path / "docs/start/page.md"
    (tmp_path / "README.md").write_text("# Project\n\n[start](docs/README.md)\n")
    (tmp_path / website.START).write_text("# Start\n\n[page](start/page.md), [up](../README.md)\n")
    page.write_text("# Page\n\n[start](../README.md#start)\n")
    assert website.build(tmp_path, PYTHON) == []
    page.write_text("# Page\n\n[start](../README.md#no)\n")
    assert "docs/start/page.md" in website.build(tmp_path, PYTHON)[0]
    page.write_text("# Page\n\n[lost](lost.md)\n")
    assert "docs/start/page.md" in website.build(tmp_path, PYTHON)[0]


@pytest.mark.parametrize("served", [True, False], ids=["served", "files"])
def test_the_search_finds_a_rule(served: bool, chromium: Browser, site: Path, address: str) -> None:
    base = address if served else f"file://{site}"
    chromium.messages()  # those of pages before
    chromium.open(f"{base}/index.html")
    answer = search(chromium, RULE, "/docs/reference/errors-kafka.html")
    assert answer.startswith(f"{base}/")
    assert not chromium.messages()
    chromium.open(answer)
    chromium.settle(READY)
    assert chromium.run("return document.querySelector(':target').innerText").startswith(RULE)


def test_the_navigation_leads_from_the_first_page_to_an_alert_and_nothing_is_fetched_elsewhere(
    chromium: Browser, address: str
) -> None:
    chromium.open(f"{address}/index.html")
    for name in ("Operate", "Alerts"):
        chromium.settle(FOLLOWED % name)
        chromium.settle(READY)
    chromium.settle("return location.pathname.endsWith('/docs/operate/alerts.html')")
    loaded = chromium.run(LOADED)
    assert loaded
    assert not [url for url in loaded if not url.startswith(f"{address}/")]
