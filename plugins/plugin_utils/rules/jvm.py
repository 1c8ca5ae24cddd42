"""The rules about the options of JVMs: of the services, and of Spark's drivers and executors."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...module_utils.formats.values import listing
from ...module_utils.formats.versions import PRODUCTS
from ..cluster.cluster import Cluster
from ..cluster.jvm_options import (
    RemoteControl,
    asked,
    grouped,
    heap_mb,
    is_ending,
    releases_in,
    remote_control,
)
from ..cluster.service import Service
from .engine import Finding, Findings, host_rule, rule
from .inspection import InspectedHost
from .shared import HEAP_OPTION, Place, all_services, java_options, java_options_of

_DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
_COLLECTOR = re.compile(
    r"-XX:(?P<sign>[+-])(?P<name>Use(?:G1|Z|Parallel|Serial|Shenandoah|Epsilon)GC)"
)
_SUGGESTION = re.compile(r"\s*Did you mean '(?P<option>[^']+)'\?")


@rule("java-package", where="java_package")
def _java_package(cluster: Cluster) -> Findings:
    """The service would not start, or would run on a Java version that it does not support."""
    for host, settings in cluster.hosts.items():
        package = str(settings.settings["java_package"])
        releases = releases_in(package)
        supported = {
            f"{PRODUCTS[name].name} {service.version}": version.java
            for name, service in cluster.services(host).items()
            if (version := PRODUCTS[name].supported.get(service.version))
        }
        refusing = [name for name, able in supported.items() if not {*releases} & {*able}]
        if releases and refusing:
            common = sorted(set.intersection(*map(set, supported.values())))
            problem = f"{package} brings Java {releases[0]}; {listing(refusing)} "
            problem += f"{'run' if len(refusing) > 1 else 'runs'} on {listing(common, 'or')}."
            fix = "Set a package that brings one of these, or delete java_package."
            yield Finding(problem, fix, hosts=(host,))


@rule("java-option-text", each=java_options)
def _java_option_text(_: Service, place: Place, words: list[str]) -> Findings:
    """Java would run another program than the service, or none: it takes a word that does not begin
    with a hyphen for the class to run. The cause is often a typographic dash copied from a document.
    """
    before: list[str] = []
    for option in grouped(words):
        word = option[0]
        if is_ending(word):
            yield Finding(f"With {word} Java does not run the service.", "Delete it.", place)
            return  # what follows is of that program
        if not word.startswith(("-", "@")):
            yield Finding(*_without_hyphen(word, before), place)
        before += option


def _asked(host: InspectedHost) -> Iterator[tuple[InspectedHost, Place, str]]:
    """Yield each list of options that a host's Java is asked about, with its place."""
    for _, place, words in java_options_of(host.cluster, host.name):
        yield host, place, asked(words)


@host_rule("java-option", each=_asked)
def _java_option(host: InspectedHost, place: Place, options: str) -> Findings:
    """The service would not start. Java ends at the first option that it does not take."""
    software, home = host.inspection.software, host.host.java.home
    message = software.refused_java_options.get(home, {}).get(options)
    if not message:
        return
    suggestion = _SUGGESTION.search(message)
    complaint = _SUGGESTION.sub("", message).rstrip(".")
    java = f"Java {software.javas.get(home) or home}"
    fix = "Correct or delete it."
    if suggestion:
        fix = f"Did you mean -XX:{suggestion['option']}? Otherwise delete it."
    yield Finding(f"{java} refuses these options: {complaint}.", fix, place)


def _without_hyphen(word: str, before: list[str]) -> tuple[str, str]:
    # What follows an equals sign, or a blank, may be a password.
    if word[:1] and word[0] in _DASHES:
        name = word.lstrip(_DASHES).partition("=")[0]
        return f"{word[0]}{name} is not an option of Java.", f"Write -{name}."
    after = before[-1].partition("=")[0] if before else "the beginning"
    fix = "Begin it with a hyphen, put the value before it in quotes, or delete it."
    return f"The word after {after} is not an option of Java.", fix


@rule("jvm-port-shared", where="spark_java_options")
def _jvm_port_shared(cluster: Cluster) -> Findings:
    """All daemons of a host get the same options: the one that starts second does not start."""
    for host, spark in cluster.spark.items():
        for opened in spark.jvm.ports:
            if len(spark.units) > 1:
                problem = f"{listing(spark.units)} would all listen on port {opened.port}."
                chosen = (
                    "" if opened.option == "-javaagent" else "; port 0 lets each JVM choose one"
                )
                fix = f"Remove {opened.option}{chosen}."
                yield Finding(problem, fix, hosts=(host,))


@rule("java-collectors", each=java_options)
def _java_collectors(_: Service, place: Place, words: list[str]) -> Findings:
    """Java does not start with two garbage collectors."""
    matches = filter(None, map(_COLLECTOR.fullmatch, words))
    chosen = {match["name"]: match["sign"] == "+" for match in matches}  # the last one counts
    collectors = [f"-XX:+{name}" for name, on in chosen.items() if on]
    if len(collectors) > 1:
        yield Finding(
            f"{listing(collectors)} are different garbage collectors.", "Keep one.", place
        )


@rule("heap-option", each=all_services)
def _heap_option(service: Service) -> Findings:
    """The unit sets the heap from its own variable; of two such options the JVM takes the last."""
    options, heap = service.jvm.options_variable, service.jvm.heap_variable
    for option in service.jvm.words:
        match = HEAP_OPTION.match(option)
        if match:
            size = option[match.end() :]
            value = f": {size}" if heap_mb(size) else ""
            fix = f"Remove it from {options} and set {heap}{value}."
            yield Finding(f"{options} sets the heap by {option}.", fix, options)


def _controls(cluster: Cluster) -> Iterator[tuple[str, Cluster, Service, Place, RemoteControl]]:
    """Yield what lets other hosts control a JVM of a service, with its place."""
    for host, service, place, words in java_options(cluster):
        for control in remote_control(words):
            yield host, cluster, service, place, control


@rule("jvm-open-to-everybody", each=_controls)
def _jvm_open_to_everybody(
    cluster: Cluster, service: Service, place: Place, control: RemoteControl
) -> Findings:
    """Whoever reaches the port may run code with the rights of the service, and the internet does
    reach it.
    """
    if _is_on_the_internet(cluster, service, control):
        problem = (
            f"{control.option} accepts connections from the internet without {control.missing}."
        )
        yield Finding(problem, control.fix, place)


@rule("jvm-open", each=_controls, severity="warning")
def _jvm_open(cluster: Cluster, service: Service, place: Place, control: RemoteControl) -> Findings:
    """Whoever reaches the port, or sees a login there, may run code with the rights of a service
    that is closed otherwise.
    """
    if not service.is_open and not _is_on_the_internet(cluster, service, control):
        problem = (
            f"{control.option} accepts connections from other hosts without {control.missing}."
        )
        yield Finding(problem, control.fix, place)


def _is_on_the_internet(cluster: Cluster, service: Service, control: RemoteControl) -> bool:
    """Return whether the internet reaches a port that asks for no login."""
    return control.by_anybody and bool(cluster.public_addresses(service.name, [control.port]))
