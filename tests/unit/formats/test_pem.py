"""How blocks of PEM are read, and names compared."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.formats.pem import (
    block,
    bodies,
    decoded,
    is_for,
)

CONTENT = bytes(range(256))


@pytest.mark.parametrize("length", [0, 1, 127, 128, 200, 256])
def test_a_block_is_read_unless_it_was_cut(length: int) -> None:
    size = bytes([length]) if length < 128 else b"\x82" + length.to_bytes(2, "big")
    der = b"\x30" + size + CONTENT[:length]
    body = "".join(block("X", der).splitlines()[1:-1])
    assert decoded(body) == der
    assert decoded(f"Proc-Type: 4,ENCRYPTED\n\n{body}") == der
    cut = "".join(block("X", der[:-1]).splitlines()[1:-1])
    assert decoded(cut) == b""


@pytest.mark.parametrize(
    "end", ["-----END CERTIFICAT-----", "----END CERTIFICATE-----", "-----END CERTIFICATE----", ""]
)
def test_a_damaged_end_of_a_certificate_does_not_show_the_key_after_it(end: str) -> None:
    damaged = block("CERTIFICATE", b"one").replace("-----END CERTIFICATE-----", end)
    key, other = block("PRIVATE KEY", b"the key"), block("CERTIFICATE", b"other")
    assert bodies(f"{damaged}{key}{other}") == bodies(other) == ["b3RoZXI="]


@pytest.mark.parametrize("body", ["", "%", "M", "MA=="])
def test_what_is_no_block_is_empty(body: str) -> None:
    assert decoded(body) == b""


@pytest.mark.parametrize(
    ("names", "host", "expected"),
    [
        (["DNS:k1"], "K1", True),
        (["DNS:K1"], "k1", True),
        (["DNS:k1"], "k1.example", False),
        (["DNS:*.example"], "k1.example", True),
        (["DNS:k*.example"], "k1.example", True),
        (["DNS:*.example"], "a.k1.example", False),
        (["DNS:*.example"], "example", False),
        (["DNS:k.example"], "kxexample", False),
        (["IP:10.0.0.1"], "10.0.0.1", True),
        (["DNS:10.0.0.1"], "10.0.0.1", False),
        (["IP:2001:db8::1"], "[2001:0DB8:0:0::1]", True),
        (["IP:2001:db8::1"], "2001:db8::2", False),
        ([], "k1", False),
    ],
)
def test_names_are_compared_as_java_does(names: list[str], host: str, expected: bool) -> None:
    assert is_for(names, host) is expected
