"""Whoever issues tokens for OAUTHBEARER: a key, what others check its signatures by, and tokens."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_KEY = "throw-away"
_LIFE_SECONDS = 600


def _base64url(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _number(value: int) -> str:
    return _base64url(value.to_bytes((value.bit_length() + 7) // 8, "big"))


class Issuer:
    """An issuer with a new key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def keys(self) -> str:
        """The public key as `sasl.oauthbearer.jwks.endpoint.url` has it (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": _KEY}
        return json.dumps({"keys": [{**key, "n": _number(numbers.n), "e": _number(numbers.e)}]})

    def token(self, **claims: object) -> str:
        """A signed token of this issuer; a claim that is None is left out (RFC 7519)."""
        now = int(time.time())
        all_claims = {"iss": self.name, "iat": now, "exp": now + _LIFE_SECONDS, **claims}
        signing_input = _parts({"alg": "RS256", "typ": "JWT", "kid": _KEY}, all_claims)
        signature = self._key.sign(signing_input.encode(), padding.PKCS1v15(), hashes.SHA256())
        return f"{signing_input}.{_base64url(signature)}"


def unsigned(token: str) -> str:
    """The same claims as Kafka's unsecured validator takes them, which nobody has signed."""
    claims = token.split(".")[1]
    return f"{_base64url(json.dumps({'alg': 'none'}).encode())}.{claims}."


def _parts(header: Mapping[str, Any], claims: Mapping[str, Any]) -> str:
    payload = {key: value for key, value in claims.items() if value is not None}
    return ".".join(_base64url(json.dumps(segment).encode()) for segment in (header, payload))


def topics(servers: str, authority: str, token: str, seconds: float) -> set[str]:
    """Return the topics that whoever has a token sees.

    Raises PermissionError if brokers refuse it.
    """
    refusals: list[KafkaError] = []
    config: dict[str, Any] = {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": authority,
        "sasl.mechanisms": "OAUTHBEARER",
        # What is said of its end is for the library alone: brokers read the token.
        "oauth_cb": lambda _: (token, time.time() + _LIFE_SECONDS),
        "error_cb": refusals.append,
        "log_level": 0,
    }
    client = AdminClient(config)
    deadline = time.monotonic() + seconds
    while True:
        try:
            return {*client.list_topics(timeout=2).topics}
        except KafkaException:
            client.poll(0)  # serves the callback of errors
            refused = [
                refusal for refusal in refusals if refusal.code() == KafkaError._AUTHENTICATION
            ]
            if refused:
                raise PermissionError(refused[0].str()) from None
            if time.monotonic() > deadline:
                raise
