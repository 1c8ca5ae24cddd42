"""The program: reads its settings, then the cluster until it is stopped."""

from __future__ import annotations

import faulthandler
import logging
import os
import sys
import threading
import time
from pathlib import Path

from ansible_collections.millrace.streaming.plugins.module_utils.kafka import library
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.connection import (
    Connection,
    ConnectionDescriptionError,
)
from ansible_collections.millrace.streaming.plugins.module_utils.kafka.groups import Watched

from . import settings
from .exporter import Exporter
from .server import server

_HANGS_AFTER = 300.0


def main(path: str) -> None:
    """Serve the lag of a cluster's groups; returns only by an error."""
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s")
    options = settings.read(Path(path))
    library.use(options.library)
    watched = Watched(Connection.read(options.client))
    exporter = Exporter(lambda: watched.read(options.wants, options.max_groups), options.keep)
    http = server(options.address, options.port, exporter.text)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    if directory := os.environ.get("RUNTIME_DIRECTORY"):
        (Path(directory) / "ready").touch()
    while True:
        # Every question has a limit. Should one hang nevertheless, systemd starts this anew.
        faulthandler.dump_traceback_later(options.interval + _HANGS_AFTER, exit=True)
        begin = time.monotonic()
        exporter.sample()
        time.sleep(max(0.0, begin + options.interval - time.monotonic()))


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (ConnectionDescriptionError, library.NoLibraryError, OSError) as error:
        sys.exit(str(error))
