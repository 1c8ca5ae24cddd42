"""What Java says about options: how its complaint is read, and what the one of this machine says."""

from __future__ import annotations

import errno
import os
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import jvm
from ansible_collections.millrace.streaming.plugins.module_utils.host.jvm import complaint, refusals
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.jvm_options import (
    asked,
    java_words,
)

JAVA = shutil.which("java")
needs_java = pytest.mark.skipif(not JAVA, reason="no java here")
END = "Error: Could not create the Java Virtual Machine.\n"
END += "Error: A fatal exception has occurred. Program will exit.\n"


@pytest.fixture(autouse=True)
def changes_stay_below_the_temporary_directory() -> None:
    """Replace what forbids it: directories lie where nobody reaches them, and are tempfile's."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a directory that nobody reaches, unlike pytest's."""
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def home() -> str:
    """Return the home of this machine's Java."""
    return str(Path(JAVA or "").resolve().parents[1])


@pytest.mark.parametrize(
    ("output", "message"),
    [
        (
            f"Unrecognized VM option 'UseG1G'\nDid you mean '(+/-)UseG1GC'? {END}",
            "Unrecognized VM option 'UseG1G' Did you mean '(+/-)UseG1GC'?",
        ),
        (
            "Error occurred during initialization of VM\nMultiple garbage collectors selected\n",
            "Multiple garbage collectors selected",
        ),
        (
            "OpenJDK 64-Bit Server VM warning: Option UseA was deprecated.\n"
            "[0.001s][warning][gc] -Xloggc is deprecated.\n"
            "[0.002s][error][logging] Invalid tag 'gcx' in log selection.\n"
            f"Invalid -Xlog option '-Xlog:gcx', see error log for details.\n{END}",
            "Invalid tag 'gcx' in log selection. "
            "Invalid -Xlog option '-Xlog:gcx', see error log for details.",
        ),
        ("openjdk version \x1b[1m", "openjdk version [1m"),
        (END, ""),
    ],
)
def test_what_java_says_in_any_case_is_left_out(output: str, message: str) -> None:
    assert complaint(output) == message


def test_a_long_complaint_is_cut_off() -> None:
    assert len(complaint("wrong " * 10_000)) <= jvm.LONGEST


@needs_java
@pytest.mark.parametrize(
    ("options", "part"),
    [
        ("-XX:MaxGCPauseMilis=20", "MaxGCPauseMillis"),
        ("-XX:+PrintGCDateStamps", "PrintGCDateStamps"),
        ("-XX:UseG1GC", "Missing +/-"),
        ("-XX:+MaxGCPauseMillis=20", "Unexpected +/-"),
        ("-XX:MaxGCPauseMillis=20ms", "MaxGCPauseMillis=20ms"),
        ("-XX:InitiatingHeapOccupancyPercent=350", "outside the allowed range"),
        ("-XX:+PrintCompilation2", "UnlockDiagnosticVMOptions"),
        ("-XX:G1MaxNewSizePercent=70 -XX:+UnlockExperimentalVMOptions", "must precede"),
        ("-XX:HeapDumpPath", "HeapDumpPath"),
        ("-Xss4", "too small"),
        ("-Xlogg:gc", "-Xlogg:gc"),
        ("-Xlog:gcx*:file=/var/log/gc.log", "gcx"),
        ("-Xlog:gc*:file=/var/log/gc.log:time:filesize=10MB", "filesize"),
        ("-d64", "-d64"),
        ("-javax.net.ssl.keyStorePassword=hunter2", "-javax.net.ssl.keyStorePassword"),
        ("--add-open=java.base/java.nio=ALL-UNNAMED", "--add-open"),
        ("-XX:+UseG1GC -XX:+UseSerialGC", "garbage collectors"),
    ],
)
def test_the_java_of_this_machine_refuses(options: str, part: str) -> None:
    question = asked(java_words(options))
    message = refusals(home(), [question])[question]
    assert part in message
    assert "hunter2" not in message
    assert "Could not create" not in message


@needs_java
def test_the_java_of_this_machine_takes() -> None:
    lists = [
        asked(java_words(options))
        for options in (
            "-XX:+UseG1GC -XX:MaxGCPauseMillis=20 -XX:InitiatingHeapOccupancyPercent=35",
            "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
            "-XX:+UnlockDiagnosticVMOptions -XX:+PrintCompilation2",
            "-XX:+IgnoreUnrecognizedVMOptions -XX:+PrintGCDateStamps",
            "-XX:SoftMaxHeapSize=900g -XX:MaxRAMPercentage=75.5 -XX:HeapDumpPath=/var/tmp/a",
            "-Xlog:gc*:file=/absent/gc-%p.log:time,tags:filecount=5,filesize=10M -Xloggc:/absent/a",
            "-Xlog:gc:/absent/gc.log -Xlog:safepoint:stdout:uptime -verbose:gc -ea:org.apache...",
            "--add-opens java.base/java.nio=ALL-UNNAMED --enable-preview",
            "-XX:AllocateHeapAt=/absent -XX:SharedArchiveFile=/absent -Xshare:on @/absent",
            "-Da='b c' -javaagent:/absent.jar=9404 -agentlib:jdwp=transport=dt_socket,server=y",
            "-XX:+AlwaysPreTouch -XX:+UseLargePages -XX:+HeapDumpOnOutOfMemoryError",
        )
    ]
    assert refusals(home(), lists) == {}


@needs_java
def test_asking_java_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        options = [
            f"-Xlog:gc*:file={folder}/gc.log",
            f"-Xlog:gc:{folder}/gc.log:time",
            f"-Xloggc:{folder}/gc.log",
            f"-Dcom.sun.management.jmxremote.port={port}",
            f"-XX:StartFlightRecording:filename={folder}/a.jfr",
            f"-XX:ArchiveClassesAtExit={folder}/a.jsa",
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+LogVMOutput",
            f"-XX:LogFile={folder}/vm.log",
        ]
        monkeypatch.setenv("JDK_JAVA_OPTIONS", f"-Xlog:gc:file={folder}/environment.log")
        monkeypatch.setattr(tempfile, "tempdir", str(folder))
        folder.chmod(0o777)
        assert refusals(home(), [asked(options)]) == {}
    assert list(folder.iterdir()) == []


def program(folder: Path, command: str) -> str:
    """Make a home with a program `java`."""
    folder.chmod(0o755)
    java = folder / "bin/java"
    java.parent.mkdir()
    java.write_text(f"#!/bin/sh\n{command}\n")
    java.chmod(0o755)
    return str(folder)


def test_a_java_that_refuses_its_version_refuses_no_options(folder: Path) -> None:
    java = program(folder, "echo no such option >&2; exit 1")
    assert refusals(java, ["-Xss1m"]) == {}


@pytest.mark.parametrize("end", ["kill -9 $$", "exit 134", "exit 0"])
def test_a_java_that_does_not_end_by_itself_refuses_nothing(folder: Path, end: str) -> None:
    java = program(folder, f'[ "$1" = -Xss1m ] || exit 0\necho wrong\n{end}')
    assert refusals(java, ["-Xss1m"]) == {}


def test_a_java_without_memory_refuses_nothing(folder: Path) -> None:
    message = "There is insufficient memory for the Java Runtime Environment to continue."
    java = program(folder, f'[ "$1" = -Xss1m ] || exit 0\necho "{message}"\nexit 1')
    assert refusals(java, ["-Xss1m"]) == {}


def test_a_java_that_never_ends_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jvm, "SECONDS", 0.5)
    began = time.monotonic()
    assert refusals(program(folder, "exec sleep 60"), ["-Xss1m"]) == {}
    assert time.monotonic() - began < 30


def test_java_is_asked_about_every_list(folder: Path) -> None:
    java = program(folder, 'case "$1" in -Xss*) echo "no $1"; exit 1;; esac')
    assert refusals(java, ["-Xss1", "-Xint", "-Xss2"]) == {"-Xss1": "no -Xss1", "-Xss2": "no -Xss2"}


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_java_runs_as_nobody(folder: Path) -> None:
    java = program(folder, '[ "$1" = -Xint ] || exit 0\nid -un; id -G; exit 1')
    (message,) = refusals(java, ["-Xint"]).values()
    assert message.split()[0] == jvm.ACCOUNT
    assert "0" not in message.split()[1:]


def test_without_java_nothing_is_said(tmp_path: Path) -> None:
    assert refusals(str(tmp_path), ["-Xss1m"]) == {}


REFUSING = 'case "$1" in -Xss*) echo "no $1"; exit 1;; esac'


@pytest.mark.parametrize("function", ["mkdtemp", "mkdir", "chown"])
def test_without_a_directory_for_it_nothing_is_said(
    folder: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "no space")

    java = program(folder, REFUSING)
    places = folder / "tmp"
    places.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(places))
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(tempfile if function == "mkdtemp" else os, function, fail)
    assert refusals(java, ["-Xss1m"]) == {}
    assert list(places.iterdir()) == []


def test_without_the_account_nothing_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(jvm, "ACCOUNT", "no-such-account")
    assert refusals(program(folder, REFUSING), ["-Xss1m"]) == {}


@pytest.mark.parametrize("options", ["-Xss1m\0", "'-Xss1m"])
def test_what_cannot_be_an_argument_is_not_judged(folder: Path, options: str) -> None:
    java = program(folder, REFUSING)
    assert refusals(java, [options]) == {}
    assert refusals(java, [options, "-Xss2m"]) == {"-Xss2m": "no -Xss2m"}


def test_a_directory_that_cannot_be_removed_changes_no_answer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(errno.EBUSY, "busy")

    java = program(folder, REFUSING)
    with tempfile.TemporaryDirectory() as places:
        Path(places).chmod(0o755)
        monkeypatch.setattr(tempfile, "tempdir", places)
        with monkeypatch.context() as context:
            context.setattr(os, "rmdir", fail)
            assert refusals(java, ["-Xss1m"]) == {"-Xss1m": "no -Xss1m"}
        assert len(list(Path(places).iterdir())) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_only_the_working_directory_is_nobodys(folder: Path) -> None:
    java = program(folder, '[ "$1" = -Xint ] || exit 0\nstat -c "%U %a" . ..; exit 1')
    (message,) = refusals(java, ["-Xint"]).values()
    assert message == f"{jvm.ACCOUNT} 700 root 755"
