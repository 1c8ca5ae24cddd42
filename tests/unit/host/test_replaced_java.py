"""JVMs that run on a Java that is no longer on the disk."""

from __future__ import annotations

from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import replaced_java

HOME = "/usr/lib/jvm/java-17"
LIBRARY = f"{HOME}/lib/server/libjvm.so"
GONE = " (deleted)"


class Process:
    """A process as /proc shows it."""

    def __init__(self, place: Path) -> None:
        self.proc, self.place = place / "proc", place / "proc/17"
        (self.place / "fd").mkdir(parents=True)
        self.units = place / "units"
        self.units.mkdir()
        self.write("# Written by Millrace; change the inventory, not this file.\n")
        (self.place / "cgroup").write_text("0::/system.slice/kafka.service\n")
        self.runs(f"{HOME}/bin/java")

    def write(self, unit: str) -> None:
        (self.units / "kafka.service").write_text(unit)

    def runs(self, program: str, *mapped: str) -> None:
        (self.place / "exe").unlink(missing_ok=True)
        (self.place / "exe").symlink_to(program)
        lines = [f"7f0-7f1 r-xp 00000000 08:01 1 {path}\n" for path in (program, *mapped)]
        (self.place / "maps").write_text("".join([*lines, "7f2-7f3 rw-p 00000000 00:00 0\n"]))

    def replaced(self) -> dict[str, list[str]]:
        return replaced_java.replaced(self.proc, self.units)


@pytest.fixture
def process(tmp_path: Path) -> Process:
    return Process(tmp_path)


def test_a_jvm_on_what_is_installed_is_not_named(process: Process) -> None:
    process.runs(f"{HOME}/bin/java", LIBRARY, "/usr/lib/libc.so.6")
    assert process.replaced() == {}


@pytest.mark.parametrize("path", [LIBRARY, f"{HOME}/lib/modules"])
def test_a_library_of_java_that_is_gone_is_named(process: Process, path: str) -> None:
    process.runs(f"{HOME}/bin/java", f"{path}{GONE}")
    assert process.replaced() == {"kafka": [path]}


def test_a_java_that_was_removed_altogether_is_named(process: Process) -> None:
    """Of a newer release, in another directory."""
    process.runs(f"{HOME}/bin/java{GONE}", f"{LIBRARY}{GONE}")
    assert process.replaced() == {"kafka": sorted([f"{HOME}/bin/java", LIBRARY])}


def test_a_library_of_the_system_counts_once_there_is_a_newer_one(
    process: Process, tmp_path: Path
) -> None:
    library = tmp_path / "libc.so.6"
    process.runs(f"{HOME}/bin/java", f"{library}{GONE}")
    assert process.replaced() == {}, "a library that a program unpacked and deleted at once"
    library.touch()
    assert process.replaced() == {"kafka": [str(library)]}


def test_a_replaced_archive_that_is_open_is_named(process: Process, tmp_path: Path) -> None:
    archive = tmp_path / "agent.jar"
    archive.touch()
    (process.place / "fd/9").symlink_to(f"{archive}{GONE}")
    (process.place / "fd/10").symlink_to(f"{tmp_path}/00000.log{GONE}")
    assert process.replaced() == {"kafka": [str(archive)]}


@pytest.mark.parametrize("case", ["of the site", "no unit", "no Java"])
def test_what_is_not_a_jvm_of_millrace_is_left_to_others(process: Process, case: str) -> None:
    process.runs(f"{HOME}/bin/java", f"{LIBRARY}{GONE}")
    if case == "of the site":
        process.write("[Unit]\n")
    elif case == "no unit":
        (process.place / "cgroup").write_text("0::/user.slice/session-1.scope\n")
    else:
        process.runs("/usr/bin/python3", f"{LIBRARY}{GONE}")
    assert process.replaced() == {}
