"""Hosts that can lose their power.

Each is a container of the lab that runs QEMU. Killing it takes the memory of the machine with it,
and what its kernel had not written to its disks.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from functools import partial

from tests.support.faults.target import Target
from tests.support.lab.lab import podman
from tests.support.wait import wait_for

BOOT_SECONDS = 60


@dataclass
class Machines(Target):
    """A target whose hosts are virtual machines."""

    cut_at: float = 0.0
    """When the last power was cut, in monotonic seconds."""

    def cut(self, *names: str) -> None:
        """Cut the power of machines, of all at the same moment."""
        podman("kill", "--signal", "KILL", *map(container, names))
        self.cut_at = time.monotonic()
        podman("wait", *map(container, names))

    def power_on(self, *names: str) -> None:
        """Give machines their power again, and wait until they answer."""
        if names:
            podman("start", *map(container, names))
        for name in names:
            wait_for(
                partial(self.answers, name),
                seconds=BOOT_SECONDS,
                what=f"{name} answers",
            )

    def answers(self, name: str) -> bool:
        """Whether SSH reaches a machine."""
        try:
            return bool(self.hosts[name].run("true").rc == 0)
        except RuntimeError:  # SSH itself failed
            return False

    def off(self) -> list[str]:
        """The machines that have no power."""
        running = podman("ps", "--format", "{{.Names}}").split()
        return [name for name in self.kafka_hosts if container(name) not in running]

    def boot(self, where: str) -> str:
        """What distinguishes one boot of a machine from another."""
        return self.sh(where, "cat /proc/sys/kernel/random/boot_id")

    def heal(self) -> None:
        """Give machines their power again, then heal what is left."""
        self.power_on(*self.off())
        super().heal()


def container(name: str) -> str:
    """The container that a machine is."""
    return f"millrace-{os.environ['MILLRACE_LAB']}-{name}"
