"""The console's requests: the page, its snapshot and charts, signing in and out, records."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
from ansible_collections.millrace.streaming.plugins.module_utils.host.rest import RestError
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.client import (
    UnavailableError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.users import Logins
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from apps.console.panels import Panel

from . import passwords, reading, records, views
from .attempts import Attempts, network
from .collector import Collector
from .prometheus import Prometheus
from .reading import Reading
from .sessions import Session, Sessions
from .settings import Settings

LOG = logging.getLogger("console")
COOKIE = "__Host-console"
FAILED_SECONDS = 2.0
"""After which a failed sign-in is answered, whatever was wrong."""
REFUSED = "This name and password are not accepted."
BUSY = "Too many sign-ins have failed, or run at the same time: try again in some minutes."
UNAVAILABLE = "Kafka does not answer, so that nobody can sign in with its users."
LARGEST_BODY = 4096
LONGEST_NAME = 249
"""Of a user or a topic; Kafka's limit of a topic."""
MOST_CHECKS = 4
"""Of sessions, at the same time."""
MOST_CHARTS = 4
"""That are made at the same time; others wait."""
BODY_SECONDS = 10
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "Strict-Transport-Security": "max-age=31536000",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
PAGE_POLICY = "frame-ancestors 'none'"
"""Beside the policy that the page has in itself: this part counts in a header alone."""
_LONGEST_NUMBER = 19


@dataclass(frozen=True)
class Clients:
    """How users of Kafka connect."""

    connection: Connection
    mechanism: str
    """Empty where they have no passwords."""

    def accepts(self, user: str, password: str) -> bool:
        """Return whether Kafka accepts the password of a user.

        Raises:
            UnavailableError: no broker answers.

        """
        if not self.mechanism:
            return False
        return Logins(self.connection, self.mechanism).accepted(user, password)

    def of(self, session: Session) -> Connection:
        """Return how the user of a session connects."""
        return self.connection.as_user(self.mechanism, session.user, session.password)


class Console:
    """The requests, and what they share."""

    def __init__(self, settings: Settings, clients: Clients, collector: Collector) -> None:
        """Begin with nobody signed in."""
        self.settings, self.clients, self.collector = settings, clients, collector
        self.sessions = Sessions(settings.session_seconds, settings.idle_seconds)
        self.attempts = Attempts()
        self.reading = Reading(settings.registry)
        self._readers = anyio.CapacityLimiter(reading.MOST)
        self._checks = anyio.CapacityLimiter(MOST_CHECKS)
        self._charts = anyio.CapacityLimiter(MOST_CHARTS)
        self._views = {view.name: view for view in views.read(settings.views)}
        self._prometheus = Prometheus(settings.prometheus) if settings.prometheus else None
        # For a name that nobody has the same work is done as for one of the settings.
        self._nobody = passwords.hashed("nobody")

    def application(self) -> Starlette:
        """Return the ASGI application."""
        routes = [
            Route("/", self.page),
            Route("/api/snapshot", self.snapshot),
            Route("/api/records", self.read_records),
            Route("/api/chart", self.chart),
            Route("/api/sign-in", self.sign_in, methods=["POST"]),
            Route("/api/sign-out", self.sign_out, methods=["POST"]),
        ]
        handlers: Any = {HTTPException: _said, Exception: _failed}
        return Starlette(
            routes=[_with_headers(route) for route in routes], exception_handlers=handlers
        )

    async def page(self, _: Request) -> Response:
        """Return the page, without anything of the cluster."""
        return Response(
            self.settings.page,
            media_type="text/html",
            headers={"Content-Security-Policy": PAGE_POLICY},
        )

    async def snapshot(self, request: Request) -> Response:
        """Return the snapshot."""
        await self._session(request)
        body = await anyio.to_thread.run_sync(self.collector.body)
        headers = {"Content-Encoding": "gzip"}
        return Response(body, media_type="application/json", headers=headers)

    async def read_records(self, request: Request) -> Response:
        """Return records of a partition."""
        session = await self._session(request)
        if not session.is_of_kafka:
            raise HTTPException(403, "Records are for users of Kafka: sign in as one.")
        desired = self._records(request)
        try:
            with self.reading.place(session.user, network(_address(request))):
                fetched = await anyio.to_thread.run_sync(
                    self.reading.read, self.clients.of(session), desired, limiter=self._readers
                )
        except records.RecordsError as error:
            if error.status == records.SIGNED_OUT:
                self.sessions.end(request.cookies.get(COOKIE, ""))
            raise HTTPException(error.status, str(error)) from error
        return JSONResponse(fetched)

    async def chart(self, request: Request) -> Response:
        """Return a panel of a view, or the lag of a group."""
        await self._session(request)
        parameters = request.query_params
        seconds = _number(parameters.get("seconds"), "seconds")
        if seconds is None or seconds not in views.RANGES:
            text = f"The parameter seconds is one of {', '.join(map(str, views.RANGES))}."
            raise HTTPException(400, text)
        host = parameters.get("host", "")
        if host and host not in {entry["name"] for entry in self.settings.hosts}:
            raise HTTPException(404, "There is no such host.")
        panel = self._panel(parameters)
        if self._prometheus is None:
            raise HTTPException(404, "There is no Prometheus.")
        try:
            chart = await anyio.to_thread.run_sync(
                views.shown, self._prometheus, panel, seconds, host, limiter=self._charts
            )
        except RestError as error:
            raise HTTPException(503, str(error)) from error
        return JSONResponse(chart)

    def _panel(self, parameters: Mapping[str, str]) -> Panel:
        """Return the panel that a request names, by the title of a view's one or by a group."""
        if group := parameters.get("group", ""):
            return views.lag_of(group)
        view = self._views.get(parameters.get("view", ""))
        if view is None:
            raise HTTPException(404, "There is no such view.")
        for panel in view.panels:
            if panel.title == parameters.get("panel"):
                return panel
        raise HTTPException(404, "This view has no such panel.")

    async def sign_in(self, request: Request) -> Response:
        """Begin a session, for a user of Kafka or one of the settings."""
        begun = time.monotonic()
        _refuse_other_sites(request)
        user, password = await _credentials(request)
        address = _address(request)
        if not self.attempts.begin(address):
            LOG.warning("sign-in of %r from %s: refused, too many", user, address)
            raise HTTPException(429, BUSY)
        failed, reason = True, REFUSED
        try:
            token = await anyio.to_thread.run_sync(self._begin, user, password)
            failed = not token
        except UnavailableError as error:
            LOG.warning("sign-in of %r from %s: Kafka does not answer: %s", user, address, error)
            token, reason, failed = "", UNAVAILABLE, False
        finally:
            self.attempts.end(address, failed=failed)
        if not token:
            LOG.warning("sign-in of %r from %s: failed", user, address)
            await anyio.sleep(max(0.0, begun + FAILED_SECONDS - time.monotonic()))
            raise HTTPException(401 if reason == REFUSED else 503, reason)
        LOG.info("sign-in of %r from %s", user, address)
        response = JSONResponse({"user": user})
        response.set_cookie(COOKIE, token, secure=True, httponly=True, samesite="strict")
        return response

    async def sign_out(self, request: Request) -> Response:
        """End the session."""
        _refuse_other_sites(request)
        self.sessions.end(request.cookies.get(COOKIE, ""))
        response = JSONResponse({})
        response.delete_cookie(COOKIE, secure=True, httponly=True, samesite="strict")
        return response

    def _begin(self, user: str, password: str) -> str:
        """Return the token of a new session, empty if the user may not have one."""
        stored = self.settings.users.get(user)
        matching = passwords.matches(password, stored or self._nobody)
        if stored is not None:
            return self.sessions.begin(user) if matching else ""
        if user not in self.settings.viewers:
            return ""
        if not self.clients.accepts(user, password):
            return ""
        return self.sessions.begin(user, password)

    async def _session(self, request: Request) -> Session:
        token = request.cookies.get(COOKIE, "")
        session = self.sessions.find(token)
        if session and self.sessions.begin_check(session):
            accepted = await anyio.to_thread.run_sync(
                self._still_accepts, session, limiter=self._checks
            )
            if not accepted:
                LOG.warning("session of %r: ended, Kafka no longer accepts it", session.user)
                self.sessions.end(token)
                session = None
        if session is None:
            raise HTTPException(401, "Sign in first.")
        return session

    def _still_accepts(self, session: Session) -> bool:
        """Return whether Kafka still accepts the user of a session; true if no broker answers."""
        try:
            return self.clients.accepts(session.user, session.password)
        except UnavailableError as error:
            LOG.warning("session of %r: not checked: %s", session.user, error)
            return True

    def _records(self, request: Request) -> records.Request:
        parameters = request.query_params
        topic = parameters.get("topic", "")
        if not 0 < len(topic) <= LONGEST_NAME:
            raise HTTPException(400, "The parameter topic is the name of a topic.")
        offset = _number(parameters.get("offset"), "offset")
        count = _number(parameters.get("count"), "count") or self.settings.most_records
        return records.Request(
            topic,
            _number(parameters.get("partition"), "partition") or 0,
            offset,
            min(count, self.settings.most_records),
            self.settings.most_bytes,
        )


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _number(text: str | None, name: str) -> int | None:
    if text is None or not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) < _LONGEST_NUMBER):
        raise HTTPException(400, f"The parameter {name} is a number.")
    return int(text)


def _refuse_other_sites(request: Request) -> None:
    """Refuse what the page of another site sends: browsers say where a request comes from."""
    origin = request.headers.get("origin")
    foreign = origin is not None and urlsplit(origin).netloc != request.headers.get("host")
    if foreign or request.headers.get("sec-fetch-site", "same-origin") != "same-origin":
        raise HTTPException(403, "This request comes from another site.")


async def _credentials(request: Request) -> tuple[str, str]:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise HTTPException(415, "The body is JSON.")
    body = b""
    try:
        with anyio.fail_after(BODY_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > LARGEST_BODY:
                    raise HTTPException(413, "The body is too large.")
    except TimeoutError as error:
        raise HTTPException(408, "The body did not arrive in time.") from error
    try:
        credentials = json.loads(body)
        user, password = credentials["user"], credentials["password"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise HTTPException(400, "The body has user and password.") from error
    if not (isinstance(user, str) and isinstance(password, str)):
        raise HTTPException(400, "The body has user and password.")
    # Kafka's own messages cannot contain these.
    if not 0 < len(user) <= LONGEST_NAME or not password or "\0" in user + password:
        raise HTTPException(400, "A name and a password are required.")
    try:
        (user + password).encode()
    except UnicodeEncodeError as error:
        raise HTTPException(400, "A name and a password are text.") from error
    return user, password


def _with_headers(route: Route) -> Route:
    endpoint: Callable[[Request], Awaitable[Response]] = route.endpoint

    async def answer(request: Request) -> Response:
        try:
            return await endpoint(request)
        except ClientDisconnect:
            return Response(status_code=400)

    methods = [method for method in route.methods or () if method != "HEAD"]
    return Route(route.path, answer, methods=methods)


async def _said(_: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = error.detail if isinstance(error, HTTPException) else ""
    return JSONResponse({"message": detail}, status)


async def _failed(request: Request, error: Exception) -> Response:
    """Answer a request that an error of the console has ended; the journal has the error."""
    LOG.error("%s failed: %s", request.url.path, type(error).__name__)
    return JSONResponse({"message": "The console has failed; see its journal."}, 500)


def secured(application: Starlette) -> Any:
    """Return an application of which every answer has the headers of `HEADERS`."""
    added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]

    async def wrapped(scope: Any, receive: Any, send: Any) -> None:
        async def with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message["headers"], *added]
            await send(message)

        await application(scope, receive, with_headers)

    return wrapped
