"""Each file of changelogs/fragments is an entry of the next section of the changelog."""

from __future__ import annotations

import tomllib

from tests.support.lab.topology import ROOT

SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["towncrier"]


def problems(name: str, text: str) -> list[str]:
    """What towncrier would pass over, or write as something else than one item of a list."""
    stem, _, kind = name.removesuffix(".md").rpartition(".")
    messages = []
    if not name.endswith(".md") or not stem.startswith("+") or "." in stem:
        messages.append(f"{name} is not called +NAME.TYPE.md")
    if kind not in [section["directory"] for section in SETTINGS["type"]]:
        messages.append(f"{name} has a type that pyproject.toml does not list")
    if not text.strip() or text.lstrip()[0] in "#-*":
        messages.append(f"{name} is no paragraph")
    return messages


def test_fragments_become_entries() -> None:
    files = [*(ROOT / SETTINGS["directory"]).glob("[!.]*")]  # .gitignore keeps the folder
    assert not [message for path in files for message in problems(path.name, path.read_text())]
    assert "<!-- towncrier release notes start -->" in (ROOT / SETTINGS["filename"]).read_text()


def test_a_fragment_that_would_be_lost_is_a_problem() -> None:
    assert not problems("+console.fix.md", "The console shows it.\n")
    for name, text in (
        ("console.fix.md", "It has no plus.\n"),
        ("+console.fixed.md", "No such type.\n"),
        ("+console.fix.txt", "No Markdown.\n"),
        ("+console.fix.md", "\n"),
        ("+console.fix.md", "- an item\n- another one\n"),
    ):
        assert problems(name, text)
