"""artifacts/pack with both sources. Maven and pip are stood in for: they hand out what is here."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from artifacts import fetch, tools
from tests.support.lab import archive
from tests.support.lab.topology import ROOT

VERSION = "4.3.1"
RECIPE = ROOT / "artifacts/kafka" / VERSION
NOTHING = hashlib.sha512().hexdigest()

MVN = """#!/bin/sh
for word; do case $word in -DoutputDirectory=*) out=${word#*=} ;; esac; done
mkdir -p "$out" && cp "$JARS"/*.jar "$out"
"""
PYTHON = """#!/bin/sh
case "$*" in "-m pip download "*) ;; *) exec "$REAL_PYTHON" "$@" ;; esac
while [ "$1" != -d ]; do shift; done
mkdir -p "$2" && cp "$JARS"/*.whl "$2"
"""


@pytest.fixture
def stand_ins(tmp_path: Path) -> dict[str, str]:
    """The environment in which mvn and pip hand out two jars and a wheel."""
    programs, jars = tmp_path / "programs", tmp_path / "jars"
    programs.mkdir()
    jars.mkdir()
    for name, text in (("mvn", MVN), ("python", PYTHON)):
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    with zipfile.ZipFile(jars / "kafka-tools.jar", "w") as jar:
        for name in tools.read(RECIPE / "tools").values():
            jar.writestr(f"{name.replace('.', '/')}.class", "")
    zipfile.ZipFile(jars / f"kafka_2.13-{VERSION}.jar", "w").close()
    with zipfile.ZipFile(jars / "kafka_python-0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("kafka/__init__.py", "")
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHON": str(programs / "python"),
        "REAL_PYTHON": sys.executable,
        "JARS": str(jars),
    }


def run(stand_ins: dict[str, str], out: Path, *words: str, version: str = VERSION) -> str:
    """Pack Kafka; returns what it complained about, empty if it went well."""
    done = subprocess.run(
        [ROOT / "artifacts/pack", "kafka", version, out, *words],
        env=stand_ins,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) == out.is_file(), done.stderr
    return "" if out.is_file() else done.stderr


@pytest.fixture
def maven(stand_ins: dict[str, str], tmp_path: Path) -> Path:
    """A home packed from Maven's jars."""
    out = tmp_path / "maven.tar"
    assert run(stand_ins, out) == ""
    return out


def members(path: Path) -> dict[str, tuple[str, int, str]]:
    """Each file of a tarball with its kind, its mode and where it leads."""
    with tarfile.open(path) as tar:
        return {member.name: (member.type.decode(), member.mode, member.linkname) for member in tar}


def test_both_sources_make_the_same_home(
    stand_ins: dict[str, str], maven: Path, tmp_path: Path
) -> None:
    sha512 = archive.pack(maven, VERSION, tmp_path / "kafka.tgz")
    from_file, from_url = tmp_path / "file.tar", tmp_path / "url.tar"
    assert run(stand_ins, from_file, str(tmp_path / "kafka.tgz"), sha512) == ""
    with archive.serve(tmp_path) as url:
        assert run(stand_ins, from_url, f"{url}/kafka.tgz", sha512.upper()) == ""
    names = members(maven)
    assert {
        "./libs/kafka_2.13-4.3.1.jar",
        "./bin/kafka-topics.sh",
        "./python/kafka/__init__.py",
    } <= set(names)
    assert members(from_file) == members(from_url) == names
    sums = {
        hashlib.sha256(tarball.read_bytes()).hexdigest() for tarball in (maven, from_file, from_url)
    }
    assert len(sums) == 1
    recorded = {Path(f"{tarball}.sha256").read_text().strip() for tarball in (from_file, from_url)}
    assert recorded == sums


def test_archive_is_fetched_once(stand_ins: dict[str, str], maven: Path, tmp_path: Path) -> None:
    source = tmp_path / "kafka.tgz"
    sha512 = archive.pack(maven, VERSION, source)
    out = tmp_path / "cache/kafka.tar"
    assert run(stand_ins, out, str(source), sha512) == ""
    source.unlink()
    out.unlink()
    assert run(stand_ins, out, str(source), sha512) == ""


def test_wrong_sum_is_refused_and_may_be_tried_again(
    stand_ins: dict[str, str], maven: Path, tmp_path: Path
) -> None:
    sha512 = archive.pack(maven, VERSION, tmp_path / "kafka.tgz")
    out = tmp_path / "cache/kafka.tar"
    with archive.serve(tmp_path) as url:
        errors = run(stand_ins, out, f"{url}/kafka.tgz", NOTHING)
        assert all(text in errors for text in (f"{url}/kafka.tgz", sha512, NOTHING))
        assert not list(out.parent.iterdir()), "something of the wrong file was kept"
        assert run(stand_ins, out, f"{url}/kafka.tgz", sha512) == ""


def test_another_version_is_refused(stand_ins: dict[str, str], maven: Path, tmp_path: Path) -> None:
    sha512 = archive.pack(maven, VERSION, tmp_path / "kafka.tgz")
    errors = run(
        stand_ins, tmp_path / "a.tar", str(tmp_path / "kafka.tgz"), sha512, version="4.2.1"
    )
    assert "kafka.tgz" in errors
    assert "kafka_2.13-4.2.1/libs/kafka_2.13-4.2.1.jar" in errors


def test_what_is_no_archive_is_refused(stand_ins: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("")
    errors = run(stand_ins, tmp_path / "a.tar", str(tmp_path / "page.html"), NOTHING)
    assert "page.html" in errors
    assert "kafka_2.13-4.3.1/libs" in errors


@pytest.mark.parametrize(("sha512", "named"), [(NOTHING, "gone.tgz"), ("d41d8", "'d41d8'")])
def test_what_cannot_be_fetched_is_named(
    sha512: str, named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        fetch.main([str(tmp_path / "gone.tgz"), sha512, str(tmp_path / "out")])
    assert stopped.value.code == 1
    assert named in capsys.readouterr().err


def test_what_a_server_does_not_have_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with archive.serve(tmp_path) as url, pytest.raises(SystemExit):
        fetch.main([f"{url}/gone.tgz", NOTHING, str(tmp_path / "out")])
    refusal = capsys.readouterr().err
    assert f"{url}/gone.tgz" in refusal
    assert "404" in refusal


def test_tools_without_a_class_are_refused(tmp_path: Path) -> None:
    recipe, home = tmp_path / "recipe", tmp_path / "home"
    (home / "libs").mkdir(parents=True)
    recipe.mkdir()
    (recipe / "tools").write_text("a.sh org.example.Absent -x\n")
    with pytest.raises(ValueError, match=r"no jar of .*: a\.sh \(org\.example\.Absent\)"):
        tools.lay_out(recipe, home)


# Tools that Maven's jars do not have


def jar_of(folder: Path, *classes: str) -> None:
    folder.mkdir(parents=True)
    with zipfile.ZipFile(folder / "a.jar", "w") as jar:
        for name in classes:
            jar.writestr(f"{name.replace('.', '/')}.class", "")


def recipe_of(folder: Path, reason: str) -> Path:
    """A recipe of two tools, of which one may be absent."""
    recipe = folder / "1.0"
    recipe.mkdir(parents=True)
    (folder / "conf").mkdir()
    (recipe / "tools").write_text("a.sh org.example.A\nb.sh org.example.B\n")
    if reason:
        (recipe / "absent").write_text(f"b.sh {reason}\n")
    return recipe


def test_a_tool_without_a_jar_says_why(tmp_path: Path) -> None:
    reason = "it's nowhere; set `x: $y` (docs/z.md)"
    recipe, home = recipe_of(tmp_path / "kafka", reason), tmp_path / "home"
    jar_of(home / "libs", "org.example.A")
    tools.lay_out(recipe, home)
    assert (home / "bin/a.sh").readlink() == Path("launcher")
    done = subprocess.run([home / "bin/b.sh"], check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert done.stderr == f"b.sh: {reason}\n"


def test_a_tool_with_a_jar_runs_whatever_maven_lacks(tmp_path: Path) -> None:
    recipe, home = recipe_of(tmp_path / "kafka", "not in Maven's repository"), tmp_path / "home"
    jar_of(home / "libs", "org.example.A", "org.example.B")
    tools.lay_out(recipe, home)
    assert (home / "bin/b.sh").readlink() == Path("launcher")


def test_a_tool_without_a_jar_and_a_reason_is_refused(tmp_path: Path) -> None:
    recipe, home = recipe_of(tmp_path / "kafka", ""), tmp_path / "home"
    jar_of(home / "libs", "org.example.A")
    with pytest.raises(ValueError, match=r"b\.sh"):
        tools.lay_out(recipe, home)


@pytest.mark.parametrize("path", sorted(ROOT.glob("artifacts/*/*/absent")), ids=str)
def test_only_tools_are_said_to_be_absent(path: Path) -> None:
    assert tools.reasons(path).keys() <= tools.read(path.parent / "tools").keys()
