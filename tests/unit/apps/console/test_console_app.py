"""The console's requests: who may see what, what a wrong password costs, what leaks: nothing."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.report_page import (
    page,
)
from starlette.testclient import TestClient

from apps.console import app, attempts, passwords, records
from apps.console.app import Clients, Console, secured
from apps.console.collector import Collector
from apps.console.reading import Reading
from apps.console.sessions import CHECK_SECONDS, Session
from apps.console.settings import Settings
from tests.unit.apps.console.drawn_prometheus import prometheus
from tests.unit.kafka.sasl_broker import SaslBroker
from tests.unit.snapshot_draft import cluster

SITE = "https://console:9443"
DELAY = 0.2
ANNA, OPERATOR = ("anna", "anna's password"), ("operator", "an operator's password")
KAFKA = cluster()["kafka"]
DOWN = UnavailableError("k1:9093: Connection refused")
BROKEN = RuntimeError("a secret in a message")
FORBIDDEN = records.RecordsError("you may not read topic secrets", 403)


class Given(Clients):
    """Users of Kafka, without one."""

    def accepts(self, user: str, password: str) -> bool:
        if user == "down":
            raise DOWN
        return (user, password) == ANNA


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "FAILED_SECONDS", DELAY)
    monkeypatch.setattr(passwords, "_P", 1)
    monkeypatch.setattr(passwords, "_N", 16)


@pytest.fixture
def settings() -> Settings:
    users = {OPERATOR[0]: passwords.hashed(OPERATOR[1])}
    return Settings("production", page(), "", {}, users=users, viewers=("anna", "down"))


@pytest.fixture
def console(settings: Settings) -> Console:
    collector = Collector(settings, {"kafka": lambda: KAFKA})
    collector.read("kafka")
    clients = Given(Connection(("k1:9093",), SaslBroker.properties), "SCRAM-SHA-512")
    return Console(settings, clients, collector)


@pytest.fixture
def client(console: Console) -> Iterator[TestClient]:
    application = secured(console.application())
    with TestClient(application, SITE, raise_server_exceptions=False) as client:
        yield client


def sign_in(client: TestClient, user: str, password: str, **options: Any) -> Any:
    return client.post("/api/sign-in", json={"user": user, "password": password}, **options)


def test_nothing_of_the_cluster_is_shown_to_nobody(client: TestClient) -> None:
    shown = client.get("/")
    assert shown.status_code == 200
    assert "topic-0001" not in shown.text
    for path in ("/api/snapshot", "/api/records?topic=topic-0001"):
        response = client.get(path)
        assert (response.status_code, response.json()) == (401, {"message": "Sign in first."})
    assert client.get("/api/snapshot", headers={"Cookie": f"{app.COOKIE}=x"}).status_code == 401


@pytest.mark.parametrize("user", [ANNA, OPERATOR], ids=["of-kafka", "of-the-console"])
def test_a_user_signs_in_and_out(user: tuple[str, str], client: TestClient) -> None:
    response = sign_in(client, *user)
    assert response.json() == {"user": user[0]}
    (cookie,) = response.headers.get_list("set-cookie")
    words = {attribute.strip().lower() for attribute in cookie.split(";")}
    assert cookie.startswith("__Host-")
    assert {"httponly", "secure", "samesite=strict", "path=/"} <= words
    snapshot = client.get("/api/snapshot").json()
    assert snapshot["name"] == "production"
    assert snapshot["kafka"]["topics"] == KAFKA["topics"]
    assert client.post("/api/sign-out").status_code == 200
    assert client.get("/api/snapshot").status_code == 401
    headers = {"Cookie": cookie.partition(";")[0]}
    assert client.get("/api/snapshot", headers=headers).status_code == 401, "the session has ended"


@pytest.mark.parametrize(
    ("user", "password"),
    [("anna", "wrong"), ("nobody", "wrong"), ("operator", "wrong"), ("anna", OPERATOR[1])],
)
def test_a_wrong_password_is_slow_and_logged_and_gives_no_hint(
    user: str, password: str, client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    begun = time.monotonic()
    response = sign_in(client, user, password)
    assert time.monotonic() - begun >= DELAY
    assert (response.status_code, response.json()) == (401, {"message": app.REFUSED})
    assert "set-cookie" not in response.headers
    assert repr(user) in caplog.text
    assert password not in caplog.text


def test_no_password_is_in_a_log_or_in_a_session(
    client: TestClient, console: Console, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    sign_in(client, *ANNA)
    assert ANNA[1] not in caplog.text
    assert ANNA[1] not in repr(vars(console.sessions))


def test_passwords_cannot_be_tried_out(
    client: TestClient, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(app, "FAILED_SECONDS", 0.0)
    for _ in range(attempts.MOST_FAILED):
        assert sign_in(client, "anna", "wrong").status_code == 401
    response = sign_in(client, *ANNA)
    assert (response.status_code, response.json()) == (429, {"message": app.BUSY})
    assert len(console.sessions) == 0


def test_a_line_break_in_a_name_makes_no_line_of_the_log(
    client: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    sign_in(client, "x\nsign-in of 'root' from 1.2.3.4", "wrong")
    (line,) = (record.getMessage() for record in caplog.records if record.name == "console")
    assert "\n" not in line


def test_a_dead_cluster_lets_its_own_users_in_alone(client: TestClient) -> None:
    response = sign_in(client, "down", "x")
    assert (response.status_code, response.json()) == (503, {"message": app.UNAVAILABLE})
    assert sign_in(client, *OPERATOR).status_code == 200


@pytest.mark.parametrize("viewers", [(), ("berta",)])
def test_viewers_are_those_of_the_settings(viewers: tuple[str, ...], console: Console) -> None:
    object.__setattr__(console.settings, "viewers", viewers)
    with TestClient(secured(console.application()), SITE) as client:
        assert sign_in(client, *ANNA).status_code == 401
        assert sign_in(client, *OPERATOR).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://elsewhere"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
)
def test_other_sites_cannot_sign_in_or_out(
    headers: Mapping[str, str], client: TestClient, console: Console
) -> None:
    assert sign_in(client, *ANNA, headers=headers).status_code == 403
    assert sign_in(client, *ANNA, headers={"Origin": SITE}).status_code == 200
    assert client.post("/api/sign-out", headers=headers).status_code == 403
    assert len(console.sessions) == 1


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"user": "anna"}', "application/json", 400),
        (b'{"user": 1, "password": "x"}', "application/json", 400),
        (b'{"user": "", "password": "x"}', "application/json", 400),
        (b'{"user": "a\\u0000", "password": "x"}', "application/json", 400),
        (b'{"user": "\\ud800", "password": "x"}', "application/json", 400),
        (b'{"user": "%s", "password": "x"}' % (b"a" * 300), "application/json", 400),
        (b"[" * 4000, "application/json", 400),
        (b" " * 5000, "application/json", 413),
        (b"user=anna&password=x", "application/x-www-form-urlencoded", 415),
        (b'{"user": "anna", "password": "x"}', "text/plain", 415),
    ],
)
def test_a_strange_body_is_refused(body: bytes, kind: str, status: int, client: TestClient) -> None:
    response = client.post("/api/sign-in", content=body, headers={"Content-Type": kind})
    assert response.status_code == status
    assert response.json()["message"]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nothing", 404),
        ("GET", "/../etc/passwd", 404),
        ("GET", "/api/sign-in", 405),
        ("POST", "/", 405),
        ("DELETE", "/api/snapshot", 405),
        ("TRACE", "/", 405),
    ],
)
def test_what_is_not_there_has_a_clear_answer(
    method: str, path: str, status: int, client: TestClient
) -> None:
    response = client.request(method, path)
    assert response.status_code == status
    assert response.json()["message"]


def test_every_answer_has_the_headers_of_a_closed_page(client: TestClient) -> None:
    for path in ("/", "/nothing", "/api/snapshot"):
        headers = client.get(path).headers
        assert app.HEADERS.items() <= {
            name.title(): value for name, value in headers.items()
        }.items() | {(name, headers[name]) for name in app.HEADERS}
        assert "server" not in headers
    assert client.get("/").headers["Content-Security-Policy"] == app.PAGE_POLICY


def test_an_error_of_its_own_leaks_nothing(
    client: TestClient, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(client, *ANNA)

    def broken() -> bytes:
        raise BROKEN

    monkeypatch.setattr(console.collector, "body", broken)
    response = client.get("/api/snapshot")
    assert response.status_code == 500
    assert "secret" not in response.text
    assert response.headers["cache-control"] == "no-store"


# Records


def test_records_are_read_as_the_user(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[tuple[Connection, records.Request]] = []

    def answer(_: Reading, connection: Connection, request: records.Request) -> dict[str, Any]:
        read.append((connection, request))
        return {"first": 0, "end": 0, "records": []}

    monkeypatch.setattr(Reading, "read", answer)
    sign_in(client, *ANNA)
    query = "topic=topic-0001&partition=3&offset=12&count=100000"
    assert client.get(f"/api/records?{query}").json()["records"] == []
    ((connection, request),) = read
    assert connection.settings()["sasl_plain_username"] == "anna"
    assert connection.settings()["sasl_plain_password"] == ANNA[1]
    assert request == records.Request("topic-0001", 3, 12, 100, 1_000_000)


def test_a_user_of_the_console_alone_reads_no_records(client: TestClient) -> None:
    sign_in(client, *OPERATOR)
    response = client.get("/api/records?topic=topic-0001")
    assert response.status_code == 403
    assert "users of Kafka" in response.json()["message"]


def test_a_refusal_of_kafka_is_passed_on(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> dict[str, Any]:
        raise FORBIDDEN

    monkeypatch.setattr(Reading, "read", refuse)
    sign_in(client, *ANNA)
    response = client.get("/api/records?topic=secrets")
    assert (response.status_code, response.json()) == (
        403,
        {"message": "you may not read topic secrets"},
    )


@pytest.mark.parametrize(
    "query",
    [
        "",
        "topic=",
        "topic=" + "a" * 300,
        "topic=t&partition=-1",
        "topic=t&partition=x",
        "topic=t&offset=1e3",
        "topic=t&offset=" + "9" * 30,
        "topic=t&count=%EF%BC%91",
    ],
)
def test_strange_parameters_are_refused(query: str, client: TestClient) -> None:
    sign_in(client, *ANNA)
    response = client.get(f"/api/records?{query}")
    assert response.status_code == 400
    assert response.json()["message"].startswith("The parameter")


def test_a_password_that_kafka_no_longer_accepts_ends_the_session(
    client: TestClient, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> dict[str, Any]:
        raise records.RecordsError("sign in again", records.SIGNED_OUT)  # noqa: TRY003 - as the reader

    monkeypatch.setattr(Reading, "read", refuse)
    sign_in(client, *ANNA)
    assert client.get("/api/records?topic=t").status_code == 401
    assert client.get("/api/snapshot").status_code == 401
    assert len(console.sessions) == 0


# Charts

PANEL = {"title": "P", "unit": "short", "queries": [{"query": "aliveWorkers"}]}
VIEW = {"name": "v", "title": "V", "needs": [], "panels": [PANEL]}
CHART = "view=v&panel=P&seconds=900"


@pytest.fixture
def charts(settings: Settings) -> Iterator[TestClient]:
    with prometheus() as connection:
        hosts = ({"name": "k1", "groups": []},)
        with_prometheus = replace(
            settings, prometheus=connection, views=json.dumps([VIEW]), hosts=hosts
        )
        console = Console(
            with_prometheus, Given(Connection(("k1:9093",)), "X"), Collector(with_prometheus, {})
        )
        with TestClient(secured(console.application()), SITE) as client:
            yield client


def test_a_chart_is_for_users_alone(charts: TestClient) -> None:
    assert charts.get(f"/api/chart?{CHART}").status_code == 401
    sign_in(charts, *OPERATOR)
    for query in (CHART, f"{CHART}&host=k1"):
        chart = charts.get(f"/api/chart?{query}").json()
        assert len(chart["series"]) == 2
        assert chart["svg"].startswith("<svg")
    assert charts.get("/api/chart?group=g&seconds=900").json()["series"] == []
    (view,) = charts.get("/api/snapshot").json()["views"]
    assert [panel["title"] for panel in view["panels"]] == ["P"]


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("", 400),
        ("view=v&panel=P", 400),
        ("view=v&panel=P&seconds=901", 400),
        ("view=v&panel=P&seconds=x", 400),
        ("view=w&panel=P&seconds=900", 404),
        ("view=v&panel=Q&seconds=900", 404),
        (f"{CHART}&host=.*", 404),
    ],
)
def test_a_chart_that_is_not_there_has_a_clear_answer(
    query: str, status: int, charts: TestClient
) -> None:
    sign_in(charts, *OPERATOR)
    response = charts.get(f"/api/chart?{query}")
    assert response.status_code == status
    assert response.json()["message"]


def test_without_prometheus_there_is_a_reason(client: TestClient, settings: Settings) -> None:
    sign_in(client, *OPERATOR)
    assert client.get("/api/chart?group=g&seconds=900").status_code == 404
    without_prometheus = replace(settings, prometheus={"address": "127.0.0.1:1"})
    console = Console(
        without_prometheus, Given(Connection(("k1:9093",)), "X"), Collector(without_prometheus, {})
    )
    with TestClient(secured(console.application()), SITE) as unconnected:
        sign_in(unconnected, *OPERATOR)
        response = unconnected.get("/api/chart?group=g&seconds=900")
    assert response.status_code == 503
    assert "Prometheus" in response.json()["message"]


# Against a listener of Kafka's protocol


def test_kafka_itself_decides_on_a_password(settings: Settings) -> None:
    with SaslBroker(dict([ANNA])) as broker:
        connection = Connection((broker.address,), broker.properties)
        clients = Clients(connection, broker.mechanism)
        console = Console(settings, clients, Collector(settings, {}))
        with TestClient(secured(console.application()), SITE) as client:
            assert sign_in(client, "anna", "wrong").status_code == 401
            assert sign_in(client, *ANNA).status_code == 200
    with TestClient(secured(console.application()), SITE) as client:
        assert sign_in(client, *ANNA).status_code == 503


def sessions(console: Console) -> list[Session]:
    return [*console.sessions._found.values()]


def test_a_session_ends_with_the_password_or_the_user(settings: Settings) -> None:
    with SaslBroker(dict([ANNA])) as broker:
        clients = Clients(Connection((broker.address,), broker.properties), broker.mechanism)
        console = Console(settings, clients, Collector(settings, {}))
        with TestClient(secured(console.application()), SITE) as client:

            def status() -> int:
                for session in sessions(console):
                    session.checked -= CHECK_SECONDS
                return client.get("/api/snapshot").status_code

            for users in ({"anna": "another password"}, {"berta": ANNA[1]}):
                broker.users = dict([ANNA])
                assert sign_in(client, *ANNA).status_code == 200
                assert status() == 200
                broker.users = users
                assert client.get("/api/snapshot").status_code == 200, "not checked each time"
                assert status() == 401
                assert not sessions(console)
            broker.users = dict([ANNA])
            assert sign_in(client, *ANNA).status_code == 200
            assert sign_in(client, *OPERATOR).status_code == 200
    with TestClient(secured(console.application()), SITE, cookies=client.cookies) as client:
        assert status() == 200, "no broker answers: nothing is known"
    assert len(sessions(console)) == 2


def test_without_passwords_in_kafka_nobody_of_it_signs_in(settings: Settings) -> None:
    clients = Clients(Connection(("127.0.0.1:1",), {}), "")
    console = Console(settings, clients, Collector(settings, {}))
    with TestClient(secured(console.application()), SITE) as client:
        assert sign_in(client, *ANNA).status_code == 401
        assert sign_in(client, *OPERATOR).status_code == 200
        assert json.loads(client.get("/api/snapshot").content)["hosts"] == []
