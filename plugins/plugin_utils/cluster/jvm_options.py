"""Options of Java: what they open, and which of them the Java of a host is asked about."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...module_utils.formats.values import integer, sequence

_RELEASE = re.compile(r"(?<![\d.])(?:1\.)?(\d{1,2})(?!\d)")
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
_KIB = {"": 1 / 1024, "k": 1, "m": 1024, "g": 1024 * 1024}
_HEAP = re.compile(r"([0-9]{1,18})([kKmMgG])")
# Options of Java that take the next word as their value.
FOLLOWED = (
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-reads",
    "--add-exports",
    "--add-opens",
    "--limit-modules",
    "--enable-native-access",
    "--patch-module",
)
ENDING = (
    "-jar",
    "-m",
    "--module",
    "-d",
    "--describe-module",
    "--list-modules",
    "--validate-modules",
    "--dry-run",
    "--source",
    "-h",
    "-?",
    "-help",
    "--help",
    "-X",
    "--help-extra",
    "-version",
    "--version",
    "-fullversion",
    "--full-version",
    "-Xinternalversion",
    "-Xlog:help",
)
"""With these Java runs another program than the service, or none."""
# What Java is not asked about on a host.
_LEFT_OUT = re.compile(
    # Any text is legal; with some the JVM opens a port, or has a password.
    r"-D.*"
    # They run code, which may open ports and files; whether it is there is not for Java to say.
    r"|-(?:javaagent|agentlib|agentpath|splash):.*|-Xrun.*|-Xbootclasspath.*"
    r"|-(?:J-)?XXaltjvm=.*"
    # Files with further options.
    r"|@.*|-XX:(?:VMOptionsFile|Flags)=.*"
    # Files of the service's own, which may be yet to be written, or not for nobody to read.
    r"|-XX:(?:CompileCommand|CompilerDirectives)File=.*"
    r"|(?:-cp|-classpath|--class-path|-p|--(?:upgrade-)?module-path|--patch-module)(?:[= ].*)?"
    r"|--(?:add|limit)-modules(?:[= ].*)?"
    # They write files, now or when the JVM ends, or read what others have written.
    r"|-Xshare:(?:dump|on)|-XX:[+-](?:AutoCreateSharedArchive|(?:Dynamic)?DumpSharedSpaces)"
    r"|-XX:(?:AOT|Archive|DumpLoaded|ExtraSharedClass|Shared|Log|PerfDataSave|PauseAt|JVMCILib)\w*=.*"
    r"|-XX:(?:StartFlightRecording|FlightRecorderOptions|CRaC).*"
    # The memory of the heap is allocated there.
    r"|-XX:Allocate\w+At=.*"
    # Commands that run at an error.
    r"|-XX:On(?:OutOfMemory)?Error=.*"
    # They set the heap or depend on it, and where Java is asked it is not the service's.
    r"|-Xm[sx].*|-m[sx]\d.*|-XX:(?:(?:Initial|Max|Min|SoftMax)HeapSize"
    r"|(?:Initial|Max|Min)RAM(?:Percentage|Fraction)|MaxRAM|Shenandoah\w*RegionSize)=\d.*",
    re.DOTALL,
)
# A log's file: the third part of -Xlog:WHAT:OUTPUT:DECORATORS:OPTIONS, which has no name of its own.
_LOG_FILE = re.compile(
    r"(?P<before>-Xloggc:|-Xlog:[^:]*:(?!std(?:out|err)(?::|$)))"
    r"(?P<file>(?:\"[^\"]*\"|[^:\"])+)(?P<after>.*)",
    re.DOTALL,
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


def grouped(words: Iterable[str]) -> Iterator[list[str]]:
    """Yield each option, together with the next word where that is its value."""
    remaining = iter(words)
    for word in remaining:
        yield [word, *([value] if word in FOLLOWED and (value := next(remaining, "")) else [])]


def is_ending(word: str) -> bool:
    """Return whether Java runs another program with an option than the service, or none."""
    return word.partition("=")[0] in ENDING


def asked(words: Iterable[str]) -> str:
    """Return those options that the Java of a host can judge by itself, one after the other.

    They have no effect there, and no secret in them. Empty if there are none, or if Java would run
    a program with them.
    """
    options = [*grouped(words)]
    if any(not option[0].startswith(("-", "@")) or is_ending(option[0]) for option in options):
        return ""
    judged = [option for option in options if not _LEFT_OUT.fullmatch(" ".join(option))]
    return shlex.join(word for first, *value in judged for word in (_as_asked(first), *value))


def _as_asked(word: str) -> str:
    """Return an option with another file for a log, and without a value that may be a secret."""
    if not word.startswith(("-X", "--")):
        return word.partition("=")[0]  # of these no option of Java has one
    log = _LOG_FILE.fullmatch(word)
    if not log:
        return word
    name = "log" if word.startswith("-Xloggc:") else "file=log"
    return f"{log['before']}{name}{log['after']}"


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


def releases_in(name: str) -> list[int]:
    """Return the numbers in the name of a package or a directory that may be a feature release."""
    return [int(number) for number in _RELEASE.findall(name)]


def release_in(name: str) -> int | None:
    """Return the feature release in the name of a package or a directory, None without one."""
    return next(iter(releases_in(name)), None)


def heap_mb(heap: object) -> int | None:
    """Return a heap size such as 512m, 2g or 1048576k in MiB, rounded down, None if it is none."""
    match = _HEAP.fullmatch(heap) if isinstance(heap, str) else None
    size = int(int(match[1]) * _KIB[match[2].lower()] // 1024) if match else 0
    return size or None
