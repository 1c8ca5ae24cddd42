"""The secrets of a cluster are found in every form in which a program writes them."""

from __future__ import annotations

import base64
import html
import json
import shlex
import urllib.parse
from pathlib import Path

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.properties import (
    escape_value,
)
from ansible_collections.millrace.streaming.plugins.module_utils.formats.redaction import MARK
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations import redaction
from ansible_collections.millrace.streaming.plugins.plugin_utils.operations.redaction import (
    Redaction,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import store
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.secrets.kept_secrets import closed, stored

SECRET = "pa ss\"w'o\\rd$&ü/+<canary>=%"


@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        json.dumps(SECRET),
        json.dumps(json.dumps(SECRET)),
        json.dumps(SECRET, ensure_ascii=False),
        escape_value(SECRET),
        escape_value(json.dumps(SECRET)[1:-1]),
        html.escape(SECRET),
        shlex.quote(SECRET),
        urllib.parse.quote(SECRET, safe=""),
        urllib.parse.quote_plus(SECRET),
        urllib.parse.quote(SECRET, safe="").lower(),
        SECRET.encode().hex(),
        base64.b64encode(SECRET.encode()).decode(),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)
def test_a_secret_is_found_in_each_form(form: str) -> None:
    redacted = Redaction([SECRET]).known(f"before {form} after")
    assert redacted.startswith("before ")
    assert redacted.endswith(" after")
    assert MARK in redacted
    assert "canary" not in redacted
    assert form.strip("'\"") not in redacted


@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
def test_a_secret_is_found_in_base64_wherever_it_begins(before: bytes, after: bytes) -> None:
    secret = "a-canary-of-24-characters"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        text = encode(before + secret.encode() + after).decode()
        redacted = Redaction([secret]).known(text)
        # At most a byte at each end remains.
        assert len(redacted.replace(MARK, "")) <= len(text) - 4 * (len(secret) - 4) // 3


def test_a_short_secret_is_removed_as_a_word() -> None:
    redacted = Redaction(["cat", "", "x"]).known("cat concatenate x=cat;")
    assert redacted == f"{MARK} concatenate x={MARK};"


def test_the_longest_of_two_secrets_is_removed() -> None:
    assert Redaction(["abcdefgh", "abcdefghij"]).known("abcdefghij") == MARK


def test_many_secrets_are_found() -> None:
    secrets = [f"{number:03}-canary-{number}" for number in range(300)]
    text = "\n".join(f"x {secret} y" for secret in secrets)
    assert Redaction(secrets).known(text) == "\n".join([f"x {MARK} y"] * 300)


def test_plain_data_lose_them_in_keys_and_values_and_by_their_names() -> None:
    data = {"a-long-secret": ["x a-long-secret"], "n": 1, "password": "unknown", "token": None}
    redacted = Redaction(["a-long-secret"]).value(data)
    assert redacted == {MARK: [f"x {MARK}"], "n": 1, "password": MARK, "token": None}


def test_all_that_a_store_holds_is_known(tmp_path: Path) -> None:
    directory = tmp_path / ".secrets"
    cluster = closed(directory, kafka_users=[{"name": "alice"}])
    secrets = store.complete(cluster, None, store=True)
    known = Redaction(redaction.of_store(secrets))
    texts = {name: text for name, text in stored(directory).items() if not name.startswith("ca")}
    assert {name.partition("/")[0] for name in texts} >= {"certificates", "passwords"}
    for name, text in texts.items():
        key = text.partition("-----BEGIN CERT")[0]
        for line in key.strip().splitlines():
            if "-----" not in line:
                assert known.known(f"x {line} y") == f"x {MARK} y", name


def test_the_secrets_of_an_inventory_are_known() -> None:
    values = {
        "kafka_users": [{"name": "a", "password": "of-a-user"}, {"name": "b"}],
        "kafka_config": {"ssl.key.password": "of-a-property", "x": "y"},
        "connect_secrets": {"file": {"key": "of-a-file"}},
        "kafka_java_options": ["-Dx.password=of-an-option"],
        "kafka_ca_key": "-----BEGIN PRIVATE KEY-----\nof-a-key-of-a-CA-\n-----END PRIVATE KEY-----",
    }
    assert {*redaction.of_variables(values)} - {""} == {
        "of-a-user",
        "of-a-property",
        "of-a-file",
        "of-an-option",
        "of-a-key-of-a-CA-",
    }


def test_an_empty_store_has_none() -> None:
    assert not [*redaction.of_store(Secrets())]


def test_a_secret_of_several_lines_is_found_line_by_line() -> None:
    redaction = Redaction(["hunter2hunter2\n", "the-first-long-line\nthe-second-long-line\n"])
    assert redaction.text("login with hunter2hunter2 failed") == "login with (secret) failed"
    text = redaction.text("Nov 29 x: the-first-long-line\nNov 29 x: the-second-long-line")
    assert "long-line" not in text


def test_a_short_secret_is_found_after_an_escape() -> None:
    redaction = Redaction(["s3cret1"])
    for text in ('{"m":"line\\ns3cret1"}', "q=%3Ds3cret1&"):
        assert "s3cret1" not in redaction.known(text)
    assert redaction.known("as3cret1") == "as3cret1"
