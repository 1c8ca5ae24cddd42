"""The page of a cluster in a real browser: wide and narrow, light and dark, by keyboard alone."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.report_page import (
    page,
)

from apps.console import views
from apps.console.reading import Reading
from tests.support.browser import Browser, browser
from tests.support.served_console import served
from tests.unit.apps.console.drawn_prometheus import Drawn, prometheus
from tests.unit.snapshot_draft import cluster

VIEWS = (
    "overview",
    "hosts",
    "topics",
    "topics/topic-0001",
    "brokers",
    "brokers/1",
    "groups",
    "groups/dashboards",
    "quorum",
    "connect",
    "schemas",
    "spark",
    "operations",
    "certificates",
)
SIZES = [(1280, 900), (400, 900)]
FIRST_VIEW_SECONDS = 1.0
CONTRAST = 4.5
"""Of text and what is behind it, by level AA of WCAG 2."""
# The least contrast of the texts of a page, each with its color on its background.
LEAST_CONTRAST = """
const light = (color) => {
  const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map((one) => one / 255)
    .map((one) => (one <= 0.03928 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (node) => {
  for (let one = node; one; one = one.parentElement) {
    const color = getComputedStyle(one).backgroundColor;
    if (color !== "rgba(0, 0, 0, 0)") return color;
  }
  return "rgb(255, 255, 255)";
};
const found = [];
for (const node of document.body.querySelectorAll("*")) {
  const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.textContent.trim());
  const unseen = node.closest("script, .skip, .unseen, :disabled") || !node.getClientRects().length;
  if (!own || unseen) continue;
  const [a, b] = [light(getComputedStyle(node).color), light(behind(node))].sort((x, y) => y - x);
  found.push([(a + 0.05) / (b + 0.05), node.textContent.slice(0, 40)]);
}
return found.sort((x, y) => x[0] - y[0])[0];
"""
WHERE = """
const at = document.activeElement, box = at.getBoundingClientRect(), style = getComputedStyle(at);
const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
return {text: at.textContent, id: at.id, tag: at.tagName, label: at.getAttribute("aria-label"),
  seen: box.width > 1 && box.left >= 0 && outlined};
"""
NEWEST = """
const timing = performance.getEntriesByType("navigation")[0];
return timing.loadEventEnd / 1000;
"""


@pytest.fixture(scope="module")
def chromium(address: str) -> Iterator[Browser]:
    """A browser, which ends before the console does: it keeps its connections open."""
    with browser() as chromium:
        yield chromium


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    hostile = cluster(3)
    for topic in hostile["kafka"]["topics"]:
        topic[0] += "<img src=x onerror=document.title='run'>"
    pages: dict[str, dict[str, Any]] = {
        "healthy": cluster(),
        "broker": cluster(lost=3),
        "large": cluster(2000, 10, lost=2),
        "hostile": hostile,
        "dead": {**cluster(0), "kafka": {"error": "no broker answers"}},
        "quorum": cluster(),
    }
    pages["quorum"]["kafka"] |= {"quorum": None, "quorum_error": "no answer in time"}
    for name, snapshot in pages.items():
        (folder / f"{name}.html").write_text(page(snapshot))
    return folder


def show(chromium: Browser, site: Path, name: str, view: str) -> None:
    chromium.open(f"file://{site}/{name}.html#{view}")
    assert not chromium.messages()


def shown(chromium: Browser) -> str:
    return str(chromium.run("return document.querySelector('main').innerText"))


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
@pytest.mark.parametrize("view", VIEWS)
def test_a_view_fits_and_can_be_read(
    view: str, size: tuple[int, int], dark: bool, chromium: Browser, site: Path
) -> None:
    chromium.shape(*size, dark=dark)
    show(chromium, site, "broker", view)
    assert chromium.run("return document.documentElement.scrollWidth") <= size[0]
    assert chromium.run("return document.querySelectorAll('h1').length") == 1
    ratio, text = chromium.run(LEAST_CONTRAST)
    assert ratio >= CONTRAST, text
    back = chromium.run("return getComputedStyle(document.body).backgroundColor")
    assert (back == "rgb(255, 255, 255)") is not dark
    if pictures := os.environ.get("PAGE_PICTURES"):
        name = f"{view.replace('/', '-')}-{size[0]}-{'dark' if dark else 'light'}.png"
        chromium.picture(Path(pictures, name))


def test_a_missing_replica_is_seen(chromium: Browser, site: Path) -> None:
    chromium.shape(*SIZES[0])
    show(chromium, site, "broker", "topics")
    colors = "return [...document.querySelectorAll('canvas')].map((one) => one.ariaLabel)"
    assert [label.rpartition(", ")[2] for label in chromium.run(colors)] == [
        "0 missing",
        "0 missing",
        "48 missing",
    ]
    drawn = """
    const wanted = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
    return [...document.querySelectorAll("canvas")].map((one) => {
      const data = one.getContext("2d").getImageData(0, 0, one.width, one.height).data;
      let count = 0;
      for (let at = 0; at < data.length; at += 4) {
        const parts = [0, 1, 2].map((i) => data[at + i].toString(16).padStart(2, "0"));
        if ("#" + parts.join("") === wanted) count += 1;
      }
      return count;
    });
    """
    first, second, lost = chromium.run(drawn)
    assert (first, second) == (0, 0)
    assert lost > 48
    show(chromium, site, "broker", "topics/topic-0001")
    assert chromium.run("return document.querySelectorAll('td.lost').length") == 8
    show(chromium, site, "healthy", "topics/topic-0001")
    assert chromium.run("return document.querySelectorAll('td.lost').length") == 0


def test_disks_and_busy_partitions_are_there(chromium: Browser, site: Path) -> None:
    chromium.shape(*SIZES[0])
    show(chromium, site, "broker", "brokers")
    text = shown(chromium)
    assert "broker 3 does not show its disks" in text
    assert "Where producers write most" in text
    assert "90 %" in text
    chromium.run("document.querySelector('a[href=\"#brokers/1\"]').click()")
    text = shown(chromium)
    assert "/var/lib/kafka/data" in text
    assert "48 replicas, 32 of them lead" in text
    show(chromium, site, "large", "brokers/1")
    # Ten on its disk, and the first page of all.
    assert chromium.run("return document.querySelectorAll('tbody tr').length") == 60


def test_a_large_cluster_is_there_at_once(chromium: Browser, site: Path) -> None:
    chromium.shape(*SIZES[0])
    show(chromium, site, "large", "topics")
    assert chromium.run(NEWEST) < FIRST_VIEW_SECONDS
    assert "2,000 topics, 20,000 partitions" in shown(chromium)
    assert chromium.run("return document.querySelectorAll('tbody tr').length") == 50
    begun = time.monotonic()
    chromium.run("document.querySelector('#topics-search').focus()")
    chromium.press("1999")
    assert "1 to 1 of 1 (2,000 in all)" in shown(chromium)
    assert time.monotonic() - begun < FIRST_VIEW_SECONDS


def test_the_keyboard_reaches_everything(chromium: Browser, site: Path) -> None:
    chromium.shape(*SIZES[0])
    show(chromium, site, "large", "overview")
    chromium.press("Tab")
    assert chromium.run(WHERE)["text"] == "Skip to the content"
    chromium.press("Enter")
    assert chromium.run(WHERE)["id"] == "main"
    show(chromium, site, "large", "overview")
    reached = []
    for _ in range(4):
        chromium.press("Tab")
        where = chromium.run(WHERE)
        reached.append(where["text"])
        assert where["seen"], where
    assert reached[1:] == ["Overview", "Hosts", "Topics"]
    chromium.press("Enter")
    assert chromium.run(WHERE)["tag"] == "H1"
    visited = []
    for _ in range(6):
        chromium.press("Tab")
        where = chromium.run(WHERE)
        visited.append(where["id"] or where["text"] or where["label"])
        assert where["seen"], where
    assert visited[:3] == ["topics-search", "topics-filter", "Next page"]
    chromium.run("[...document.querySelectorAll('button')].pop().focus()")
    chromium.press("Enter")
    assert "51 to 100 of 2,000" in shown(chromium)


def test_a_name_is_never_run(chromium: Browser, site: Path) -> None:
    show(chromium, site, "hostile", "topics")
    assert chromium.run("return document.title") == "Topics - production"
    assert chromium.run("return document.images.length") == 0
    assert "<img src=x" in shown(chromium)


@pytest.mark.parametrize(
    ("name", "view", "text"),
    [
        ("dead", "overview", "Kafka cannot be reached: no broker answers"),
        ("dead", "topics", "Kafka cannot be reached"),
        ("quorum", "quorum", "The quorum does not answer"),
        ("quorum", "topics", "6 topics, 48 partitions"),
        ("healthy", "nothing", "There is no such view."),
        ("healthy", "topics/none", "There is no topic none."),
        ("healthy", "topics/%E0%A4%A", "There is no topic"),
        ("healthy", "groups/none", "There is no group none."),
    ],
)
def test_what_is_not_there_is_said(
    name: str, view: str, text: str, chromium: Browser, site: Path
) -> None:
    show(chromium, site, name, view)
    assert text in shown(chromium)


# Served by the console

USER, PASSWORD = "anna", "anna's password"
DRAWN: Drawn = {
    "kafka_consumer_group_lag_records": [({"topic": "topic-0001"}, 3)],
    "offlinepartitionscount": [({}, 2)],
    "topic_bytesin_total": [({"topic": f"topic-{number:04}"}, number) for number in range(2000)],
    "bytesin_total": [({"host": f"k{number}"}, 1e6 * number) for number in (1, 2, 3)],
    'leadercount{host=~"k2"': [({"host": "k2"}, 40)],
    "leadercount": [({"host": f"k{number}"}, 40) for number in (1, 2)],
}
LIVE_VIEWS = (
    "overview",
    "alerts",
    "metrics/cluster",
    "metrics/broker",
    "groups/dashboards",
    "spark",
    "topics/topic-0001",
    "operations",
    "certificates",
    "hosts",
)
DOWN = RestError("Prometheus: Connection refused")
ALL_READ = "return !document.querySelector('[aria-busy]')"
READ: dict[str, Any] = {
    "first": 0,
    "end": 9000,
    "problem": "Records from offset 9000 on cannot be shown: <too large>.",
    "records": [
        {
            "offset": 8999,
            "timestamp": 1764200000000,
            "headers": [],
            "key": {"size": 3, "text": "<b>"},
            "value": {
                "size": 7,
                "hex": "00 00 00 00 07 02 ff",
                "schema": 7,
                "undecoded": "no schema",
            },
        },
        {
            "offset": 8998,
            "timestamp": 1764200000000,
            "headers": [],
            "key": None,
            "value": {"size": 30, "text": '{"tail": "N1"}', "schema": 8},
        },
    ],
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    alert = {"name": "DiskFull", "severity": "page", "state": "firing", "where": "k1"}
    alerts = {"alerts": [{**alert, "since": "2026-11-27T01:00:00Z", "summary": "full in 3 h"}]}
    snapshot = {**cluster(lost=3), "alerts": alerts}
    snapshot["operations"][0]["verdict"] = "PASS"
    streams = {"application": "flights", "query": "planes", "input": 12.5, "batch": 0.4}
    snapshot["spark"]["streams"] = [streams]
    folder = tmp_path_factory.mktemp("console")
    with (
        prometheus(DRAWN) as server,
        served(folder, snapshot, {USER: PASSWORD}, server) as url,
    ):
        yield url


def sign_in(chromium: Browser, address: str, view: str, password: str = PASSWORD) -> None:
    chromium.open(f"{address}#{view}")
    chromium.settle("return document.querySelector('h1') !== null")
    if not chromium.run("return document.querySelector('#user')"):
        sign_out(chromium)
    chromium.press(USER, "Tab", password, "Enter")
    message = "document.querySelector('[role=alert]').innerText"
    chromium.settle(f"return !document.querySelector('#user') || {message}")


def sign_out(chromium: Browser) -> None:
    chromium.run("[...document.querySelectorAll('header button')].pop().click()")
    chromium.settle("return document.querySelector('#user') !== null")


def test_a_wrong_password_is_said_at_the_form(chromium: Browser, address: str) -> None:
    chromium.shape(*SIZES[0])
    sign_in(chromium, address, "topics", "wrong")
    assert "not accepted" in shown(chromium)
    assert chromium.run(WHERE)["id"] == "password"
    assert not chromium.run("return document.querySelector('#password').value")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_the_console_shows_the_cluster_to_its_users(
    size: tuple[int, int],
    dark: bool,
    chromium: Browser,
    address: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Reading, "read", lambda *_: READ)
    chromium.shape(*size, dark=dark)
    sign_in(chromium, address, "overview")
    assert "alert DiskFull of k1 fires: full in 3 h" in shown(chromium)
    for view in LIVE_VIEWS:
        chromium.run(f"location.hash = '{view}'")
        chromium.settle(ALL_READ)
        if view.startswith("topics"):
            chromium.run("document.querySelector('form button').click()")
            chromium.settle("return document.querySelectorAll('pre').length > 0")
        assert chromium.run("return document.documentElement.scrollWidth") <= size[0]
        ratio, text = chromium.run(LEAST_CONTRAST)
        assert ratio >= CONTRAST, text
        if view.startswith("groups"):
            assert (
                chromium.run("return document.querySelectorAll('svg.chart path.line').length") == 1
            )
            assert "topic-0001: 3" in shown(chromium)
        if view == "operations":
            assert "PASS" in shown(chromium)
        if view.startswith("topics"):
            assert "<b>" in shown(chromium)
            assert "schema 7: no schema, not text" in shown(chromium)
            assert READ["problem"] in shown(chromium)
            assert '{"tail": "N1"}' in shown(chromium)
        if pictures := os.environ.get("PAGE_PICTURES"):
            name = f"live-{view.replace('/', '-')}-{size[0]}-{'dark' if dark else 'light'}.png"
            chromium.picture(Path(pictures, name))
    assert not [message for message in chromium.messages() if "401" not in message]
    sign_out(chromium)
    assert "DiskFull" not in shown(chromium)


def test_charts_are_chosen_with_the_keyboard(chromium: Browser, address: str) -> None:
    chromium.shape(*SIZES[0])
    sign_in(chromium, address, "metrics/cluster")
    chromium.settle(ALL_READ)
    assert "✕ 2" in shown(chromium), "more offline partitions than there may be"
    assert "No data." in shown(chromium)
    lines = "return document.querySelectorAll('svg.chart path.line').length"
    assert chromium.run(lines) == 3
    chromium.run("location.hash = 'metrics/broker'")
    chromium.settle(ALL_READ)
    unfiltered = chromium.run(lines)
    chromium.run("document.querySelector('#chart-host').focus()")
    chromium.press("k2")
    chromium.settle("return document.querySelector('#chart-host').value === 'k2'")
    chromium.settle(ALL_READ)
    where = chromium.run(WHERE)
    assert (where["id"], where["seen"]) == ("chart-host", True)
    assert 0 < chromium.run(lines) < unfiltered
    chromium.run("location.hash = 'metrics/none'")
    chromium.settle("return document.querySelector('main').innerText.includes('no view none')")
    sign_out(chromium)


def test_of_many_series_the_largest_are_shown_with_their_number(
    chromium: Browser, address: str
) -> None:
    sign_in(chromium, address, "metrics/topics")
    chromium.settle(ALL_READ)
    assert f"{views.MOST_LINES} of 2,000 series" in shown(chromium)
    assert "topic-1999" in shown(chromium)
    assert "topic-0001" not in shown(chromium)
    sign_out(chromium)


def test_a_prometheus_that_is_down_is_said(
    chromium: Browser, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise DOWN

    monkeypatch.setattr(views, "shown", refuse)
    sign_in(chromium, address, "metrics/topics")
    chromium.settle(ALL_READ)
    assert str(DOWN) in shown(chromium)
    sign_out(chromium)


def test_after_the_end_of_a_session_nothing_is_shown(chromium: Browser, address: str) -> None:
    sign_in(chromium, address, "topics")
    assert "topic-0001" in shown(chromium)
    chromium.run("return fetch('api/sign-out', {method: 'POST'}).then(() => true)")
    chromium.run("document.querySelector('#refresh').click()")
    chromium.settle("return document.querySelector('#user') !== null")
    assert "topic-0001" not in shown(chromium)
