"""Which values of the keys of Spark remove a part of its protection."""

from __future__ import annotations

from ....module_utils.formats.values import is_true
from ...rules.weakness import READABLE, Weakness, is_empty, is_false, other_than
from .security import UI_FILTERS

_ENCRYPTED_OTHERWISE = ("spark.ssl.rpc.enabled", "spark.authenticate.enableSaslEncryption")

WEAKNESSES = (
    Weakness(
        "spark.authenticate",
        is_false,
        "Whoever reaches the master may submit jobs, which are code",
    ),
    Weakness("spark.network.crypto.enabled", is_false, READABLE, _ENCRYPTED_OTHERWISE),
    Weakness(
        "spark.network.crypto.cipher",
        other_than("GCM"),
        "Whoever is between two hosts may change what they send",
        _ENCRYPTED_OTHERWISE,
    ),
    Weakness(
        "spark.network.crypto.authEngineVersion",
        other_than("2"),
        "Keys are made by an older protocol, which is weaker",
        _ENCRYPTED_OTHERWISE,
    ),
    Weakness(
        "spark.network.crypto.saslFallback",
        is_true,
        "A process may choose SASL to authenticate, which is weaker",
    ),
    Weakness("spark.io.encryption.enabled", is_false, "What executors spill is readable on disks"),
    Weakness(
        UI_FILTERS,
        is_empty,
        "Whoever reaches a web interface may see settings and end jobs",
    ),
    Weakness(
        "spark.master.ui.decommission.allow.mode",
        lambda value: str(value).upper() == "ALLOW",
        "Whoever reaches the master's web interface may remove workers",
    ),
)
