"""The options that releases of Java take.

The table in jvm_flags.json comes from the binaries (artifacts/java/flags.py).
"""

from __future__ import annotations

import functools
import json
import re
import shlex
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...module_utils.formats.key_table import nearest
from ...module_utils.formats.values import integer, sequence

RELEASES = (17, 21)
TABLE = Path(__file__).parent / "jvm_flags.json"
_FLAG = re.compile(r"-XX:(?P<sign>[+-]?)(?P<name>\w+)(?P<value>:?=.*)?", re.DOTALL)
# Java takes them in forms of their own, or lists them only on another processor.
_ANY_FORM = re.compile(
    r"-XX:(?:VMOptionsFile=|Flags=|StartFlightRecording|FlightRecorderOptions"
    r"|UseSVE=|[+-]Use(?:LSE|SIMDForMemoryOps|Neon\w*|BlockZeroing)|UseBranchProtection=).*"
)
# Type -> how a value is written, and what to call it.
_VALUES = {
    "number": (re.compile(r"-?(?:\d+[kKmMgGtT]?|0[xX][0-9a-fA-F]+)"), "a whole number"),
    "double": (re.compile(r"-?\d+(?:\.\d+)?"), "a number"),
    "text": (re.compile(r".+", re.DOTALL), "a text"),
}
_RELEASE = re.compile(r"(?<![\d.])(?:1\.)?(\d{1,2})(?!\d)")
_STACK = re.compile(r"-(?:Xss|ss)(?P<number>0*[1-9]\d{0,17})(?P<unit>[kKmMgG]?)")
# Of JMX, of a debugger, and of an agent such as that of Prometheus, `=[host:]port:file`.
_LISTENING = re.compile(
    r"(?:-D(?P<option>com\.sun\.management\.jmxremote\.port)="
    r"|(?P<agent>-agentlib:jdwp=|-Xrunjdwp:)(?=.*server=y).*address=(?:(?P<host>[^,]*):)?"
    r"|(?P<jar>-javaagent):[^=]+=(?:(?P<bound>[\w.-]*[A-Za-z.][\w.-]*):)?)"
    r"(?P<port>\d{1,9})(?!\d)(?(jar):)"
)
_JMX_HOST = "-Dcom.sun.management.jmxremote.host="
_JMX = re.compile(
    r"-Dcom\.sun\.management\.jmxremote\.(?P<key>[\w.]+)(?:=(?P<value>.*))?", re.DOTALL
)
_DEBUGGER = re.compile(r"(?:-agentlib:jdwp=|-Xrunjdwp:)(.*)", re.DOTALL)
_LOOPBACK = re.compile(r"localhost|127\.[\d.]+|\[?::1\]?")
_LEAST_STACK_KIB = 136
_KIB = {"": 1 / 1024, "k": 1, "m": 1024, "g": 1024 * 1024}
_HEAP = re.compile(r"([0-9]{1,18})([kKmMgG])")
# All others; a value follows a colon, an equals sign or the name itself.
_PREFIXES = (
    "-D",
    "--",
    "-agentlib:",
    "-agentpath:",
    "-javaagent:",
    "-splash:",
    "-verbose",
    "-Xlog:",
    "-Xms",
    "-Xmx",
    "-Xmn",
    "-Xss",
    "-ms",
    "-mx",
    "-ss",
    "-Xshare:",
    "-Xcheck:",
    "-Xloggc:",
    "-Xbootclasspath/a:",
    "-XshowSettings:",
    "-Xverify:",
    "-Xrun",
    "-Xminf",
    "-Xmaxf",
    "-Xmaxjitcodesize",
    "-ea:",
    "-da:",
    "-enableassertions:",
    "-disableassertions:",
)
_WORDS = (
    "-cp",
    "-classpath",
    "-p",
    "-server",
    "-client",
    "-ea",
    "-da",
    "-esa",
    "-dsa",
    "-noverify",
    "-enableassertions",
    "-disableassertions",
    "-enablesystemassertions",
    "-verify",
    "-disablesystemassertions",
    "-Xlog",
    "-Xint",
    "-Xmixed",
    "-Xcomp",
    "-Xbatch",
    "-Xdebug",
    "-Xdiag",
    "-Xfuture",
    "-Xinternalversion",
    "-Xnoclassgc",
    "-Xrs",
    "-Xprof",
    "-Xnoagent",
    "-Xshare:auto",
    "-XshowSettings",
    "-Xverify",
    "-showversion",
)


@dataclass(frozen=True)
class OpenedPort:
    """A port that an option of Java opens."""

    option: str
    port: int
    loopback: bool
    """Whether only its host can reach it."""


@dataclass(frozen=True)
class RemoteControl:
    """An option of Java by which other hosts may control the JVM."""

    option: str
    port: int
    """Its port, 0 for any."""
    missing: str
    """What it does not ask for."""
    fix: str
    """How to change that."""
    by_anybody: bool
    """Whether whoever reaches the port needs nothing else; otherwise somebody has to see a
    login."""


def java_words(options: object) -> list[str]:
    """Return the options of a JVM as systemd and Spark split them."""
    return [*_words(options if isinstance(options, str) else " ".join(map(str, sequence(options))))]


@functools.lru_cache
def _words(text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError:  # a quote that does not end
        return tuple(text.split())


def opened_ports(words: Iterable[str]) -> list[OpenedPort]:
    """Return the ports that options of Java open, of an option given twice the last one."""
    options = list(words)
    jmx = [word[len(_JMX_HOST) :] for word in options if word.startswith(_JMX_HOST)]
    ports: dict[str, OpenedPort] = {}
    for match in filter(None, map(_LISTENING.match, options)):
        # A debugger's port without a host is the loopback's, that of JMX every address's.
        hosts = {"option": "".join(jmx[-1:]), "agent": match["host"] or "localhost"}
        kind = next(name for name in ("option", "agent", "jar") if match[name])
        option = match[kind].rstrip("=:")
        loopback = bool(_LOOPBACK.fullmatch(hosts.get(kind, match["bound"] or "")))
        ports[option] = OpenedPort(option, int(match["port"]), loopback)
    return [opened for opened in ports.values() if opened.port]  # with 0 Java chooses one


def remote_control(words: Iterable[str]) -> list[RemoteControl]:
    """Return the options that let other hosts control a JVM without a login, or without TLS."""
    options = list(words)
    debuggers = [_debugger(match[1]) for match in filter(None, map(_DEBUGGER.fullmatch, options))]
    return [control for control in (_jmx(options), *debuggers) if control]


def _jmx(words: Sequence[str]) -> RemoteControl | None:
    """Return what JMX does not ask for, None if nothing or if only its own host reaches it."""
    matches = filter(None, map(_JMX.fullmatch, words))
    values = {match["key"]: match["value"] or "" for match in matches}
    port = integer(values.get("port"))
    if port is None or _LOOPBACK.fullmatch(values.get("host", "")):
        return None
    asks, encrypted, certificates = (
        values.get(key, standard).lower() == "true"
        for key, standard in (
            ("authenticate", "true"),
            ("ssl", "true"),
            ("ssl.need.client.auth", "false"),
        )
    )
    asks = asks or (encrypted and certificates)
    if asks and encrypted:
        return None
    option = "com.sun.management.jmxremote"
    missing, key = ("TLS", "ssl") if asks else ("a login", "authenticate")
    fix = f"Set {_JMX_HOST}127.0.0.1, or -D{option}.{key}=true and the options that it needs."
    return RemoteControl(f"{option}.port", port, missing, fix, by_anybody=not asks)


def _debugger(text: str) -> RemoteControl | None:
    """Return the port of a debugger, None where it has none or only its own host reaches it."""
    options = dict(option.partition("=")[::2] for option in text.split(","))
    host, _, port = options.get("address", "").rpartition(":")
    # Without a host it listens on loopback (JDK 9).
    if options.get("server") != "y" or not host or _LOOPBACK.fullmatch(host):
        return None
    fix = "Delete it, or set address=localhost: with the port."
    return RemoteControl("-agentlib:jdwp", integer(port) or 0, "a login", fix, by_anybody=True)


@functools.cache
def flags() -> dict[str, dict[str, Any]]:
    """Return name -> type, what unlocks it, and releases, of each -XX option."""
    table: dict[str, dict[str, Any]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return table


def releases_in(name: str) -> list[int]:
    """Return the numbers in the name of a package or a directory that may be a feature release."""
    return [int(number) for number in _RELEASE.findall(name)]


def release_in(name: str) -> int | None:
    """Return the feature release in the name of a package or a directory, None without one."""
    return next(iter(releases_in(name)), None)


def problem(word: str, before: Container[str], releases: Sequence[int]) -> tuple[str, str] | None:
    """Return what is wrong with an option of Java and how to fix it, None if it is legal.

    `before` are the options before it; it is legal if any of `releases` takes it. Values are left
    out, since they may be secrets, except those of -XX.
    """
    if _ANY_FORM.fullmatch(word):
        return None
    if word.startswith("-XX:"):
        return _of_flag(word, before, releases)
    stack = _STACK.fullmatch(word)
    if stack and int(stack["number"]) * _KIB[stack["unit"].lower()] < _LEAST_STACK_KIB:
        message = f"{word} is {stack['number']} {'KiB' if stack['unit'] else 'bytes'}."
        return message, f"Set {_LEAST_STACK_KIB}k or more, such as -Xss1m."
    if word in _WORDS or word.startswith(_PREFIXES):
        return None
    name = re.split(r"[:=]", word)[0]
    near = nearest(name, [*_WORDS, *(prefix.rstrip(":") for prefix in _PREFIXES)])
    return f"Java has no option {name}.", f"Did you mean {near}?" if near else "Delete it."


def _of_flag(word: str, before: Container[str], releases: Sequence[int]) -> tuple[str, str] | None:
    match, table = _FLAG.fullmatch(word), flags()
    name = match["name"] if match else word[4:]
    entry = table.get(name)
    if match is None or entry is None or not {*entry["java"]} & {*releases}:
        available = [flag for flag in table if {*table[flag]["java"]} & {*releases}]
        near = nearest(name, available, cutoff=0.85)
        have = "have" if len(releases) > 1 else "has"
        message = f"Java {' and '.join(map(str, releases))} {have} no option -XX:{name}."
        return message, f"Did you mean {near}? Otherwise delete it." if near else "Delete it."
    unlock = f"-XX:+Unlock{entry.get('unlock', '')}VMOptions"
    if "unlock" in entry and unlock not in before and word != unlock:
        return f"Java takes {name} only after {unlock}.", f"Put {unlock} before it, or delete it."
    fix = _wanted(name, entry["type"], match["sign"], (match["value"] or "").lstrip(":="))
    return (f"Java does not take {word}.", fix) if fix else None


def _wanted(name: str, kind: str, sign: str, value: str) -> str:
    """Return how an option is written, empty if this is how."""
    if kind == "boolean":
        return "" if sign and not value else f"Write -XX:+{name} or -XX:-{name}."
    form, called = _VALUES[kind]
    legal = not sign and form.fullmatch(value)
    return "" if legal else f"Write -XX:{name}=VALUE, where VALUE is {called}."


def heap_mb(heap: object) -> int | None:
    """Return a heap size such as 512m, 2g or 1048576k in MiB, rounded down, None if it is none."""
    match = _HEAP.fullmatch(heap) if isinstance(heap, str) else None
    size = int(int(match[1]) * _KIB[match[2].lower()] // 1024) if match else 0
    return size or None
