#!/usr/bin/python
"""Ansible module: what the Kafka node of a host listens on, and who is connected."""

from __future__ import annotations

import ipaddress
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.formats.properties import parse_or_empty

DOCUMENTATION = r"""
module: kafka_listeners
short_description: Read what the Kafka node of a host listens on, and who is connected
description:
  - Reads the listeners from the node's configuration, and the connections from the kernel.
options:
  ports:
    description: Ports whose connections are watched, by default those that are to be removed.
    type: list
    elements: int
  seconds:
    description: How long they are watched. A connection that begins and ends between two looks is
      not seen.
    type: float
    default: 30
attributes:
  check_mode:
    description: Changes nothing.
    support: full
"""

EXAMPLES = r"""
- name: See who uses the listener that is to be removed
  millrace.streaming.kafka_listeners:
    ports: [9092]
"""

RETURN = r"""
listeners:
  description: Listeners of the roles C(brokers) and C(controllers), each with C(name), C(port) and
    C(protocol), and in C(between_brokers) the name of the one that brokers use.
  returned: success
  type: dict
peers:
  description: Port and the addresses that were connected to it.
  returned: success
  type: dict
"""

SERVER_PROPERTIES = "/etc/kafka/server.properties"
TABLES = ("/proc/net/tcp", "/proc/net/tcp6")
ESTABLISHED = "01"
POLL_SECONDS = 0.5


def listeners(text: str) -> dict[str, object]:
    """Return the listeners that the text of a server.properties describes."""
    config = parse_or_empty(text)
    pairs = config.get("listener.security.protocol.map", "").split(",")
    protocols = dict(pair.rpartition(":")[::2] for pair in pairs if pair)
    names = config.get("controller.listener.names", "").split(",")
    entries = [
        {
            "name": name,
            "port": int(address.rpartition(":")[2]),
            "protocol": protocols.get(name, name),
        }
        for name, _, address in (
            listener.strip().partition("://")
            for listener in config.get("listeners", "").split(",")
            if listener
        )
    ]
    controllers = [listener for listener in entries if listener["name"] in names]
    return {
        "brokers": [listener for listener in entries if listener not in controllers],
        # In the order of the names: the first is the one that nodes use.
        "controllers": sorted(controllers, key=lambda listener: names.index(str(listener["name"]))),
        "between_brokers": config.get("inter.broker.listener.name", ""),
    }


def peers(tables: str, ports: list[int]) -> dict[int, set[str]]:
    """Return port -> addresses of the established connections in the kernel's tables (proc(5))."""
    connected: dict[int, set[str]] = {}
    for line in tables.splitlines():
        fields = line.split()
        if len(fields) > 3 and fields[3] == ESTABLISHED:
            port = int(fields[1].rpartition(":")[2], 16)
            if port in ports:
                connected.setdefault(port, set()).add(address(fields[2].rpartition(":")[0]))
    return connected


def address(text: str) -> str:
    """Return an address as people write it, from words of 32 bits in the order of the machine."""
    words = bytes.fromhex(text)
    packed = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    parsed = ipaddress.ip_address(packed)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return str(mapped or parsed)


def read(path: str) -> str:
    """Return the text of a file, empty where there is none."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return ""


def watch(ports: list[int], seconds: float) -> dict[int, set[str]]:
    """Return who is connected to the ports at any time of so many seconds."""
    connected: dict[int, set[str]] = {}
    end = time.monotonic() + seconds
    while ports:
        for port, addresses in peers("\n".join(map(read, TABLES)), ports).items():
            connected.setdefault(port, set()).update(addresses)
        if time.monotonic() >= end:
            break
        time.sleep(POLL_SECONDS)
    return connected


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "ports": {"type": "list", "elements": "int", "default": []},
            "seconds": {"type": "float", "default": 30},
        },
        supports_check_mode=True,
    )
    connected = watch(module.params["ports"], module.params["seconds"])
    module.exit_json(
        changed=False,
        listeners=listeners(read(SERVER_PROPERTIES)),
        peers={str(port): sorted(addresses) for port, addresses in connected.items()},
    )


if __name__ == "__main__":
    main()
