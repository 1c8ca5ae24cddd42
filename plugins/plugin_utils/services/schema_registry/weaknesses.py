"""Which values of the keys of the schema registry remove a part of its protection."""

from __future__ import annotations

from ....module_utils.formats.values import is_true
from ...rules.weakness import (
    ANY_CERTIFICATE,
    OLD_PROTOCOL,
    Weakness,
    is_empty,
    is_false,
    is_old,
    other_than,
)
from .model import BASIC, HOST_CHECK, INSECURE, PROTOCOLS, ROLE_BASED

WEAKNESSES = (
    Weakness(INSECURE, other_than("DISABLED"), "Clients may connect without TLS, too"),
    Weakness(PROTOCOLS, is_old, OLD_PROTOCOL),
    Weakness(BASIC, is_false, "Whoever reaches the registry may change schemas"),
    Weakness(ROLE_BASED, is_false, "Every user may change schemas"),
    Weakness("apicurio.auth.anonymous-read-access.enabled", is_true, "Anybody may read schemas"),
    Weakness(HOST_CHECK, is_empty, ANY_CERTIFICATE),
)
