"""No distribution and no requirements file has a part that is known to be bad."""

from __future__ import annotations

import json
import re
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats import versions
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.known_bad import (
    PARTS,
    better_versions,
    holes,
    numbers,
)

from artifacts import jars, known_bad
from artifacts.known_bad import Part
from tests.support.lab.topology import ROOT
from tests.unit.tree import load

ENTRIES: list[dict[str, Any]] = load(known_bad.LIST)
POM = f"artifacts/kafka/{versions.KAFKA.default}/pom.xml"
LOG4J = "org.apache.logging.log4j:log4j-core"


def copy(folder: Path, name: str, old: str, new: str) -> Path:
    """Write a copy of a file of the tree with a change, at the same place in a folder."""
    text = (ROOT / name).read_text()
    assert old in text
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.replace(old, new))
    return folder


def test_nothing_bad_is_pinned() -> None:
    pinned = list(known_bad.pinned(ROOT))
    assert Part(LOG4J, "2.25.5", POM, f"kafka-{versions.KAFKA.default}") in pinned
    assert {part.name for part in pinned} >= {"pyspark", "kafka-python", "ansible-core"}
    assert not known_bad.problems(pinned, ENTRIES)
    assert not [part for part in pinned if not numbers(part.version)], "without a version"


def test_each_entry_says_what_and_why_and_no_more() -> None:
    fields = {"part", "from", "below", "id", "reason", "accepted"}
    recipes = {known_bad.distribution(path) for path in ROOT.glob("artifacts/*/*/pom.xml")}
    for entry in ENTRIES:
        assert {"part", "id", "reason"} <= entry.keys() <= fields, entry
        assert all(isinstance(entry.get(key, ""), str) for key in fields - {"accepted"}), entry
        assert entry.get("accepted", {}).keys() <= recipes, entry
        if {"from", "below"} <= entry.keys():
            assert numbers(entry["from"]) < numbers(entry["below"])


def test_the_versions_that_an_inventory_may_not_name_are_bad_here_too() -> None:
    for name in versions.KAFKA.blocked:
        assert known_bad.problems([Part("org.apache.kafka:kafka_2.13", name, "")], ENTRIES), name
    for product, part in PARTS.items():
        version = versions.PRODUCTS[product].default
        default = Part(part, version, "", f"{product}-{version}")
        assert not known_bad.problems([default], ENTRIES)


@pytest.mark.parametrize(
    ("name", "old", "new", "named"),
    [
        (POM, "<log4j.version>2.25.5", "<log4j.version>2.14.1", "CVE-2021-44228"),
        (POM, f"<kafka.version>{versions.KAFKA.default}", "<kafka.version>4.1.1", "(OAUTHBEARER"),
        (
            "artifacts/kafka/3.9.2/pom.xml",
            "<groupId>org.slf4j</groupId><artifactId>slf4j-reload4j<",
            "<groupId>log4j</groupId><artifactId>log4j<",
            "CVE-2019-17571",
        ),
        ("artifacts/zookeeper/3.9.5/pom.xml", "1.1.10.12", "1.1.10.3", "CVE-2023-43642"),
        ("artifacts/kafka/4.3.1/requirements.txt", "==3.0.12", "==2.3.1", "CVE-2026-10142"),
        ("requirements/control-node.txt", "jinja2==3.1.6", "Jinja2==3.1.5", "CVE-2025-27516"),
    ],
)
def test_a_planted_bad_version_is_found(
    name: str, old: str, new: str, named: str, tmp_path: Path
) -> None:
    problems = known_bad.problems(known_bad.pinned(copy(tmp_path, name, old, new)), ENTRIES)
    assert len([line for line in problems if named in line]) == 1
    assert all(line.startswith(f"{name}: ") for line in problems)


def test_the_command_fails_and_names_the_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert known_bad.main([]) == 0
    assert capsys.readouterr().out == ""
    folder = copy(tmp_path, POM, "2.25.5", "2.17.0")
    monkeypatch.setattr(known_bad, "ROOT", folder)
    assert known_bad.main([]) == 1
    (line,) = capsys.readouterr().out.splitlines()
    assert f"{POM}: {LOG4J} 2.17.0 " in line
    assert line.endswith("fixed in 2.17.1")


@pytest.mark.parametrize(
    ("default", "bad"), [("4.4.0", False), ("4.2.1", True), ("4.2.2", False), ("3.9.2", True)]
)
def test_a_default_that_is_bad_fails(
    default: str, bad: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    products = {**versions.PRODUCTS, "kafka": replace(versions.KAFKA, default=default)}
    monkeypatch.setattr(known_bad, "PRODUCTS", products)
    assert known_bad.main([]) == int(bad)
    assert (f"artifacts/kafka/{default}/pom.xml: " in capsys.readouterr().out) == bad


@pytest.mark.parametrize(
    ("version", "bad", "better"),
    [
        ("3.9.2", {"CVE-2026-111115", "CVE-2026-111108"}, ["4.4.0"]),
        ("4.2.1", {"CVE-2026-111115", "CVE-2026-111108", "CVE-2026-110985"}, ["4.2.2", "4.4.0"]),
        ("4.3.1", {"CVE-2026-111115", "CVE-2026-111108", "CVE-2026-110985"}, ["4.4.0"]),
        ("4.2.2", set(), ["4.4.0"]),
        ("4.4.0", set(), []),
    ],
)
def test_a_version_has_its_holes_and_a_better_one(
    version: str, bad: set[str], better: list[str]
) -> None:
    assert {entry["id"] for entry in holes("kafka", version)} == bad
    assert better_versions("kafka", version) == better


def test_lint_runs_the_command() -> None:
    lint = re.search(r"(?ms)^lint\(\) \{.*?^\}", (ROOT / "lab").read_text())
    assert lint
    assert "python artifacts/known_bad.py &&" in lint[0]


@pytest.mark.parametrize(
    ("version", "bad"),
    [
        ("2.17.0", True),
        ("2.0", True),
        ("2.0-beta9", True),
        ("2.17", True),
        ("", False),
        ("2.17.1", False),
        ("2.17.1.redhat-1", False),
        ("2.100", False),
        ("1.2.17", False),
    ],
)
def test_versions_are_compared_by_their_numbers(version: str, bad: bool) -> None:
    entry = {"part": "g:a", "from": "2.0", "below": "2.17.1", "id": "x", "reason": "y"}
    assert known_bad.is_bad(Part("g:a", version, ""), entry) == bad


def test_an_entry_without_bounds_is_for_every_version() -> None:
    assert known_bad.problems([Part("log4j:log4j", "1.2.17", "here")], ENTRIES)
    assert not known_bad.problems([Part("ch.qos.reload4j:reload4j", "1.2.25", "here")], ENTRIES)


def test_what_is_accepted_is_so_for_its_distribution_alone() -> None:
    (entry,) = (
        candidate for candidate in ENTRIES if "kafka-3.9.2" in candidate.get("accepted", {})
    )
    for where, bad in (("kafka-3.9.2", False), ("kafka-4.3.1", True)):
        assert known_bad.is_bad(Part(entry["part"], entry["from"], "", where), entry) == bad


def test_parts_of_an_sbom_are_compared_too(tmp_path: Path) -> None:
    path = tmp_path / "spark-4.2.0-jars.json"
    components = [
        {"group": "org.yaml", "name": "snakeyaml", "version": "1.33"},
        {"name": "Kafka_Python", "version": "2.0.2", "purl": "pkg:pypi/kafka-python@2.0.2"},
        {"name": "snappy-java", "version": "1.1.8.4", "purl": "pkg:generic/snappy-java@1.1.8.4"},
        {"name": "java", "version": "1.0"},
    ]
    path.write_text(json.dumps({"components": components}))
    problems = known_bad.problems(known_bad.of_bom(path), ENTRIES)
    assert [line.split()[1] for line in problems] == [
        "org.yaml:snakeyaml",
        "kafka-python",
        ":snappy-java",
    ]
    assert known_bad.main([str(path)]) == 1


# The jars of a package


def test_jars_are_listed_with_what_is_in_them(tmp_path: Path) -> None:
    def jar(name: str, *inside: tuple[str, str, str]) -> None:
        with zipfile.ZipFile(tmp_path / name, "w") as made:
            made.writestr("A.class", "")
            for group, part, version in inside:
                text = f"#made by Maven\nversion={version}\ngroupId={group}\nartifactId={part}\n"
                made.writestr(f"META-INF/maven/{group}/{part}/pom.properties", text)

    jar("own-1.2.jar", ("g", "own", "1.2"), ("g.shaded", "inner", "0.9"))
    jar("zstd-jni-1.5.7-7.jar")
    jar("spark-sql-kafka-0-10_2.13-4.2.0.jar")
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        for path in tmp_path.glob("*.jar"):
            archive.add(path, f"jars/{path.name}")
        archive.add(tmp_path / "own-1.2.jar", "jars/again/own-1.2.jar")
    assert jars.main([str(tmp_path / "t.tar"), str(tmp_path / "bom.json")]) == 0
    document = json.loads((tmp_path / "bom.json").read_text())
    assert document["bomFormat"] == "CycloneDX"
    assert [component["purl"] for component in document["components"]] == [
        "pkg:generic/spark-sql-kafka-0-10_2.13@4.2.0",
        "pkg:generic/zstd-jni@1.5.7-7",
        "pkg:maven/g/own@1.2",
        "pkg:maven/g.shaded/inner@0.9",
    ]
