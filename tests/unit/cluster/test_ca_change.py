"""The phases of a change of the CA, and the ways between them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster import (
    ca_change,
    transition,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.ca_change import (
    FINISH,
    LEAVES,
    TRUST,
    WITHDRAW,
    PhaseError,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.inventory import Secrets
from ansible_collections.millrace.streaming.plugins.plugin_utils.cluster.transition import (
    Transition,
)

KAFKA, CONNECT = (
    name for name, *_ in (ca_change.CHOICES[choice] for choice in ("kafka", "connect"))
)
BEGUN = ca_change.begin({KAFKA: "former\n"}, {KAFKA: "next"})


def complete(change: Transition) -> Transition:
    return replace(change, complete=True)


def kept(record: str) -> Secrets:
    texts = {transition.AUTHORITY: record} if record else {}
    return Secrets("/secrets", "trusted", texts=texts, connect_authority="of connect")


def test_phase_follows_phase_once_all_nodes_have_it() -> None:
    change = BEGUN
    for phase in (LEAVES, FINISH):
        assert ca_change.following(change, back=False) == change, "repeated"
        change = ca_change.following(complete(change), back=False)
        assert (change.phase, change.complete) == (phase, False)
    assert ca_change.following(change, back=False) == change
    assert ca_change.following(complete(change), back=False).phase == FINISH


@pytest.mark.parametrize("done", [True, False])
def test_a_change_goes_back_phase_by_phase(done: bool) -> None:
    leaves = replace(BEGUN.enter(LEAVES), complete=done)
    trust = ca_change.following(leaves, back=True)
    assert (trust.phase, trust.complete) == (TRUST, False)
    withdraw = ca_change.following(complete(trust), back=True)
    assert withdraw.phase == WITHDRAW
    for back in (True, False):
        assert ca_change.following(withdraw, back=back) == withdraw, "until it is withdrawn"
    assert ca_change.following(replace(BEGUN, complete=done), back=True).phase == WITHDRAW


@pytest.mark.parametrize("back", [True, False])
def test_going_back_that_was_interrupted_is_repeated(back: bool) -> None:
    """Some nodes still have certificates of the next CA, which all must trust."""
    trust = ca_change.following(complete(BEGUN.enter(LEAVES)), back=True)
    assert ca_change.following(trust, back=back) == trust


def test_after_going_back_it_goes_on_again() -> None:
    trust = ca_change.following(complete(BEGUN.enter(LEAVES)), back=True)
    again = ca_change.following(complete(trust), back=False)
    assert again.phase == LEAVES
    assert ca_change.following(again, back=True).phase == TRUST


@pytest.mark.parametrize("done", [True, False])
def test_from_the_last_phase_there_is_no_way_back(done: bool) -> None:
    with pytest.raises(PhaseError, match="too late"):
        ca_change.following(replace(BEGUN.enter(FINISH), complete=done), back=True)


@pytest.mark.parametrize(
    ("phase", "trusted", "signer"),
    [
        (TRUST, "former\nnext\n", "former\n"),
        (LEAVES, "former\nnext\n", "next"),
        (FINISH, "next\n", "next"),
        (WITHDRAW, "former\n", "former\n"),
    ],
)
def test_what_is_trusted_and_who_signs(phase: str, trusted: str, signer: str) -> None:
    change = BEGUN.enter(phase)
    assert (ca_change.trusted(change, KAFKA), ca_change.signer(change, KAFKA)) == (trusted, signer)
    assert ca_change.signing(kept(change.text()), CONNECT) == "of connect", "it does not change"
    assert ca_change.signing(kept(change.text())) == signer
    assert ca_change.current(kept(change.text())) == change


def test_without_a_change_the_one_that_is_trusted_signs() -> None:
    assert ca_change.current(kept("")) is None
    assert ca_change.signing(kept("")) == "trusted"


def test_a_record_of_kafkas_ca_alone_is_still_read() -> None:
    record = Transition(TRUST, data={"former": "former\n", "next": "next"}).text()
    assert ca_change.current(kept(record)) == BEGUN


def test_a_record_of_all_cas_is_one() -> None:
    certificates = dict.fromkeys(ca_change.authorities(Secrets()), "former")
    change = ca_change.begin(certificates, certificates)
    assert ca_change.current(kept(change.text())) == change


@pytest.mark.parametrize(
    "record",
    [
        "{",
        "[]",
        '{"phase": "half"}',
        Transition(TRUST).text(),
        BEGUN.enter("x").text(),
        ca_change.begin({KAFKA: "former"}, {CONNECT: "next"}).text(),
        ca_change.begin({"x.pem": "former"}, {"x.pem": "next"}).text(),
        ca_change.begin({}, {}).text(),
        Transition(TRUST, data={"former": {KAFKA: "former"}, "next": []}).text(),
    ],
)
def test_a_damaged_record_is_named(record: str) -> None:
    with pytest.raises(ValueError, match="/secrets/ca_change"):
        ca_change.current(kept(record))
    assert ca_change.signing(kept(record)) == "trusted"
