"""The cluster of a run: resolved once, completed by what was found, and nobody else's to read."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible_collections.millrace.streaming.plugins.module_utils.formats.versions import KAFKA
from ansible_collections.millrace.streaming.plugins.module_utils.host import network
from ansible_collections.millrace.streaming.plugins.plugin_utils import run
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.host import Facts
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import (
    Inventory,
    Secrets,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import (
    reading as inventory,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.certificates import (
    new_authority,
)
from cryptography.fernet import Fernet

from tests.unit.in_process import AnsibleRun
from tests.unit.inspections import answer_with

HOSTS = """\
all: {vars: {kafka_rack: "{{ where | default('here') }}"}}
kafka_brokers: {hosts: {k1: {kafka_node_id: 1}, k2: {kafka_node_id: 2}}}
kafka_controllers: {hosts: {k1: null}}
"""


@pytest.fixture
def ansible_run(tmp_path: Path) -> AnsibleRun:
    (tmp_path / "hosts.yml").write_text(HOSTS)
    return AnsibleRun(tmp_path / "hosts.yml")


def test_every_task_has_the_cluster_that_the_first_one_resolved(
    ansible_run: AnsibleRun, local_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ansible_run.cluster("k1")
    monkeypatch.setattr(inventory, "from_hostvars", lambda *_: pytest.fail("read once more"))
    assert ansible_run.cluster("k2") == first
    assert sorted(first.kafka) == ["k1", "k2"]


def test_only_its_owner_reads_it(ansible_run: AnsibleRun, local_tmp: Path) -> None:
    ansible_run.cluster("k1")
    cached = [path for path in local_tmp.iterdir() if path.stat().st_size]
    assert cached
    assert {stat.S_IMODE(path.stat().st_mode) for path in cached} == {0o600}


def test_a_killed_run_leaves_nothing_to_read(
    ansible_run: AnsibleRun, local_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is left of one that could not remove its directory."""
    run.renew(ansible_run.variables("k1"), {}, secrets=Secrets(passwords={"admin": "hunter2"}))
    assert ansible_run.cluster("k1").inventory.secrets.passwords == {"admin": "hunter2"}
    remaining = b"".join(path.read_bytes() for path in local_tmp.iterdir())
    assert remaining
    for text in (b"hunter2", b"kafka_brokers"):
        assert text not in remaining
    monkeypatch.setattr(run, "_KEY", Fernet(Fernet.generate_key()))
    with pytest.raises(AnsibleError, match="not written by this run"):
        ansible_run.cluster("k1")


def test_variables_of_a_play_make_another_cluster(ansible_run: AnsibleRun, local_tmp: Path) -> None:
    play = {"kafka_version": "{{ wanted }}", "wanted": "4.2.1", "where": "there"}
    for variables, version in (({}, KAFKA.default), (play, "4.2.1"), ({}, KAFKA.default)):
        deployment = run.current(ansible_run.variables("k1", variables))
        assert {node.version for node in deployment.kafka.values()} == {version}
    # Only what the play itself sets may refer to its variables.
    assert deployment.kafka["k1"].settings["kafka_rack"] == "here"


def test_what_was_found_on_hosts_is_kept_for_tasks_to_come(
    ansible_run: AnsibleRun, local_tmp: Path
) -> None:
    variables = ansible_run.variables("k1")
    run.renew(variables, {"k1": Facts(cores=8)})
    run.renew(variables, {"k2": Facts(cores=4)}, "4L6g3nShT-eMCtK--X86sw")
    deployment = ansible_run.cluster("k1")
    assert [node.host.cores for node in deployment.brokers] == [8, 4]
    assert deployment.kafka["k2"].cluster_id == "4L6g3nShT-eMCtK--X86sw"


@pytest.mark.parametrize("configured", ["timeout:9", ""])
def test_a_lost_query_for_a_name_is_repeated_soon(
    ansible_run: AnsibleRun, local_tmp: Path, monkeypatch: pytest.MonkeyPatch, configured: str
) -> None:
    """Unless the operator has chosen; a name server may answer only some of many."""
    monkeypatch.setenv("RES_OPTIONS", configured)
    if not configured:
        monkeypatch.delenv("RES_OPTIONS")
    ansible_run.cluster("k1")
    assert os.environ["RES_OPTIONS"] == (configured or run.RESOLVER)


def test_an_inspection_of_this_run_is_known_from_the_first_task_on(
    ansible_run: AnsibleRun, local_tmp: Path
) -> None:
    answer = {"inspection": answer_with(system_cores=16), "clock_offset": 1.5}
    ansible_run.register("k1", run.INSPECTION, answer)
    ansible_run.register("k2", run.INSPECTION, {"failed": True, "msg": "unreachable"})
    cluster = ansible_run.cluster("k2")
    assert cluster.hosts["k1"].cores == 16
    assert cluster.hosts["k2"].facts is None
    assert run.inspections(ansible_run.hostvars)["k1"].clock.offset == 1.5


def test_a_registered_inspection_that_lacks_a_field_is_refused_with_both_names(
    ansible_run: AnsibleRun, local_tmp: Path
) -> None:
    incomplete = answer_with()
    del incomplete["spark"]
    ansible_run.register("k2", run.INSPECTION, {"inspection": incomplete, "clock_offset": 0.0})
    with pytest.raises(AnsibleActionFail, match=r"k2: .* lacks spark$"):
        run.inspections(ansible_run.hostvars)


def test_the_ca_of_a_site_is_judged_from_the_first_task_on(
    ansible_run: AnsibleRun, local_tmp: Path
) -> None:
    def found(certificate: str) -> Inventory:
        variables = ansible_run.variables("k1", {"kafka_ca_certificate": certificate})
        return run.current(variables).inventory

    good, wrong, none = found(new_authority("Site").certificate), found("junk"), found("")
    assert not good.authority_error
    assert (good.authority_days or 0) > 0
    assert (bool(wrong.authority_error), wrong.authority_days) == (True, None)
    assert (none.authority_error, none.authority_days) == ("", None)


def test_a_cluster_is_judged_once(ansible_run: AnsibleRun, local_tmp: Path) -> None:
    plain, changed_play = (ansible_run.variables("k1", play) for play in ({}, {"kafka_heap": "1g"}))
    run.validated(plain).touch()
    assert run.validated(plain).exists()
    assert not run.validated(changed_play).exists()


def test_names_are_resolved_where_a_firewall_needs_them(
    tmp_path: Path, local_tmp: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = {"k1": ["10.0.0.1"], "k2": []}
    monkeypatch.setattr(network, "addresses", addresses.__getitem__)
    (tmp_path / "hosts.yml").write_text(
        HOSTS.replace("vars: {", "vars: {host_firewall: nftables, ")
    )
    ansible = AnsibleRun(tmp_path / "hosts.yml")
    ansible.cluster("k1")
    run.renew(ansible.variables("k1"), {"k1": Facts(cores=8)})
    deployment = ansible.cluster("k1")
    assert {name: deployment.addresses(name) for name in addresses} == addresses
