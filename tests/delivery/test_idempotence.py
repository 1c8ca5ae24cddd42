"""A record is written, and its acknowledgement is lost: the producer has to send it again."""

from __future__ import annotations

from contextlib import closing

import pytest
from kafka import KafkaProducer  # type: ignore[import-untyped] # no types

from tests.support.delivery import SECONDS, Client
from tests.support.proxy import losing_answers


@pytest.mark.parametrize(
    ("idempotent", "copies"),
    [pytest.param(False, 2, id="plain"), pytest.param(True, 1, id="idempotent")],
)
def test_an_acknowledgement_is_lost(client: Client, idempotent: bool, copies: int) -> None:
    topic = client.topic()
    with (
        losing_answers(1) as proxy,
        closing(
            KafkaProducer(
                bootstrap_servers=client.bootstrap,
                proxy_url=proxy.url,
                acks="all",
                enable_idempotence=idempotent,
            )
        ) as producer,
    ):
        told = [
            producer.send(topic, value, partition=0).get(timeout=SECONDS).offset
            for value in (b"paid", b"next")
        ]
    assert proxy.lost == 1
    assert client.values(topic) == [b"paid"] * copies + [b"next"]
    assert told == [copies - 1, copies]
