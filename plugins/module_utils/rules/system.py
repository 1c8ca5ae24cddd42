"""The rules about a host's operating system, its Java, its limits and its clock."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ansible_collections.millrace.streaming.plugins.module_utils.model.systems import families
from ansible_collections.millrace.streaming.plugins.module_utils.model.values import listing
from ansible_collections.millrace.streaming.plugins.module_utils.model.versions import PRODUCTS
from ansible_collections.millrace.streaming.plugins.module_utils.rules.engine import (
    Finding,
    host_rule,
    hosts_rule,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.inspection import (
    InspectedHost,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules.shared import holders

OPEN_FILES = 100_000
_PYTHON = (3, 9)
_CLOCK_SECONDS = 0.5
_TMP = "/tmp"  # noqa: S108 - where the JVM unpacks; its mount is judged, nothing is written
_TMP_OPTIONS = ("org.xerial.snappy.tempdir", "ZstdTempFolder")


@host_rule(
    "operating-system",
    when="the host's operating system is of no family that Millrace knows",
    why="Package names, paths and services are known for these families alone.",
    remedy="Use a system that the message names.",
)
def _operating_system(host: InspectedHost) -> Iterator[Finding]:
    if host.found.facts.family is None:
        advice = listing((one.advice for one in families().values() if one.tested), "or")
        yield Finding("/etc/os-release", f"The system is {host.found.os_name}.", f"Use {advice}.")


@host_rule(
    "system-untested",
    when="Millrace knows the host's operating system, and no test of it runs there",
    why="Package names, paths and services are as its documents give them; they are not tested.",
    remedy="Try it on a host that may fail first, or use a system that the message names.",
    severity="warning",
)
def _system_untested(host: InspectedHost) -> Iterator[Finding]:
    family = host.found.facts.family
    if family and not family.tested:
        advice = listing((one.advice for one in families().values() if one.tested), "or")
        what = f"The system is {host.found.os_name}: {family.name} is marked as not run by tests."
        yield Finding("/etc/os-release", what, f"Use {advice}, or try it on a spare host first.")


@host_rule(
    "release-untested",
    when="no Java is known for this release of the operating system",
    why="It is not tested; its Java may be one that the products do not accept.",
    remedy="Use a release that the message names, or set `java_package` or `java_home`.",
    severity="warning",
)
def _release_untested(host: InspectedHost) -> Iterator[Finding]:
    family, release = host.found.facts.family, host.found.facts.release
    given = host.host.settings["java_home"] or host.host.settings["java_package"]
    if family and release not in family.java_releases and not given:
        what = f"The release {release or 'unknown'} of {host.found.os_name} is none of "
        what += f"{listing(family.java_releases, 'and')}."
        yield Finding("/etc/os-release", what, "Set java_package or java_home.")


@host_rule(
    "python-too-old",
    when="the host's Python is older than 3.9",
    why="The modules that run on the host need it.",
    remedy="Install a newer one and set `ansible_python_interpreter`.",
)
def _python_too_old(host: InspectedHost) -> Iterator[Finding]:
    if host.found.python < _PYTHON:
        version = ".".join(map(str, host.found.python))
        fix = "Install Python 3.9 or newer and set ansible_python_interpreter to it."
        yield Finding("ansible_python_interpreter", f"Python is {version}.", fix)


@host_rule(
    "no-systemd",
    when="process 1 of the host is not systemd",
    why="Every service is a systemd unit.",
    remedy="Use a host that was booted with systemd.",
)
def _no_systemd(host: InspectedHost) -> Iterator[Finding]:
    if not host.found.systemd:
        yield Finding("process 1", "Process 1 is not systemd.", "Boot the host with systemd.")


@host_rule(
    "selinux",
    when="SELinux is enforcing",
    why="No policy is shipped, so it may deny the services their directories.",
    remedy="Allow /opt/millrace, the data directories and the ports, or set it permissive.",
    severity="warning",
)
def _selinux(host: InspectedHost) -> Iterator[Finding]:
    if not host.found.selinux:
        return
    fix = "Watch the audit log, or set SELinux permissive."
    family = host.found.facts.family
    contexts = family.selinux.get("contexts", {}) if family else {}
    if contexts:
        names = {"data": "the data directories"}
        parts = listing(f"{kind} to {names.get(path, path)}" for path, kind in contexts.items())
        fix = f"Give the type {parts} (semanage fcontext, restorecon), or set SELinux permissive."
    yield Finding("SELinux", "SELinux is enforcing, and Millrace ships no policy.", fix)


@host_rule(
    "swap",
    when="swap is on",
    why="A JVM whose heap is swapped out pauses for seconds and loses its session.",
    remedy="`swapoff --all`, and remove it from /etc/fstab.",
    severity="warning",
)
def _swap(host: InspectedHost) -> Iterator[Finding]:
    if host.found.swap and host.kernel_is_its_own:
        what = f"Swap is on: {listing(host.found.swap)}."
        yield Finding("/proc/swaps", what, "Run swapoff --all and remove it from /etc/fstab.")


@host_rule(
    "open-files",
    when=f"a process may not open {OPEN_FILES} files",
    why="A broker holds several files for each segment and one for each connection.",
    remedy="Raise fs.nr_open, or the limit that the container was started with.",
    in_container="warning",
)
def _open_files(host: InspectedHost) -> Iterator[Finding]:
    limit = host.found.open_files
    if limit is not None and limit < OPEN_FILES:
        what = f"A service may open at most {limit} files; its unit asks for {OPEN_FILES}."
        fix = f"Set fs.nr_open to at least {OPEN_FILES} (host_sysctl)."
        if not host.kernel_is_its_own:
            fix = "Start the container with a higher limit."
        yield Finding("fs.nr_open and the limits of process 1", what, fix)


@host_rule(
    "tmp-noexec",
    when=f"{_TMP} is mounted noexec",
    why="The native code of zstd, snappy and RocksDB is unpacked there and run.",
    remedy="Mount it exec, or give `-Dorg.xerial.snappy.tempdir` and `-DZstdTempFolder` in "
    "`kafka_java_options` on a host that runs Kafka alone.",
)
def _tmp_noexec(host: InspectedHost) -> Iterator[Finding]:
    if "noexec" not in host.found.tmp_options or not (host.kafka or host.spark):
        return
    options = " ".join(host.host.settings["kafka_java_options"])
    if host.spark or not all(name in options for name in _TMP_OPTIONS):
        fix = f"Run mount -o remount,exec {_TMP} and correct /etc/fstab or tmp.mount."
        yield Finding(_TMP, f"{_TMP} is mounted noexec.", fix)


@host_rule(
    "java",
    when="`java_home` holds no Java, or Java's version is none that the products run on",
    why="A service would not start, or fail later in untested ways.",
    remedy="Set `java_home` or `java_package` to a version that the message names.",
)
def _java(host: InspectedHost) -> Iterator[Finding]:
    home, settings = host.host.java.home, host.host.settings
    found = host.found.javas.get(home)
    if found is None and settings["java_home"] and not settings["java_package"]:
        what = f"{home}/bin/java does not exist."
        yield Finding("java_home", what, "Correct java_home, or leave it empty for a package.")
        return
    version = java_version(host)
    for name, service in host.cluster.services(host.name).items():
        release = PRODUCTS[name].supported.get(service.version)
        if version and release and version not in release.java:
            state = "would get" if found is None else "has"
            what = f"{PRODUCTS[name].name} {service.version} runs on Java "
            what += f"{listing(release.java, 'or')}; {home} {state} {found or version}."
            fix = "Set java_home to one of these, or java_package to a package that brings it."
            yield Finding("java_home" if settings["java_home"] else "java_package", what, fix)


def java_version(host: InspectedHost) -> int | None:
    """Return the feature release of the Java that will run, None where it cannot be known."""
    found = host.found.javas.get(host.host.java.home)
    package = host.host.settings["java_package"]
    if found is None and not package:
        return host.host.java.version
    number = re.search(r"-(\d+)-", package) if found is None else re.match(r"(?:1\.)?(\d+)", found)
    return int(number[1]) if number else None


@hosts_rule(
    "java-differs",
    when="services run on different versions of Java on different hosts",
    why="A fault that only some nodes have is hard to find.",
    remedy="Set `java_package` or `java_home` so that all hosts have one version.",
    severity="warning",
)
def _java_differs(hosts: Sequence[InspectedHost]) -> Iterator[Finding]:
    versions = {host.name: version for host in hosts if (version := java_version(host))}
    found = sorted(holders(versions).items())
    if len(found) > 1:
        what = listing(f"Java {version} on {listing(names)}" for version, names in found)
        fix = "Run one version on all hosts (java_package or java_home)."
        yield Finding("Java", f"There is {what}.", fix, tuple(versions))


@host_rule(
    "clock-unsynchronised",
    when="the kernel does not call the clock synchronised although a time service runs, and "
    "`host_time_service` is not empty; only a warning, since the offset is judged by itself",
    why="Retention, timeouts, certificates and the order of events in logs follow the clock.",
    remedy="Let the service reach its time servers, or accept it by an empty `host_time_service`.",
    severity="warning",
)
def _clock_unsynchronised(host: InspectedHost) -> Iterator[Finding]:
    # Without a service the role host installs one.
    service = host.found.time_service
    judged = host.host.time_service and (service or not host.kernel_is_its_own)
    if judged and host.found.clock_synchronised is False:
        by = f", although {service} runs" if service else ""
        fix = "Check timedatectl; set host_time_service to nothing if there is no time server."
        if not host.kernel_is_its_own:
            fix = "Synchronise the machine that the container runs on."
        yield Finding("host_time_service", f"The clock is not synchronised{by}.", fix)


@host_rule(
    "clock-offset",
    when=f"the clock differs from the controller's by more than {_CLOCK_SECONDS} s",
    why="Records get wrong timestamps, and certificates seem expired or not yet valid.",
    remedy="Synchronise both clocks.",
    in_container="warning",
)
def _clock_offset(host: InspectedHost) -> Iterator[Finding]:
    offset = host.found.clock_offset
    if abs(offset) > _CLOCK_SECONDS:
        side = "ahead of" if offset > 0 else "behind"
        what = f"The clock is {abs(offset):.1f} s {side} the controller's."
        yield Finding("clock", what, "Synchronise the clocks of both.")
