"""The blocks that processes of Spark keep on a host, and the removal of those that are left.

A process that is killed leaves its own.
"""

from __future__ import annotations

from ...cluster import files
from ...cluster.artifacts import HOMES
from ...cluster.files import Entry
from ...cluster.service import Service

DIRECTORY = "/var/lib/spark/local"
REMOVAL = "spark-clean"
"""The unit that removes them."""
TIMER = f"{REMOVAL}.timer"
_PROGRAM = f"{HOMES}/spark-clean.py"


def directory(unit: str) -> str:
    """Return where the processes of a unit keep blocks."""
    return f"{DIRECTORY}/{unit}"


def removal_files(service: Service) -> dict[str, Entry]:
    """Return the program that removes what killed processes leave, and its times."""
    unit = service.unit(
        REMOVAL,
        "Removal of blocks that killed processes of Spark left",
        f"/usr/bin/python3 -I {_PROGRAM} {DIRECTORY}",
        **{"type": "oneshot", "restart": "no", "write_paths": [DIRECTORY]},
    )
    timer = files.render(
        "timer.j2", description="Times at which blocks of Spark are removed", calendar="hourly"
    )
    return {
        _PROGRAM: files.text(files.read("roles/spark/files/clean_local.py")),
        # The next run has a changed unit by itself.
        **{path: {**entry, "restart": False} for path, entry in unit.items()},
        f"/etc/systemd/system/{TIMER}": files.text(timer),
    }
