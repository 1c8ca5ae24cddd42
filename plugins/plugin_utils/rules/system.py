"""The rules about a host's operating system, its Java, its limits and its clock."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...module_utils.formats.values import integer, listing, mapping
from ...module_utils.formats.versions import PRODUCTS
from ..cluster.host import HostSettings
from ..cluster.jvm_options import release_in
from ..cluster.systems import families
from .engine import Finding, Findings, host_rule, hosts_rule, rule
from .inspection import InspectedHost
from .shared import holders, hosts

OPEN_FILES = 100_000  # the minimum that Kafka's documentation recommends ("Hardware and OS")
_PYTHON = (3, 9)
_CLOCK_SECONDS = 0.5
_TMP = "/tmp"  # noqa: S108 - where the JVM unpacks; its mount is checked, nothing is written
_HIGHEST = {"vm.swappiness": 200, "vm.dirty_ratio": 100, "vm.dirty_background_ratio": 100}
_TIME_SERVICES = {"chronyd": "chrony", "ntpd": "ntpsec", "timesyncd": "systemd-timesyncd"}
_PROGRAM = re.compile(r"/bin(?:/java)?$")
_TMP_OPTIONS = ("org.xerial.snappy.tempdir", "ZstdTempFolder")


def _tested_systems() -> str:
    return listing((family.advice for family in families().values() if family.tested), "or")


@host_rule("operating-system", where="/etc/os-release")
def _operating_system(host: InspectedHost) -> Findings:
    """Package names, paths and services are known only for these families."""
    if host.inspection.facts.family is None:
        yield Finding(f"The system is {host.inspection.system.name}.", f"Use {_tested_systems()}.")


@host_rule("system-untested", where="/etc/os-release", severity="warning")
def _system_untested(host: InspectedHost) -> Findings:
    """Package names, paths and services are taken from its documentation; they are not tested."""
    facts = host.inspection.facts
    if facts.family and facts.os_release.get("ID") not in facts.family.tested:
        problem = f"The system is {host.inspection.system.name}, which has not been tested."
        yield Finding(problem, f"Use {_tested_systems()}, or try it on a spare host first.")


@host_rule("release-untested", where="/etc/os-release", severity="warning")
def _release_untested(host: InspectedHost) -> Findings:
    """It is not tested; its Java may be one that the products do not accept."""
    family, release = host.inspection.facts.family, host.inspection.facts.release
    chosen_java = host.host.settings["java_home"] or host.host.settings["java_package"]
    if family and release not in family.java_releases and not chosen_java:
        tested = listing(family.java_releases, "and")
        system = f"{release or 'unknown'} of {host.inspection.system.name}"
        problem = f"The release {system} is not one of {tested}."
        yield Finding(problem, "Set java_package or java_home.")


@host_rule("python-too-old", where="ansible_python_interpreter")
def _python_too_old(host: InspectedHost) -> Findings:
    """The modules that run on the host need it."""
    if host.inspection.system.python < _PYTHON:
        fix = "Install Python 3.9 or newer and set ansible_python_interpreter to it."
        yield Finding(f"Python is {host.inspection.system.python_version}.", fix)


@host_rule("no-systemd", where="process 1")
def _no_systemd(host: InspectedHost) -> Findings:
    """Every service is a systemd unit."""
    if not host.inspection.system.systemd:
        yield Finding("Process 1 is not systemd.", "Boot the host with systemd.")


@host_rule("selinux", where="SELinux", severity="warning")
def _selinux(host: InspectedHost) -> Findings:
    """Millrace ships no SELinux policy, so SELinux may deny services access to their files."""
    if not host.inspection.system.selinux:
        return
    fix = "Watch the audit log, or set SELinux to permissive."
    family = host.inspection.facts.family
    contexts = family.selinux.get("contexts", {}) if family else {}
    if contexts:
        names = {"data": "the data directories"}
        types = listing(f"{kind} to {names.get(path, path)}" for path, kind in contexts.items())
        fix = f"Assign type {types} (semanage fcontext, restorecon), or set SELinux to permissive."
    yield Finding("SELinux is enforcing, and Millrace ships no policy.", fix)


@rule("java-home", each=hosts, where="java_home")
def _java_home(settings: HostSettings) -> Findings:
    """It is the directory above bin/java."""
    home = settings.settings["java_home"].rstrip("/")
    if home and not home.startswith("/"):
        yield Finding(f"java_home is {home}, which is no absolute path.", "Set it from / on.")
    elif home and (match := _PROGRAM.search(home)):
        better = home[: match.start()]
        # /usr/bin has links to the Java of a package, whose home is elsewhere.
        fix = "Delete it for Java's package, or set the directory of the Java itself."
        fix = fix if better in ("", "/usr", "/usr/local") else f"Set java_home: {better}."
        yield Finding(f"java_home is {home}.", fix)


@rule("sysctl-value", each=hosts, where="host_sysctl")
def _sysctl_value(settings: HostSettings) -> Findings:
    """The kernel refuses it, and keeps the value that it has."""
    for name, value in mapping(settings.settings["host_sysctl"]).items():
        number = integer(value)
        most = _HIGHEST.get(str(name))
        if most is not None and (number is None or not 0 <= number <= most):
            yield Finding(f"{name} is {value}.", f"Set {name} to a number from 0 to {most}.")


@rule("time-service", each=hosts, where="host_time_service")
def _time_service(settings: HostSettings) -> Findings:
    """It is the name of the package too, and there is no such package."""
    name = settings.settings["host_time_service"]
    if name in _TIME_SERVICES:
        fix = f"Set {_TIME_SERVICES[name]} on Debian, or delete it for the system's own."
        yield Finding(f"There is no package {name}.", fix)


@host_rule("sysctl-name", where="host_sysctl", in_container="warning")
def _sysctl_name(host: InspectedHost) -> Findings:
    """systemd only logs an unknown kernel setting, and the intended one keeps its value."""
    for name, similar in host.inspection.system.absent_settings.items():
        fix = f"Did you mean {similar}?" if similar else "Correct the name."
        fix += " If a module such as nf_conntrack brings it, load that at boot (modules-load.d)."
        fix += f" Write -{name} if it may be missing."
        yield Finding(f"The kernel has no setting {name}.", fix)


@host_rule("swap", where="/proc/swaps", severity="warning")
def _swap(host: InspectedHost) -> Findings:
    """A JVM whose heap is swapped out pauses for seconds and loses its session."""
    if host.inspection.system.swap and host.kernel_is_its_own:
        fix = "Run swapoff --all and remove it from /etc/fstab."
        yield Finding(f"Swap is on: {listing(host.inspection.system.swap)}.", fix)


@host_rule("open-files", where="fs.nr_open and the limits of process 1", in_container="warning")
def _open_files(host: InspectedHost) -> Findings:
    """A broker holds several files for each segment and one for each connection."""
    limit = host.inspection.system.open_files
    if limit is not None and limit < OPEN_FILES:
        problem = f"A service may open at most {limit} files; its unit asks for {OPEN_FILES}."
        fix = f"Set fs.nr_open to at least {OPEN_FILES} (host_sysctl)."
        if not host.kernel_is_its_own:
            fix = "Start the container with a higher limit."
        yield Finding(problem, fix)


@host_rule("tmp-noexec", where=_TMP)
def _tmp_noexec(host: InspectedHost) -> Findings:
    """The native code of zstd, snappy and RocksDB is unpacked there and run."""
    options = " ".join(host.host.settings["kafka_java_options"])
    elsewhere = all(name in options for name in _TMP_OPTIONS)
    needed = host.spark or (host.kafka and not elsewhere)
    if needed and "noexec" in host.inspection.system.tmp_options:
        fix = f"Run mount -o remount,exec {_TMP} and correct /etc/fstab or tmp.mount."
        yield Finding(f"{_TMP} is mounted noexec.", fix)


@host_rule("java")
def _java(host: InspectedHost) -> Findings:
    """The service would not start, or would run on a Java version that it does not support."""
    home, settings = host.host.java.home, host.host.settings
    installed = host.inspection.software.javas.get(home)
    if installed is None and settings["java_home"] and not settings["java_package"]:
        fix = "Correct java_home, or leave it empty for a package."
        yield Finding(f"{home}/bin/java does not exist.", fix, "java_home")
        return
    version = java_version(host)
    for name, service in host.cluster.services(host.name).items():
        release = PRODUCTS[name].supported.get(service.version)
        if version and release and version not in release.java:
            state = "would get" if installed is None else "has"
            problem = f"{PRODUCTS[name].name} {service.version} runs on Java "
            problem += f"{listing(release.java, 'or')}; {home} {state} {installed or version}."
            fix = "Set java_home to one of these, or java_package to a package that brings it."
            yield Finding(problem, fix, "java_home" if settings["java_home"] else "java_package")


@host_rule("java-package-home", where="java_package")
def _java_package_home(host: InspectedHost) -> Findings:
    """The service would not start: its unit names the Java of the system's own package."""
    settings, family = host.host.settings, host.host.family
    package = settings["java_package"]
    if package and not settings["java_home"] and not family.version_of_java(package):
        fix = "Set java_home to the directory in which that package has bin/java, or delete "
        fix += "java_package for the OpenJDK of the release."
        yield Finding(f"Where {package} puts Java is not known.", fix)


def java_version(host: InspectedHost) -> int | None:
    """Return the feature release of the Java that will run, None where it cannot be known."""
    installed = host.inspection.software.javas.get(host.host.java.home)
    package = host.host.settings["java_package"]
    if installed is None and not package:
        return host.host.java.version
    return release_in(package if installed is None else installed)


@hosts_rule("java-differs", where="Java", severity="warning")
def _java_differs(hosts: Sequence[InspectedHost]) -> Findings:
    """A fault that only some nodes have is hard to find."""
    versions = {host.name: version for host in hosts if (version := java_version(host))}
    groups = sorted(holders(versions).items())
    if len(groups) > 1:
        listed = listing(f"Java {version} on {listing(names)}" for version, names in groups)
        fix = "Run one version on all hosts (java_package or java_home)."
        yield Finding(f"The hosts run {listed}.", fix, hosts=tuple(versions))


@host_rule("clock-unsynchronised", where="host_time_service", severity="warning")
def _clock_unsynchronised(host: InspectedHost) -> Findings:
    """Retention, timeouts, certificates and the order of events in logs depend on the clock."""
    # Without a service the role host installs one.
    service = host.inspection.clock.service
    checked = host.host.time_service and (service or not host.kernel_is_its_own)
    if checked and host.inspection.clock.synchronised is False:
        by = f", although {service} runs" if service else ""
        fix = "Check timedatectl; set host_time_service: '' if there is no time server."
        if not host.kernel_is_its_own:
            fix = "Synchronise the machine that the container runs on."
        yield Finding(f"The clock is not synchronised{by}.", fix)


@host_rule("clock-offset", where="clock", in_container="warning")
def _clock_offset(host: InspectedHost) -> Findings:
    """Records get wrong timestamps, and certificates seem expired or not yet valid."""
    offset = host.inspection.clock.offset
    if abs(offset) > _CLOCK_SECONDS:
        side = "ahead of" if offset > 0 else "behind"
        fix = "Synchronise the clocks of both."
        yield Finding(f"The clock is {abs(offset):.1f} s {side} the control node's.", fix)
