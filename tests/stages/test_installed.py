"""The collection built, installed and run by its playbooks' names, on a freshly installed host.

From this machine, and from control nodes of Debian 13: there the pinned packages have a newer
ansible-core. No run may show that Ansible deprecates what the collection uses.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.artifacts import (
    cache_directory,
)

from tests.support.clients import guide
from tests.support.clients.operator import login
from tests.support.faults.target import skip_unless_full
from tests.support.lab.lab import excerpt, leftovers, pip_settings, podman, run_command, succeed
from tests.support.lab.topology import ROOT, Topology, describe
from tests.support.recap import changed

pytestmark = pytest.mark.usefixtures("fetched_ahead")
NAME = "test-installed"
LAB = {"LAB_TOPOLOGY": "single", "LAB_NAME": NAME}
INVENTORY = ROOT / f".lab/{NAME}/inventory"
CONTAINER = f"millrace-{NAME}-control"
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "openssh-server",
    "openssh-client",
    "sudo",
    "iproute2",
    "ca-certificates",
    "git",
    "python3-venv",
)
CERTIFICATES = "/etc/ssl/certs"


@dataclass(frozen=True)
class ControlNode:
    """A machine that runs Ansible: this one, or a container."""

    place: Path
    """A directory for the collection, with the same path in a container."""
    tools: Path = Path(sys.executable).parent
    container: str = ""

    @property
    def env(self) -> dict[str, str]:
        return {
            # Without this repository's own settings, by which its collection is there already.
            "ANSIBLE_CONFIG": str(self.place / "ansible.cfg"),
            "ANSIBLE_HOME": str(self.place / "home"),
            "LC_ALL": "C.UTF-8",
        }

    def run(self, command: list[str], folder: Path, env: Mapping[str, str]) -> str:
        """Run a command, which has to succeed; its output."""
        if self.container:
            settings = [f"--env={name}={value}" for name, value in env.items()]
            command = ["podman", "exec", *settings, f"--workdir={folder}", self.container, *command]
        done = run_command(command, seconds=900, env=env, folder=folder)
        assert done.returncode == 0, done.stdout[-6000:]
        return done.stdout

    def play(self, name: str, *arguments: str) -> str:
        """Run a playbook of the installed collection, away from this repository; its output."""
        env = {
            **self.env,
            "ANSIBLE_COLLECTIONS_PATH": str(self.place / "installed"),
            "MILLRACE_CACHE": cache_directory(""),
            "MILLRACE_STATE": str(self.place / "state"),
        }
        command = [str(self.tools / "ansible-playbook"), "-i", str(INVENTORY)]
        output = self.run([*command, f"millrace.streaming.{name}", *arguments], self.place, env)
        assert "DEPRECATION WARNING" not in output, output[-6000:]
        return output

    def install(self) -> None:
        """Build the collection and install it."""
        galaxy = [str(self.tools / "ansible-galaxy"), "collection"]
        (self.place / "ansible.cfg").touch()
        self.run([*galaxy, "build", "--output-path", str(self.place)], ROOT, self.env)
        [built] = self.place.glob("millrace-streaming-*.tar.gz")
        target = str(self.place / "installed")
        self.run([*galaxy, "install", "--no-deps", "-p", target, str(built)], self.place, self.env)


def container(release: str, core: str, place: Path) -> ControlNode:
    """Start a container of a release with the pinned packages, and another core if it is named.

    It has this repository, which it cannot write, and the lab's own files.
    """
    recipe = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    image = f"localhost/millrace-control:{release}-{recipe}"
    make = [str(ROOT / "molecule/shared/files/image"), image, release, ",".join(PACKAGES)]
    subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
    writable = (INVENTORY.parent, place, Path(cache_directory("")))
    podman(
        "run",
        "--detach",
        f"--name={CONTAINER}",
        f"--label=millrace.lab={NAME}",
        "--network=host",
        f"--volume={ROOT}:{ROOT}:ro",
        f"--volume={CERTIFICATES}:{CERTIFICATES}:ro",
        *(f"--volume={path}:{path}" for path in writable),
        *(f"--env={name}={value}" for name, value in pip_settings().items()),
        image,
        "sleep",
        "infinity",
    )
    environment = place / "environment"
    node = ControlNode(place, environment / "bin", CONTAINER)
    node.run(["python3", "-m", "venv", str(environment)], place, {})
    pip = [str(node.tools / "pip"), "install", "--quiet", "--no-compile", "--require-hashes"]
    node.run([*pip, f"--requirement={ROOT}/requirements/control-node.txt"], place, {})
    if core:
        node.run([*pip, "--no-deps", f"--requirement={ROOT}/{core}"], place, {})
    return node


@dataclass(frozen=True)
class Case:
    """A host and the control node that deploys it."""

    host: Mapping[str, str]
    """Variables of the host: its release of Debian, and its Java if that is not the release's."""
    control: str = ""
    """Release of the control node's container; empty for this machine."""
    core: str = ""
    """File with the control node's ansible-core; empty for that of requirements/control-node.txt."""
    full: bool = True
    """Whether it is part of --full alone."""


DEBIAN_12 = {"lab_release": "bookworm"}
DEBIAN_13 = {"lab_release": "trixie", "java_package": "openjdk-25-jre-headless"}
CASES = {
    "Debian 13 and Java 25 from Debian 13": Case(DEBIAN_13, "trixie", full=False),
    "Debian 12 from this machine": Case(DEBIAN_12),
    # Its Python 3.9 is the oldest on a host.
    "Debian 11 from this machine": Case({"lab_release": "bullseye"}),
    **{
        f"Debian 12 from Debian 13, {path.stem}": Case(DEBIAN_12, "trixie", path.name)
        for path in sorted(ROOT.glob("requirements/core-*.txt"))
    },
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    case = CASES[request.param]
    if case.full:
        skip_unless_full()
    return case


@pytest.fixture
def host(case: Case) -> Iterator[None]:
    """A host that has nothing but Python and SSH."""
    succeed("down", seconds=120, env=LAB)
    INVENTORY.mkdir(parents=True)
    variables = {"all": {"vars": dict(case.host)}}
    (INVENTORY / "release.yml").write_text(yaml.safe_dump(variables))
    succeed("run", "../molecule/shared/create", seconds=600, env=LAB)
    yield
    # The control node too, which has the lab's label.
    succeed("down", seconds=120, env=LAB)
    assert not leftovers(NAME)


@pytest.fixture
def control(case: Case, host: None, tmp_path_factory: pytest.TempPathFactory) -> ControlNode:
    """The control node, with the collection installed."""
    del host  # it makes the directories that a container gets
    # A short name: sockets lie below it.
    place = tmp_path_factory.mktemp("collection")
    node = container(case.control, case.core, place) if case.control else ControlNode(place)
    node.install()
    return node


def test_playbooks_work_from_the_installed_collection(control: ControlNode) -> None:
    control.play("validate")
    control.play("site")
    assert changed(control.play("site")) == 0
    control.play("rolling_restart", "-e", "rolling_restart_all=true")
    assert changed(control.play("site")) == 0
    control.play("smoke")
    control.play("health")


# The example of a repository, by docs/deploy/repository.md


def test_a_repository_installs_what_it_names(tmp_path: Path) -> None:
    """With its Python packages, which tests/unit/docs/test_site_example.py leaves out."""
    skip_unless_full()
    env = {"ANSIBLE_HOME": str(tmp_path / "home")}
    galaxy = str(Path(sys.executable).parent / "ansible-galaxy")
    build = [galaxy, "collection", "build", "--output-path", str(tmp_path)]
    done = run_command(build, seconds=300, env=env)
    assert done.returncode == 0, done.stdout
    [built] = tmp_path.glob("millrace-streaming-*.tar.gz")
    place = tmp_path / "site"
    shutil.copytree(ROOT / "examples/site", place)
    source = {"collections": [{"name": str(built), "type": "file"}]}
    (place / "requirements.yml").write_text(yaml.safe_dump(source))
    _, _, *install = guide.commands("1. Copy and install", guide.REPOSITORY)
    _, _, validate, explain, *_ = guide.commands("3. Validate and deploy", guide.REPOSITORY)
    password = tmp_path / "password"
    password.write_text("a password\n")
    env["ANSIBLE_VAULT_PASSWORD_FILE"] = str(password)
    unset = "unset ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH PYTHONPATH"
    script = "\n".join(["set -eu", unset, *install, validate, explain, "python -c 'import kafka'"])
    done = run_command(["/bin/bash", "-c", script], seconds=900, env=env, folder=place)
    assert done.returncode == 0, excerpt(done.stdout)
    assert "3 controllers and 3 brokers" in done.stdout


# A newcomer, by docs/deploy/kafka.md

FIRST = {"LAB_TOPOLOGY": "upgrade", "LAB_NAME": "test-first"}
"""Three hosts for Kafka alone."""
RELEASE = "/tmp/millrace"  # noqa: S108 - a word of the page
"""Where the page has the collection's tar file."""


@dataclass(frozen=True)
class Newcomer:
    """Somebody in an empty directory, with nothing but the page and a tar file."""

    machines: Topology
    place: Path

    def run(self, *commands: str, activated: bool = True) -> str:
        """Run commands of the page in one shell; what they print."""
        script = "\n".join(
            [
                "set -eu",
                "unset ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH PYTHONPATH",
                *([". .venv/bin/activate"] if activated else []),
                *(self.put(command) for command in commands),
            ]
        )
        env = {"ANSIBLE_HOME": str(self.place / "home"), "MILLRACE_CACHE": cache_directory("")}
        done = run_command(["/bin/bash", "-c", script], seconds=1800, env=env, folder=self.place)
        assert done.returncode == 0, f"{script}\n{excerpt(done.stdout)}"
        return done.stdout

    def put(self, text: str) -> str:
        """Put the lab's hosts, and where the tar file is, in place of those of the page."""
        hosts = self.machines.group("kafka_brokers")
        text = text.replace(RELEASE, str(self.place.parent / "release"))
        text = text.replace("ssh ansible@kafka1.example.org", login(self.machines, hosts[0]))
        for number, host in enumerate(hosts, start=1):
            text = text.replace(f"kafka{number}.example.org", host)
        return text

    def follow(self, title: str, **options: bool) -> str:
        """Run all commands of a section; what they print."""
        return self.run(*guide.commands(title, guide.KAFKA_CLUSTER), **options)

    def write_inventory(self) -> None:
        """Write the files of the page; hosts of the lab have no disks, and less memory."""
        hosts, variables = guide.blocks("3. Write the inventory", "yaml", guide.KAFKA_CLUSTER)
        folder = self.place / "prod/group_vars"
        folder.mkdir(parents=True)
        (folder.parent / "hosts.yml").write_text(self.put(hosts))
        known = yaml.safe_load(variables)
        for name in ("ansible_user", "host_mounts", "kafka_data_dirs"):
            del known[name]
        known |= {"kafka_heap": "384m", "kafka_java_options": ["-XX:+UseSerialGC"]}
        (folder / "kafka.yml").write_text(yaml.safe_dump(known))
        transport = yaml.safe_load((self.machines.inventory / "transport.yml").read_text())["all"]
        connection = {
            name: value for name, value in transport["vars"].items() if name.startswith("ansible_")
        }
        (folder.parent / "transport.yml").write_text(
            yaml.safe_dump({"all": {"hosts": transport["hosts"], "vars": connection}})
        )


@pytest.fixture
def newcomer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Newcomer]:
    """Fresh hosts, the collection's tar file, and an empty directory."""
    skip_unless_full()
    succeed("down", seconds=120, env=FIRST)
    succeed("run", "../molecule/shared/create", seconds=600, env=FIRST)
    base = tmp_path_factory.mktemp("first")
    release, place = base / "release", base / "directory"
    place.mkdir()
    galaxy = str(Path(sys.executable).parent / "ansible-galaxy")
    build = [galaxy, "collection", "build", "--output-path", str(release)]
    done = run_command(build, seconds=300, env={"ANSIBLE_HOME": str(base / "home")})
    assert done.returncode == 0, done.stdout
    yield Newcomer(describe(ROOT / f".lab/{FIRST['LAB_NAME']}/inventory"), place)
    succeed("down", seconds=120, env=FIRST)
    assert not leftovers(FIRST["LAB_NAME"])


def test_a_newcomer_gets_a_cluster_by_the_page(newcomer: Newcomer) -> None:
    newcomer.follow("1. Check the machines", activated=False)
    newcomer.follow("2. Install Millrace", activated=False)
    [settings] = guide.blocks("2. Install Millrace", "ini", guide.KAFKA_CLUSTER)
    (newcomer.place / "ansible.cfg").write_text(settings)
    newcomer.write_inventory()
    newcomer.follow("4. Validate")
    first, again, health, teardown = guide.commands("5. Deploy", guide.KAFKA_CLUSTER)
    newcomer.run(first)
    assert changed(newcomer.run(again)) == 0
    newcomer.run(health)
    [program] = guide.blocks("6. The first topic", "python", guide.KAFKA_CLUSTER)
    (newcomer.place / "first.py").write_text(program)
    assert newcomer.follow("6. The first topic").splitlines()[-1] == "paid"
    newcomer.follow("7. Test it from outside")
    newcomer.run(teardown)
