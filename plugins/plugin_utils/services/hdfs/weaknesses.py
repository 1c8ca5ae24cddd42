"""Which values of the keys of HDFS remove a part of its protection."""

from __future__ import annotations

from ...rules.weakness import Weakness, is_false

WEAKNESSES = (
    Weakness(
        "dfs.block.access.token.enable",
        is_false,
        "DataNodes serve every block without a token of the NameNode",
    ),
    Weakness("dfs.permissions.enabled", is_false, "Every user may read and remove all files"),
)
