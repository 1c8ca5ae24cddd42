"""The keys that a version of HDFS reads.

The tables in hdfs_keys/ come from the jars (artifacts/hdfs/keys.py). Other libraries read
core-site.xml too: outside of `dfs.` a key is unknown where Hadoop has others beside it, or one that
is nearly the same.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from ....module_utils.formats import key_table
from ....module_utils.formats.key_table import Table, nearest

TABLES = Path(__file__).parent / "keys"

_ALL = "dfs."
# What Hadoop builds the rest of the name of: users, schemes, ports.
PREFIXES = ("fs.viewfs.mounttable.", "hadoop.proxyuser.", "hadoop.security.group.mapping.")
_BUILT = re.compile(r"fs\.(?:AbstractFileSystem\.)?[\w+-]+\.impl(?:\..+)?|ipc\.\d+\..+")
# A mode may be written in letters, too.
_MODES = ("perm", "umask-mode", "umaskmode")
_NEARLY = 0.85


def load(version: str) -> Table:
    """Return the table of a version, empty if there is none."""
    table = key_table.read(TABLES, version)
    return {
        key: {**entry, "type": "string"} if key.endswith(_MODES) else entry
        for key, entry in table.items()
    }


@functools.cache
def is_known(key: str, version: str) -> bool:
    """Return whether a version of HDFS reads this key, or another library may."""
    table = load(version)
    if key in table or key.startswith(PREFIXES) or _BUILT.fullmatch(key):
        return True
    # For one name service, one NameNode or one mount of it.
    if any(key.startswith(f"{table_key}.") for table_key in table):
        return True
    if key.startswith(_ALL):
        return False
    parent = key.rpartition(".")[0]
    beside = "." in parent and any(table_key.rpartition(".")[0] == parent for table_key in table)
    return not beside and not nearest(key, list(table), _NEARLY)
