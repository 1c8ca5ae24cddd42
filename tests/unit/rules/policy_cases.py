"""Versions by the policy: known to be bad, accepted with a reason, to be upgraded from."""

from __future__ import annotations

from typing import Any

from tests.unit.rules.draft import Case, Change, Draft, Legal

RISKS = ("CVE-2026-111115", "CVE-2026-111108")
REASON = "nobody else reaches this network"


def on(version: str, accepted: object = None, **variables: Any) -> Change:
    """An inventory with a version of Kafka and the risks that it accepts."""

    def change(draft: Draft) -> None:
        draft.by_policy().variable("kafka_version", version)
        if accepted is not None:
            draft.variable("accepted_risks", accepted)
        for name, value in variables.items():
            draft.variable(name, value)

    return change


def on_ensemble(draft: Draft) -> None:
    draft.by_policy().zookeeper_mode()


REFUSED: list[Case] = [
    (
        "known-bad-version",
        "two ways out",
        on("4.2.1"),
        (
            *RISKS,
            "Kafka 4.2.1",
            "kafka_version: 4.2.2 or 4.4.0",
            "rolling_upgrade",
            "accepted_risks",
        ),
    ),
    (
        "known-bad-version",
        "with ZooKeeper",
        on_ensemble,
        ("Kafka 3.9.2", "a new cluster with the group kafka_controllers and kafka_version: 4.4.0"),
    ),
    (
        "known-bad-version",
        "one of two accepted",
        on("4.2.1", {RISKS[0]: REASON}),
        ("Kafka 4.2.1", f"accepted_risks: {{{RISKS[1]}: "),
    ),
    *(
        (
            "known-bad-version",
            f"accepted as {reason!r}",
            on("4.1.2", dict.fromkeys(RISKS, reason)),
            RISKS,
        )
        for reason in ("", " ", None, True, 12, ["x"], {"a": "b"}, "...", "-", "\u200b")
    ),
    (
        "known-bad-version",
        "no reason in words, and ids of nothing",
        on("4.1.2", {RISKS[0]: 12, RISKS[1].lower(): REASON, 7: REASON}),
        (
            f"gives no reason in words for {RISKS[0]}.",
            f"accepted_risks has '{RISKS[1].lower()}' and 7, of which nothing is recorded",
        ),
    ),
    (
        "outdated-version",
        "a reason of several lines",
        on("4.1.2", dict.fromkeys(RISKS, "closed\n2. to \x1b[31mothers\n")),
        ("accepted: closed 2. to [31mothers. ",),
    ),
    (
        "known-bad-version",
        "supported",
        on("4.3.1"),
        (*RISKS, "Kafka 4.3.1", "Set kafka_version: 4.4.0; a cluster that runs"),
    ),
    (
        "outdated-version",
        "accepted",
        on("4.1.2", dict.fromkeys(RISKS, f"{REASON}.")),
        (*RISKS, "4.1.2", REASON, "Set kafka_version: 4.4.0"),
    ),
]
LEGAL: list[Legal] = [
    ("known-bad-version", "outside the ranges", on("4.2.2")),
    ("known-bad-version", "a risk that is none", on("4.4.0", {RISKS[0]: REASON})),
    ("outdated-version", "the default", lambda d: d.by_policy()),
    ("outdated-version", "the newest", on("4.4.0")),
]
