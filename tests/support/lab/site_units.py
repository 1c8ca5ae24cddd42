"""Units that a site has written itself, with names as those of Millrace."""

from __future__ import annotations

from collections.abc import Iterable

_UNIT = """[Unit]
Description=A service of the site
[Service]
ExecStart=/bin/sleep infinity
[Install]
WantedBy=multi-user.target
"""


def start(names: Iterable[str]) -> str:
    """Return the script of root that writes, enables and starts units."""
    return "set -e\n" + "".join(
        f"cat > /etc/systemd/system/{name}.service <<'EOF'\n{_UNIT}EOF\n"
        f"systemctl enable --quiet --now {name}\n"
        for name in names
    )


def processes(names: Iterable[str]) -> str:
    """Return the script that prints the process of each unit, of one that runs at each boot."""
    return "".join(
        f"systemctl is-enabled {name} && systemctl show -p MainPID {name}\n" for name in names
    )
