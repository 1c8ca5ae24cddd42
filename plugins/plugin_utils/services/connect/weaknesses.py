"""Which values of the keys of Kafka Connect remove a part of its protection."""

from __future__ import annotations

from ...rules.weakness import ANY_CERTIFICATE, OLD_PROTOCOL, Weakness, is_empty, is_old, other_than
from .connectors import SECRETS
from .model import ALLOWED_PATHS, CLIENT_AUTHENTICATION

WEAKNESSES = (
    Weakness(
        CLIENT_AUTHENTICATION,
        other_than("REQUIRED"),
        "Whoever reaches the REST interface may change connectors",
    ),
    Weakness("listeners.https.ssl.enabled.protocols", is_old, OLD_PROTOCOL),
    Weakness("listeners.https.ssl.endpoint.identification.algorithm", is_empty, ANY_CERTIFICATE),
    Weakness(
        ALLOWED_PATHS,
        lambda value: str(value) != SECRETS,
        "A connector may take values from any file that the workers can read",
    ),
)
