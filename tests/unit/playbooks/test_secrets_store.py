"""Secrets in git: the commands of docs/deploy/shared_state.md, and what is left on the disk.

The form of the files, and a move that is killed at any moment: tests/unit/secrets.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from ansible.parsing.vault import VaultLib, VaultSecret

from tests.support.clients import guide
from tests.support.faults.target import skip_unless_full
from tests.support.lab.topology import ROOT
from tests.support.refusal import ANSIBLE
from tests.unit.module_runner import HANGS_SECONDS
from tests.unit.playbooks.runs import run_playbook

ENCRYPT = guide.commands("Encrypt the secrets", guide.SHARED_STATE)
[STATUS] = guide.commands("After a run", guide.SHARED_STATE)
VIEW, REKEY = guide.commands("Read a secret, and change the password", guide.SHARED_STATE)
UNTRACK, DECRYPT = guide.commands("Back to clear text", guide.SHARED_STATE)
VAULT = "kafka_secrets_store=vault"
PASSWORD = "correct horse"
INVENTORY = "inventories/<yours>"
PROCESSES = 2
"""Runs at once."""
# The content of all files of hosts, without what names the checkout.
DESIRED = f"""
import hashlib, sys
sys.path.insert(0, {str(ROOT / "collections")!r})
from pathlib import Path
from ansible.parsing.dataloader import DataLoader
from ansible.parsing.vault import VaultSecret
from ansible_collections.millrace.streaming.plugins.plugin_utils import ansible_internals
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import desired
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.cluster import resolve
from ansible_collections.millrace.streaming.plugins.plugin_utils.inventory import reading
ansible_internals.load_plugins()
loader = DataLoader()
loader.set_vault_secrets([("default", VaultSecret(Path(sys.argv[2]).read_bytes().strip()))])
cluster = resolve(reading.from_sources([sys.argv[1]], loader))
assert not cluster.inventory.misread, cluster.inventory.misread
host = next(iter(cluster.kafka))
files = desired.of_service(cluster, host, "kafka")["files"], cluster.secrets_record(host)
assert "PRIVATE KEY" in repr(files)
print(hashlib.sha256(repr(files).encode()).hexdigest())
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository of a site, whose vault has a password."""
    place = tmp_path / "site"
    hosts = {f"k{n}": {"ansible_host": f"192.0.2.{n}", "kafka_node_id": n} for n in (1, 2, 3)}
    settings = {"kafka_security": "standard", "kafka_users": [{"name": "billing"}]}
    inventory = {
        "all": {"vars": {**settings, "host_memory_mb": 4096}},
        "kafka_brokers": {"hosts": hosts},
        "kafka_controllers": {"hosts": dict.fromkeys(hosts)},
    }
    (place / INVENTORY).mkdir(parents=True)
    (place / INVENTORY / "hosts.yml").write_text(yaml.safe_dump(inventory))
    home = tmp_path / "home"
    home.mkdir()
    (home / ".vault-password").write_text(f"{PASSWORD}\n")
    (home / ".new-password").write_text("battery staple\n")
    for name, value in {
        "HOME": str(home),
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_AUTHOR_NAME": "a",
        "GIT_COMMITTER_NAME": "a",
        "EMAIL": "a@example.org",
        "PATH": f"{Path(ANSIBLE).parent}:{os.environ['PATH']}",
    }.items():
        monkeypatch.setenv(name, value)
    shell(place, "git init -q")
    return place


def shell(place: Path, command: str, code: int = 0) -> str:
    """Run a command of a page in a checkout, and return what it prints."""
    done = subprocess.run(
        ["bash", "-c", command.replace(INVENTORY, f"'{INVENTORY}'")],
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANGS_SECONDS,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg")},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


def generate(place: Path, *options: str, code: int = 0) -> str:
    """Do what site.yml does before it contacts a host."""
    given = ("-e", "validate_generate=true", *options)
    actual, output = run_playbook(place, INVENTORY, *given)
    assert actual == code, output
    return output


def move(place: Path, *options: str, code: int = 0) -> str:
    actual, output = run_playbook(place, INVENTORY, *options, playbook="secrets_store")
    assert actual == code, output
    return output


def with_password(place: Path) -> tuple[str, str]:
    return "--vault-password-file", str(place.parent / "home/.vault-password")


def directory_of(place: Path) -> Path:
    return place / INVENTORY / ".secrets"


def files(place: Path) -> dict[str, bytes]:
    directory = directory_of(place)
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in directory.rglob("*")
        if path.is_file() and not path.name.startswith(".")
    }


def use_vault(place: Path) -> None:
    path = place / INVENTORY / "hosts.yml"
    inventory = yaml.safe_load(path.read_text())
    inventory["all"]["vars"]["kafka_secrets_store"] = "vault"
    path.write_text(yaml.safe_dump(inventory))


def secrets_in(place: Path) -> list[bytes]:
    """Return what nobody may find on the disk: passwords, and lines of keys."""
    vault = VaultLib([("default", VaultSecret(PASSWORD.encode()))])
    found = []
    for name, content in files(place).items():
        text = vault.decrypt(content) if content.startswith(b"$ANSIBLE") else content
        if name.startswith("passwords/"):
            found.append(text.strip())
        if b"PRIVATE KEY" in text:
            key = text.partition(b"PRIVATE KEY-----\n")[2].partition(b"\n-----END")[0]
            found.append(key.splitlines()[1])
    return found


def with_clear_text(root: Path, secrets: list[bytes]) -> list[str]:
    """The files below a directory that have one of the secrets."""
    return [
        str(path)
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
        for content in [path.read_bytes()]
        if any(secret in content for secret in secrets)
    ]


def test_a_fresh_clone_and_the_password_are_a_control_node(place: Path) -> None:
    """The commands of the page, from clear text to a clone where nothing changes, and back."""
    assert "changed=1" in generate(place)
    made = files(place)
    use_vault(place)
    output = shell_playbook(place, ENCRYPT[:2])
    assert f"{len(made)} of them new" in output
    for command in ENCRYPT[2:]:
        shell(place, command)
    assert shell(place, STATUS) == ""
    tracked = shell(place, "git ls-files").split()
    assert f"{INVENTORY}/.secrets/ca.key" in tracked
    assert f"{INVENTORY}/kafka_cluster_id.txt" in tracked
    assert not [name for name in tracked if name.endswith(".lock")]

    clone = place.with_name("clone")
    shell(place.parent, "umask 022; git clone -q site clone")
    assert "changed=0" in generate(clone, *with_password(clone))
    assert shell(clone, STATUS) == ""
    assert desired_state(clone) == desired_state(place)
    view = shell(clone, f"{ENCRYPT[0]}; {VIEW}")
    assert view.strip().encode() == made["passwords/admin"].strip()

    # A further user is a commit of its own.
    hosts = clone / INVENTORY / "hosts.yml"
    hosts.write_text(
        hosts.read_text().replace("- name: billing", "- name: billing\n    - name: more")
    )
    generate(clone, *with_password(clone))
    changed = [line.split()[-1] for line in shell(clone, STATUS).splitlines()]
    assert {Path(name).name for name in changed} == {"hosts.yml", "more", "store.json"}

    shell(place, f"{ENCRYPT[0]}; {REKEY}")
    assert "no vault password of this run decrypts it" in generate(
        place, *with_password(place), code=2
    )
    new = ("--vault-password-file", str(place.parent / "home/.new-password"))
    assert "changed=0" in generate(place, *new)

    back = ("-e", "kafka_secrets_store=files", *new)
    assert "git tracks ca.key" in move(place, *back, code=2)
    shell(place, UNTRACK)
    assert ENCRYPT[1] == DECRYPT
    move(place, *back)
    assert files(place) == made
    shell(place, "git add .")
    assert not [name for name in shell(place, "git ls-files").split() if ".secrets" in name]


def shell_playbook(place: Path, commands: list[str]) -> str:
    """Run a command of the page with a playbook, and what it needs in its environment."""
    export, playbook = commands
    return shell(place, f"{export}; {playbook.replace('playbooks/', f'{ROOT}/playbooks/')}")


def desired_state(place: Path) -> str:
    """A digest of what a host should have, resolved in another process."""
    password = with_password(place)[1]
    command = [sys.executable, "-c", DESIRED, str(place / INVENTORY), password]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=HANGS_SECONDS
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_wrong_password_changes_nothing(place: Path) -> None:
    use_vault(place)
    generate(place, *with_password(place))
    before = files(place)
    wrong = ("--vault-password-file", str(place.parent / "home/.new-password"))
    words = "cannot be read: no vault password of this run decrypts it"
    assert words in " ".join(generate(place, *wrong, code=2).split())
    output = " ".join(move(place, "-e", "kafka_secrets_store=files", *wrong, code=2).split())
    assert words in output
    assert "Nothing was changed" in output
    assert files(place) == before


def test_validate_works_without_the_password_and_says_what_it_has_not_judged(place: Path) -> None:
    use_vault(place)
    generate(place, *with_password(place))
    code, output = run_playbook(place, INVENTORY, "-e", "validate_json=problems.json")
    assert code == 0, output
    [problem] = json.loads((place / "problems.json").read_text())["warnings"]
    assert (problem["rule"], problem["severity"]) == ("secrets-sealed", "warning")
    for playbook in ("clients", "secrets_store"):
        code, output = run_playbook(place, INVENTORY, playbook=playbook)
        assert code == 2, output
        assert "Ansible has no vault password for the secrets" in " ".join(output.split())


def test_two_runs_at_once_agree(place: Path) -> None:
    use_vault(place)
    command = playbook_command(place, "validate", "-e", "validate_generate=true")
    runs = [start(place, command) for _ in range(PROCESSES)]
    assert [run.wait(HANGS_SECONDS) for run in runs] == [0] * PROCESSES
    assert "changed=0" in generate(place, *with_password(place))


def playbook_command(place: Path, playbook: str, *options: str) -> list[str]:
    path = playbook if "/" in playbook else f"{ROOT}/playbooks/{playbook}.yml"
    return [ANSIBLE, "-i", INVENTORY, path, *with_password(place), *options]


def start(place: Path, command: list[str]) -> subprocess.Popen[bytes]:
    """Start a run that writes all it can: a log with -vvv, and files of modules."""
    return subprocess.Popen(
        command,
        cwd=place,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "ANSIBLE_HOME": str(place.parent / "ansible"),
            "ANSIBLE_LOG_PATH": str(place.parent / "ansible.log"),
            "ANSIBLE_VERBOSITY": "3",
            "TMPDIR": str(place.parent),
        },
    )


def end(run: subprocess.Popen[bytes]) -> None:
    """Kill a run with all its processes."""
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(HANGS_SECONDS)


PLAY = """\
- hosts: k1
  gather_facts: false
  vars:
    ansible_connection: ssh
    ansible_pipelining: false
    ansible_ssh_transfer_method: piped
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
  tasks:
    - millrace.streaming.cluster: {generate: true}
    - millrace.streaming.client_config: {path: state/client.properties, user: ledger}
    - millrace.streaming.service: {product: kafka, parts: [files]}
      check_mode: true
      ignore_errors: true
    - ansible.builtin.command: touch done
    - ansible.builtin.command: sleep 600
"""


@pytest.fixture
def memory() -> Iterator[Path]:
    """The directory in memory of this account; what the test adds is removed."""
    directory = Path(f"/dev/shm/millrace-{os.geteuid()}")  # noqa: S108 - the test only reads it
    before = {*directory.glob("*")}
    yield directory
    for path in {*directory.glob("*")} - before:
        path.unlink()


def test_no_secret_is_on_the_disk_whenever_a_run_is_killed(place: Path, memory: Path) -> None:
    """With all that Ansible can show and write, and modules that are files on their way."""
    skip_unless_full()
    use_vault(place)
    (place / "play.yml").write_text(PLAY)
    hosts = place.parent / "remote"  # what would be another machine
    ssh = place.parent / "ssh"
    ssh.write_text('#!/bin/bash\nexec sh -c "${@: -1}"\n')
    ssh.chmod(0o755)
    command = playbook_command(
        place,
        "./play.yml",
        "-e",
        f"ansible_remote_tmp={hosts}",
        "-e",
        f"ansible_ssh_executable={ssh}",
    )
    for seconds in (1.5, 2, 2.5):
        run = start(place, command)
        time.sleep(seconds)
        end(run)
        shutil.rmtree(hosts, ignore_errors=True)
        assert with_clear_text(place.parent, secrets_in(place)) == []
    run = start(place, command)
    until = time.monotonic() + HANGS_SECONDS
    while not (place / "done").exists():
        assert run.poll() is None, (place.parent / "ansible.log").read_text()[-3000:]
        assert time.monotonic() < until
        time.sleep(0.1)
    end(run)
    shutil.rmtree(hosts, ignore_errors=True)
    secrets = secrets_in(place)
    assert len(secrets) >= 10
    log = (place.parent / "ansible.log").read_text()
    assert "TASK [millrace.streaming.service]" in log
    assert re.search(r"PUT /proc/\S+ TO \S+/AnsiballZ_service.py", log)
    assert with_clear_text(place.parent, secrets) == []
    # The login of a program of Millrace's own is in memory, for this account alone.
    client = place / "state/client.properties"
    assert client.readlink().parent == memory
    assert with_clear_text(memory, secrets) == [str(client.readlink())]
    assert (client.readlink().stat().st_mode & 0o777, memory.stat().st_mode & 0o777) == (
        0o600,
        0o700,
    )
    assert "changed=0" in generate(place, *with_password(place))


def test_a_module_on_the_control_node_is_no_file(place: Path) -> None:
    """One that logs in to Kafka from here; no broker answers."""
    node = {"k1": {"ansible_host": "127.0.0.1", "kafka_node_id": 1}}
    inventory = {
        "all": {"vars": {"host_memory_mb": 4096}},
        "kafka_brokers": {"hosts": node},
        "kafka_controllers": {"hosts": {"k1": None}},
    }
    (place / INVENTORY / "hosts.yml").write_text(yaml.safe_dump(inventory))
    use_vault(place)
    given = (*with_password(place), "-vvv")
    code, output = run_playbook(place, INVENTORY, *given, playbook="resources")
    assert code == 2, output
    assert "no broker answers" in output, output
    assert "ESTABLISH LOCAL CONNECTION" in output
    assert " PUT " not in output
