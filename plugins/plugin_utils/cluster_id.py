"""The Kafka cluster id that is kept beside an inventory: read, or generated once."""

from __future__ import annotations

from pathlib import Path

from ansible.errors import AnsibleActionFail

from ..module_utils.model.uuids import is_cluster_id, random_cluster_id
from .files import create


def read(path: Path) -> str:
    """Return the id in a file, empty if there is no file.

    Raises:
        AnsibleActionFail: the file holds anything else, or cannot be read; names it and what to do.

    """
    try:
        found = path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}); make it a readable file."
        raise AnsibleActionFail(message) from error
    if not is_cluster_id(found):
        shown = found if len(found) <= 60 else f"{found[:60]}..."
        message = (
            f"{path} holds {shown!r}, which is no cluster id (22 characters of URL-safe base64). "
            "Restore the file from version control, or write cluster.id from a node's "
            "meta.properties into it. Delete it only if no node was ever formatted: then a new id "
            "is generated."
        )
        raise AnsibleActionFail(message)
    return found


def keep(path: Path, cluster_id: str = "") -> str:
    """Return the id that a file keeps; without a file, keep the given one or a random one.

    The file appears with its content and never replaces one, so two runs agree on one id.

    Raises:
        AnsibleActionFail: as `read`, or the file cannot be written.

    """
    found = read(path)
    if found:
        return found
    generated = cluster_id or random_cluster_id()
    try:
        if not create(path, f"{generated}\n"):
            return read(path)
    except OSError as error:
        message = (
            f"{path} cannot be written ({error.strerror}). Make its directory writable, or set "
            "kafka_cluster_id in the inventory."
        )
        raise AnsibleActionFail(message) from error
    return generated
