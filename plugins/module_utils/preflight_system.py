"""The checks of the system: its release, Java, limits, ports, clock and certificates."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from ansible_collections.millrace.streaming.plugins.module_utils.preflight import (
    Finding,
    Host,
    check,
)
from ansible_collections.millrace.streaming.plugins.module_utils.rules import listing
from ansible_collections.millrace.streaming.plugins.module_utils.versions import PRODUCTS

OPEN_FILES = 100_000
PYTHON = (3, 9)
CLOCK_SECONDS = 0.5
_TMP = "/tmp"  # noqa: S108 - where the JVM unpacks, looked at and not written
_TMP_OPTIONS = ("org.xerial.snappy.tempdir", "ZstdTempFolder")


@check(
    "operating-system",
    when="the host is neither Debian nor Ubuntu",
    why="Packages, paths and units are known for these two.",
    remedy="Use Debian 12 or 13, or Ubuntu 22.04 or 24.04.",
)
def operating_system(host: Host) -> Iterator[Finding]:
    """Refuse a system that the roles do not know."""
    if not {host.found.os_id, *host.found.os_like.split()} & {"debian", "ubuntu"}:
        what = f"The system is {host.found.os_name or host.found.os_id or 'unknown'}."
        yield Finding("/etc/os-release", what, "Use Debian or Ubuntu.")


@check(
    "release-untested",
    when="no Java is known for this release of Debian or Ubuntu",
    why="Nobody has tried it; its Java may be one that the products do not accept.",
    remedy="Use a release that the message names, or set `java_package` or `java_home`.",
    severity="warning",
)
def release_untested(host: Host) -> Iterator[Finding]:
    """Warn of a release outside the table."""
    known = host.wish.java_versions
    given = host.wish.java_home or host.wish.java_package
    if host.found.codename and host.found.codename not in known and not given:
        what = f"{host.found.os_name or host.found.codename} is not among {listing(known, 'or')}."
        yield Finding("/etc/os-release", what, "Expect to set java_package.")


@check(
    "python-too-old",
    when="the host's Python is older than 3.9",
    why="The modules that run on the host need it.",
    remedy="Install a newer one and set `ansible_python_interpreter`.",
)
def python_too_old(host: Host) -> Iterator[Finding]:
    """Refuse an old Python."""
    if host.found.python < PYTHON:
        version = ".".join(map(str, host.found.python))
        fix = "Install Python 3.9 or newer and set ansible_python_interpreter to it."
        yield Finding("ansible_python_interpreter", f"Python is {version}.", fix)


@check(
    "no-systemd",
    when="systemd is not what runs the host",
    why="Every service is a systemd unit.",
    remedy="Use a host that was booted with systemd.",
)
def no_systemd(host: Host) -> Iterator[Finding]:
    """Refuse another init."""
    if not host.found.systemd:
        yield Finding("process 1", "Process 1 is not systemd.", "Boot the host with systemd.")


@check(
    "selinux",
    when="SELinux is enforcing",
    why="No policy is shipped, so it may deny the services their directories.",
    remedy="Allow /opt/millrace, the data directories and the ports, or set it permissive.",
    severity="warning",
)
def selinux(host: Host) -> Iterator[Finding]:
    """Warn of a policy that nobody wrote."""
    if host.found.selinux:
        fix = "Watch the audit log, or set it permissive."
        yield Finding("SELinux", "SELinux is enforcing, and Millrace ships no policy.", fix)


@check(
    "swap",
    when="swap is on",
    why="A JVM whose heap is swapped out pauses for seconds and loses its session.",
    remedy="`swapoff --all`, and remove it from /etc/fstab.",
    severity="warning",
)
def swap(host: Host) -> Iterator[Finding]:
    """Warn of swap, where it is the host's own."""
    if host.found.swap and host.kernel_is_ours:
        what = f"Swap is on: {listing(host.found.swap)}."
        yield Finding("/proc/swaps", what, "Run swapoff --all and remove it from /etc/fstab.")


@check(
    "open-files",
    when=f"a process may not open {OPEN_FILES} files",
    why="A broker holds several files for each segment and one for each connection.",
    remedy="Raise fs.nr_open, or the limit that the container was started with.",
    container="warning",
)
def open_files(host: Host) -> Iterator[Finding]:
    """Refuse a limit below what the units ask for."""
    limit = host.found.open_files
    if limit is not None and limit < OPEN_FILES:
        what = f"A service may open at most {limit} files; its unit asks for {OPEN_FILES}."
        fix = f"Set fs.nr_open to at least {OPEN_FILES} (host_sysctl)."
        if not host.kernel_is_ours:
            fix = "Start the container with a higher limit; here the service gets what there is."
        yield Finding("fs.nr_open and the limits of process 1", what, fix)


@check(
    "tmp-noexec",
    when=f"{_TMP} is mounted noexec",
    why="The native code of zstd, snappy and RocksDB is unpacked there and run.",
    remedy="Mount it exec, or give `-Dorg.xerial.snappy.tempdir` and `-DZstdTempFolder` in "
    "`kafka_java_options` on a host that runs Kafka alone.",
)
def tmp_noexec(host: Host) -> Iterator[Finding]:
    """Refuse a directory from which nothing may run, unless Kafka's natives go elsewhere."""
    if "noexec" not in host.found.tmp_options or not (host.wish.kafka or host.wish.spark):
        return
    options = " ".join(host.wish.java_options)
    if host.wish.spark or not all(name in options for name in _TMP_OPTIONS):
        fix = f"Run mount -o remount,exec {_TMP} and correct /etc/fstab or tmp.mount."
        yield Finding(_TMP, f"{_TMP} is mounted noexec.", fix)


@check(
    "java",
    when="`java_home` holds no Java, or Java's version is none that the products run on",
    why="A service would not start, or fail later in ways that nobody tested.",
    remedy="Set `java_home` or `java_package` to a version that the message names.",
)
def java(host: Host) -> Iterator[Finding]:
    """Refuse a Java that is missing where it should be, or of the wrong version."""
    found, wish = host.found.java, host.wish
    if not found.exists and wish.java_home and not wish.java_package:
        what = f"{found.home}/bin/java does not exist."
        yield Finding("java_home", what, "Correct java_home, or leave it empty for a package.")
        return
    major = java_major(host)
    if major is None:
        return
    for role, described in wish.roles.items():
        product, version = PRODUCTS.get(role), str(described.get("version"))
        release = product.supported.get(version) if product else None
        if product and release and major not in release.java:
            state = "has" if found.exists else "would get"
            what = (
                f"{product.name} {version} runs on Java {listing(release.java, 'or')}; "
                f"{found.home} {state} {found.version or major}."
            )
            fix = "Set java_home to one of these, or java_package to a package that brings it."
            yield Finding("java_home" if wish.java_home else "java_package", what, fix)


def java_major(host: Host) -> int | None:
    """Return the feature release of the Java that will run, None where it cannot be told."""
    found = host.found.java
    if found.exists:
        numbers = re.match(r"(?:1\.)?(\d+)", found.version)
        return int(numbers[1]) if numbers else None
    named = re.search(r"-(\d+)-", host.wish.java_package)
    if host.wish.java_package:
        return int(named[1]) if named else None
    return found.packaged or None


@check(
    "port-taken",
    when="a process that is not Millrace's listens on a port of a service",
    why="The service would fail to start after everything else was changed.",
    remedy="Stop that process, or move the service to a free port.",
)
def port_taken(host: Host) -> Iterator[Finding]:
    """Refuse a port in somebody else's use."""
    for port, variable in host.wish.ports().items():
        process = host.found.listeners.get(str(port))
        if process:
            what = f"Port {port} is taken by {process}."
            yield Finding(variable, what, "Stop it, or set another port.")


@check(
    "name-is-loopback",
    when="the name by which others reach ZooKeeper or Spark on the host is only a loopback address "
    "there",
    why="Both listen on the address that their own name has, where no other host reaches them.",
    remedy="Remove the line `127.0.1.1 <own name>`, which Debian's installer writes, from "
    "/etc/hosts, or set `ansible_host`, `zookeeper_host` or `spark_host` to an address.",
)
def name_is_loopback(host: Host) -> Iterator[Finding]:
    """Refuse a name that would keep the other hosts out."""
    yield from _loopbacks(host, ("zookeeper", "spark"))


@check(
    "advertised-is-loopback",
    when="`kafka_advertised_host` is only a loopback address on the host",
    why="Kafka listens on every address, but tells this name to all: where another host resolves "
    "it likewise, that host would look for the broker on itself.",
    remedy="As for `name-is-loopback`; the variable is `kafka_advertised_host`.",
    severity="warning",
)
def advertised_is_loopback(host: Host) -> Iterator[Finding]:
    """Warn of a name that leads nowhere from other hosts."""
    yield from _loopbacks(host, ("kafka",))


def _loopbacks(host: Host, roles: tuple[str, ...]) -> Iterator[Finding]:
    """Name what the roles that other hosts reach here are called, where that is a loopback."""
    for role, (variable, name) in host.wish.names().items():
        found = host.found.addresses.get(name, ())
        if role not in {*roles} & {*host.wish.shared} or not found:
            continue
        if all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in found):
            fix = (
                f"Remove {name} from the line of {found[0]} in /etc/hosts (Debian's installer "
                f"writes 127.0.1.1), or set ansible_host or {variable} to an address."
            )
            yield Finding(variable, f"{name} is {listing(found)} on the host itself.", fix)


@check(
    "clock-unsynchronised",
    when="the kernel does not call the clock synchronised although a time service runs, and "
    "`host_time_service` is not empty; only a warning, since the offset is judged by itself",
    why="Retention, timeouts, certificates and the order of events in logs follow the clock.",
    remedy="Let the service reach its time servers; an empty `host_time_service` gives it up.",
    severity="warning",
)
def clock_unsynchronised(host: Host) -> Iterator[Finding]:
    """Refuse a clock that runs free; without a service the host role installs one."""
    clock, wanted = host.found.clock, host.wish.host.get("time_service")
    if wanted and clock.synchronised is False and (clock.service or not host.kernel_is_ours):
        by = f", although {clock.service} runs" if clock.service else ""
        fix = "Look at timedatectl; set host_time_service to nothing if none is to be had."
        if not host.kernel_is_ours:
            fix = "Synchronise the machine that the container runs on."
        yield Finding("host_time_service", f"The clock is not synchronised{by}.", fix)


@check(
    "clock-offset",
    when=f"the clock differs from the controller's by more than {CLOCK_SECONDS} s",
    why="Records get wrong timestamps, and certificates seem expired or not yet valid.",
    remedy="Synchronise both clocks.",
    container="warning",
)
def clock_offset(host: Host) -> Iterator[Finding]:
    """Refuse a clock that is off."""
    offset = host.found.clock.offset
    if abs(offset) > CLOCK_SECONDS:
        side = "ahead of" if offset > 0 else "behind"
        what = f"The clock is {abs(offset):.1f} s {side} the controller's."
        yield Finding("clock", what, "Synchronise the clocks of both.")


@check(
    "store-unusable",
    when="a PEM store that Kafka's configuration names is missing, unreadable for the service "
    "user, or expires within 2 days",
    why="The broker would not start, or its clients turn away.",
    remedy="Put the file there, let the user read it, or renew the certificate.",
)
def store_unusable(host: Host) -> Iterator[Finding]:
    """Refuse certificates that cannot serve."""
    for one in host.found.certificates:
        if not one.exists:
            what, fix = f"{one.path} does not exist.", "Put it there, or correct the path."
        elif not one.readable:
            what, fix = f"Kafka's user may not read {one.path}.", "Give its group the right."
        elif one.days_left is not None and one.days_left < 0:
            what, fix = f"{one.path} expired {-one.days_left:.0f} days ago.", "Renew it."
        elif one.days_left is not None and one.days_left < 2:
            what, fix = f"{one.path} expires in {one.days_left * 24:.0f} hours.", "Renew it."
        else:
            continue
        yield Finding("kafka_config", what, fix)


@check(
    "certificate-due",
    when="a certificate expires within 30 days, or does not name the advertised host",
    why="Clients check both, and a certificate takes time to get.",
    remedy="Renew it, with the advertised host among its names.",
    severity="warning",
)
def certificate_due(host: Host) -> Iterator[Finding]:
    """Warn of certificates that will fail, or fail some clients."""
    advertised = str(host.wish.kafka.get("advertised_host") or "")
    for one in host.found.certificates:
        if one.days_left is not None and 2 <= one.days_left < 30:
            what = f"{one.path} expires in {one.days_left:.0f} days."
            yield Finding("kafka_config", what, "Renew it in time.")
        wildcard = f"*.{advertised.partition('.')[2]}"
        if advertised and one.names is not None and not {advertised, wildcard} & set(one.names):
            what = f"{one.path} is for {listing(one.names)}, not for {advertised}."
            yield Finding("kafka_config", what, "Renew it with that name among its SANs.")
