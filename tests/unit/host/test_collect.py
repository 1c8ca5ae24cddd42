"""What is read of a host is bounded in time and size, whatever does not answer."""

from __future__ import annotations

import os
import time
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.host.collect import (
    Bounds,
    Piece,
    collect,
    file_end,
    of_command,
    of_commands,
    of_file,
    output,
)

LARGEST = 1000


def bounds(seconds: float = 30) -> Bounds:
    return Bounds(time.monotonic() + seconds, LARGEST)


def test_a_command_that_hangs_costs_its_own_piece_alone() -> None:
    begun = time.monotonic()
    pieces = collect(
        [
            of_command("hangs", ["sh", "-c", "echo before; sleep 60"], 1),
            of_command("quick", ["echo", "answer"]),
        ],
        bounds(),
        10_000,
    )
    assert time.monotonic() - begun < 20
    assert pieces[0].text == "before\n"
    assert pieces[0].note == "cut: sh did not end in time"
    assert pieces[1] == Piece("quick", "answer\n")


def test_a_read_that_hangs_does_not_keep_the_rest(tmp_path: Path) -> None:
    def hang(_: Bounds) -> list[Piece]:
        time.sleep(60)
        return []

    begun = time.monotonic()
    pieces = collect([("stuck", hang), of_command("quick", ["echo", "x"])], bounds(2), 10_000)
    assert time.monotonic() - begun < 20
    assert pieces == [
        Piece("stuck", note="not read: there was no answer in time"),
        Piece("quick", "x\n"),
    ]


def test_an_error_is_a_note(tmp_path: Path) -> None:
    def fail(_: Bounds) -> list[Piece]:
        raise PermissionError(13, "Permission denied", "/x")

    jobs = [("failed", fail), of_command("none", ["/nonexistent/program"])]
    failed, none = collect(jobs, bounds(), 10_000)
    assert "Permission denied" in failed.note
    assert none.note == "not read: No such file or directory (/nonexistent/program)"


def test_the_end_of_a_long_output_has_whole_lines() -> None:
    command = ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done"]
    text, note = output(command, 10, bounds())
    assert len(text) <= LARGEST
    assert text.startswith("line-")
    assert text.endswith("line-2999\n")
    assert note == "cut: the end of it"


def test_one_line_that_is_too_long_is_left_out() -> None:
    # Half of it could be half of a secret.
    command = ["sh", "-c", "head -c 9000 /dev/zero | tr '\\0' x; echo; echo end"]
    assert output(command, 10, bounds()) == ("end\n", "cut: the end of it")


def test_several_commands_are_one_text() -> None:
    name, job = of_commands("versions.txt", ["echo", "a"], ["echo", "b"])
    assert job(bounds()) == [Piece(name, "$ echo a\na\n\n\n$ echo b\nb\n\n")]


def test_files_are_read_from_their_end_and_without_keys(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_text("".join(f"line {number}\n" for number in range(1000)))
    text, note = file_end(str(file), bounds())
    assert text.startswith("line ")
    assert text.endswith("line 999\n")
    assert note
    file.write_text("a\n-----BEGIN PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\nb\n")
    assert file_end(str(file), bounds()) == ("a\n(secret)\nb\n", "")


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(tmp_path / "fifo")
    jobs = [of_file(name, str(tmp_path / name)) for name in ("link", "fifo", "none")]
    link, fifo = collect(jobs, bounds(), 10_000)
    assert link.text == fifo.text == ""
    assert link.note.startswith("not read")
    assert fifo.note == "not read: it is not a file"


def test_all_together_have_a_greatest_size() -> None:
    jobs = [of_command(str(number), ["echo", "x" * 99]) for number in range(5)]
    pieces = collect(jobs, bounds(), 250)
    assert [len(piece.text) for piece in pieces] == [100, 100, 0, 0, 0]
    assert "greatest size" in pieces[2].note
