"""What every inventory is rendered to, and which layer of the configuration wins.

`MILLRACE_UPDATE_GOLDEN=1 pytest tests/unit/test_rendering.py` writes the golden files anew.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils import key_table

from tests.support.topology import ROOT, Topology, describe

GOLDEN = ROOT / "tests/unit/golden"
INVENTORIES = sorted(path.name for path in (ROOT / "inventories").iterdir() if path.is_dir())
SECRET = re.compile(r"(?m)(?<=^spark.authenticate.secret=).+")
UPDATE = os.environ.get("MILLRACE_UPDATE_GOLDEN") == "1"

Resolve = Callable[[Path], Topology]


@pytest.fixture(scope="session")
def resolve(tmp_path_factory: pytest.TempPathFactory) -> Resolve:
    """Resolve an inventory, each one once: it takes Ansible seconds."""
    known: dict[Path, Topology] = {}

    def run(inventory: Path) -> Topology:
        if inventory not in known:
            try:
                out = tmp_path_factory.mktemp("described") / "it.json"
                known[inventory] = describe(inventory, out)
            except subprocess.CalledProcessError as error:
                pytest.fail(f"{inventory}: {error.stdout}{error.stderr}")
            for host, roles in known[inventory].hosts.items():
                for role, description in roles.items():
                    assert "error" not in description, f"{host}, {role}: {description['error']}"
        return known[inventory]

    return run


@pytest.fixture(scope="session")
def shipped(
    resolve: Resolve, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Topology]]]:
    """The inventories of the tree, two being resolved at a time."""
    with ThreadPoolExecutor(2) as pool:
        # Copies, since a lookup may mint a secret beside the inventory.
        folder = tmp_path_factory.mktemp("shipped")
        yield {
            name: pool.submit(resolve, shutil.copytree(ROOT / "inventories" / name, folder / name))
            for name in INVENTORIES
        }


def rendered(topology: Topology) -> dict[str, str]:
    """Every file as `host/path` to its content without secrets; a link's is its target."""
    return {
        f"{host}{path}": SECRET.sub("(secret)", file["content"])
        if "content" in file
        else f"-> {file['target']}\n"
        for host, roles in topology.hosts.items()
        for role in ("zookeeper", "kafka", "spark")
        if role in roles
        for path, file in roles[role]["files"].items()
    }


def stored(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write(folder: Path, files: dict[str, str]) -> None:
    """Make `folder` hold `files` and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def differences(golden: dict[str, str], actual: dict[str, str]) -> str:
    """A unified diff of all files; a file that only one side has is one too."""
    lines: list[str] = []
    for name in sorted(golden.keys() | actual.keys()):
        if name not in actual:
            lines.append(f"{name}: golden, but no longer rendered\n")
        elif name not in golden:
            lines.append(f"{name}: rendered, but without a golden file\n")
        else:
            old, new = golden[name].splitlines(True), actual[name].splitlines(True)
            lines += difflib.unified_diff(old, new, f"golden {name}", f"rendered {name}")
    return "".join(lines)


@pytest.mark.parametrize("name", INVENTORIES)
def test_inventory_is_rendered_to_its_golden_files(
    name: str, shipped: dict[str, Future[Topology]]
) -> None:
    topology = shipped[name].result()
    actual = rendered(topology)
    assert {file.partition("/")[0] for file in actual} == set(topology.hosts)
    if UPDATE:
        write(GOLDEN / name, actual)
    found = differences(stored(GOLDEN / name), actual)
    assert not found, f"{found}\nif this is meant: MILLRACE_UPDATE_GOLDEN=1 pytest {__file__}"


def test_a_secret_is_read_by_its_service_alone(resolve: Resolve, tmp_path: Path) -> None:
    path = "/etc/spark/spark-defaults.conf"
    secret = {"spark.authenticate.secret": "{{ 'x' * 32 }}"}
    nodes = {"s1": None}
    groups = {name: {"hosts": nodes} for name in ("spark_masters", "spark_workers")}
    found = {}
    for name, config in {"open": {}, "closed": secret}.items():
        write(tmp_path / name, {"hosts.yml": yaml.safe_dump(groups)})
        write_variables(tmp_path / name, {"group_vars/all.yml": {"spark_config": config}})
        file = resolve(tmp_path / name).spark("s1")["files"][path]
        found[name] = file["mode"], file["group"], file["secret"]
    assert found == {"open": ("0644", "root", False), "closed": ("0640", "spark", True)}


def test_golden_files_belong_to_an_inventory() -> None:
    if UPDATE:
        for path in GOLDEN.iterdir():
            if path.name not in INVENTORIES:
                shutil.rmtree(path)
    assert sorted(path.name for path in GOLDEN.iterdir()) == INVENTORIES


def test_every_kind_of_difference_is_shown(tmp_path: Path) -> None:
    golden = {"k1/etc/a": "one\ntwo\n", "k1/etc/same": "x\n", "k1/etc/old": "x\n"}
    write(tmp_path / "golden", {"k1/etc/left": "from before\n"})
    write(tmp_path / "golden", golden)
    assert stored(tmp_path / "golden") == golden
    found = differences(golden, {"k1/etc/a": "one\n2\n", "k1/etc/same": "x\n", "k1/etc/new": ""})
    assert found.splitlines() == [
        "--- golden k1/etc/a",
        "+++ rendered k1/etc/a",
        "@@ -1,2 +1,2 @@",
        " one",
        "-two",
        "+2",
        "k1/etc/new: rendered, but without a golden file",
        "k1/etc/old: golden, but no longer rendered",
    ]


# The layers, and dedicated nodes: three brokers, three controllers.

PROFILE = {
    "compression.type": "lz4",
    "default.replication.factor": 9,
    "log.segment.bytes": 1001,
    "log.retention.hours": 1001,
    "node.id": 1001,
}
KAFKA_CONFIG = {
    "min.insync.replicas": 1,
    "log.segment.bytes": 2002,
    "log.retention.hours": 2002,
    "num.io.threads": 2002,
    "node.id": 2002,
}
KAFKA_HOST_CONFIG = {
    "offsets.topic.replication.factor": 2,
    "log.retention.hours": 3003,
    "num.io.threads": 3003,
    "node.id": 3003,
}


def write_inventory(folder: Path, brokers: dict[str, int], controllers: dict[str, int]) -> Path:
    """Write `hosts.yml` from name to node id; a host in both is a combined node."""
    members = {"kafka_brokers": brokers, "kafka_controllers": controllers}
    children = {
        group: {"hosts": {host: {"kafka_node_id": node} for host, node in hosts.items()}}
        for group, hosts in members.items()
    }
    write(folder, {"hosts.yml": yaml.safe_dump({"kafka": {"children": children}})})
    return folder


def write_variables(inventory: Path, variables: dict[str, dict[str, Any]]) -> None:
    """Write group_vars and host_vars, from file name to variables."""
    for name, content in variables.items():
        path = inventory / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(yaml.safe_dump(content))


@pytest.fixture(scope="session")
def layered(resolve: Resolve, tmp_path_factory: pytest.TempPathFactory) -> Topology:
    folder = tmp_path_factory.mktemp("layered")
    inventory = write_inventory(
        folder / "inventory", {"b1": 1, "b2": 2, "b3": 3}, {"c1": 11, "c2": 12, "c3": 13}
    )
    profile = {key: {"value": value, "why": "to see who wins"} for key, value in PROFILE.items()}
    (folder / "own.yml").write_text(yaml.safe_dump({"__kafka_profile_settings": profile}))
    variables: dict[str, dict[str, Any]] = {
        # The role looks a profile up below its own folder: climb to the root, then down to ours.
        "group_vars/all.yml": {
            "kafka_profile": "../" * 30 + str(folder / "own").lstrip("/"),
            "kafka_config": KAFKA_CONFIG,
        },
        "host_vars/b2.yml": {
            "kafka_host_config": KAFKA_HOST_CONFIG,
            "kafka_advertised_host": "b2.example.org",
            "kafka_rack": "north",
        },
        "host_vars/c1.yml": {"kafka_rack": "north"},
    }
    write_variables(inventory, variables)
    return resolve(inventory)


@pytest.mark.parametrize(
    ("key", "b1", "b2"),
    [
        pytest.param("compression.type", "lz4", "lz4", id="profile"),
        pytest.param("default.replication.factor", 3, 3, id="topology-over-profile"),
        pytest.param("log.segment.bytes", 2002, 2002, id="config-over-profile"),
        pytest.param("min.insync.replicas", 1, 1, id="config-over-topology"),
        pytest.param("offsets.topic.replication.factor", 3, 2, id="host-over-topology"),
        pytest.param("num.io.threads", 2002, 3003, id="host-over-config"),
        pytest.param("log.retention.hours", 2002, 3003, id="host-over-config-over-profile"),
        pytest.param("node.id", 1, 2, id="owned-over-all"),
    ],
)
def test_a_later_layer_wins(layered: Topology, key: str, b1: object, b2: object) -> None:
    assert layered.kafka("b1")["config"][key] == b1
    assert layered.kafka("b2")["config"][key] == b2
    assert f"\n{key}={b2}\n" in rendered(layered)["b2/etc/kafka/server.properties"]


def test_a_broker_does_not_vote(layered: Topology) -> None:
    config = layered.kafka("b1")["config"]
    assert config["process.roles"] == "broker"
    assert config["listeners"] == "CLIENT://:9092"
    assert config["advertised.listeners"] == "CLIENT://b1:9092"
    assert config["inter.broker.listener.name"] == "CLIENT"
    assert config["listener.security.protocol.map"] == "CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT"
    assert "broker.rack" not in config, "no rack was given"


def test_a_controller_serves_no_clients(layered: Topology) -> None:
    config = layered.kafka("c1")["config"]
    assert config["process.roles"] == "controller"
    assert config["node.id"] == 11
    assert config["listeners"] == "CONTROLLER://:9093"
    assert config["advertised.listeners"] == "CONTROLLER://c1:9093"
    assert config["listener.security.protocol.map"] == "CONTROLLER:PLAINTEXT"
    assert "inter.broker.listener.name" not in config
    assert "broker.rack" not in config, "racks are the brokers'"


def test_a_hosts_own_address_and_rack_are_told(layered: Topology) -> None:
    config = layered.kafka("b2")["config"]
    assert config["advertised.listeners"] == "CLIENT://b2.example.org:9092"
    assert config["broker.rack"] == "north"


def test_static_voters_are_told_for_a_cluster_that_has_them(
    resolve: Resolve, tmp_path: Path
) -> None:
    inventory = write_inventory(tmp_path / "inventory", {"b1": 1}, {"c1": 11, "c2": 12, "c3": 13})
    write_variables(inventory, {"group_vars/all.yml": {"kafka_quorum": "static"}})
    for host in ("b1", "c2"):
        config = resolve(inventory).kafka(host)["config"]
        assert config["controller.quorum.voters"] == "11@c1:9093,12@c2:9093,13@c3:9093"
        assert "controller.quorum.bootstrap.servers" not in config


def test_every_node_knows_the_same_quorum(layered: Topology) -> None:
    told = {host: layered.kafka(host)["config"] for host in layered.hosts}
    assert sorted(told) == ["b1", "b2", "b3", "c1", "c2", "c3"]
    for config in told.values():
        assert config["controller.quorum.bootstrap.servers"] == "c1:9093,c2:9093,c3:9093"
        assert config["controller.listener.names"] == "CONTROLLER"


# The fewest controllers, so that only the number of brokers differs.
@pytest.mark.parametrize(
    ("brokers", "factor", "min_isr"), [(1, 1, 1), (2, 2, 1), (3, 3, 2), (5, 3, 2)]
)
def test_replication_follows_from_the_number_of_brokers(
    resolve: Resolve, tmp_path: Path, brokers: int, factor: int, min_isr: int
) -> None:
    nodes = {f"b{node}": node for node in range(1, brokers + 1)}
    topology = resolve(write_inventory(tmp_path / "inventory", nodes, {"c1": 11}))
    for host in ("b1", "c1"):
        config = topology.kafka(host)["config"]
        for key, expected in {
            "default.replication.factor": factor,
            "offsets.topic.replication.factor": factor,
            "transaction.state.log.replication.factor": factor,
            "share.coordinator.state.topic.replication.factor": factor,
            "min.insync.replicas": min_isr,
            "transaction.state.log.min.isr": min_isr,
            "share.coordinator.state.topic.min.isr": min_isr,
        }.items():
            assert config[key] == expected, f"{key} on {host}"


def test_every_profile_sets_what_kafka_knows(resolve: Resolve, tmp_path: Path) -> None:
    profiles = {path.stem: path for path in (ROOT / "roles/kafka/vars/profiles").glob("*.yml")}
    assert {"durable", "small", "throughput"} <= set(profiles)
    nodes = {name: number for number, name in enumerate(sorted(profiles), 1)}
    inventory = write_inventory(tmp_path / "inventory", nodes, nodes)
    write_variables(inventory, {f"host_vars/{x}.yml": {"kafka_profile": x} for x in profiles})
    topology = resolve(inventory)
    for name, path in profiles.items():
        kafka = topology.kafka(name)
        keys = yaml.safe_load(path.read_text())["__kafka_profile_settings"]
        assert keys.keys() <= kafka["config"].keys()
        table = key_table.load(kafka["version"])
        for key, value in kafka["config"].items():
            assert key_table.is_known(key, table), f"{name}: {key}"
            assert not key_table.wanted_value(key, value, table), f"{name}: {key}={value}"
        assert "{{" not in rendered(topology)[f"{name}/etc/kafka/server.properties"]
    # Without facts, two cores.
    properties = rendered(topology)["throughput/etc/kafka/server.properties"]
    assert "\nnum.io.threads=16\n" in properties
