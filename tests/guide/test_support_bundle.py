"""A support bundle of a running cluster, by the command of its page, with a host that is down."""

from __future__ import annotations

import json
import stat
import tarfile
import time
import uuid
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import redaction
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.operator import Operator
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import Topology
from tests.support.recap import changed
from tests.support.wait import scaled

pytestmark = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
SECONDS = 60


def write(
    operator: Operator, folder: Path, environment: str = ""
) -> tuple[str, dict[str, str], float]:
    """Return what the command prints, the files of the bundle, and how long it took."""
    (command, *_) = guide.page_commands(guide.SUPPORT)
    begun = time.monotonic()
    output = operator.run(f"{environment} {command} -vvv")
    seconds = time.monotonic() - begun
    path = folder / "support.tar.gz"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with tarfile.open(path) as archive:
        files = {
            member.name.removeprefix("support/"): content.read().decode()
            for member in archive
            if (content := archive.extractfile(member))
        }
    return output, files, seconds


def test_a_bundle_has_what_is_needed_and_no_secret(
    topology: Topology, hosts: dict[str, Host], tmp_path: Path
) -> None:
    cluster = topology.cluster
    operator = Operator(topology, hosts, tmp_path)
    secrets = [text for text in redaction.of_store(cluster.inventory.secrets) if len(text) > 16]
    name = cluster.brokers[0].name
    # Whoever has root on a host may log anything, and files of services are read as they are.
    unknown, place = uuid.uuid4().hex, "/etc/kafka/log4j2.yaml"
    if hosts[name].run("test -e %s", place).rc:
        place = "/etc/kafka/log4j.properties"
    before = hosts[name].check_output("cat %s", place)
    canaries = "".join(f"# {text}\n" for text in secrets) + f"# password={unknown}\n"
    hosts[name].check_output("printf '\\n%%s' %s >> %s", canaries, place)
    try:
        output, files, seconds = write(operator, tmp_path)
    finally:
        hosts[name].check_output("printf '%%s\\n' %s > %s", before, place)
    assert changed(output) == 0
    assert seconds < scaled(SECONDS)
    everything = "\n".join([output, *files, *files.values()])
    found = [secret for secret in (*secrets, unknown) if secret in everything]
    assert not found, f"{len(found)} secrets"
    assert "# (secret)" in files[f"hosts/{name}/files{place}.txt"]
    for host in cluster.kafka:
        assert "kafka" in files[f"hosts/{host}/journal/kafka.txt"].lower()
        assert "Linux" in files[f"hosts/{host}/versions.txt"]
    assert "Partition: 0" in files["kafka/topics.txt"]
    assert "LeaderId" in files["kafka/quorum.txt"]
    assert json.loads(files["cluster.json"])["kafka"]["brokers"]


def test_a_host_that_is_down_is_named(
    topology: Topology, hosts: dict[str, Host], tmp_path: Path
) -> None:
    name = topology.cluster.brokers[-1].name
    config = tmp_path / "ssh_config"
    config.write_text(f"Host {topology.addresses[name]}\n  ProxyCommand sleep 600\n")
    # Without a connection that an earlier run has left open.
    environment = f"ANSIBLE_SSH_ARGS='-F {config}'"
    output, files, seconds = write(Operator(topology, hosts, tmp_path), tmp_path, environment)
    assert seconds < scaled(SECONDS)
    assert f"{name}: " in output
    assert name in files["index.html"]
    assert not any(path.startswith(f"hosts/{name}/") for path in files)
    assert "Partition: 0" in files["kafka/topics.txt"]
