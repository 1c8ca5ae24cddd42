"""What lands on the hosts of every inventory.

golden/reference has each file once, as it is on the first host that has it, and
golden/<inventory>.txt says of each host which files it has and how they differ from these.
`MILLRACE_UPDATE_GOLDEN=1 pytest tests/unit/cluster/test_golden.py` writes the golden files anew.
"""

from __future__ import annotations

import difflib
import fnmatch
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.files import Entry
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import Cluster
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.desired import (
    of_service,
    removal,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.registry import GROUPS
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.node import (
    SERVER_PROPERTIES,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.metrics.model import (
    HOST_PROGRAM,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.monitoring.model import (
    CONFIG,
)

from tests.support.lab.topology import ROOT
from tests.unit.cluster.inventories import INVENTORIES, all_entries, read

GOLDEN = ROOT / "tests/unit/golden"
ENTRIES = "entries"
"""What is desired at each path of a host besides the content of files."""
REFERENCE = "reference"
"""The folder with each file of the first host that has it."""
SECRET = re.compile(r"(?m)^(spark\.authenticate\.secret|spark\..+\.secretKey)=.+")
UPDATE = os.environ.get("MILLRACE_UPDATE_GOLDEN") == "1"

# One host of each kind, which has all its files here. Of every other one it is server.properties.
ALL_FILES = {
    "kraft_combined": ["k1"],  # broker and controller, Spark's only master, history server
    "kraft_dedicated": ["b1", "c1"],  # broker in a rack, with two disks; controller
    # broker and controller with a registry and a database; with a worker
    "connect": ["k1", "k3"],
    # Prometheus; broker with a worker and exporters of both
    "monitoring": ["k2", "m1"],
    "full": ["k2"],  # most services on one host
    "mirror": ["m1"],  # the only broker, with the only worker
    "hdfs": ["h1", "h2"],  # NameNode with a DataNode; DataNode alone
    "spark_ha": ["s2"],  # ensemble, one of two masters, worker
    # TLS, mounts; a secret; catalog and Connect server
    "vms_example": ["kafka1.example.org", "worker1.example.org", "spark3.example.org"],
    "zookeeper": ["b1", "z1"],  # broker of Kafka 3.9 on an ensemble; ensemble alone
}


def is_removed(path: str, removed: list[str]) -> bool:
    """Whether a removal takes a path along, by its name or with a directory."""
    above = [path, *map(str, Path(path).parents)]
    return any(fnmatch.fnmatch(place, pattern) for pattern in removed for place in above)


def test_a_removal_leaves_no_file_that_any_inventory_brings(tmp_path: Path) -> None:
    """Of a service that was closed before, or had other roles; but what a site has added stays."""
    clusters = [read(name, tmp_path) for name in INVENTORIES]
    brought: dict[str, set[str]] = {}
    removed: dict[str, list[list[str]]] = {}
    for cluster in clusters:
        for host in cluster.hosts:
            for product in cluster.deployed(host):
                entries = of_service(cluster, host, product)["files"].items()
                paths = {path for path, entry in entries if entry.get("state") != "directory"}
                config = cluster.part(host, product).config_dir
                brought.setdefault(product, set()).update(
                    path for path in paths if path.startswith(f"{config}/")
                )
                removed.setdefault(product, []).append(removal(cluster, host, product)["removed"])
                assert not is_removed(f"{config}/of-the-site", removed[product][-1]), product
    assert len(brought) > 8
    remaining = {
        path
        for product, paths in brought.items()
        for path in paths
        for names in removed[product]
        if not is_removed(path, names)
    }
    assert not remaining


def rendered(cluster: Cluster, complete: list[str]) -> dict[str, str]:
    """Return every golden file as `host/path` to its content without secrets."""
    texts: dict[str, str] = {}
    for host in cluster.hosts:
        entries = all_entries(cluster, host)
        if host in complete:
            texts[f"{host}/{ENTRIES}"] = "".join(
                sorted(line(*path_and_entry) for path_and_entry in entries.items())
            )
        for path, entry in entries.items():
            # Programs and rules of alerts are copies of files of this repository.
            copied = path.endswith((".py", ".html", HOST_PROGRAM))
            copied = copied or path.startswith(f"{CONFIG}/alerts/")
            shown = path == SERVER_PROPERTIES or (host in complete and not copied)
            if "content" in entry and shown:
                texts[f"{host}{path}"] = SECRET.sub(r"\1=(secret)", entry["content"])
    return texts


def line(path: str, desired: dict[str, Any]) -> str:
    """Return what is wanted at a path besides its content."""
    entry = Entry.of(path, desired)
    if entry.state == "link":
        return f"{path} -> {entry.target}\n"
    words = [word for word in ("restart", "secret") if getattr(entry, word)]
    return f"{path} {entry.state} {entry.mode:04o} {' '.join([entry.owner, entry.group, *words])}\n"


def stored(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write(folder: Path, files: dict[str, str]) -> None:
    """Make `folder` hold `files` and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def references(inventories: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return path -> content on the first host that has it: what all others are compared with."""
    contents: dict[str, str] = {}
    for rendered_files in inventories:
        for name, content in rendered_files.items():
            contents.setdefault(name.partition("/")[2], content)
    contents.pop(ENTRIES, None)
    return contents


def described(files: Mapping[str, str], reference: Mapping[str, str]) -> str:
    """Return each file of an inventory's hosts: that it is the reference, or how it differs."""
    lines: list[str] = []
    for name, content in sorted(files.items()):
        host, _, path = name.partition("/")
        usual = reference.get(path, "")
        if path == ENTRIES:  # of hosts that have little in common
            lines += [f"{host}: {entry}" for entry in content.splitlines(True)]
            continue
        if content == usual:
            lines.append(f"{host}: /{path}\n")
            continue
        lines.append(f"{host}: /{path}, which differs:\n")
        changes = difflib.unified_diff(usual.splitlines(True), content.splitlines(True), n=0)
        # Neither names of files nor numbers of lines, which a line above would change.
        lines += [f"  {change}" for change in [*changes][2:] if not change.startswith("@@")]
    return "".join(text if text.endswith("\n") else f"{text}\n" for text in lines)


@pytest.fixture(scope="session")
def reference() -> dict[str, str]:
    """Return the files that all hosts are compared with."""
    if UPDATE:
        with tempfile.TemporaryDirectory() as folder:
            inventories = [
                rendered(read(name, Path(folder)), ALL_FILES.get(name, [])) for name in INVENTORIES
            ]
        write(
            GOLDEN, {f"{REFERENCE}/{path}": text for path, text in references(inventories).items()}
        )
    return stored(GOLDEN / REFERENCE)


@pytest.mark.parametrize("name", INVENTORIES)
def test_inventory_is_rendered_to_its_golden_files(
    name: str, reference: dict[str, str], tmp_path: Path
) -> None:
    actual = described(rendered(read(name, tmp_path), ALL_FILES.get(name, [])), reference)
    path = GOLDEN / f"{name}.txt"
    if UPDATE:
        path.write_text(actual)
    golden = path.read_text() if path.exists() else ""
    difference = "".join(
        difflib.unified_diff(golden.splitlines(True), actual.splitlines(True), "golden", "rendered")
    )
    assert not difference, (
        f"{difference}\nif this is meant: MILLRACE_UPDATE_GOLDEN=1 pytest {__file__}"
    )


def test_golden_files_belong_to_an_inventory() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*INVENTORIES, REFERENCE}


def test_every_reference_is_a_file_of_some_host(reference: dict[str, str]) -> None:
    lines = "\n".join(path.read_text() for path in GOLDEN.glob("*.txt")).splitlines()
    named = [line.removesuffix(", which differs:") for line in lines if not line.startswith(" ")]
    used = {name.partition(": /")[2] for name in named}
    assert {*reference} <= used


def test_every_group_has_a_host_with_all_its_files(tmp_path: Path) -> None:
    seen = set()
    for name, hosts in ALL_FILES.items():
        inventory = read(name, tmp_path).inventory
        assert set(hosts) <= set(inventory.hosts)
        seen |= {group for group in GROUPS if set(hosts) & set(inventory.members(group))}
    assert seen == set(GROUPS)


def test_every_kind_of_difference_is_shown() -> None:
    first = {"k1/etc/a": "one\ntwo\n", "k1/etc/same": "x\n"}
    second = {"k2/etc/a": "one\n2\n", "k2/etc/same": "x\n", "k2/etc/new": "y"}
    usual = references([first, second])
    assert usual == {"etc/a": "one\ntwo\n", "etc/same": "x\n", "etc/new": "y"}
    assert described(first, usual) == "k1: /etc/a\nk1: /etc/same\n"
    shown = described(second, {**usual, "etc/new": "z\n"})
    assert "k2: /etc/a, which differs:\n  -two\n  +2\n" in shown
    assert "k2: /etc/new, which differs:\n  -z\n  +y\n" in shown
    assert shown.endswith("k2: /etc/same\n")
    assert described({}, usual) == ""


def test_golden_files_are_written_and_read_as_they_are(tmp_path: Path) -> None:
    golden = {"k1/etc/a": "one\ntwo\n", "k1/etc/old": "x\n"}
    write(tmp_path / "golden", {"k1/etc/left": "from before\n"})
    write(tmp_path / "golden", golden)
    assert stored(tmp_path / "golden") == golden
