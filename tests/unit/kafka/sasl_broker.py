"""As much of a Kafka broker as a login with SCRAM needs (KIP-84), on this machine."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import socketserver
import struct
import threading
from collections.abc import Generator, Mapping
from typing import Any

from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import Connection
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.users import Logins

from tests.unit.kafka.fake_admin import HASHES

METADATA, HANDSHAKE, VERSIONS, AUTHENTICATE = 3, 17, 18, 36
UNSUPPORTED_MECHANISM, UNSUPPORTED_VERSION, AUTHENTICATION_FAILED = 33, 35, 58
ITERATIONS = 4096


class WrongPasswordError(Exception):
    """The client does not know the user's password."""


class SaslBroker:
    """A listener with SASL, SASL_PLAINTEXT, for users with their passwords."""

    properties: Mapping[str, str] = {"security.protocol": "SASL_PLAINTEXT"}

    def __init__(
        self,
        users: Mapping[str, str],
        mechanism: str = "SCRAM-SHA-512",
        *,
        wrong_signature: bool = False,
        silent: bool = False,
    ) -> None:
        self.users, self.mechanism = users, mechanism
        self.wrong_signature, self.silent = wrong_signature, silent
        broker = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                with contextlib.suppress(ConnectionError, struct.error):
                    broker.serve(self.rfile, self.wfile)

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.server_address[1]}"

    def logins(self) -> Logins:
        return Logins(Connection((self.address,), self.properties), self.mechanism)

    def __enter__(self) -> SaslBroker:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def serve(self, received: Any, sent: Any) -> None:
        """Answer the requests of a connection until its login has failed, or it is closed."""
        scram = self.scram()
        next(scram)
        while True:
            (size,) = struct.unpack(">i", received.read(4))
            request = received.read(size)
            if self.silent:
                continue
            key, version, number, client = struct.unpack(">hhih", request[:10])
            response = self.answer(scram, key, version, request[10 + client :])
            sent.write(struct.pack(">ii", 4 + len(response), number) + response)
            if key == AUTHENTICATE and response[:2] != b"\0\0":
                return  # Kafka closes the connection with its answer

    def answer(
        self, scram: Generator[bytes, str, None], key: int, version: int, body: bytes
    ) -> bytes:
        if key == VERSIONS:
            versions = ((METADATA, 0, 1), (HANDSHAKE, 1, 1), (VERSIONS, 0, 0), (AUTHENTICATE, 0, 0))
            error = UNSUPPORTED_VERSION if version else 0
            return struct.pack(">hi", error, len(versions)) + b"".join(
                struct.pack(">hhh", *version_range) for version_range in versions
            )
        if key == HANDSHAKE:
            error = 0 if body[2:].decode() == self.mechanism else UNSUPPORTED_MECHANISM
            return struct.pack(">hi", error, 1) + text(self.mechanism)
        assert key == AUTHENTICATE
        try:
            message = scram.send(body[4:].decode())
        except WrongPasswordError:
            return struct.pack(">h", AUTHENTICATION_FAILED) + text("no") + struct.pack(">i", 0)
        return struct.pack(">hhi", 0, -1, len(message)) + message

    def scram(self) -> Generator[bytes, str, None]:
        """The server's part of RFC 5802: takes a message, yields the answer."""
        name = HASHES[self.mechanism]
        first = yield b""
        bare = first.removeprefix("n,,")
        fields = dict(field.split("=", 1) for field in bare.split(","))
        user = fields["n"].replace("=2C", ",").replace("=3D", "=")
        if user not in self.users:
            raise WrongPasswordError
        nonce = f"{fields['r']}server"
        salt = base64.b64encode(b"salt").decode()
        challenge = f"r={nonce},s={salt},i={ITERATIONS}"
        final = yield challenge.encode()
        without_proof, _, proof = final.rpartition(",p=")
        message = f"{bare},{challenge},{without_proof}".encode()
        salted = hashlib.pbkdf2_hmac(name, self.users[user].encode(), b"salt", ITERATIONS)
        key = hmac.digest(salted, b"Client Key", name)
        signature = hmac.digest(hashlib.new(name, key).digest(), message, name)
        if bytes(a ^ b for a, b in zip(key, signature, strict=True)) != base64.b64decode(proof):
            raise WrongPasswordError
        server = hmac.digest(salted, b"Server Key", name)
        proven = hmac.digest(server, b"" if self.wrong_signature else message, name)
        yield b"v=" + base64.b64encode(proven)


def text(value: str) -> bytes:
    return struct.pack(">h", len(value.encode())) + value.encode()
