"""The task that makes new keys, or brings the next phase of a change of the CA."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleError
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import (
    secret_files as files_of_secrets,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets.store import read
from cryptography import x509

from tests.unit.actions.clean_cluster import (
    CLEAN,
    NODES,
    clean,
    run_checks,
    secret_files,
    written,
)
from tests.unit.in_process import AnsibleRun
from tests.unit.outside_authority import OutsideCa

pytestmark = pytest.mark.usefixtures("local_tmp")
ALL = [*NODES]


def deployed(place: Path, **variables: Any) -> AnsibleRun:
    """Return the run after the one that has made all secrets."""
    ansible = clean(place, kafka_security="standard", **variables)
    run_checks(ansible, generate=True)
    return ansible.next_run()


def rotate(
    ansible: AnsibleRun, *, play: dict[str, Any] | None = None, check: bool = False, **args: Any
) -> dict[str, Any]:
    hosts = {"ansible_play_hosts_all": ALL, "ansible_play_hosts": ALL, **(play or {})}
    return ansible.task("rotate_certificates", "k1", check=check, play=hosts, **args)


def change(ansible: AnsibleRun, **args: Any) -> dict[str, Any]:
    """Let a run enter a phase, bring it to the nodes as site.yml does, and complete it."""
    result = rotate(ansible, what="ca", **args)
    assert run_checks(ansible, generate=True)["changed"] is False, "it is made already"
    done = rotate(ansible, what="ca", complete=True, play=args.get("play"))
    assert done["phase"] == result["phase"]
    recorded = ansible.cluster("k1").inventory.secrets
    assert recorded.store == read(Path(recorded.directory)).store, (
        "hosts record it at the end of the run"
    )
    return result


# Keys


def test_all_keys_are_new_and_nothing_else_is(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = secret_files(ansible)
    result = rotate(ansible)
    after = secret_files(ansible)
    assert result["changed"]
    assert "k1, k2 and k3" in result["msg"]
    changed = {name for name in before if before[name] != after[name]}
    assert changed == {name for name in before if name.startswith("certificates/")}
    assert after.keys() == before.keys()
    recorded = ansible.cluster("k2").inventory.secrets.certificates
    assert recorded["k3/node"] == after["certificates/k3/node.pem"], "for tasks to come"
    assert run_checks(ansible, generate=True)["changed"] is False
    assert rotate(ansible, complete=True) == {"changed": False, "msg": "The new keys are in use."}
    assert secret_files(ansible) == after


def test_keys_of_hosts_outside_the_play_stay(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = secret_files(ansible)
    rotate(ansible, play={"ansible_play_hosts_all": ["k2"]})
    changed = {name for name, text in secret_files(ansible).items() if before[name] != text}
    assert changed == {"certificates/k2/node.pem", "certificates/k2/clients.pem"}


SERVICES = {
    "kafka_connect": "c1",
    "schema_registry": "r1",
    "postgresql": "d1",
    "spark_masters": "s1",
    "spark_workers": "s2",
}
WATCHED = {"kafka_connect": "c1", "postgresql": "d1", "monitoring": "m1"}


def services(
    place: Path, security: str = "standard", groups: dict[str, str] = SERVICES, **settings: Any
) -> AnsibleRun:
    """Return the first run of a cluster with other services."""
    variables = {"connect_security": security, "schema_registry_security": security, **settings}
    path = written(place, NODES, {**CLEAN, "kafka_security": "standard", **variables})
    document = yaml.safe_load((path / "hosts.yml").read_text())
    for number, (group, host) in enumerate(groups.items(), 11):
        document["all"]["children"][group] = {
            "hosts": {host: {"ansible_host": f"192.0.2.{number}"}}
        }
    (path / "hosts.yml").write_text(yaml.safe_dump(document))
    return AnsibleRun(path)


def deployed_services(place: Path, security: str = "standard") -> AnsibleRun:
    """Return the run after the one that has made all secrets of nodes and of other services."""
    ansible = services(place, security)
    run_checks(ansible, generate=True)
    return ansible.next_run()


def test_hosts_of_other_services_get_new_keys_too(tmp_path: Path) -> None:
    ansible = deployed_services(tmp_path)
    before = secret_files(ansible)
    hosts = [*SERVICES.values()]
    result = rotate(ansible, play={"ansible_play_hosts_all": hosts})
    assert "c1, r1 and d1" in result["msg"] or "r1, c1 and d1" in result["msg"]
    changed = {name for name, text in secret_files(ansible).items() if before[name] != text}
    assert changed == {
        f"certificates/{host}/{name}.pem"
        for host, name in (("c1", "connect"), ("r1", "schema_registry"), ("d1", "postgresql"))
    }
    assert run_checks(ansible, generate=True)["changed"] is False


def test_hosts_without_certificates_are_refused_alone(tmp_path: Path) -> None:
    ansible = deployed_services(tmp_path)
    before = secret_files(ansible)
    with pytest.raises(AnsibleError):
        rotate(ansible, play={"ansible_play_hosts_all": ["s1"]})
    assert secret_files(ansible) == before


@pytest.mark.parametrize("security", ["standard", "open"])
def test_the_ca_changes_at_all_hosts_that_trust_it(tmp_path: Path, security: str) -> None:
    """Open services connect to Kafka as clients."""
    ansible = deployed_services(tmp_path, security)
    with pytest.raises(AnsibleError, match="leaves out the hosts c1, d1, r1, s1 and s2"):
        rotate(ansible, what="ca")
    hosts = [*ALL, "c1", "d1", "r1", "s1", "s2"]
    assert rotate(ansible, what="ca", play={"ansible_play_hosts_all": hosts})["phase"] == "trust"


def test_the_ca_changes_at_hosts_with_an_exporter_alone(tmp_path: Path) -> None:
    """Prometheus compares the certificate of the exporter with the CA that it trusts."""
    ansible = services(tmp_path, groups=WATCHED)
    run_checks(ansible, generate=True)
    ansible = ansible.next_run()
    with pytest.raises(AnsibleError, match="leaves out the hosts d1"):
        rotate(ansible, what="ca", play={"ansible_play_hosts_all": [*ALL, "c1", "m1"]})
    hosts = [*ALL, *WATCHED.values()]
    assert rotate(ansible, what="ca", play={"ansible_play_hosts_all": hosts})["phase"] == "trust"


def test_check_mode_makes_keys_for_its_own_tasks_alone(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = secret_files(ansible)
    assert rotate(ansible, check=True)["changed"]
    assert run_checks(ansible, check=True, generate=True)["changed"] is False
    recorded = ansible.cluster("k1").inventory.secrets.certificates
    assert recorded["k1/node"] != before["certificates/k1/node.pem"]
    assert rotate(ansible, check=True, complete=True)["msg"] == "Nothing was changed."
    assert secret_files(ansible) == before


def test_an_outside_ca_is_asked_for_new_keys(tmp_path: Path) -> None:
    site = OutsideCa.new("Site")
    ansible = deployed_outside(tmp_path, site)
    before = secret_files(ansible)
    for complete in (False, True):
        result = rotate(ansible, complete=complete)
        assert f"{ansible.inventory}/.secrets/requests/k3/node.csr" in result["msg"]
    after = secret_files(ansible)
    assert before.items() <= after.items()
    again = ansible.next_run()
    result = run_checks(again, generate=True)
    assert (result["changed"], len(result["warnings"])) == (False, 1)
    assert "requests/k1/clients.csr" in result["warnings"][0]


def test_keys_that_no_outside_ca_signs_are_in_use_at_once(tmp_path: Path) -> None:
    site = OutsideCa.new("Site")
    ansible = signed(services(tmp_path, kafka_ca_certificate=site.given.certificate), site)
    hosts = {"ansible_play_hosts_all": ["k1", *SERVICES.values()]}
    for args in ({"check": True}, {}, {"complete": True}):
        message = rotate(ansible, play=hosts, **args)["msg"]
        assert "of c1 and d1" in message
        assert "r1 and" not in message
    assert f"{ansible.inventory}/.secrets/requests/r1/schema_registry.csr" in message


def deployed_outside(place: Path, site: OutsideCa) -> AnsibleRun:
    """Return the run after the one that has taken in what a CA of the site has signed."""
    certificate = site.given.certificate
    return signed(clean(place, kafka_security="standard", kafka_ca_certificate=certificate), site)


def signed(ansible: AnsibleRun, site: OutsideCa) -> AnsibleRun:
    """Return the run after the one that has taken in what a CA has signed of a first run's."""
    with pytest.raises(AnsibleError, match="must sign these requests"):
        run_checks(ansible, generate=True)
    folder = ansible.inventory / ".secrets"
    for path in folder.glob("requests/*/*.csr"):
        signed = folder / "signed" / path.relative_to(folder / "requests").with_suffix(".pem")
        signed.parent.mkdir(parents=True, exist_ok=True)
        signed.write_text(site.sign(path.read_text()))
    ansible = ansible.next_run()
    assert "warnings" not in run_checks(ansible, generate=True)
    return ansible.next_run()


# The CA


def test_the_ca_is_changed_in_three_runs(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    begun = secret_files(ansible)
    for phase in ("trust", "leaves", "finish"):
        result = change(ansible)
        assert (result["changed"], result["phase"]) == (True, phase)
        assert f"brings the phase {phase}" in result["msg"]
        ansible = ansible.next_run()
    after = secret_files(ansible)
    assert after.keys() == begun.keys()
    changed = {name for name in begun if begun[name] != after[name]}
    assert {"ca.pem", "ca.key", "certificates/k1/node.pem"} <= changed
    assert "passwords/admin" not in changed
    assert rotate(ansible, what="ca")["phase"] == "trust", "another change"


EVERY = {"ansible_play_hosts_all": [*ALL, *SERVICES.values()]}
EVERY["ansible_play_hosts"] = EVERY["ansible_play_hosts_all"]


def leaves_of(files: dict[str, str], authority: str) -> set[str]:
    """Return which certificates a CA has signed, by the names of their files."""
    issuer = x509.load_pem_x509_certificate(authority.encode()).subject
    names = [name for name in files if name.startswith("certificates/")]
    certificates = {name: x509.load_pem_x509_certificate(files[name].encode()) for name in names}
    return {name for name, certificate in certificates.items() if certificate.issuer == issuer}


def test_all_cas_are_changed_together(tmp_path: Path) -> None:
    ansible = deployed_services(tmp_path)
    begun = secret_files(ansible)
    cas = [name for name in begun if name.endswith("ca.pem")]
    assert len(cas) > 1
    of_each = {name: leaves_of(begun, begun[name]) for name in cas}
    for phase in ("trust", "leaves", "finish"):
        assert change(ansible, play=EVERY)["phase"] == phase
        ansible = ansible.next_run()
    after = secret_files(ansible)
    assert after.keys() == begun.keys()
    for name in cas:
        key = name.replace(".pem", ".key")
        assert (after[name], after[key]) != (begun[name], begun[key])
        assert leaves_of(after, after[name]) == of_each[name] != set()
        assert not leaves_of(after, begun[name])


@pytest.mark.parametrize(
    ("chosen", "changed", "names"),
    [("connect", "connect-ca", ["c1", "d1"]), ("kafka", "ca", [*ALL, "c1", "r1", "s1", "s2"])],
)
def test_a_ca_is_changed_alone(tmp_path: Path, chosen: str, changed: str, names: list[str]) -> None:
    ansible = deployed_services(tmp_path)
    begun = secret_files(ansible)
    play = {"ansible_play_hosts_all": names, "ansible_play_hosts": names}
    for _ in range(3):
        change(ansible, play=play, authorities=[chosen])
        ansible = ansible.next_run()
    after = secret_files(ansible)
    keys = {name for name in begun if name.endswith(".key") and after[name] != begun[name]}
    assert keys == {f"{changed}.key"}


def test_a_change_that_is_under_way_is_of_the_cas_with_which_it_began(tmp_path: Path) -> None:
    ansible = deployed_services(tmp_path)
    change(ansible, play=EVERY, authorities=["connect"])
    ansible = ansible.next_run()
    before = secret_files(ansible)
    with pytest.raises(AnsibleError, match=r"connect-ca\.pem is under way"):
        rotate(ansible, what="ca", play=EVERY, authorities=["kafka"])
    assert secret_files(ansible) == before
    for _ in range(2):
        change(ansible, play=EVERY)
        ansible = ansible.next_run()
    assert secret_files(ansible)["ca.key"] == before["ca.key"]


def test_a_ca_that_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    with pytest.raises(AnsibleError, match=r"zookeeper-ca\.pem"):
        rotate(ansible, what="ca", authorities=["zookeeper"])


def test_with_a_ca_of_the_site_the_others_are_changed_alone(tmp_path: Path) -> None:
    site = OutsideCa.new("Site")
    ansible = signed(services(tmp_path, kafka_ca_certificate=site.given.certificate), site)
    before = secret_files(ansible)
    with pytest.raises(AnsibleError, match="rotate_ca=connect"):
        rotate(ansible, what="ca", play=EVERY)
    for _ in range(3):
        change(ansible, play=EVERY, authorities=["connect"])
        ansible = ansible.next_run()
    after = secret_files(ansible)
    assert after["ca.pem"] == before["ca.pem"]
    assert after["connect-ca.pem"] != before["connect-ca.pem"]


def test_what_comes_next_is_said_at_the_end(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    for words in ("clients.yml", "rotate=ca", "change is complete"):
        rotate(ansible, what="ca")
        assert words in rotate(ansible, what="ca", complete=True)["msg"]


def test_an_interrupted_run_is_repeated(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, what="ca")
    before = secret_files(ansible)
    ansible = ansible.next_run()
    result = rotate(ansible, what="ca")
    assert (result["changed"], result["phase"]) == (False, "trust")
    assert "repeats the phase trust" in result["msg"]
    assert secret_files(ansible) == before


def test_a_change_can_be_undone(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    before = secret_files(ansible)
    change(ansible)
    change(ansible)
    assert [change(ansible, back=True)["phase"] for _ in range(2)] == ["trust", "withdraw"]
    after = secret_files(ansible)
    assert after.keys() == before.keys()
    assert (after["ca.pem"], after["ca.key"]) == (before["ca.pem"], before["ca.key"])


def test_check_mode_shows_the_next_phase_and_enters_none(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    for phase in ("trust", "leaves", "finish"):
        before = secret_files(ansible)
        result = rotate(ansible, what="ca", check=True)
        assert (result["changed"], result["phase"]) == (True, phase)
        assert run_checks(ansible, check=True, generate=True)["changed"] is False
        trusted = ansible.cluster("k1").inventory.secrets.authority
        done = rotate(ansible, what="ca", complete=True, check=True)
        assert done == {"changed": False, "msg": "Nothing was changed."}
        assert secret_files(ansible) == before
        ansible = ansible.next_run()
        change(ansible)
        if phase != "trust":  # the new CA of the check was another one
            assert secret_files(ansible)["ca.pem"] == trusted
        ansible = ansible.next_run()


def test_no_result_shows_a_key(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    shown = "".join(str(rotate(ansible, what="ca")) for _ in range(2)) + repr(ansible.cluster("k1"))
    keys = [text for name, text in secret_files(ansible).items() if name.endswith(".key")]
    assert len(keys) == 2
    assert not [text for text in keys if text in shown]


def test_the_ca_of_a_site_takes_over(tmp_path: Path) -> None:
    site = OutsideCa.new("Site").with_key
    (tmp_path / "site.key").write_text(site.key)
    ansible = deployed(tmp_path)
    hosts = ansible.inventory / "hosts.yml"
    document = yaml.safe_load(hosts.read_text())
    document["all"]["vars"] |= {
        "kafka_ca_certificate": site.certificate,
        "kafka_ca_key": "{{ lookup('ansible.builtin.file', '"
        + str(tmp_path / "site.key")
        + "') }}",
    }
    hosts.write_text(yaml.safe_dump(document))
    with pytest.raises(AnsibleError, match="another CA than kafka_ca_certificate"):
        run_checks(ansible.next_run(), generate=True)
    for _ in range(3):
        ansible = ansible.next_run()
        change(ansible)
    assert secret_files(ansible)["ca.pem"] == site.certificate
    assert run_checks(ansible.next_run(), generate=True)["changed"] is False


# What is refused, before anything is written


@pytest.mark.parametrize(
    ("play", "args", "words"),
    [
        ({"ansible_play_hosts_all": ["k1", "k3"]}, {}, "leaves out the hosts k2"),
        ({"ansible_skip_tags": ["service"]}, {}, "leaves out the tags service"),
        ({}, {"back": True}, "nothing to go back from"),
        ({}, {"what": "keys", "back": True}, "give -e rotate=ca, too"),
        ({}, {"what": "leaves"}, "must be one of"),
        ({}, {"complete": True}, "another run"),
    ],
)
def test_a_run_that_cannot_do_it_is_refused(
    tmp_path: Path, play: dict[str, Any], args: dict[str, Any], words: str
) -> None:
    ansible = deployed(tmp_path)
    before = secret_files(ansible)
    with pytest.raises(AnsibleError, match=words):
        rotate(ansible, play=play, **{"what": "ca", **args})
    assert secret_files(ansible) == before


@pytest.mark.parametrize(("kind", "words"), [("keys", "no certificates yet"), ("ca", "no CA yet")])
def test_a_cluster_that_is_not_deployed_has_nothing_to_replace(
    tmp_path: Path, kind: str, words: str
) -> None:
    ansible = clean(tmp_path, kafka_security="standard")
    with pytest.raises(AnsibleError, match=words):
        rotate(ansible, what=kind)
    assert not [name for name in secret_files(ansible) if name.endswith((".pem", ".key"))]


def test_a_phase_that_a_node_missed_is_not_complete(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, what="ca")
    before = secret_files(ansible)
    with pytest.raises(AnsibleError, match="leaves out the hosts k3"):
        rotate(ansible, what="ca", complete=True, play={"ansible_play_hosts": ["k1", "k2"]})
    assert secret_files(ansible) == before


def test_a_record_that_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, what="ca")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files_of_secrets, "write_own", full)
    with pytest.raises(AnsibleError, match=r"cannot be recorded.*No space left"):
        rotate(ansible, what="ca", complete=True)


def test_keys_wait_for_the_end_of_a_change(tmp_path: Path) -> None:
    ansible = deployed(tmp_path)
    rotate(ansible, what="ca")
    before = secret_files(ansible)
    for complete in (False, True):
        with pytest.raises(AnsibleError, match=r"phase trust.*rotate=ca"):
            rotate(ansible, complete=complete)
    assert secret_files(ansible) == before


@pytest.mark.parametrize("kind", ["keys", "ca"])
def test_a_damaged_record_ends_the_run(tmp_path: Path, kind: str) -> None:
    ansible = deployed(tmp_path)
    (ansible.inventory / ".secrets/ca_change.json").write_text("[]")
    with pytest.raises(AnsibleError, match=r"ca_change\.json"):
        rotate(ansible, what=kind)


@pytest.mark.parametrize("kind", ["keys", "ca"])
def test_a_cluster_that_was_never_deployed_has_nothing_to_rotate(tmp_path: Path, kind: str) -> None:
    ansible = clean(tmp_path, kafka_security="standard")
    with pytest.raises(AnsibleError, match=r"run site\.yml"):
        rotate(ansible, what=kind)
    assert not {"ca.pem", "ca_change.json"} & secret_files(ansible).keys()


@pytest.mark.parametrize("kind", ["keys", "ca"])
def test_a_cluster_without_certificates_of_ours_is_refused(tmp_path: Path, kind: str) -> None:
    with pytest.raises(AnsibleError, match="kafka_security is open"):
        rotate(clean(tmp_path), what=kind)
