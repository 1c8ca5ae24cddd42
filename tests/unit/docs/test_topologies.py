"""docs/start/topologies.md explains every inventory; docs/generate.py puts them in."""

from __future__ import annotations

import re

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import GROUPS

from tests.support.lab.topology import ROOT
from tests.unit.cluster.inventories import INVENTORIES
from tests.unit.tree import load, walk

TEXT = (ROOT / "docs/start/topologies.md").read_text()
NOT_LABS = ["vms_kafka", "vms_example"]


def sections() -> dict[str, str]:
    """Heading -> text."""
    fragments = re.split(r"(?m)^## (.+)$", TEXT)[1:]
    return dict(zip(fragments[::2], fragments[1::2], strict=True))


def block(section: str, kind: str) -> str:
    """The one block of code of a kind."""
    (text,) = re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", section)
    return str(text)


def hosts(name: str) -> set[str]:
    """The inventory's hosts without their domain."""
    document = load(ROOT / "inventories" / name / "hosts.yml")
    return {host.partition(".")[0] for node in walk([document]) for host in node.get("hosts") or {}}


def test_every_inventory_has_its_section_and_every_section_its_inventory() -> None:
    assert sorted(sections()) == INVENTORIES
    assert list(sections())[-2:] == NOT_LABS, "the text says they are the last"


def test_every_group_is_explained() -> None:
    rows = re.findall(r"(?m)^\| `(\w+)` \|", TEXT)
    assert sorted(rows) == sorted(GROUPS)


@pytest.mark.parametrize("name", INVENTORIES)
def test_section_explains_the_inventory(name: str) -> None:
    section = sections()[name]
    assert set(re.findall(r"\+ (\w+) -", block(section, "text"))) == hosts(name)
    variables = load(ROOT / "inventories" / name / "group_vars/all.yml")
    if name in NOT_LABS:
        assert not [key for key in variables if key.startswith("lab_")]
        return
    release = variables.get("lab_release", "bookworm")
    system = {"bookworm": "Debian 12, Java 17", "trixie": "Debian 13, Java 21"}[release]
    assert system in " ".join(section.split())
    started = re.search(r"(?m)^(?:LAB_TOPOLOGY=(\w+) )?\./lab up$", block(section, "sh"))
    assert started
    assert (started[1] or "kraft_combined") == name
