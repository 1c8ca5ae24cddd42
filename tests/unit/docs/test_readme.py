"""What the documents tell a reader to type or to open is there."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from ansible.inventory.manager import IGNORED

from tests.support.lab.topology import ROOT
from tests.unit.docs.documents import commands, prose
from tests.unit.tree import SCENARIOS, relative, tracked

README = ROOT / "README.md"
GUIDES = [README, ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
DOCUMENTS = sorted(path for path in tracked() if path.suffix == ".md")
PLACES = (ROOT, ROOT / "examples/site", ROOT / "examples/machines")
"""Where a reader types commands: in a clone, or in a copy of an example."""
STAGES = {
    "lint",
    "unit",
    "scenarios",
    "preflight",
    "page",
    "versions",
    "lab",
    "secured",
    "installed",
    "machine",
    "production",
    *SCENARIOS,
}


@cache
def verbs() -> set[str]:
    """The verbs that `./lab help` prints."""
    printed = subprocess.run(
        ["./lab", "help"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {*re.findall(r"^  ([a-z]+)", printed, flags=re.M)}


def problems(words: list[str], known_verbs: set[str]) -> list[str]:
    """What a command names and the tree does not have."""
    missing = []
    if words[0] == "./lab":
        verb = words[2] if words[1:2] == ["-v"] else words[1]
        if verb not in known_verbs:
            missing.append(f"no verb {verb}")
        # A word in capitals is a placeholder, in brackets an option.
        named = [word for word in words[2:] if re.fullmatch(r"[a-z_]+", word)]
        if verb == "test":
            missing += [f"no stage {stage}" for stage in named if stage not in STAGES]
        if verb == "scenario":
            missing += [f"no scenario {name}" for name in named[:1] if name not in SCENARIOS]
        if verb == "run":
            missing += [f"no playbook {name}" for name in named[:1] if not playbook(name)]
    paths = [path for word in words for path in values(word)]
    named_paths = [path for path in paths if named_path(path)]
    missing += [
        f"no {path}" for path in named_paths if not any((p / path).exists() for p in PLACES)
    ]
    return missing


def values(word: str) -> list[str]:
    """What may be a path in a word of a command: itself, or what a variable or an option is set to."""
    name, _, value = word.rpartition("=")
    return value.split(":") if name.endswith("PATH") else [value]


def playbook(name: str) -> bool:
    return (ROOT / f"playbooks/{name.removesuffix('.yml')}.yml").is_file()


def named_path(word: str) -> bool:
    """Whether a word is a path of this tree: no option, no placeholder, made by no command."""
    made = (".venv", ".lab", "build/", "millrace-bundle/", "./millrace-bundle/")
    if word.startswith(("-", "/", "~", "$", *made)) or "<" in word:
        return False
    return "/" in word or word.endswith((".txt", ".yml", ".py", ".md"))


def prose_paths(text: str) -> set[str]:
    """The paths of this tree in single backquotes; a placeholder, or what runs make, is none."""
    folders = "|".join(
        path.name
        for path in ROOT.iterdir()
        if path.is_dir() and path.name[0] != "." and path.name != "build"
    )
    return set(re.findall(rf"`((?:{folders})/[\w./-]*)`", prose(text)))


def targets(text: str) -> list[str]:
    """The targets of the links and images that lead into this tree."""
    links = re.findall(r"\]\(([^()\s]+)\)", re.sub(r"`[^`\n]*`", "", prose(text)))
    return [target for target in links if "://" not in target]


def links(text: str) -> list[str]:
    """The files that links lead to, without their anchors."""
    return [target.partition("#")[0] for target in targets(text) if target[0] != "#"]


def anchors(text: str) -> set[str]:
    """The anchors of the headings, as a page's renderer makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(text), flags=re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing_sections(path: Path) -> list[str]:
    """The links of a document whose anchor is no heading of the page that they lead to."""
    missing = []
    for target in targets(path.read_text()):
        name, _, anchor = target.partition("#")
        page = path.parent / name if name else path
        if anchor and anchor not in anchors(page.read_text()):
            missing.append(target)
    return missing


@pytest.mark.parametrize("path", GUIDES, ids=relative)
def test_named_commands_and_files_exist(path: Path) -> None:
    text = path.read_text()
    known_verbs = verbs()
    assert not [
        f"{' '.join(words)}: {problem}"
        for words in commands(text)
        for problem in problems(words, known_verbs)
    ]
    assert not [name for name in prose_paths(text) if not (ROOT / name).exists()]


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_links_lead_somewhere(path: Path) -> None:
    files = links(path.read_text())
    assert not [file for file in files if file.startswith("/")], "works here alone"
    assert not [file for file in files if not (path.parent / file).exists()]
    assert not missing_sections(path)


def test_every_playbook_is_documented() -> None:
    """One that an operator may start; the others are parts of those."""
    text = "\n".join(path.read_text() for path in GUIDES)
    internal = {"artifacts", "lab_report", "prove_begin", "prove_end", "record_secrets", "remove"}
    internal |= {"restart_marked"}
    missing = [p.stem for p in ROOT.glob("playbooks/*.yml") if f"{p.stem}.yml" not in text]
    assert set(missing) <= internal


def test_ansible_reads_nothing_that_a_page_puts_beside_an_inventory() -> None:
    """It would search packages of jobs for hosts, and end at a file that is no inventory."""
    place = re.compile(r"(?:inventories/<\w+>|inventory_dir(?: }}| ~ '))/([^\s\"'/`)]+)")
    named = {name for path in GUIDES for name in place.findall(path.read_text())}
    assert named
    assert not [
        name for name in named if not IGNORED.search(name.encode()) and not name.endswith(".yml")
    ]


def test_decisions_are_numbered() -> None:
    decisions = sorted((ROOT / "docs/decisions").glob("[0-9]*.md"))
    numbers = [int(path.name.split("-")[0]) for path in decisions]
    assert numbers == list(range(1, len(decisions) + 1))
    for number, path in enumerate(decisions, start=1):
        assert path.read_text().startswith(f"# {number:04}: "), relative(path)


def test_the_documents_hold_commands() -> None:
    """Else the checks above would judge nothing."""
    assert commands(README.read_text())
    assert commands((ROOT / "docs/operate/guide.md").read_text())
    assert links(README.read_text())


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("./lab up", []),
        ("./lab -v up", []),
        ("./lab ssh HOST [CMD...]", []),
        ("./lab ssh k1 kafka-topics.sh --list", []),
        ("./lab fly", ["no verb fly"]),
        ("./lab test lint default lab", []),
        ("./lab test nothing", ["no stage nothing"]),
        ("./lab scenario nothing", ["no scenario nothing"]),
        ("./lab run smoke -e flights_corrupt=500", []),
        ("./lab run PLAYBOOK ...", []),
        ("./lab run nothing", ["no playbook nothing"]),
        ("ansible-playbook -i inventories/<yours> playbooks/site.yml", []),
        (
            "ansible-playbook -i inventories/no playbooks/no.yml",
            ["no inventories/no", "no playbooks/no.yml"],
        ),
        ("pytest tests/no --inventory=inventories/no", ["no tests/no", "no inventories/no"]),
        ("pip install -r no.txt", ["no no.txt"]),
    ],
)
def test_each_problem_is_found(command: str, expected: list[str]) -> None:
    assert problems(command.split(), {"up", "ssh", "test", "scenario", "run"}) == expected


def test_a_link_to_no_section_is_found(tmp_path: Path) -> None:
    page, second_page = tmp_path / "page.md", tmp_path / "other.md"
    page.write_text("# The page\n[a](#the-page) [b](#no) [c](other.md#its-part) [d](other.md#no)\n")
    second_page.write_text("## Its `part`\n```text\n# no\n```\n")
    assert missing_sections(page) == ["#no", "other.md#no"]


def test_documents_are_read_as_meant() -> None:
    text = (
        "| `./lab up` | all of it |\n"
        "See `./lab down --all`, `docs/no.md` and [this](docs/no.md#part), not `[that](no)`.\n"
        "```sh\n./lab up # comment\npytest \\\n  tests\n```\n"
        "```text\n./lab not a command\n[no](link)\n```\n[web](https://example.org/) [top](#top)\n"
    )
    assert [" ".join(words) for words in commands(text)] == [
        "./lab up",
        "pytest tests",
        "./lab up",
        "./lab down --all",
    ]
    assert prose_paths(text) == {"docs/no.md"}
    assert links(text) == ["docs/no.md"]
