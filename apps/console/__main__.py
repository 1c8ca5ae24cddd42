"""Serve the console: `python -m apps.console SETTINGS.json`."""

from __future__ import annotations

import argparse
import logging
import os
import socket
import sys
from pathlib import Path

import uvicorn
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    ConnectionDescriptionError,
)

from . import readers
from .app import Clients, Console, secured
from .collector import Collector
from .connections import MOST, Connection, Listener
from .settings import SettingsError, read

_HEADER_BYTES = 16384
UNUSABLE = (
    SettingsError,
    ConnectionDescriptionError,
    library.NoLibraryError,
    KeyError,
    OSError,
    ValueError,
)
"""What is raised where the settings, or files that they name, cannot be used."""


class Server(uvicorn.Server):
    """A server that notifies systemd's unit when it listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        if directory := os.environ.get("RUNTIME_DIRECTORY"):
            (Path(directory) / "ready").touch()


def main() -> int:
    """Serve until the process is ended; return 2 for settings that cannot be used."""
    parser = argparse.ArgumentParser(prog="console", description=__doc__)
    parser.add_argument("settings", type=Path, help="file of the settings")
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    try:
        settings = read(parser.parse_args().settings)
        library.use(Path(settings.kafka["library"]))
        connection = readers.connection_of(settings.kafka)
        mechanism = settings.kafka.get("mechanism", "")
        collector = Collector(settings, readers.of_settings(settings))
        console = Console(settings, Clients(connection, mechanism), collector)
        listener = Listener.at(settings.address, settings.port)
    except UNUSABLE as error:
        logging.getLogger("console").critical("%s", error)
        return 2
    collector.start()
    config = uvicorn.Config(
        secured(console.application()),
        loop="asyncio",
        http=Connection,
        ssl_certfile=settings.certificate,
        limit_concurrency=MOST + 1,
        h11_max_incomplete_event_size=_HEADER_BYTES,
        timeout_keep_alive=20,
        timeout_graceful_shutdown=5,
        server_header=False,
        proxy_headers=False,
        access_log=False,
        lifespan="off",
        log_level="warning",
    )
    Server(config).run([listener])
    return 0


if __name__ == "__main__":
    sys.exit(main())
