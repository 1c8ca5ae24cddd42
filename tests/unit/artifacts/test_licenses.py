"""The licences of parts, as jars and CycloneDX files state them."""

from __future__ import annotations

import zipfile
from pathlib import Path

from artifacts.jars import component, parts_of
from artifacts.licenses import NOT_STATED, listing

PROPERTIES = "groupId=org.example\nartifactId={name}\nversion=1.2\n"
POM = "<project><licenses>\n<license><name>{}</name></license></licenses></project>"


def jar(place: Path, files: dict[str, str]) -> zipfile.ZipFile:
    path = place / "a.jar"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return zipfile.ZipFile(path)


def test_a_jar_has_the_licence_of_its_pom_or_of_its_manifest(tmp_path: Path) -> None:
    folder = "META-INF/maven/org.example"
    files = {
        f"{folder}/inner/pom.properties": PROPERTIES.format(name="inner"),
        f"{folder}/inner/pom.xml": POM.format("MIT"),
        f"{folder}/other/pom.properties": PROPERTIES.format(name="other"),
        "META-INF/MANIFEST.MF": 'Bundle-License: "Apache-2\r\n .0";link="https://apache.org"\r\n',
    }
    with jar(tmp_path, files) as archive:
        assert {*parts_of("outer-3.0.jar", archive)} == {
            ("org.example", "inner", "1.2", "MIT"),
            ("org.example", "other", "1.2", "Apache-2.0"),
            ("", "outer", "3.0", "Apache-2.0"),
        }


def test_parts_are_listed_by_licence() -> None:
    chosen = {"name": "b", "version": "2", "licenses": [{"expression": "GPL-2.0 OR MIT"}]}
    two = {"license": {"id": "MIT"}}, {"license": {"name": "BSD"}}
    components = [
        component("org.example", "a", "1", "MIT"),
        component("org.example", "unknown", "1", ""),
        chosen,
        {"name": "c", "version": "3", "licenses": [*two]},
    ]
    assert listing({"spark-1": {"components": components}}).splitlines() == [
        "spark-1",
        "  BSD, MIT: c 3",
        "  GPL-2.0 OR MIT: b 2",
        "  MIT: a 1",
        f"  {NOT_STATED}: unknown 1",
    ]
