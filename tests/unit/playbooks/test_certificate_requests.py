"""A CA of the site, from requests to certificates: the commands of docs/deploy/site_ca.md.

What is read and refused of a certificate: tests/unit/secrets/test_signed_certificates.py.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from tests.support.clients import guide
from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE
from tests.unit.module_runner import HANGS_SECONDS
from tests.unit.playbooks.runs import run_playbook

REQUESTS, TAKE = guide.commands("Requests and certificates", guide.SITE_CA)
[SIGN] = guide.commands("Practice", guide.SITE_CA)
[RENEW] = guide.commands("Renewal", guide.SITE_CA)
INVENTORY = "inventories/<yours>"
KINDS = {"node", "clients", "schema_registry", "metrics", "monitoring", "console"}
# Programs in place of Ansible and of Vault, for scripts that call them by their names.
ANSIBLE_PLAYBOOK = """#!/bin/sh
case "$*" in *millrace.streaming.site*) echo "$*" >> ran; exit "${SITE_CODE:-0}";; esac
inventory=$2 playbook=${3##*.}
shift 3
exec %s -i "$inventory" "%s/playbooks/$playbook.yml" "$@"
"""
VAULT = """#!/bin/sh
set -eu
[ "$1" = write ] || { cat ca.pem; exit; }
echo "$3 $5" >> roles
exec openssl x509 -req -in "${4#csr=@}" -copy_extensions copy -days 90 -CA ca.pem -CAkey ca.key
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with the example for production, and the CA of a site."""
    place = tmp_path / "site"
    shutil.copytree(ROOT / "inventories/vms_kafka", place / INVENTORY)
    shutil.copytree(ROOT / "examples/ca", place / "examples/ca")
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key"
    subject = "-subj /CN=Site -addext basicConstraints=critical,CA:true -days 900 -out ca.pem"
    command = ["openssl", "req", "-x509", *key.split(), *subject.split()]
    subprocess.run(command, cwd=place, check=True, capture_output=True)
    path = place / INVENTORY / "group_vars/kafka/cluster.yml"
    settings = yaml.safe_load(path.read_text())
    settings["kafka_ca_certificate"] = (place / "ca.pem").read_text()
    path.write_text(yaml.safe_dump(settings))
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in {
        "ansible-playbook": ANSIBLE_PLAYBOOK % (ANSIBLE, ROOT),
        "vault": VAULT,
    }.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setenv("ANSIBLE_CONFIG", str(ROOT / "ansible.cfg"))
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("KAFKA_CA_KEY", raising=False)
    return place


def shell(place: Path, command: str, code: int = 0) -> str:
    """Run a command of the page."""
    done = subprocess.run(
        ["bash", "-c", command.replace(INVENTORY, f"'{INVENTORY}'")],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_SECONDS,
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def exchange(place: Path, command: str, *options: str, code: int = 0) -> str:
    """Run a command of the page with the playbook; no host is contacted."""
    words = shlex.split(command.replace(INVENTORY, "INVENTORY"))
    assert words[:4] == [
        "ansible-playbook",
        "-i",
        "INVENTORY",
        "playbooks/certificate_requests.yml",
    ]
    given = (*words[4:], *options)
    actual, output = run_playbook(place, INVENTORY, *given, playbook="certificate_requests")
    assert actual == code, output
    return output


def secrets_of(place: Path) -> dict[str, bytes]:
    directory = place / INVENTORY / ".secrets"
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def table_of(place: Path) -> list[dict[str, object]]:
    text = (place / "build/certificate_requests/requests.json").read_text()
    table: list[dict[str, object]] = json.loads(text)
    return table


def use_vault(place: Path) -> tuple[str, ...]:
    """Keep the secrets in a vault; return the options with its password."""
    (place / "password").write_text("correct horse\n")
    (place / INVENTORY / "group_vars/all/").mkdir()
    variables = place / INVENTORY / "group_vars/all.yml"
    variables.rename(place / INVENTORY / "group_vars/all/hosts.yml")
    store = {"kafka_secrets_store": "vault"}
    (place / INVENTORY / "group_vars/all/store.yml").write_text(yaml.safe_dump(store))
    return "--vault-password-file", "password"


@pytest.mark.parametrize("store", ["files", "vault"])
def test_requests_are_signed_and_taken_in(place: Path, store: str) -> None:
    options = use_vault(place) if store == "vault" else ()
    requests = place / "build/certificate_requests"
    shown = exchange(place, REQUESTS, *options, "--check")
    assert "requests for the CA to sign" in shown
    assert not requests.exists()
    assert not secrets_of(place)

    assert "changed=1" in exchange(place, REQUESTS, *options)
    table = table_of(place)
    hosts = yaml.safe_load((place / INVENTORY / "hosts.yml").read_text())["kafka"]["children"]
    names = {name for group in hosts.values() for name in group["hosts"]} | {"monitor1.example.org"}
    assert {row["host"] for row in table} == names
    assert {row["kind"] for row in table} == KINDS
    assert {path.name for path in requests.glob("*.csr")} == {row["file"] for row in table}
    [broker] = [row for row in table if row["file"] == "kafka1.example.org-node.csr"]
    assert (broker["common_name"], broker["addresses"]) == ("kafka-nodes", ["192.0.2.21"])
    assert broker["purposes"] == ["serverAuth", "clientAuth"]
    assert not [path for path in requests.iterdir() if b"PRIVATE" in path.read_bytes()]
    before = secrets_of(place), {path: path.read_bytes() for path in requests.iterdir()}
    assert "changed=0" in exchange(place, REQUESTS, *options)
    after = secrets_of(place), {path: path.read_bytes() for path in requests.iterdir()}
    assert after == before

    if options:
        sealed = " ".join(exchange(place, REQUESTS, code=2).split())
        assert "Ansible has no vault password for the secrets" in sealed

    shell(place, SIGN)
    assert f"{len(table)} certificates would be" in exchange(place, TAKE, *options, "--check")
    assert secrets_of(place) == before[0]
    assert f"{len(table)} certificates taken in" in exchange(place, TAKE, *options)
    kept = secrets_of(place)
    assert {f"certificates/{row['host']}/{row['kind']}.pem" for row in table} <= kept.keys()
    assert not [name for name in kept if name.startswith(("requests/", "signed/"))]
    header = b"$ANSIBLE_VAULT" if store == "vault" else b"-----BEGIN PRIVATE KEY-----"
    certificates = [text for name, text in kept.items() if name.startswith("certificates/")]
    assert all(text.startswith(header) for text in certificates)
    assert "changed=0" in exchange(place, TAKE, *options)
    assert secrets_of(place) == kept

    # site.yml gets as far as the hosts, and asks for nothing any more.
    generate = ("-e", "validate_generate=true", *options)
    for changed in (1, 0):  # the first makes the id of the cluster
        code, output = run_playbook(place, INVENTORY, *generate)
        assert (code, f"changed={changed}" in output) == (0, True), output
    assert {name: text for name, text in secrets_of(place).items() if text != kept.get(name)} == {}
    exchange(place, REQUESTS, *options)
    assert table_of(place) == []
    assert [path.name for path in requests.iterdir()] == ["requests.json"]


def test_all_that_is_refused_or_missing_is_listed_and_the_rest_taken_in(place: Path) -> None:
    exchange(place, REQUESTS)
    shell(place, SIGN)
    signed = place / "build/signed"
    (signed / "kafka1.example.org-clients.pem").unlink()
    (signed / "kafka2.example.org-node.pem").write_text("not PEM")
    stranger = "openssl req -x509 -newkey ed25519 -nodes -keyout /dev/null -subj /CN=x"
    shell(place, f"{stranger} -addext basicConstraints=CA:false -out build/signed/other.pem")
    output = " ".join(exchange(place, TAKE, code=2).split())
    assert "26 certificates taken in" in output
    assert "build/signed/other.pem: no request has its key" in output
    assert "- kafka1.example.org/clients - kafka2.example.org/node" in output
    assert "no certificate in PEM: - " in output
    assert len([name for name in secrets_of(place) if name.endswith(".csr")]) == 2
    before = secrets_of(place)
    assert "0 certificates taken in" in exchange(place, TAKE, code=2)
    assert secrets_of(place) == before


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (("signed=nowhere",), "is not there"),
        (("signed=.",), "ca.key: there is a private key"),
        ((f"path={INVENTORY}/.secrets/out",), "in the directory of the secrets"),
        (('{"kafka_ca_certificate": ""}',), "no outside CA signs certificates"),
    ],
)
def test_bad_input_changes_nothing(place: Path, options: tuple[str, ...], reason: str) -> None:
    given = [word for option in options for word in ("-e", option)]
    code, output = run_playbook(place, INVENTORY, *given, playbook="certificate_requests")
    assert code == 2, output
    assert reason in " ".join(output.split())
    assert not secrets_of(place)


def test_a_timer_has_all_signed_by_vault_and_runs_site(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SITE_CODE", "2")
    shell(place, RENEW, 2)
    roles = [line.split() for line in (place / "roles").read_text().splitlines()]
    assert ["pki/sign/kafka-node", "common_name=kafka-nodes"] in roles
    assert ["pki/sign/kafka-server", "common_name=monitor1.example.org"] in roles
    kept = secrets_of(place)
    assert not [name for name in kept if name.startswith("requests/")]

    # The next one brings what the failed one has taken in, and asks for nothing.
    monkeypatch.setenv("SITE_CODE", "0")
    shell(place, RENEW)
    assert len((place / "roles").read_text().splitlines()) == len(roles)
    assert len((place / "ran").read_text().splitlines()) == 2
    assert secrets_of(place) == kept


def test_a_ca_that_fails_ends_the_timer_before_any_host(place: Path) -> None:
    shell(place, RENEW.replace("examples/ca/sign_vault.sh", "false"), 1)
    assert not (place / "ran").exists()
