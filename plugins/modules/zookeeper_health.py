#!/usr/bin/python
"""Ansible module: whether a ZooKeeper ensemble is healthy."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from ..module_utils.operations import health_check, zookeeper_health

DOCUMENTATION = r"""
module: zookeeper_health
short_description: Whether a ZooKeeper ensemble is healthy
extends_documentation_fragment: [millrace.streaming.health, millrace.streaming.check_mode]
description: [Sends C(srvr) to every member of the inventory and reports every problem.]
"""

ANSWER_SECONDS = 2


def ask(address: str, tls: ssl.SSLContext | None = None) -> zookeeper_health.Member:
    """Ask a member what it is, with TLS if that is given."""
    host, _, port = address.rpartition(":")
    name = host.strip("[]")
    try:
        with socket.create_connection((name, int(port)), ANSWER_SECONDS) as plain:
            link = tls.wrap_socket(plain, server_hostname=name) if tls else plain
            link.sendall(b"srvr")
            with link.makefile(errors="replace") as response:
                return zookeeper_health.parse(response.read())
    except OSError as error:
        return zookeeper_health.Member(reason=error.strerror or str(error))


def context(certificate: str, authority: str) -> ssl.SSLContext | None:
    """Return how to connect with a certificate, trusting a CA; None without one.

    Raises:
        OSError: a file cannot be read.

    """
    if not certificate:
        return None
    tls = ssl.create_default_context(cafile=authority)
    tls.load_cert_chain(certificate)
    return tls


def main() -> None:
    """Run the module."""
    module = health_check.module(
        {
            "members": {"type": "list", "elements": "str", "required": True},
            "certificate": {"type": "path", "default": ""},
            "authority": {"type": "path", "default": ""},
        }
    )
    wrong = [text for text in module.params["members"] if not text.rpartition(":")[2].isdecimal()]
    if wrong or not module.params["members"]:
        module.fail_json(msg=f"members needs host:port entries, got {wrong or 'none'}")

    try:
        tls = context(module.params["certificate"], module.params["authority"])
    except OSError as error:
        module.fail_json(msg=f"the certificate for ZooKeeper cannot be used: {error}")

    def check() -> tuple[dict[str, Any], list[str]]:
        members = {address: ask(address, tls) for address in module.params["members"]}
        modes = {name: member.mode for name, member in members.items() if member.mode}
        leader = next((name for name, mode in modes.items() if mode == "leader"), "")
        return {"leader": leader, "modes": modes}, zookeeper_health.problems(members)

    health_check.run(module, "ensemble is not healthy", check)


if __name__ == "__main__":
    main()
