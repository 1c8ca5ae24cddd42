"""Which file system a path is on, and which one is missing there."""

from __future__ import annotations

import pytest
from ansible_collections.millrace.streaming.plugins.module_utils.host import mounts

MOUNTINFO = """\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 8:16 / /data rw,noatime - xfs /dev/sdb ro
24 22 8:17 / /my\\040disk rw - xfs /dev/sdb1 rw
25 22 0:5 / /data rw - tmpfs tmpfs rw
26 25 8:18 / /data/kafka/more rw - xfs /dev/sdc rw
broken
"""
FSTAB = """\
# /data3 is not here yet
UUID=1 / ext4 defaults 0 1
/dev/sdb /data xfs defaults 0 0
/dev/sdd /data2 xfs defaults 0 0
/dev/sde /data3 xfs noauto 0 0
/dev/sdf none swap sw 0 0
/dev/sdg /my\\040other xfs defaults 0 0
"""
FOUND = mounts.parse_mountinfo(MOUNTINFO)


def test_the_mount_on_top_holds_a_path() -> None:
    assert mounts.mount_of("/data/kafka", FOUND).fstype == "tmpfs"
    assert mounts.mount_of("/data/kafka", FOUND[:2]).options == ("rw", "noatime", "ro")
    assert mounts.mount_of("/database", FOUND).path == "/"
    assert mounts.mount_of("/my disk/x", FOUND).device == "8:17"
    assert mounts.inside("/data/kafka", FOUND) == ["/data/kafka/more"]
    assert mounts.mount_of("/data", []).path == "/"


@pytest.mark.parametrize(
    ("path", "missing"),
    [
        ("/data2/kafka", "/data2"),
        ("/data2", "/data2"),
        ("/data/kafka", ""),
        ("/data3/kafka", ""),
        ("/data22", ""),
        ("/my other/kafka", "/my other"),
    ],
)
def test_an_unmounted_fstab_entry_is_found(path: str, missing: str) -> None:
    assert mounts.unmounted(path, FSTAB, FOUND) == missing
