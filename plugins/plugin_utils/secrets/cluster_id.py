"""The Kafka cluster id that is kept beside an inventory: read, or generated once."""

from pathlib import Path

from ansible.errors import AnsibleActionFail

from ...module_utils.formats.uuids import is_cluster_id, random_cluster_id
from ..files import create


def read(path: Path) -> tuple[str, str]:
    """Return the id in a file, and what is wrong with the file; without a file both are empty."""
    try:
        content = path.read_text(encoding="utf-8", errors="replace").strip()
    except FileNotFoundError:
        return "", ""
    except OSError as error:
        return "", f"{path} cannot be read ({error.strerror})"
    if is_cluster_id(content):
        return content, ""
    shown = content if len(content) <= 60 else f"{content[:60]}..."
    reason = "which is not a cluster id (22 characters of URL-safe base64)"
    return "", f"{path} holds {shown!r}, {reason}"


def keep(path: Path, cluster_id: str = "") -> str:
    """Return the id that a file keeps; without a file, keep the given one or a random one.

    The file appears with its content and never replaces one, so two runs agree on one id.

    Raises:
        AnsibleActionFail: there is a file with something else, or it cannot be written.

    """
    generated = cluster_id or random_cluster_id()
    try:
        if create(path, f"{generated}\n"):
            return generated
    except OSError as error:
        message = (
            f"{path} cannot be written ({error.strerror}). Make its directory writable, or set "
            "kafka_cluster_id in the inventory."
        )
        raise AnsibleActionFail(message) from error
    recorded, wrong = read(path)
    if wrong:
        raise AnsibleActionFail(wrong)
    return recorded
