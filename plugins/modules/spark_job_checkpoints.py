#!/usr/bin/python
"""Ansible module: whether the checkpoints of the jobs on Spark are theirs."""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ..module_utils.host import paths
from ..module_utils.operations import job_checkpoints
from ..module_utils.operations.job_checkpoints import FoundCheckpoint, topics_read

DOCUMENTATION = r"""
module: spark_job_checkpoints
short_description: Whether the checkpoints of spark_jobs are those of their queries
extends_documentation_fragment: [millrace.streaming.check_mode]
description:
  - Reads the newest file in C(offsets) of each job's checkpoint on the host with the drivers, which
    names the topics that the query has read. One that the job's C(topics) do not have fails the
    task, since a query cannot continue from the checkpoint of another one.
"""

OFFSETS = ("offsets", "*/offsets")
"""Of one query, or of several below one directory."""
_BATCH = re.compile("[0-9]{1,19}")


def directory_of(checkpoint: str) -> Path | None:
    """Return a checkpoint's directory on this host, None if it has none."""
    url = urllib.parse.urlsplit(checkpoint)
    return Path(url.path) if checkpoint and url.scheme in ("", "file") else None


def found(job: Mapping[str, Any]) -> Iterator[FoundCheckpoint]:
    """Yield the checkpoints of a job, as far as its queries have begun.

    Raises:
        OSError: a file cannot be read.

    """
    root = directory_of(job["checkpoint"])
    if root is None:
        return
    for pattern in OFFSETS:
        for directory in sorted(root.glob(pattern)):
            batches = [path for path in directory.iterdir() if _BATCH.fullmatch(path.name)]
            if batches:
                text = paths.read_text(max(batches, key=lambda batch: int(batch.name)))
                path = str(directory.parent)
                yield FoundCheckpoint(job["name"], path, job["topics"], topics_read(text))


def main() -> None:
    """Run the module."""
    job = {
        "name": {"type": "str", "required": True},
        "checkpoint": {"type": "str", "default": ""},
        "topics": {"type": "list", "elements": "str", "default": []},
    }
    module = AnsibleModule(
        argument_spec={
            "jobs": {"type": "list", "elements": "dict", "required": True, "options": job}
        },
        supports_check_mode=True,
    )
    try:
        checkpoints = [checkpoint for job in module.params["jobs"] for checkpoint in found(job)]
    except (OSError, UnicodeDecodeError) as error:
        module.fail_json(msg=f"a checkpoint cannot be read: {error}")
    wrong = job_checkpoints.problems(checkpoints)
    if wrong:
        module.fail_json(msg=f"{'; '.join(wrong)}. No host was changed.", problems=wrong)
    module.exit_json(changed=False)


if __name__ == "__main__":
    main()
