"""Wrong inventories and legal variations: what operators write about mirrors of other clusters."""

from __future__ import annotations

from typing import Any

from tests.unit.outside_authority import OutsideCa, pem
from tests.unit.rules.draft import Case, Change, Draft, Legal

CA = pem(OutsideCa.new("first").certificate)


def mirror(**changes: Any) -> dict[str, Any]:
    """Return a good mirror, but for what is given."""
    return {
        "from": "first",
        "bootstrap_servers": ["f1:9095", "10.0.0.1:9095", "[2001:db8::1]:9095"],
        "topics": ["orders", "shop-*"],
        "groups": ["billing"],
        "user": "mirror-second",
        "password": "geheim",
        "ca": CA,
        **changes,
    }


def mirrors(*written: object, alias: str | None = "second", closed: bool = False) -> Change:
    """Let the cluster, called `alias`, follow others, whose passwords are in a vault."""

    def change(draft: Draft) -> None:
        draft.connect().variable("connect_mirrors", list(written)).vault("connect_mirrors")
        if alias is not None:
            draft.variable("connect_cluster_alias", alias)
        if closed:
            draft.variable("kafka_security", "standard")

    return change


OPEN: dict[str, Any] = dict.fromkeys(("user", "password", "ca"))
REFUSED: list[Case] = [
    (
        "connectors-differ",
        "mirrors of one worker",
        lambda d: (mirrors()(d), d.variable("connect_mirrors", [mirror()], on=("k1",))),
        ("connect_mirrors", "k2", "group variables"),
    ),
    ("mirror-alias", "none", mirrors(mirror(), alias=None), ("connect_cluster_alias", "no name")),
    ("mirror-alias", "a dot", mirrors(mirror(), alias="a.b"), ("'a.b'", "letters")),
    ("mirror-name", "a dot", mirrors(mirror(**{"from": "a.b"})), ("'a.b'", "letters")),
    ("mirror-name", "itself", mirrors(mirror(), alias="first"), ("first", "this cluster")),
    ("mirror-name", "twice", mirrors(mirror(), mirror(state="paused")), ("first", "2 times")),
    *(
        ("mirror-address", name, mirrors(mirror(bootstrap_servers=addresses)), phrases)
        for name, addresses, phrases in (
            ("none", [], ("connect_mirrors[first].bootstrap_servers", "empty")),
            ("no port", ["f1"], ("'f1'", "9095")),
            ("two in one", ["f1:9095,f2:9095"], ("'f1:9095,f2:9095'",)),
            ("its own", ["k2:9092"], ("k2:9092", "this cluster")),
        )
    ),
    *(
        ("mirror-login", name, mirrors(mirror(**changes)), phrases)
        for name, changes, phrases in (
            ("no password", {"password": None}, ("[first].password", "user and ca")),
            ("no user", {"user": None}, ("[first].user", "password and ca")),
            ("a password alone", {"user": None, "ca": None}, ("user or ca",)),
            ("no certificate", {"ca": "ca.pem"}, ("[first].ca", "BEGIN CERTIFICATE")),
            ("a quote", {"password": 'ge"heim'}, ("[first].password", "quote")),
        )
    ),
    (
        "mirror-open",
        "no user",
        mirrors(mirror(**OPEN)),
        ("first", "not encrypted", "user, password and ca"),
    ),
    *(
        ("mirror-topic", name, mirrors(mirror(**changes)), phrases)
        for name, changes, phrases in (
            ("none", {"topics": []}, ("[first].topics", "empty")),
            ("an expression", {"topics": ["(orders|bills)"]}, ("'(orders|bills)'",)),
            ("a star inside", {"groups": ["*-billing"]}, ("[first].groups", "'*-billing'")),
            ("copied from here", {"topics": ["second.orders"]}, ("second.orders", "it is orders")),
        )
    ),
    *(
        ("mirror-config", key, mirrors(mirror(config={key: value})), (key, phrase))
        for key, value, phrase in (
            ("topics", "orders", "set by topics"),
            ("source.cluster.alias", "other", "set by from"),
            ("target.cluster.alias", "other", "connect_cluster_alias"),
        )
    ),
    (
        "connector-duplicate",
        "that of a mirror",
        lambda d: (
            mirrors(mirror())(d),
            d.variable(
                "connect_connectors",
                [{"name": "mirror-first-topics", "config": {"connector.class": "x.Y"}}],
            ),
        ),
        ("mirror-first-topics", "2 times"),
    ),
    (
        "secret-visible",
        "of a mirror",
        lambda d: (
            d.connect().variable("connect_cluster_alias", "second"),
            d.variable("connect_mirrors", [mirror()]),
        ),
        ("password of first", "connect_mirrors", "ansible-vault"),
    ),
]

LEGAL: list[Legal] = [
    ("mirror-alias", "without mirrors", lambda d: d.connect()),
    ("mirror-name", "one", mirrors(mirror())),
    ("mirror-name", "two", mirrors(mirror(), mirror(**{"from": "third"}), closed=True)),
    ("mirror-address", "removed", mirrors(mirror(bootstrap_servers=[], state="absent"))),
    ("mirror-login", "complete", mirrors(mirror())),
    ("mirror-open", "with a login", mirrors(mirror())),
    ("mirror-topic", "all", mirrors(mirror(topics=["*"], groups=["*"]))),
    ("mirror-config", "tuned", mirrors(mirror(config={"offset.lag.max": 10, "tasks.max": 4}))),
    ("connector-reference", "the login of a mirror", mirrors(mirror(), closed=True)),
    ("connector-user", "those of a mirror", mirrors(mirror(), closed=True)),
    ("connector-grant", "those of a mirror", mirrors(mirror(), closed=True)),
]
