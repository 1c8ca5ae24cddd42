"""A record is written, and its acknowledgement is lost: the producer has to send it again."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import clients

from tests.support.clients.delivery import SECONDS, Client
from tests.support.clients.proxy import LARGE, losing_answers

PAID = os.urandom(LARGE)


@pytest.mark.parametrize(
    ("idempotent", "copies"),
    [pytest.param(False, 2, id="plain"), pytest.param(True, 1, id="idempotent")],
)
def test_an_acknowledgement_is_lost(client: Client, idempotent: bool, copies: int) -> None:
    topic = client.topic()
    with (
        losing_answers(1) as proxy,
        closing(
            clients.producer(
                client.topology.connection,
                proxy_url=proxy.url,
                acks="all",
                enable_idempotence=idempotent,
            )
        ) as producer,
    ):
        offsets = [
            producer.send(topic, value, partition=0).get(timeout=SECONDS).offset
            for value in (PAID, b"next")
        ]
    assert proxy.lost == 1
    assert client.values(topic) == [PAID] * copies + [b"next"]
    assert offsets == [copies - 1, copies]
