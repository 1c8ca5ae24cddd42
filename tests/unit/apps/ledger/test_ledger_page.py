"""The report of a suite of faults: its numbers are the ledger's, and it holds whatever happened."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from apps.ledger import faults, page, recorded_runs
from apps.ledger.__main__ import main
from apps.ledger.faults import Fault
from apps.ledger.history import Event, History, Run, Send
from apps.ledger.page import SuiteReport
from apps.ledger.verdict import CLAIM, judge
from docs import generate
from tests.support.lab.topology import ROOT
from tests.unit.apps.ledger.faults_draft import KILL, failed, put, skipped, suite
from tests.unit.apps.ledger.ledger_draft import WALL, Draft, drafted, remove

CUT = replace(
    KILL,
    number=10,
    name="a broker alone",
    node="b2",
    start=WALL + 2.5,
    healed=None,
    healthy=WALL + 3,
)


@pytest.fixture
def draft() -> Draft:
    return drafted(Random(3))


def reported(draft: Draft, *made: Fault, least_acks: int | None = None) -> SuiteReport:
    history = draft.history()
    return page.together(suite(*made), history, judge(history, least_acks=least_acks))


def parsed(report: SuiteReport) -> ET.Element:
    """The page, which is well-formed XML too."""
    return ET.fromstring(page.as_html([report]))


def text_of(element: ET.Element | None) -> str:
    assert element is not None
    return " ".join("".join(element.itertext()).split())


def by_class(root: ET.Element, name: str) -> str:
    return text_of(root.find(f".//*[@class='{name}']"))


def rows(root: ET.Element) -> list[list[str]]:
    return [[text_of(cell) for cell in row] for row in root.findall(".//tbody/tr")]


# The verdict


def test_pass_needs_the_ledger_and_a_fault(draft: Draft) -> None:
    assert (reported(draft, KILL).state, list(reported(draft, KILL).reasons)) == ("PASS", [])
    assert reported(draft, KILL, skipped(CUT)).state == "PASS"
    for made in ((), (skipped(KILL),)):
        (_,) = reported(draft, *made).reasons
        assert reported(draft, *made).state == "UNKNOWN"
    unproven = reported(draft, KILL, least_acks=100_000)
    assert unproven.state == "UNKNOWN"
    assert "restart of k1" in unproven.reasons[0]


def test_a_failed_fault_fails_whatever_the_ledger_says(draft: Draft) -> None:
    report = reported(draft, KILL, failed(CUT, "it kept its leader"), least_acks=100_000)
    assert report.state == "FAIL"
    for text in ("10", "b2", "it kept its leader"):
        assert text in report.reasons[0]


def test_a_broken_invariant_fails_and_is_shown(draft: Draft) -> None:
    gone = draft.acked(1, 40).value
    for log in draft.logs.values():
        remove(log[1], gone)
    report = reported(draft, KILL)
    root = parsed(report)
    assert report.state == "FAIL"
    assert any("I1" in reason for reason in report.reasons)
    assert by_class(root, "lost") == "1"
    assert gone in text_of(root)
    assert CLAIM not in text_of(root)


# The page


def test_the_page_has_the_ledgers_numbers(draft: Draft) -> None:
    root = parsed(reported(draft, KILL, skipped(CUT)))
    acked = sum(send.outcome == "ok" for send in draft.sends)
    assert by_class(root, "acked") == f"{acked:,}"
    assert [by_class(root, name) for name in ("lost", "reordered", "duplicated")] == ["0"] * 3
    assert by_class(root, "faults") == "1 of 2"
    assert text_of(root.find("head/title")) == "PASS: failover on kraft_dedicated, Kafka 4.3.1"
    assert CLAIM in text_of(root)


def test_each_fault_has_its_row(draft: Draft) -> None:
    report = reported(draft, KILL, failed(CUT, "lost\nits leader"), skipped(CUT))
    first, second, third = rows(parsed(report))
    gap = f"{report.faults[0].gap:.2f} s"
    assert first == [
        "1",
        "0:00",
        KILL.name,
        "b1",
        KILL.proof,
        "1.50 s",
        "10.90 s",
        gap,
        str(report.faults[0].acks),
        "✓ passed",
    ]
    assert second[:5] == ["10", "0:02", "a broker alone", "b2", "lost its leader"]
    assert second[-1] == "✗ failed"
    assert third[1:2] + third[5:] == ["", "–", "10.90 s", "–", "–", "- skipped"]  # noqa: RUF001 - as printed


def test_a_fault_lasts_from_its_start_until_the_cluster_is_healthy() -> None:
    times = [0.5, 1.0, 1.5, 4.0, 4.2, 12.0]
    sends = [Send(f"v{at}", "p", 0, n, at - 0.01, "ok", at, n) for n, at in enumerate(times)]
    history = History(Run("r", "t", 1, 1, WALL, 0.0), sends, (), started=0.0, stopped=12.5)
    stalled = replace(KILL, start=WALL + 1.6, healed=WALL + 2, healthy=WALL + 3.9, longest_gap=0.1)
    before = replace(KILL, start=WALL - 90, healed=WALL - 80, healthy=WALL - 70, longest_gap=7.0)
    report = page.together(suite(stalled, before), history, judge(history))
    assert report.faults[0].gap == pytest.approx(2.5)
    assert report.faults[0].acks == 5
    assert (report.faults[1].gap, report.faults[1].acks) == (7.0, None)
    assert [span.label for span in page.spans(report)] == ["1"]
    assert rows(parsed(report))[1][1] == ""


def test_every_fault_of_the_load_is_shaded_under_its_number(draft: Draft) -> None:
    root = parsed(reported(draft, KILL, failed(CUT, ""), skipped(KILL)))
    windows = root.findall(".//g[@class='window']")
    assert [text_of(window.find("title")) for window in windows] == [
        "10: a broker alone, b2, failed",
        "1: kill -9 of a partition's leader, b1, passed",
    ]
    assert [text_of(window.find("text")) for window in windows] == ["10", "1"]
    # 0.5 of 4 seconds from the left edge of the plot, 1.5 of them wide
    area = windows[1].find("rect")
    assert area is not None
    assert float(area.attrib["x"]) == pytest.approx(78 + 894 / 8, abs=0.1)
    assert float(area.attrib["width"]) == pytest.approx(894 * 3 / 8, abs=0.1)


def test_the_page_needs_nothing_else(draft: Draft) -> None:
    text = page.as_html([reported(draft, KILL)])
    assert not re.search(r"<script|<link|<img|@import|url\(|https?:|\bon\w+=", text)


HOSTILE = "<script>alert('1')</script> & \"quoted\" \x1b[31mred\x00\ud800 ]]>"
HARMLESS = "<script>alert('1')</script> & \"quoted\" \ufffd[31mred\ufffd\ufffd ]]>"


def test_texts_are_escaped_wherever_they_stand(draft: Draft) -> None:
    odd = replace(KILL, name=HOSTILE, node=HOSTILE, proof=HOSTILE, detail=HOSTILE)
    run = suite(odd, failed(odd, HOSTILE), topology=HOSTILE, kafka=HOSTILE)
    run = replace(run, machine=replace(run.machine, kernel=HOSTILE))
    history = draft.history()
    strange = Event(HOSTILE, None, HOSTILE, WALL, None)
    history = replace(history, events=[*history.events, strange])
    report = page.together(run, history, judge(history))
    text = page.as_html([report])
    assert "<script" not in text
    text.encode()
    root = parsed(report)
    assert rows(root)[0][2:4] == [HARMLESS, HARMLESS]
    assert text_of(root).count(HARMLESS) > 10
    assert HARMLESS in text_of(root.find(".//ul[@class='reasons']"))


def test_an_empty_run_is_a_page_too() -> None:
    history = History(Run("r", "t", 3, 200, WALL, 0.0), (), ())
    root = parsed(page.together(suite(), history, judge(history)))
    assert by_class(root, "acked") == "0"
    assert rows(root) == []


def test_a_load_without_an_answer_shows_its_faults() -> None:
    run = Run("r", "t", 1, 200, WALL, 0.0)
    sends = [Send("v", "p", 0, 0, 1.0)]
    history = History(run, sends, (), started=0.0, stopped=30.0)
    report = page.together(suite(KILL), history, judge(history))
    root = parsed(report)
    assert report.state == "UNKNOWN"
    assert len(root.findall(".//g[@class='window']")) == 1
    assert rows(root)[0][-3:] == ["30.00 s", "0", "✓ passed"]


def test_an_hour_with_hundreds_of_faults_stays_small() -> None:
    random = Random(1)
    sends = [
        Send(f"v{n}", "p", 0, n, n / 10, "ok", n / 10 + random.random(), n) for n in range(36_000)
    ]
    history = History(Run("r", "t", 1, 10, WALL, 0.0), sends, (), started=0.0, stopped=3600.0)
    made = [
        replace(KILL, number=n % 30, start=at, healed=at + 5, healthy=at + 9)
        for n in range(400)
        for at in [WALL + 8.9 * n]
    ]
    report = page.together(suite(*made, suite="chaos"), history, judge(history))
    root = parsed(report)
    assert len(rows(root)) == len(root.findall(".//g[@class='window']")) == 400
    line = root.find(".//*[@class='acks-line']")
    assert line is not None
    assert 460 < line.attrib["d"].count("L") <= 2 * 460
    hidden = len(rows(root)) - len(root.findall(".//g[@class='window']/text"))
    assert hidden > 0
    assert f"{hidden} numbers" in text_of(root)
    assert len(page.as_html([report])) < 400_000


def test_runs_come_one_below_the_other(draft: Draft, tmp_path: Path) -> None:
    first, second = reported(draft, KILL), reported(draft, KILL, failed(CUT, "x"))
    page.write([first, second], tmp_path / "both.html")
    root = ET.fromstring((tmp_path / "both.html").read_text())
    articles = root.findall(".//article")
    assert [len(rows(article)) for article in articles] == [1, 2]
    title = text_of(root.find(".//title"))
    assert re.fullmatch(r"PASS: failover on .*; FAIL: failover on .*", title)
    runs = json.loads((tmp_path / "both.json").read_text())["runs"]
    assert runs == [json.loads(json.dumps(page.as_json(report))) for report in (first, second)]


# For machines


def test_the_json_says_what_the_page_says(draft: Draft) -> None:
    report = reported(draft, KILL, failed(CUT, "x"))
    document: dict[str, Any] = json.loads(json.dumps(page.as_json(report)))
    assert (document["verdict"], document["suite"], document["kafka"]) == (
        "FAIL",
        "failover",
        "4.3.1",
    )
    assert document["machine"] == {"cores": 2, "memory_gb": 24, "kernel": "6.1.0"}
    assert [fault["verdict"] for fault in document["faults"]] == ["passed", "failed"]
    assert document["faults"][0]["gap"] == report.faults[0].gap
    assert document["faults"][0]["acks"] == report.faults[0].acks
    assert document["ledger"]["counts"]["acked"] == sum(document["per_second"]["acks"])
    assert document["per_second"]["start"] == pytest.approx(WALL)
    slowest = max(
        latency for latency in document["per_second"]["longest_latency"] if latency is not None
    )
    assert slowest == pytest.approx(document["ledger"]["latency"]["max"])


# The command


@pytest.fixture
def folder(tmp_path: Path, draft: Draft) -> Path:
    place = tmp_path / "ledger"
    place.mkdir()
    put(draft.history(), place)
    faults.save(suite(KILL, CUT), place)
    return place


def test_the_command_writes_page_json_and_summary(
    folder: Path, draft: Draft, capsys: pytest.CaptureFixture[str]
) -> None:
    out, data = folder.parent / "build/failover.html", folder.parent / "failover.json"
    words = ["page", str(folder), "--out", str(out), "--summary", str(data)]
    assert main(words) == 0
    assert capsys.readouterr().out == "PASS\n"
    expected = reported(draft, KILL, CUT)
    assert out.read_text() == page.as_html([expected])
    assert [run["verdict"] for run in json.loads(out.with_suffix(".json").read_text())["runs"]] == [
        "PASS"
    ]
    assert json.loads(data.read_text()) == {"runs": [recorded_runs.run_of(expected)]}
    assert main([*words, "--least-acks", "100000"]) == 0
    assert capsys.readouterr().out.startswith("UNKNOWN\n")
    assert ">UNKNOWN</div>" in out.read_text()


def test_the_command_refuses_what_it_cannot_read(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder.parent / "failover.html"
    (folder / "faults.json").write_text("{}")
    assert main(["page", str(folder), "--out", str(out)]) == 2
    refusal = capsys.readouterr().err
    assert "faults.json" in refusal
    assert "suite" in refusal
    assert not out.exists()


# The documents


def test_faults_of_one_kind_are_one_line_of_the_summary(draft: Draft) -> None:
    slow = replace(KILL, recovery_seconds=9.8765, limit_seconds=12.0)
    run = recorded_runs.run_of(reported(draft, CUT, KILL, slow, skipped(KILL)))
    assert "per_second" not in run
    first, second = run["faults"]
    assert (first["number"], second["number"]) == (1, 10)
    assert (first["times"], first["recovery_seconds"], first["limit_seconds"]) == (3 - 1, 9.877, 12)
    assert first["verdict"] == "passed"
    worst = recorded_runs.run_of(reported(draft, KILL, failed(KILL, ""), skipped(KILL)))
    assert worst["faults"][0]["verdict"] == "failed"
    never = recorded_runs.run_of(reported(draft, skipped(KILL)))
    assert never["faults"][0] == {
        "number": 1,
        "name": KILL.name,
        "times": 0,
        "recovery_seconds": None,
        "limit_seconds": 10.9,
        "gap_seconds": None,
        "verdict": "skipped",
    }


def test_a_run_replaces_the_last_one_of_its_kind_alone(tmp_path: Path, draft: Draft) -> None:
    data = tmp_path / "failover.json"
    old = reported(draft, KILL)
    chaos = replace(old, run=replace(old.run, suite="chaos"))
    for report in (old, chaos, replace(old, run=replace(old.run, date="2026-12-01"))):
        recorded_runs.refresh(data, report)
    runs = json.loads(data.read_text())["runs"]
    assert [(run["suite"], run["date"]) for run in runs] == [
        ("chaos", "2026-11-21"),
        ("failover", "2026-12-01"),
    ]


def test_without_a_run_the_page_says_so() -> None:
    assert generate.results([])


def test_the_documents_show_a_run(draft: Draft) -> None:
    odd = replace(KILL, name="a <b> |\nc")
    report = reported(draft, odd, skipped(CUT))
    lines = generate.results([recorded_runs.run_of(report)])
    assert "### failover on kraft_dedicated, Kafka 4.3.1" in lines
    assert "2026-11-21, 2 cores, 24 GB, kernel 6.1.0: **PASS**." in lines
    acked = report.ledger.counts["acked"]
    assert f"{acked} records acknowledged, 0 lost, 0 reordered, 0 duplicated." in lines
    gap = f"{report.faults[0].gap:.2f} s"
    assert f"| 1 | a &lt;b&gt; \\| c | 1 | 1.50 s | 10.90 s | {gap} | passed |" in lines
    assert "| 10 | a broker alone | 0 |  | 10.90 s |  | skipped |" in lines


def test_what_is_written_by_hand_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "docs/explain/reliability.md"
    path.parent.mkdir(parents=True)
    path.write_text("# By hand\n")
    monkeypatch.setattr(generate, "ROOT", tmp_path)
    for _ in range(2):
        ((_, text),) = generate.reliability().items()
        (nothing,) = generate.results([])
        assert text == f"# By hand\n\n{generate.RESULTS}\n\n{nothing}\n"
        path.write_text(text)


def test_the_claim_of_the_documents_is_the_ledgers() -> None:
    text = (ROOT / "docs/explain/reliability.md").read_text()
    quoted = " ".join(re.findall(r"^> (.*)$", text, flags=re.M))
    assert quoted == CLAIM
