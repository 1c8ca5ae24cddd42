"""The site of the documentation in a real browser, opened as files and without a network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs import website
from tests.support.browser import Browser, browser
from tests.support.lab.topology import ROOT

ANSWERS = """
return [...document.querySelectorAll("a")].filter((one) => one.getClientRects().length)
  .map((one) => one.href);
"""
PYTHON = str(ROOT / ".venv/docs/bin/python")
LOADED = "return performance.getEntriesByType('resource').map((one) => one.name)"


@pytest.fixture(scope="module")
def site() -> Path:
    assert website.build(ROOT, PYTHON) == []
    return ROOT / "build/site"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as found:
        yield found


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


def test_the_search_finds_a_rule_and_a_click_opens_its_page(chromium: Browser, site: Path) -> None:
    chromium.open(f"file://{site}/index.html")
    chromium.settle("return document.readyState === 'complete'")
    chromium.press("/")
    chromium.press(*"quorum-data-unknown")
    chromium.settle(f"return (() => {{ {ANSWERS} }})().some((one) => one.includes('errors'))")
    assert not [one for one in chromium.run(LOADED) if not one.startswith("file:")]
