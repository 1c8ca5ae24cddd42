"""The console on this machine over TLS, with users of a listener of Kafka and a drawn cluster."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
import yaml
from ansible_collections.millrace.streaming.plugins.module_utils.kafka import connection
from ansible_collections.millrace.streaming.plugins.plugin_utils.secrets import certificates
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.console.report_page import (
    page,
)
from ansible_collections.millrace.streaming.plugins.plugin_utils.services.kafka.security import (
    Certificate,
)

from apps.console import panels
from apps.console.app import Clients, Console, secured
from apps.console.collector import Collector
from apps.console.connections import MOST, Connection, Listener
from apps.console.settings import Settings
from tests.support.wait import wait_for
from tests.unit.kafka.sasl_broker import SaslBroker

SECONDS = 30


@contextmanager
def served(
    folder: Path,
    snapshot: Mapping[str, Any],
    users: Mapping[str, str],
    prometheus: Mapping[str, Any],
) -> Iterator[str]:
    """Return the address of a console; it ends with the block."""
    path = folder / "console.pem"
    certificate = Certificate("console", str(path), "localhost", ("localhost", "127.0.0.1"), False)
    path.write_text(certificates.issue(certificates.new_authority("Cluster"), certificate))
    names = (
        "kafka",
        "connect",
        "registry",
        "spark",
        "jobs",
        "alerts",
        "operations",
        "certificates",
    )
    sections = {name: snapshot[name] for name in names if name in snapshot}
    settings = Settings(
        "production",
        page(),
        str(path),
        {},
        hosts=tuple(snapshot["hosts"]),
        viewers=tuple(users),
        prometheus=prometheus,
        views=json.dumps(yaml.safe_load(panels.FILE.read_text())),
    )
    collector = Collector(
        settings, {name: partial(deepcopy, section) for name, section in sections.items()}
    )
    for name in [*sections, "kafka"]:
        collector.read(name)
    collector.start()  # what is old counts as what hangs
    with SaslBroker(users) as broker, Listener.at("127.0.0.1", 0) as server:
        clients = Clients(
            connection.Connection((broker.address,), broker.properties), broker.mechanism
        )
        console = Console(settings, clients, collector)
        config = uvicorn.Config(
            secured(console.application()),
            loop="asyncio",
            http=Connection,
            limit_concurrency=MOST + 1,
            ssl_certfile=path,
            lifespan="off",
            log_level="error",
        )
        running = uvicorn.Server(config)
        thread = threading.Thread(target=running.run, kwargs={"sockets": [server]})
        thread.start()
        try:
            wait_for(lambda: running.started, seconds=SECONDS, what="the console serves")
            yield f"https://localhost:{server.getsockname()[1]}/"
        finally:
            running.should_exit = True
            collector.stop()
            thread.join()
