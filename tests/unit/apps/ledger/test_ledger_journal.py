"""The ledger's files: what is written is read back, and damage is distinguished from a torn end."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from apps.ledger import status
from apps.ledger.__main__ import main
from apps.ledger.history import Commit, Event, Read, Sample, Send
from apps.ledger.journal import Journal, JournalError, load

HEADER = {"id": "r", "topic": "t", "partitions": 1, "rate": 2.0, "wall": 1000.0, "monotonic": 10.0}
PRODUCED: list[Mapping[str, Any]] = [
    {"started": 10.0},
    {"invoke": [[0, n] for n in range(6)], "session": "p1", "t": 10.0},
    {"ok": [[0, 0, 0, 10.1, 10.2], [0, 1, -1, 10.3, 10.4]], "session": "p1"},
    {"info": [[0, 2, 10.5, 11.0, "timed out"]], "session": "p1"},
    {"fail": [[0, 3, 10.6, 11.1, "too large"]], "session": "p1"},
    {"trouble": "timed out"},
    {"unsent": [[0, 5]], "session": "p1", "t": 11.2},
    {"invoke": [[0, 0]], "session": "p2", "t": 11.3},
    {"ok": [[0, 0, 2, 11.4, 11.5]], "session": "p2"},
    {"stopped": 12.0},
]
READ = ["r/p1/0/0", "r/p1/0/1", "r/p2/0/0"]
ROWS = [[0, offset, value] for offset, value in enumerate(READ)]
END: list[Mapping[str, Any]] = [{"ends": [[0, 3]]}, {"done": True}]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    files: dict[str, list[Mapping[str, Any]]] = {
        "producer": PRODUCED,
        "consumer-assign": [{"start": [[0, 0]], "end": [[0, 1]], "t": 10.0}, {"reads": ROWS}],
        "consumer-group": [{"reads": ROWS[:2]}, {"commits": [[0, 2]]}, {"reads": ROWS[2:]}],
        "final-1": [{"error": "not yet"}, {"reads": ROWS}],
        "final-2": [{"reads": ROWS}],
    }
    for name, lines in files.items():
        journal = Journal(tmp_path / f"{name}.jsonl", HEADER)
        journal.write(lines if name == "producer" else [*lines, *END])
        journal.close()
    event = {"node": "k1", "id": 1, "start": 1000.5, "end": 1001, "stop_seconds": 0.2}
    (tmp_path / "events.jsonl").write_text(json.dumps({**event, "gate_seconds": None}) + "\n")
    return tmp_path


def test_what_was_written_is_read_back(folder: Path) -> None:
    history = load(folder)
    assert list(history.sends) == [
        Send("r/p1/0/0", "p1", 0, 0, 10.1, "ok", 10.2, 0),
        Send("r/p1/0/1", "p1", 0, 1, 10.3, "ok", 10.4, None),
        Send("r/p1/0/2", "p1", 0, 2, 10.5, "info"),
        Send("r/p1/0/3", "p1", 0, 3, 10.6, "fail"),
        Send("r/p1/0/4", "p1", 0, 4, 10.0, "info"),
        Send("r/p2/0/0", "p2", 0, 0, 11.4, "ok", 11.5, 2),
    ]
    assert [(r.name, r.kind, r.done, len(r.reads)) for r in history.readers] == [
        ("consumer-assign", "assign", True, 3),
        ("consumer-group", "group", True, 3),
        ("final-1", "final", True, 3),
        ("final-2", "final", True, 3),
    ]
    assert history.readers[0].reads[2] == Read(0, 2, "r/p2/0/0")
    assert list(history.commits) == [Commit(0, 2, after=2)]
    assert list(history.samples) == [Sample(10.0, {0: 0}, {0: 1})]
    assert list(history.events) == [Event("k1", 1, "change", 1000.5, 1001.0, {"stop": 0.2})]
    event = {"node": "k1", "start": 1, "end": 2, "least_acks": 0, "detail": "cut off"}
    append(folder / "events.jsonl", json.dumps(event) + "\n")
    assert load(folder).events[1] == Event(
        "k1", None, "change", 1.0, 2.0, least_acks=0, detail="cut off"
    )
    assert history.run.moment(1000.5) == pytest.approx(10.5)
    assert (history.troubles, history.started, history.stopped) == (["timed out"], 10.0, 12.0)


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


@pytest.mark.parametrize("name", ["producer", "consumer-group", "final-2", "events"])
def test_a_torn_last_line_is_left_out(folder: Path, name: str) -> None:
    append(folder / f"{name}.jsonl", '{"ok": [[0, 4, 3, 1')
    assert load(folder).sends[4].outcome == "info"


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("producer", "{", "producer.jsonl:12: "),
        ("producer", "[]", "producer.jsonl:12: not an object"),
        ("producer", '{"ok": [[0, 99, 3, 1, 1]], "session": "p1"}', "producer.jsonl: KeyError"),
        ("final-1", '{"reads": [[0]]}', "final-1.jsonl: ValueError"),
        ("events", '{"node": "k1"}', "events.jsonl: KeyError: 'start'"),
    ],
)
def test_a_damaged_file_is_named(folder: Path, name: str, line: str, message: str) -> None:
    append(folder / f"{name}.jsonl", line + "\n")
    with pytest.raises(JournalError, match="^" + message.replace("[", r"\[")):
        load(folder)


def test_a_directory_without_a_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JournalError, match="holds no ledger"):
        load(tmp_path)


def test_a_file_is_never_continued(folder: Path) -> None:
    with pytest.raises(FileExistsError):
        Journal(folder / "producer.jsonl", HEADER)


# The commands


def check(folder: Path, *words: str) -> int:
    return main(["check", str(folder), *words])


def test_the_exit_code_of_check_is_the_verdict(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(folder, "--least-acks", "3") == 0
    assert capsys.readouterr().out.startswith("PASS: 3 records acknowledged of 6 sent")
    document = json.loads((folder / "report.json").read_text())
    assert (document["verdict"], document["counts"]["lost"], document["counts"]["sessions"]) == (
        "PASS",
        0,
        2,
    )
    assert check(folder) == 2
    assert "restart" not in (text := (folder / "report.txt").read_text())
    assert text.startswith("UNKNOWN")
    (folder / "events.jsonl").unlink()
    assert check(folder) == 2
    assert check(folder, "--no-expect-changes") == 0
    for name in ("final-1", "final-2"):
        text = (folder / f"{name}.jsonl").read_text().replace(',[0,1,"r/p1/0/1"]', "")
        (folder / f"{name}.jsonl").write_text(text)
    assert check(folder) == 1
    assert json.loads((folder / "report.json").read_text())["counts"]["lost"] == 1


def test_what_cannot_be_judged_is_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check(tmp_path) == 2
    assert main(["stop", str(tmp_path)]) == 2
    assert capsys.readouterr().err.count("UNKNOWN: ") == 2


@pytest.mark.parametrize(
    ("state", "code", "message"),
    [
        ({"state": "done", "verdict": "FAIL"}, 1, ""),
        ({"state": "failed", "reason": "no broker"}, 2, "no broker"),
        ({"state": "running", "pid": 2**22 + 1}, 2, "ended in state running"),
    ],
)
def test_stop_returns_what_became_of_the_run(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    state: dict[str, Any],
    code: int,
    message: str,
) -> None:
    check(folder)
    status.write(folder / status.STATUS, json.dumps({"pid": 1, **state}))
    assert main(["stop", str(folder)]) == code
    assert message in capsys.readouterr().err
    assert (folder / status.STOP).exists()


def test_a_process_that_waits_to_be_reaped_is_gone() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert status.alive(process.pid)
        assert process.stdin
        process.stdin.write(b"\n")
        process.stdin.close()
        for _ in range(1000):
            if not status.alive(process.pid):
                break
            subprocess.run([sys.executable, "-S", "-E", "-c", ""], check=True)
        assert process.returncode is None
        assert not status.alive(process.pid)
