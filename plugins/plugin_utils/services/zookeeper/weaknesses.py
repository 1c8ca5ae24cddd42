"""Which values of the keys of ZooKeeper remove a part of its protection."""

from __future__ import annotations

from ....module_utils.formats.values import is_true
from ...rules.weakness import (
    ANY_CERTIFICATE,
    OLD_PROTOCOL,
    READABLE,
    Weakness,
    has_weak_suite,
    is_false,
    is_old,
    other_than,
)

WEAKNESSES = (
    Weakness("sslQuorum", is_false, READABLE),
    Weakness("portUnification", is_true, "Members accept connections without TLS too"),
    Weakness("client.portUnification", is_true, "Clients may connect without TLS too"),
    Weakness("skipACL", is_true, "Every client may change everything"),
    *(
        weakness
        for prefix in ("ssl.", "ssl.quorum.")
        for weakness in (
            Weakness(f"{prefix}clientAuth", other_than("NEED"), "No certificate is asked for"),
            Weakness(f"{prefix}hostnameVerification", is_false, ANY_CERTIFICATE),
            Weakness(f"{prefix}protocol", is_old, OLD_PROTOCOL),
            Weakness(f"{prefix}enabledProtocols", is_old, OLD_PROTOCOL),
            Weakness(f"{prefix}ciphersuites", has_weak_suite, READABLE),
        )
    ),
)
