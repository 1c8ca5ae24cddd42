"""The programs of docs/develop/clients.md, by the commands of the page, in a full run as their own users.

A quick run starts the first programs alone, as an administrator.
"""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from testinfra.host import Host

from tests.support.clients import guide
from tests.support.clients.delivery import Client, client_of
from tests.support.faults.target import FULL, PART_OF_FULL
from tests.support.lab.topology import ROOT, Topology
from tests.support.refusal import ANSIBLE
from tests.support.wait import scaled, wait_for

only_full = pytest.mark.skipif(not FULL, reason=PART_OF_FULL)
BUILD = "build/"
PYTHON = f"{BUILD}python/bin/python"
LEVELS = ("acks-0", "acks-1", "acks-all", "idempotent")
FORMATS = "JSON, msgpack and Avro"
MEMBER = "avro"
WRITTEN = sorted(f"{level} {number}" for level in LEVELS for number in range(5)) * 2
"""What the two programs about acknowledgements write together."""


@dataclass
class Reader:
    """Someone who follows the page on the control node."""

    inventory: Path
    folder: Path
    """In place of build/, where files of this checkout may be."""

    def put(self, command: str) -> str:
        """Put what is here in place of what the page names."""
        if not FULL:  # what the quick ones import is there already
            command = command.replace(f"{PYTHON} ", f"{sys.executable} ")
        if match := re.search(r"clients\.yml -e user=(\w+)$", command):
            command += f" -e path={BUILD}clients/{match[1]}"
            command = command if FULL else command.replace("user=shop", "user=admin")
        command = command.replace("ansible-playbook", ANSIBLE, 1)
        command = command.replace("inventories/<yours>", str(self.inventory))
        return re.sub(rf"(?<![\w/]){BUILD}", f"{self.folder}/", command)

    @property
    def errors(self) -> Path:
        """What the last command has written to stderr, where libraries log."""
        return self.folder / "stderr"

    def start(self, command: str) -> subprocess.Popen[str]:
        with self.errors.open("w") as errors:
            return subprocess.Popen(  # noqa: S602 - the commands of the page
                f"exec env {self.put(command)}",
                shell=True,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )

    def run(self, command: str) -> list[str]:
        """The lines that a command prints; it has to succeed."""
        with self.start(command) as process:
            output, _ = process.communicate(timeout=scaled(300))
        failure = f"{command}\n{output[-6000:]}{self.errors.read_text()[-6000:]}"
        assert process.returncode == 0, failure
        return output.splitlines()

    def run_all(self, title: str) -> list[list[str]]:
        """What each command of a section prints."""
        return [self.run(command) for command in guide.commands(title, guide.CLIENTS)]


@pytest.fixture(scope="module")
def client(admin: Any, topology: Topology) -> Iterator[Client]:
    """Reads as an administrator; what the programs leave is removed."""
    with client_of(admin, topology) as client:
        yield client
    ours = ("shop", "rides")
    admin.delete_topics([name for name in admin.list_topics() if name.startswith(ours)])
    groups = {group["group_id"] for group in admin.list_groups()}
    admin.delete_groups([name for name in groups if name.startswith(ours)])


@pytest.fixture(scope="module")
def reader(topology: Topology, client: Client, tmp_path_factory: pytest.TempPathFactory) -> Reader:
    """Someone who has done what the page says about access."""
    assert client
    reader = Reader(topology.inventory, tmp_path_factory.mktemp("build"))
    [users] = guide.blocks("Access", "yaml", guide.CLIENTS)
    hosts = dict.fromkeys(topology.hosts, yaml.safe_load(users))
    if FULL:
        (topology.inventory / "programs.yml").write_text(yaml.safe_dump({"all": {"hosts": hosts}}))
    for command in guide.commands("Access", guide.CLIENTS):
        # The packages and users are for what only a full run starts; an administrator may do all.
        if FULL or not re.search(r"venv|pip|user=rides|site\.yml", command):
            reader.run(command)
    return reader


@pytest.fixture(scope="module")
def orders(reader: Reader, client: Client) -> list[str]:
    """The orders that the programs about acknowledgements have written."""
    reader.run_all("Acknowledgements")
    return sorted(values(client, "shop.orders", partitions=3))


def values(client: Client, topic: str, **settings: Any) -> list[str]:
    return [value.decode() for value in client.values(topic, **settings)]


def test_each_level_of_acknowledgement_writes(orders: list[str]) -> None:
    assert orders == sorted(WRITTEN)


@only_full
def test_a_group_reads_again_what_was_not_committed(reader: Reader, orders: list[str]) -> None:
    printed = reader.run_all("Groups")
    for first, second in (printed[:2], printed[2:]):
        read = [[line for line in lines if line in orders] for lines in (first, second)]
        assert len(read[0]) == 4
        assert read[0][-1] in read[1]
        assert sorted(read[0][:-1] + read[1]) == orders


@only_full
def test_a_share_group_gets_a_released_record_again(reader: Reader, orders: list[str]) -> None:
    _, *printed = reader.run_all("Share groups")
    first, second = ([line for line in lines if line in orders] for lines in printed)
    assert len(first) == 4
    assert first[-1] in second
    assert sorted(first[:-1] + second) == orders


@only_full
def test_transactions_write_each_invoice_once(
    reader: Reader, client: Client, orders: list[str]
) -> None:
    reader.run_all("Transactions")
    committed = values(client, "shop.invoices", isolation_level="read_committed")
    assert sorted(committed) == sorted(order.upper() for order in orders * 2)
    uncommitted = values(client, "shop.invoices", isolation_level="read_uncommitted")
    assert uncommitted.count("ABORTED") == 2, "nothing was aborted"
    reader.run_all("Transactions")
    again = values(client, "shop.invoices", isolation_level="read_committed")
    assert again == committed, "the offsets were not committed with the invoices"


@only_full
def test_the_formats_come_back_as_they_were_written(reader: Reader) -> None:
    assert [len(lines) for lines in reader.run_all(FORMATS)] == [3, 3, 3]


@only_full
def test_spark_reads_avro_with_the_same_schema(
    topology: Topology, hosts: dict[str, Host], reader: Reader
) -> None:
    if not topology.group("spark_workers"):
        pytest.skip("no Spark here")
    written = [line.split()[1] for line in reader.run_all(FORMATS)[-1]]
    [shown] = guide.blocks(FORMATS, "python", guide.CLIENTS)
    session = "from pyspark.sql import SparkSession\nspark = SparkSession.builder.getOrCreate()\n"
    rows = f"rows = [(bytearray.fromhex(x),) for x in {written}]\n"
    program = f'{session}{rows}orders = spark.createDataFrame(rows, ["value"])\n{shown}'
    schema = (ROOT / "examples/clients/order.avsc").read_text()
    host = hosts[topology.group("spark_workers")[0]]
    add = guide.commands("Access", guide.SPARK)[0].replace("analyst", MEMBER)
    host.check_output(f"useradd --create-home --uid 7205 {MEMBER} && {add}")
    try:
        for name, text in (("order.avsc", schema), ("orders.py", program)):
            host.check_output(f"cat > /home/{MEMBER}/{name} <<'END'\n{text}\nEND")
        output = host.check_output(f"su - {MEMBER} -c %s", "spark-submit orders.py")
    finally:
        host.run(f"userdel --remove {MEMBER}")
    assert "Müsli" in output
    assert str(2**40) in output


@only_full
def test_faust_branches_counts_and_goes_on_after_a_restart(reader: Reader, client: Client) -> None:
    create, begin, worker = guide.commands("Faust", guide.CLIENTS)
    reader.run(create)
    for _ in range(2):
        reader.run(begin)
        rides = [json.loads(value) for value in values(client, "rides.started", partitions=2)]
        number = sum(is_long(ride) for ride in rides)
        with reader.start(worker) as process:
            try:
                # At least once: some may be counted twice.
                done = partial(counted, client, number)
                wait_for(done, seconds=90, what="a count of all long rides")
            finally:
                process.send_signal(signal.SIGTERM)
                output, _ = process.communicate(timeout=scaled(60))
        for topic, expected in (("rides.long", True), ("rides.short", False)):
            sent = {identity(json.loads(value)) for value in values(client, topic, partitions=2)}
            assert sent == {identity(ride) for ride in rides if is_long(ride) == expected}, output


def is_long(ride: dict[str, Any]) -> bool:
    return bool(ride["seconds"] >= 1800)


def identity(ride: dict[str, Any]) -> tuple[str, float]:
    return ride["zone"], ride["started"]


def counted(client: Client, number: int) -> bool:
    """Whether the last counts of the zones make up so many."""
    counts = [json.loads(value) for value in values(client, "rides.counts", partitions=2)]
    last = {count["zone"]: count["rides"] for count in counts}
    return bool(sum(last.values()) >= number)
