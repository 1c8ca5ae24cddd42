"""Distributions on the control node: packed once, and verified before a host gets them."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..module_utils.formats.values import listing
from ..module_utils.host.distribution import sha256_of
from ..module_utils.host.paths import naming
from .cluster.artifacts import RECIPES, Distribution
from .cluster.cluster import Cluster


def wanted(cluster: Cluster) -> list[Distribution]:
    """Return every distribution that a host of the cluster gets, each once."""
    distributions = {
        distribution.home: distribution
        for host in cluster.hosts
        for distribution in cluster.distributions(host)
    }
    return list(distributions.values())


def wanted_by_jobs(cluster: Cluster) -> list[Distribution]:
    """Return the Python packages of the jobs on Spark, each once.

    Raises:
        OSError: the requirements of a job cannot be read.

    """
    spark = next(iter(cluster.spark.values()), None)
    if spark is None:
        return []
    drivers = spark.drivers
    distributions = [drivers.packages(job) for job in drivers.jobs if job.present]
    return list({packages.home: packages for packages in distributions if packages}.values())


def have(distributions: Iterable[Distribution], display: Callable[[str], None]) -> list[str]:
    """Pack what is missing, check everything, and return what was packed.

    Raises:
        AnsibleActionFail: one cannot be packed, or is not what is recorded.

    """
    packed = []
    for distribution in distributions:
        refuse_others(distribution.tarball, distribution.checksum_file)
        if not distribution.tarball.is_file():
            display(f"  packing {distribution.product} {distribution.version}, once")
            _pack(distribution)
            packed.append(str(distribution.tarball))
        verify(distribution.tarball, distribution.sha256, distribution.checksum_file)
    return packed


def verify(tarball: Path, sha256: str, recorded: Path | None = None) -> None:
    """Check a tarball; one that was checked since it was last written is not read again.

    Raises:
        AnsibleActionFail: it is missing, or its checksum is another one.

    """
    if not tarball.is_file():
        message = f"the tarball {tarball} is not on the control node; run artifacts.yml"
        raise AnsibleActionFail(message)
    refuse_others(tarball, recorded)
    status = tarball.stat()
    stamp = f"{sha256} {status.st_size} {status.st_mtime_ns} {status.st_ino}\n"
    checked = tarball.with_suffix(".tar.checked")
    if checked.is_file() and not _others_write(checked) and checked.read_text() == stamp:
        return
    actual = sha256_of(tarball)
    if actual != sha256:
        message = (
            f"{tarball} has the sha256 {actual}, but {recorded or 'its record'} records {sha256}. "
            "What is packed is not what was reviewed, so no host is touched. Remove the file to "
            "have it packed again; if its contents were changed on purpose, record the new sum."
        )
        raise AnsibleActionFail(message)
    with naming(checked):
        checked.write_text(stamp)
        checked.chmod(0o644)  # whatever the umask is


def _others_write(path: Path) -> bool:
    """Return whether another account than this one and root may change a file or directory."""
    status = path.stat()
    trusted = {0, os.geteuid(), int(os.environ.get("SUDO_UID") or 0)}
    return bool(status.st_mode & 0o022) or status.st_uid not in trusted


def refuse_others(tarball: Path, recorded: Path | None) -> None:
    """Refuse a tarball that others may change: it decides what runs on hosts.

    Raises:
        AnsibleActionFail: names what they may write.

    """
    cache = tarball.parent
    files = [tarball, *([recorded] if recorded and recorded.parent == cache else [])]
    shared = [
        path for path in (cache.parent, cache, *files) if path.exists() and _others_write(path)
    ]
    if shared:
        paths = listing(map(str, shared))
        message = (
            f"other accounts may change {paths}, and with it what runs on the hosts. If you trust "
            f"what is there, run chmod go-w {' '.join(map(str, shared))} as its owner; else remove "
            "it, or set MILLRACE_CACHE to a directory of your own"
        )
        raise AnsibleActionFail(message)


def _pack(one: Distribution) -> None:
    archive = [str(one.archive["url"]), str(one.archive["sha512"])] if one.archive else []
    command = [str(RECIPES / "pack"), one.product, one.version, str(one.tarball), *archive]
    done = subprocess.run(
        command,
        check=False,
        env={**os.environ, "PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        message = f"{one.product} {one.version} could not be packed: {done.stdout.strip()[-3000:]}"
        raise AnsibleActionFail(message)
