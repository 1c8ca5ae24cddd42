"""How long a wrong inventory may take to be refused."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ANSIBLE = str(Path(sys.executable).with_name("ansible-playbook"))


def seconds_to_refuse() -> float:
    """Five, or twelve of Ansible's own starts where those are slow already."""
    start = time.monotonic()
    subprocess.run([ANSIBLE, "--version"], check=True, stdout=subprocess.DEVNULL)
    return max(5, 12 * (time.monotonic() - start))
