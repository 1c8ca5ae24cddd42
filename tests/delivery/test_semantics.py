"""A consumer that is killed between its two steps: what was copied once, twice or not at all."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.library import errors

from tests.support.clients import copier
from tests.support.clients.copier import COMMIT_FIRST, PROCESS_FIRST, TRANSACTION
from tests.support.clients.delivery import SECONDS, Client
from tests.support.lab.topology import ROOT, environment, write_client_config
from tests.support.wait import wait_for

VALUES = [b"1", b"2", b"3"]
KILLED_AT = b"2"


def kill_between(client: Client, order: str, source: str, sink: str, log: Path) -> None:
    """Run the copier until it waits between its steps, and kill it there."""
    config = write_client_config(client.topology.connection, log.with_name("client.properties"))
    words = [order, str(config), source, sink, client.group, KILLED_AT.decode()]
    with (
        log.open("w") as stream,
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.clients.copier", *words],
            cwd=ROOT,
            env=environment(),
            stdout=stream,
            stderr=subprocess.STDOUT,
        ) as process,
    ):
        try:
            wait_for(
                lambda: copier.BETWEEN in log.read_text() or process.poll() is not None,
                seconds=SECONDS,
                what="a copier between its steps",
            )
        finally:
            process.kill()
    assert copier.BETWEEN in log.read_text(), log.read_text()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(
    ("order", "committed", "uncommitted"),
    [
        pytest.param(COMMIT_FIRST, [b"1", b"3"], [b"1", b"3"], id="at-most-once"),
        pytest.param(
            PROCESS_FIRST, [b"1", b"2", b"2", b"3"], [b"1", b"2", b"2", b"3"], id="at-least-once"
        ),
        # The copy of the killed one is in the log too, in a transaction that was aborted.
        pytest.param(TRANSACTION, VALUES, [b"1", b"2", b"2", b"3"], id="exactly-once"),
    ],
)
def test_a_copier_is_killed_between_its_steps(
    client: Client, tmp_path: Path, order: str, committed: list[bytes], uncommitted: list[bytes]
) -> None:
    source, sink = client.topic(), client.topic()
    client.write(source, VALUES)
    kill_between(client, order, source, sink, tmp_path / "copier.log")
    copier.copy(order, client.topology.connection, source, sink, client.group, lambda _: None)
    # A commit is answered before its marker is in every log.
    wait_for(
        lambda: client.values(sink, isolation_level="read_committed")[-1:] == VALUES[-1:],
        seconds=SECONDS,
        what="the end of the copy",
    )
    assert client.values(sink, isolation_level="read_committed") == committed
    assert client.values(sink) == uncommitted


def test_a_producer_that_was_replaced_cannot_commit(client: Client) -> None:
    """The second one with a transactional id fences the first (KIP-98)."""
    topic = client.topic()
    old, new = (client.producer(transactional_id=client.group) for _ in range(2))
    for producer, value in ((old, b"old"), (new, b"new")):
        producer.init_transactions()
        producer.begin_transaction()
        producer.send(topic, value, partition=0).get(timeout=SECONDS)
    new.commit_transaction()
    with pytest.raises(errors.ProducerFencedError):
        old.commit_transaction()
    wait_for(
        lambda: client.values(topic, isolation_level="read_committed"),
        seconds=SECONDS,
        what="what was committed",
    )
    assert client.values(topic, isolation_level="read_committed") == [b"new"]
    assert client.values(topic) == [b"old", b"new"]
