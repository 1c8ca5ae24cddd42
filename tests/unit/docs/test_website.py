"""The site of the documentation: its navigation, and what its own checks notice."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import website


def tree(root: Path, files: dict[str, str]) -> Path:
    """A tree of files."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_sources_are_the_pages_and_all_that_they_link_to(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "docs/README.md": "[a](start/a.md) [web](https://example.org/) `[x](../no.md)`\n",
            "docs/start/a.md": "[project](../../PROJECT.md#part)\n```sh\n[b](../../b.md)\n```\n",
            "PROJECT.md": "![picture](picture.png) [lost](lost.md)\n",
            "b.md": "not linked\n",
            "picture.png": "",
        },
    )
    assert set(website.sources(root)) == {
        website.SHIM,
        "docs/README.md",
        "docs/start/a.md",
        "PROJECT.md",
        "picture.png",
    }


def test_the_navigation_has_the_pages_of_a_folder_in_the_order_of_the_start_page(
    tmp_path: Path,
) -> None:
    root = tree(
        tmp_path,
        {
            website.START: "[b](start/b.md) [a](start/a.md) [why](decisions/README.md)\n",
            "docs/decisions/README.md": "[1](0001-one.md)\n",
        },
    )
    pages = ["docs/start/a.md", "docs/start/b.md", "docs/decisions/0001-one.md", "CHANGELOG.md"]
    assert website.navigation(root, pages) == [
        {"Documentation": website.START},
        {"Start": ["docs/start/b.md", "docs/start/a.md"]},
        {"Decisions": ["docs/decisions/README.md", "docs/decisions/0001-one.md"]},
        {"Project": ["CHANGELOG.md"]},
    ]
    with pytest.raises(ValueError, match=r"no link to docs/start/lost\.md"):
        website.navigation(root, [*pages, "docs/start/lost.md"])


def test_what_zensical_accepts_and_a_reader_would_miss_is_a_problem(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "index.html": '<script src="https://example.org/x.js"></script>'
            '<a href="https://example.org/">web</a><a href="a/">folder</a><a href="#here">here</a>',
            "a/page.html": '<a href="../index.html#x">up</a><img src="/a/no.png">',
            "large.html": "x" * (website.PAGE_BYTES + 1),
        },
    )
    found = website.problems(root)
    assert [problem.partition(" ")[0] for problem in found] == [
        "a/page.html",
        "index.html",
        "index.html",
        "large.html",
    ]
    assert "/a/no.png" in found[0]
    assert "leads to a/" in found[1]
    assert "loads https://example.org/x.js" in found[2]
